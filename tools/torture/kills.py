"""Runs whose processes are killed at random moments, and resumed: they end with the same bytes.

Where all kinds are asked for, half of the kills are of `etairl train` and `etairl resume`: soon
after a cycle, at any time at all, or between the writing of a file and its renaming. A quarter are
of studies, their workers or the command itself; a quarter are of workers on a Ray cluster of two
nodes, of which one is lost.
"""

import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from processes import running
from programs import killed_at_a_rename, start

_OFTEN = 25
"""kills of one run, at most: then it may end"""
PATIENCE = 1200.0
"""seconds until a command that does not end is a failure"""
SETTINGS: dict[str, Any] = {
    **{"env": "Pendulum-v1", "demos": "Pendulum-v1-25x200", "demonstrations": 4, "horizon": 20},
    **{"episodes": 2, "transitions": 2000, "solver": "sac", "rollout": "episodes"},
    **{"solver_updates": 2, "solver_batch": 8, "cost_updates": 1, "cost_batch": 8},
    **{"remaining_cycles": 3, "measure_every": 2, "capacity": 400, "hidden": 8, "hidden_d": 8},
}
_LISTS = ("hidden", "hidden_d")
_GRID = "seeds = 2\n[settings]\n" + "".join(
    f"{key} = {json.dumps([value] if key in _LISTS else value)}\n"
    for key, value in SETTINGS.items()
)
_FILES = (
    *("policy.safetensors", "cost.safetensors", "best-policy.safetensors", "clone.safetensors"),
    *("metrics.jsonl", "result.json", "config.json"),
)


class Toll(NamedTuple):
    """Kills of one kind, and what came of the runs."""

    kind: str
    kills: int
    runs: int
    differing: list[str]
    """files of these runs with other bytes than the unbroken ones have"""


class KilledError(Exception):
    """A command that had room and time ended with an error."""


def settings() -> list[str]:
    """Of a run of seconds, as options of `etairl train`."""
    return [f"--{key.replace('_', '-')}={value}" for key, value in SETTINGS.items()]


