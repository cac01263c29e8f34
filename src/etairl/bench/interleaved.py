"""Times of works in several processes, in turn: a busy moment of the machine hits all of them."""

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from etairl.studies.worker import ONE_THREAD
from etairl.types import InputError

_SCRIPT = Path(__file__).with_name("timed_works.py")
_PATIENCE = 600.0
"""seconds for one answer"""


class Contestant(NamedTuple):
    """Who is timed."""

    title: str
    python: Path
    works: Path
    """a file for `timed_works.py`"""
    cores: int = 1
    own: bool = False
    """whether it may see what this process can import"""

    def environment(self) -> dict[str, str]:
        """Of its process: as many threads as cores, nothing to be imported from elsewhere."""
        threads = {name: str(self.cores) for name in ONE_THREAD if name.endswith("_NUM_THREADS")}
        if self.cores == 1:
            threads |= {"XLA_FLAGS": ONE_THREAD["XLA_FLAGS"]}
        quiet = {"TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore", "JAX_PLATFORMS": "cpu"}
        return os.environ | threads | quiet | ({} if self.own else {"PYTHONPATH": ""})


class Worker:
    """A process that does works on request, until it is closed."""

    def __init__(self, side: Contestant, patience: float = _PATIENCE):
        self.side, self._patience = side, patience
        self.begun = time.perf_counter()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        command = [str(side.python), "-P", str(_SCRIPT), str(side.works), str(side.cores)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                env=side.environment(),
            )
        except OSError as error:
            self._errors.close()
            raise InputError(f"{side.title}: {side.python} cannot be run: {error}") from None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answer to a request."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
        except OSError:
            raise self._ended() from None
        # There is never more than one line to come, so that nothing waits in a buffer.
        if not select.select([stdout], [], [], self._patience)[0]:
            raise InputError(f"{self.side.title} gave no answer in {self._patience:.0f} s")
        line = stdout.readline()
        if not line:
            raise self._ended()
        answer = json.loads(line)
        if "error" in answer:
            raise InputError(f"{self.side.title} cannot be timed: {answer['error']}")
        return answer

    def _ended(self) -> InputError:
        code = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        last = said[-1] if said else f"its process ended with code {code}"
        return InputError(f"{self.side.title} cannot be timed: {last}")

    def make(self, key: str, name: str, settings: Mapping[str, Any]) -> None:
        """Prepare a work under a key."""
        self.ask(make=name, settings=settings, **{"as": key})

    def run(self, key: str, units: int) -> float:
        """Seconds for so many units of it."""
        return self.ask(run=units, **{"as": key})["seconds"]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(OSError):  # what was not sent any more
                if stream is not None:
                    stream.close()


class Turn(NamedTuple):
    """A work that takes turns with others."""

    worker: Worker
    key: str
    units: int


def in_turn(turns: Sequence[Turn], rounds: int) -> list[list[float]]:
    """Seconds for one unit of each work, round by round; every other round goes backwards.

    A round before them, which compiles, does not count.
    """
    for turn in turns:
        turn.worker.run(turn.key, turn.units)
    taken: list[list[float]] = [[] for _ in turns]
    for number in range(rounds):
        for i in range(len(turns)) if number % 2 == 0 else reversed(range(len(turns))):
            worker, key, units = turns[i]
            taken[i].append(worker.run(key, units) / units)
    return taken


class Ratio(NamedTuple):
    """Of what they take to what we take."""

    ours: float
    """median"""
    theirs: float
    """median"""
    ratio: float
    """median over the rounds"""
    lowest: float
    """of all rounds"""
    highest: float

    @staticmethod
    def of(ours: Sequence[float], theirs: Sequence[float]) -> "Ratio":
        """Round by round."""
        each = [b / a for a, b in zip(ours, theirs, strict=True)]
        return Ratio(median(ours), median(theirs), median(each), min(each), max(each))
