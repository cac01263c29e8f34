"""Runs of a study side by side, beside the same runs one after the other."""

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from etairl.arms import PENALISED
from etairl.replication.paper_studies import penalised
from etairl.studies.jobs import Job, rescaled
from etairl.studies.processes import cores, run_locally
from etairl.studies.study_folder import Study
from etairl.types import InputError


@dataclass(frozen=True)
class SideBySide:
    """Seconds for as many runs as two cores take at a time."""

    runs: int
    transitions: int
    """of each"""
    one_by_one: float
    side_by_side: float
    ratio: float
    """of runs per hour"""
    limit: float
    ok: bool


def bench_study(cycles: int = 40, runs: int = 2) -> SideBySide:
    """HalfCheetah at the scale `quick`, its first cycles, started and ended as in any study."""
    if cores() < runs:
        raise InputError(f"{runs} runs side by side need {runs} cores, here are {cores()}")
    config = rescaled(penalised("HalfCheetah-v5"), "quick")
    transitions = cycles * config.girl.episodes * config.horizon
    config = replace(config, girl=replace(config.girl, transitions=transitions))
    jobs = [Job(PENALISED, replace(config, seed=seed)) for seed in range(runs)]
    with tempfile.TemporaryDirectory() as folder:
        short = replace(config.girl, transitions=transitions // cycles)
        first = Job(PENALISED, replace(config, girl=short))
        _seconds(Path(folder) / "first", [first], 1)  # compiled code is kept for the others
        one_by_one = _seconds(Path(folder) / "one", jobs, 1)
        side_by_side = _seconds(Path(folder) / "side", jobs, runs)
    ratio = one_by_one / side_by_side
    return SideBySide(runs, transitions, one_by_one, side_by_side, ratio, 1.8, ratio >= 1.8)


def _seconds(path: Path, jobs: list[Job], workers: int) -> float:
    study = Study.open(path, "bench", None, jobs)
    start = time.perf_counter()
    for ended in run_locally(study, jobs, workers, checkpoint_seconds=60.0):
        if ended is not None and ended.code != 0:
            raise InputError(f"{ended.job.name} failed: {study.failure(ended.job)}")
    return time.perf_counter() - start