def kill_all(many: int, seed: int, folder: Path, asked: list[str]) -> Iterator[Toll]:
    """So many kills; the moments are drawn from the seed, what they hit is up to the machine."""
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder / "compiled")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    whole: Path | None = None
    for number, kind in enumerate(KINDS):
        if kind not in asked:
            continue
        parts = sum(_PARTS[one] for one in asked)
        share = -(-many * _PARTS[kind] // parts)
        if kind != "train" and whole is None:
            whole = _whole_study(folder)
        yield KINDS[kind](np.random.default_rng([seed, number]), folder, share, whole)


def finish(words: list[str], folder: Path) -> None:
    """A command that must end well."""
    said = folder / "said"
    process = start(*words, folder=folder, output=said)
    process.join(PATIENCE)
    if process.exitcode != 0:
        process.kill()
        raise KilledError(f"{' '.join(words[:3])}: {said.read_text()[-2000:]}")


def differing(path: Path, whole: Path) -> list[str]:
    """Files of a finished run that are not those of another, byte for byte."""
    assert (whole / "policy.safetensors").is_file()
    return [
        f"{path.name}/{name}"
        for name in _FILES
        if (whole / name).is_file()
        and (
            not (path / name).is_file() or (path / name).read_bytes() != (whole / name).read_bytes()
        )
    ]


def _train(rng: np.random.Generator, folder: Path, many: int, _: Path | None) -> Toll:
    words = [*settings(), "--threads=1"]
    begun = time.monotonic()
    finish(["train", "-o", "whole", *words, "--checkpoint-seconds=1000"], folder)
    seconds, wrong, kills, runs = time.monotonic() - begun, [], 0, 0
    while kills < many:
        name, here = f"train-{runs}", 0
        again = ["resume", name, "--threads=1", "--checkpoint-seconds=0"]
        while kills < many and here < _OFTEN:
            begin = ["train", "-o", name, *words, "--checkpoint-seconds=0"]
            asked = again if (folder / name / "config.json").is_file() else begin
            if not _killed(rng, asked, folder, folder / name, seconds):
                break
            kills, here = kills + 1, here + 1
        finish(again if (folder / name / "config.json").is_file() else begin, folder)
        wrong += differing(folder / name, folder / "whole")
        shutil.rmtree(folder / name)
        runs += 1
        say("train", kills, runs, wrong)
    return Toll("train", kills, runs, wrong)


def say(kind: str, kills: int, runs: int, wrong: list[str]) -> None:
    """How far it is."""
    print(f"{kind}: {kills} kills, {runs} ended, {len(wrong)} files differ", file=sys.stderr)


def _killed(
    rng: np.random.Generator, words: list[str], folder: Path, run: Path, seconds: float
) -> bool:
    """Start a command and kill it; false if it came to its end."""
    kind = rng.choice(["cycle", "time", "rename"], p=[0.5, 0.2, 0.3])
    before = partial(killed_at_a_rename, int(rng.integers(1, 25))) if kind == "rename" else None
    process = start(*words, folder=folder, before=before, output=folder / "said")
    if kind == "rename":
        process.join(PATIENCE)
    elif kind == "time":
        process.join(float(rng.uniform(0.0, seconds)))
    else:
        reached, until = _lines(run) + int(rng.integers(1, 4)), time.monotonic() + PATIENCE
        while _lines(run) < reached and process.is_alive() and time.monotonic() < until:
            time.sleep(0.005)
        process.join(float(rng.uniform(0.0, 0.1)))
    if process.is_alive():
        process.kill()
    process.join()
    if process.exitcode not in (0, -signal.SIGKILL):
        raise KilledError(f"{' '.join(words[:3])}: {(folder / 'said').read_text()[-2000:]}")
    return process.exitcode != 0


def _lines(run: Path) -> int:
    file = run / "metrics.jsonl"
    return file.read_bytes().count(b"\n") if file.is_file() else 0


def _study_words(name: str) -> list[str]:
    return ["study", "grid.toml", "-o", name, "--workers=2", "--checkpoint-seconds=0"]


def _whole_study(folder: Path) -> Path:
    (folder / "grid.toml").write_text(_GRID)
    finish(_study_words("whole-study"), folder)
    return folder / "whole-study"


def _study(rng: np.random.Generator, folder: Path, many: int, whole: Path | None) -> Toll:
    """Workers twice as often as the command, whose workers then stop by themselves."""
    assert whole is not None
    kills, runs, wrong = 0, 0, []
    while kills < many:
        name, here = f"study-{runs}", 0
        process = start(*_study_words(name), folder=folder, output=folder / "said")
        while kills < many and here < _OFTEN:
            process.join(float(rng.uniform(0.5, 8.0)))
            if process.exitcode == 0:
                break
            if not process.is_alive():  # a run failed: it was killed three times
                process = start(*_study_words(name), folder=folder, output=folder / "said")
                continue
            found = _workers(folder / name)
            target = process.pid if rng.random() < 1 / 3 or not found else found[0]
            kills, here = kills + kill(target), here + 1
        _ended(process)
        finish_study(name, folder)
        wrong += study_differs(folder / name, whole)
        shutil.rmtree(folder / name)
        runs += 1
        say("study", kills, runs, wrong)
    return Toll("study", kills, runs, wrong)


def _ended(process: BaseProcess) -> None:
    process.join(PATIENCE)


def finish_study(name: str, folder: Path) -> None:
    """A run that was killed too often is tried again by the same command, as a user would."""
    for attempt in range(5):
        try:
            finish(_study_words(name), folder)
            return
        except KilledError:
            if attempt == 4:
                raise


def _workers(study: Path) -> list[int]:
    mark = ("etairl.studies.worker", str(study))
    return sorted(p for p, line in running().items() if all(part in line for part in mark))


def kill(pid: int | None) -> bool:
    """Whether there was still something to kill."""
    assert pid is not None
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def study_differs(study: Path, whole: Path) -> list[str]:
    """Files of a study, and of its runs, that are not those of another."""
    wrong = [
        name
        for name in ("results.json", "statistics.json")
        if _table(study, name) != _table(whole, name)
    ]
    for run in sorted((whole / "runs").iterdir()):
        wrong += differing(study / "runs" / run.name, run)
    return [f"{study.name}/{name}" for name in wrong]


def _table(study: Path, name: str) -> str:
    """Without how long something took."""
    return re.sub(r'"seconds\w*": [^,}]*', "", (study / name).read_text())


def _ray(rng: np.random.Generator, folder: Path, many: int, whole: Path | None) -> Toll:
    from torture.cluster_kills import kill_on_ray

    return kill_on_ray(rng, folder, many, whole)


KINDS: dict[str, Callable[..., Toll]] = {"train": _train, "study": _study, "ray": _ray}
_PARTS = {"train": 2, "study": 1, "ray": 1}


def main(many: int, seed: int, folder: Path, asked: list[str]) -> int:
    """Kill, print a table, and say whether all bytes are equal."""
    begun, failed = time.monotonic(), 0
    for toll in kill_all(many, seed, folder, asked):
        failed += len(toll.differing)
        print(
            f"{toll.kind:<20}{toll.kills:>5} kills of {toll.runs} "
            f"{'runs' if toll.kind == 'train' else 'studies'}, "
            f"{len(toll.differing)} files differ, {time.monotonic() - begun:.0f} s",
            flush=True,
        )
        for name in toll.differing:
            print(f"    {name}", file=sys.stderr)
    return 1 if failed else 0
