"""What costs more the longer a run or the larger a study is: nothing, apart from cold memory."""

import tempfile
import time
import tracemalloc
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from etairl.bench.works_of_etairl import random_episodes
from etairl.buffers import EpisodeBuffer
from etairl.evaluation.diagnostics import Warnings
from etairl.runs import RunDirectory
from etairl.studies.digest import Digest
from etairl.studies.jobs import Job
from etairl.studies.study_folder import Study
from etairl.training.flat import configure
from etairl.types import Trajectories

_EPISODES, _STEPS, _OBS, _ACT = 4, 500, 17, 6
_CYCLE = _EPISODES * _STEPS
_DRAWN = 16 * 256
_REPEATS = 15


@dataclass(frozen=True)
class Stored:
    """Microseconds for each transition of a cycle, with so many stored before it."""

    transitions: int
    kept: float
    """to store it, to list the episodes, and to watch the metrics"""
    drawn: float
    """to draw two of them, and to copy what they are"""
    ratio: float
    """of the sum to that of the first row"""
    limit: float
    ok: bool


@dataclass(frozen=True)
class FullReplay:
    """Memory of a replay that is full, many cycles later."""

    cycles: int
    megabytes_before: float
    megabytes_after: float
    ratio: float
    limit: float
    ok: bool


@dataclass(frozen=True)
class LargeStudy:
    """Seconds of the processor to open a study, and to see how far its runs are."""

    runs: int
    opened: float
    states: float
    limit: float
    """of both together"""
    ok: bool


def bench_stored(sizes: tuple[int, ...] = (10**5, 10**6, 10**7)) -> list[Stored]:
    """A cycle of a long run, at several moments of it."""
    rng, played = np.random.default_rng(0), random_episodes(_EPISODES, _STEPS, _OBS, _ACT)
    buffer = EpisodeBuffer(sizes[-1] + (_REPEATS + 2) * len(sizes) * 2 * _CYCLE, _OBS, _ACT)
    buffer.observations[:] = 0.0  # memory is given when it is first written to
    buffer.actions[:] = 0.0
    watch, stored, rows = Warnings(), 0, []
    for size in sizes:
        while stored < size:
            buffer.extend(played, played.actions)
            watch.add(_row(stored))
            stored += _CYCLE
        times = np.array([_times(rng, buffer, played, watch) for _ in range(_REPEATS)])
        stored += _REPEATS * _CYCLE
        kept, drawn = (1e6 * float(median(column)) / _CYCLE for column in times.T)
        first = rows[0].kept + rows[0].drawn if rows else kept + drawn
        ratio = (kept + drawn) / first
        rows.append(Stored(size, kept, drawn, ratio, 2.0, bool(ratio <= 2.0)))
    return rows


def _times(
    rng: np.random.Generator, buffer: EpisodeBuffer, played: Trajectories, watch: Warnings
) -> tuple[float, float]:
    begun = time.perf_counter()
    buffer.extend(played, played.actions)
    episodes = buffer.newest(rows=len(buffer.observations))
    watch.add(_row(1))
    kept = time.perf_counter()
    rows = episodes.rows(rng.integers(episodes.steps, size=_DRAWN))
    buffer.transitions(rows, (16, 256))
    return kept - begun, time.perf_counter() - kept


def _row(transitions: int) -> dict[str, float | int]:
    return {"cycle": transitions // _CYCLE, "actions_at_bounds": 0.0, "solver/temperature": 0.1}


def bench_full_replay(capacity: int = 10**5, laps: int = 40) -> FullReplay:
    """Traced memory after the first lap around the replay, and after all."""
    played = random_episodes(_EPISODES, _STEPS, _OBS, _ACT)
    tracemalloc.start()
    try:
        buffer = EpisodeBuffer(capacity, _OBS, _ACT)
        per_lap = capacity // (_CYCLE + _EPISODES)
        used = []
        for lap in range(laps):
            for _ in range(per_lap):
                buffer.extend(played, played.actions)
            if lap in (1, laps - 1):
                used.append(tracemalloc.get_traced_memory()[0] / 2**20)
    finally:
        tracemalloc.stop()
    before, after = used
    ratio = after / before
    return FullReplay((laps - 2) * per_lap, before, after, ratio, 1.01, ratio <= 1.01)


def bench_large_study(runs: int = 1000) -> LargeStudy:
    """Of finished runs, of which the digests are left."""
    start = configure(env="Pendulum-v1", demos="Pendulum-v1-25x200")
    jobs = [Job("bench", replace(start, seed=seed)) for seed in range(runs)]
    remaining = {"return": 0.0, "return_std": 1.0, "length": 1.0, "mmd2_mu": 0.1, "mmd2_rho": 0.1}
    result = {"cycles": 1, "transitions": start.girl.transitions, "remaining": remaining}
    digest = Digest(result, {"return": [[1, 2.0]] * 60}, 1.0, [], 1.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study"
        Study.open(path, "bench", None, jobs).keep({job.name: digest for job in jobs})
        begun = time.process_time()
        study = Study(path)
        opened = time.process_time()
        states = [study.progress(job).state for job in study.jobs]
        seen = time.process_time()
        assert states.count("finished") == runs
        assert not RunDirectory(study.run_path(jobs[0])).begun
    total, limit = seen - begun, 10.0
    return LargeStudy(runs, opened - begun, seen - opened, limit, total <= limit)
