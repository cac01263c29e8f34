"""One process that reads damaged files, with limits: it says what came of each."""

import gc
import hashlib
import os
import resource
import shutil
import signal
import sys
import sysconfig
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 2.0
"""of the processor, for one input"""
MEMORY = 2**30
"""beyond what the process has before the first input"""
_TEXT_EVERY, _TEXTS = 20, 200
_TOLD = 2000
MARK = "executed"
_EVIL = f"open({MARK!r}, 'w').close()\ndef f(*arguments):\n    return arguments\nthat = f\n"
_STARTS = ("pickle.find_class", "subprocess.Popen", "os.system", "os.exec", "socket.connect")


class HangError(BaseException):
    """It took too long. No `except Exception` holds it back."""


def work(
    name: str, valid: Path, kept: Path, seed: int, numbers: range, at: Any, counts: Any
) -> None:
    """Read inputs with these numbers; the number at hand is in `at`, results go to `counts`."""
    from torture.readers import READERS

    reader = READERS[name]
    place = valid.parent / f"work-{os.getpid()}"
    place.mkdir()
    _traps(place)
    warnings.simplefilter("ignore")
    found: Counter[str] = Counter()
    ran = _watch_code()
    try:
        seeds = [_snapshot(folder) for folder in sorted(valid.iterdir())]
        inputs = Inputs(reader, seeds, seed, name)
        for files in seeds:  # imports what it takes, and shows that valid files are read
            _write(place / "input", files)
            reader.read(place / "input")
        _limit_memory()
        signal.signal(signal.SIGPROF, _hang)
        begun = time.process_time()
        for number in numbers:
            at.value = number
            files, changed = inputs.input(number)
            _write(place / "input", files | changed)
            if reader.sealed is not None and number % 2:
                reader.sealed(place / "input")
            ran.clear()
            outcome, why = _outcome(reader.read, place / "input")
            if ran or (place / MARK).exists():
                outcome, why = f"ran code: {ran[:1] or MARK}", str(ran)
                (place / MARK).unlink(missing_ok=True)
            found[outcome] += 1
            if outcome not in ("read", "refused"):
                keep(kept, name, outcome, why, number, changed)
            if number == numbers[-1] or number % _TOLD == _TOLD - 1:
                peak, now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
                counts.put((name, dict(found), peak, now - begun))
                begun = now
                found.clear()
    finally:
        os.chdir("/")
        shutil.rmtree(place, ignore_errors=True)


def _outcome(read: Callable[[Path], object], folder: Path) -> tuple[str, str]:
    """`read`, `refused`, or what is wrong, and the traceback."""
    from etairl.types import InputError

    try:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            read(folder)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
    except InputError as error:
        text = str(error)
        if not text or len(text) > 1500 or not text.replace("\x7f", "\0").isprintable():
            return f"no sentence: {_origin(error)}", f"{text!r}\n{traceback.format_exc()}"
        return "refused", ""
    except HangError as error:
        return f"over {SECONDS:g} s: {_origin(error)}", traceback.format_exc()
    except Exception as error:
        said = f"{type(error).__name__}: {_origin(error)}"
        return said, traceback.format_exc()[-20_000:]
    return "read", ""


def _origin(error: BaseException) -> str:
    """The last place in the project that the traceback goes through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/etairl/" in f.filename]
    frame = (ours or frames)[-1]
    return f"{frame.filename.rpartition('/etairl/')[2]}:{frame.lineno}"


def _hang(*_: object) -> None:
    raise HangError


def _limit_memory() -> None:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _traps(place: Path) -> None:
    """Modules that leave a mark, where files may name code."""
    os.chdir(place)
    for name in ("evil", "this", "features"):
        (place / f"{name}.py").write_text(_EVIL)


def _watch_code() -> list[str]:
    """Code that is run from now on and is neither ours nor of an installed library."""
    ran: list[str] = []
    paths = sysconfig.get_paths()
    known = (*(paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")), "<")
    known += (str(Path(__file__).parents[2]), sys.base_prefix)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _STARTS and arguments[:1] != ("uname",):  # Python's own module platform
            ran.append(f"{event} {arguments!r}"[:300])
        elif event == "exec":
            file = getattr(arguments[0], "co_filename", "<")
            if not file.startswith(known):
                ran.append(f"exec {file}")

    sys.addaudithook(watch)
    return ran


class Inputs:
    """The damaged inputs of a reader by number: the same in every repetition."""

    def __init__(self, reader: Any, seeds: list[dict[str, bytes]], seed: int, name: str):
        self._seeds, self._key = seeds, [seed, zlib.crc32(name.encode())]
        self._strategy, self._block, self._texts = reader.texts, -1, list[str]()
        self._targets = [
            sorted(n for n in files if any(Path(n).match(p) for p in _plain(reader.attacked)))
            for files in seeds
        ]

    def input(self, number: int) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """A valid input, and those of its files that are damaged."""
        from torture.mutations import mutated

        rng = np.random.default_rng([*self._key, number])
        which = int(rng.integers(len(self._seeds)))
        files, targets = self._seeds[which], self._targets[which]
        name = targets[rng.integers(len(targets))]
        if self._strategy is not None and number % _TEXT_EVERY == 0:
            return files, {name: self._text(number).encode(errors="surrogatepass")}
        others = [f[n] for f, t in zip(self._seeds, self._targets, strict=True) for n in t]
        return files, {name: mutated(rng, name, files[name], others)}

    def _text(self, number: int) -> str:
        """What hypothesis writes; its examples are made in blocks, since a block takes long."""
        block, place = divmod(number // _TEXT_EVERY, _TEXTS)
        if block != self._block:
            self._block, self._texts = block, _examples(self._strategy, [*self._key, block])
        return self._texts[place % len(self._texts)]


def _plain(patterns: tuple[str, ...]) -> list[str]:
    return [pattern.removeprefix("**/") for pattern in patterns]


def _examples(strategy: Any, key: list[int]) -> list[str]:
    """A block of examples of hypothesis; fewer where there are no more."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    drawn: list[str] = []

    @seeded(hash(tuple(key)))  # of whole numbers: the same in every process
    @settings(
        max_examples=_TEXTS,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(text=strategy)
    def collect(text: str) -> None:
        drawn.append(text)

    collect()
    return drawn


def _snapshot(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _write(folder: Path, files: dict[str, bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folders = {(folder / name).parent for name in files}
    for needed in folders:
        needed.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        with open(f"{folder}/{name}", "wb") as stream:
            stream.write(data)


def keep(
    kept: Path, name: str, outcome: str, why: str, number: int, changed: dict[str, bytes]
) -> None:
    """An input that failed, and how; at most three that fail alike."""
    mark = hashlib.sha256(outcome.encode()).hexdigest()[:8]
    folder = kept / name.replace(" ", "-") / mark
    if folder.is_dir() and len(list(folder.iterdir())) >= 3:
        return
    place = folder / str(number)
    place.mkdir(parents=True, exist_ok=True)
    (place / "what.txt").write_text(f"{outcome}\n{why}\n", errors="backslashreplace")
    for file, data in changed.items():
        target = place / "input" / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
