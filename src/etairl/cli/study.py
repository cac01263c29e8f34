"""`etairl study`: many runs, side by side, resumed after any stop."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import tyro

from etairl.cli.console import Meter, out, parse, patient_interrupt, print_json, table
from etairl.locks import locked
from etairl.replication.paper_studies import named_jobs
from etairl.studies.cluster import run_on_ray
from etairl.studies.grid import StudyFile, read_grid
from etairl.studies.jobs import Job, StudyScale, check_count, check_ready
from etairl.studies.processes import Ended, cores, run_locally
from etairl.studies.report_data import write_tables
from etairl.studies.study_folder import RunProgress, RunState, Study
from etairl.training.config_files import check_trust
from etairl.types import InputError, check_range

_SECONDS_BETWEEN_LOOKS = 5.0


@dataclass(frozen=True)
class StudyConfig:
    """Make the runs of a study of the paper, or of a grid of your own. Run it again to resume.

    Studies: figure1 (geometric weightings), figure2 (Poisson), figure3 (discounts), fetch,
    navigation, ablation. `etairl study status FOLDER` says how far one is.
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME|FILE.toml")]
    """a study of the paper, or a TOML file with a grid"""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """the folder of the study; studies/NAME-SCALE if left out"""
    scale: StudyScale | None = None
    """smoke: minutes, learns nothing; quick: 10 episodes per cycle, as many cycles and updates as
    the paper; paper: the table's. quick if left out, for a file what it says"""
    seeds: int | None = None
    """runs of each setting, with seeds 0, 1, …; 3 if left out, 2 at scale smoke"""
    envs: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="ENV ...")] = None
    """only these environments of a study of the paper"""
    workers: int | None = None
    """runs at a time, each on one core; as many as there are cores if left out"""
    ray: Annotated[str | None, tyro.conf.arg(metavar="auto|ADDRESS")] = None
    """make the runs on this Ray cluster instead; FOLDER must be the same on all its nodes"""
    reuse: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="STUDY")] = ()
    """copy finished runs with the same settings from these studies instead of making them"""
    checkpoint_seconds: float = 60.0
    """time between checkpoints of a run"""
    trust: bool = False
    """import code that the file names: environments and feature maps of somebody's own"""
    dry_run: bool = False
    """check everything, list the runs, start nothing"""

    def __post_init__(self):
        check_range(self, "[1, inf)", "seeds", "workers")
        check_range(self, "[0, inf)", "checkpoint_seconds")


@dataclass(frozen=True)
class StatusConfig:
    """What is done, what is running, what failed and why, and how long the rest takes."""

    study: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """the folder of the study"""
    workers: int | None = None
    """runs at a time, for the time left; as many as are running if left out"""
    json: bool = False
    """print JSON"""


def run(arguments: list[str]) -> int:
    """Make the runs, or say how far they are."""
    if arguments[:1] == ["status"]:
        return _status(parse(StatusConfig, arguments[1:], "study status"))
    config = parse(StudyConfig, arguments, "study")
    name, scale, (jobs, evaluate) = _asked(config)
    _check(config)
    others = [Study(path, trust=True) for path in config.reuse]  # copied, not run
    check_ready(jobs)
    folder = config.output or Path("studies") / (f"{name}-{scale}" if scale else name)
    Study.check(folder, name, scale, jobs)
    if config.dry_run:
        for job in jobs:
            print(job.name)
        out().print(f"{len(jobs)} runs; nothing was started")
        return 0
    with locked(folder / "locks" / "study", 0.0):
        study = Study.open(folder, name, scale, jobs, evaluate, config.trust)
        for other in others:
            for job in study.reuse(other, jobs):
                out().print(f"{job.name}: taken from {other.path}")
        try:
            failed = _make(config, study, jobs)
        finally:
            rows, _ = write_tables(study)
    out().print(
        f"{len(rows)} of {len(study.jobs)} runs are finished; their table: {folder / 'results.csv'}"
        f"\na page about them: etairl report {folder}",
    )
    return 1 if failed else 0


def _asked(config: StudyConfig) -> tuple[str, StudyScale | None, StudyFile]:
    if config.name.endswith(".toml"):
        if config.envs is not None:
            raise InputError("--envs is for studies of the paper; name them in the file")
        path = Path(config.name)
        asked = read_grid(path, config.scale, config.seeds, config.trust)
        for job in asked.jobs:
            check_trust(job.config, path, config.trust)
        return path.stem, config.scale, asked
    scale: StudyScale = config.scale or "quick"
    seeds = config.seeds or (2 if scale == "smoke" else 3)
    check_count(seeds * len(named_jobs(config.name, scale, range(1), config.envs)))
    jobs = named_jobs(config.name, scale, range(seeds), config.envs)
    return config.name, scale, StudyFile(jobs, None)


def _check(config: StudyConfig) -> None:
    if config.workers is not None and config.ray is not None:
        raise InputError("--workers is for this machine; Ray counts the cores of its cluster")


def _make(config: StudyConfig, study: Study, jobs: Sequence[Job]) -> list[Job]:
    """Make what is not finished; returns what failed."""
    todo = [job for job in jobs if not (study.finished(job) and study.evaluated(job))]
    if config.ray is not None:
        ends = run_on_ray(study, todo, config.ray, config.checkpoint_seconds)
    else:
        workers = config.workers or cores()
        ends = run_locally(study, todo, workers, config.checkpoint_seconds)
    failed: list[Job] = []
    looked, known = time.monotonic(), dict[str, RunProgress]()
    with Meter(study.name, len(jobs), clock=False) as meter, patient_interrupt() as stop:
        meter.say(f"{study.path}: {len(jobs) - len(todo)} of {len(jobs)} runs are finished")
        for ended in ends:
            if ended is not None:
                _tell(meter, study, ended, failed)
            if ended is not None or time.monotonic() - looked > _SECONDS_BETWEEN_LOOKS:
                looked = time.monotonic()
                _show(meter, _look(study, jobs, known))
            if stop():
                meter.say("waiting for checkpoints")
                ends.close()
                raise KeyboardInterrupt(f"{study.path} is kept; the same command resumes it")
    return failed


def _tell(meter: Meter, study: Study, ended: Ended, failed: list[Job]) -> None:
    if ended.code == 0:
        meter.say(f"finished {ended.job.name}")
        return
    failed.append(ended.job)
    meter.say(f"failed {ended.job.name}: {study.failure(ended.job)}")


def _look(study: Study, jobs: Sequence[Job], known: dict[str, RunProgress]) -> list[RunProgress]:
    """How far the runs are; what is known to be finished is not read again: runs need the cores."""
    for job in jobs:
        if job.name not in known or known[job.name].state != "finished":
            known[job.name] = study.progress(job)
    return list(known.values())


def _show(meter: Meter, runs: Sequence[RunProgress]) -> None:
    running, finished = (sum(p.state == s for p in runs) for s in ("running", "finished"))
    left = _left(runs, None)
    tail = f", about {_span(left)} left" if left else ""
    meter.update(finished, f"{finished} done, {running} running{tail}")


def _status(config: StatusConfig) -> int:
    study = Study(config.study, trust=True)  # only looked at
    every = [study.progress(job) for job in study.jobs]
    left = _left(every, config.workers)
    counts = {s: sum(p.state == s for p in every) for s in get_args(RunState)}
    if config.json:
        runs = [
            {"name": p.name, "state": p.state, "transitions": p.transitions, "of": p.total}
            | {"seconds": p.seconds, "why": p.why}
            for p in every
        ]
        print_json({"study": study.name, "seconds_left": left, "counts": counts, "runs": runs})
        return 0
    rows = [
        (p.name, p.state, f"{100 * p.share:.0f} %", _span(p.seconds), _span(p.left)) for p in every
    ]
    table(("run", "state", "", "took", "left"), rows)
    for p in every:
        if p.why is not None:
            out().print(f"\nfailed {p.name}: {p.why}", soft_wrap=True)
    words = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    tail = f"; about {_span(left)} left" if left else ""
    out().print(f"\n{study.name}: {words}{tail}")
    return 0


def _left(runs: Sequence[RunProgress], workers: int | None) -> float | None:
    """Seconds for what is neither finished nor failed, by what runs took so far."""
    # Finished runs tell best: the first cycle of a young one compiles.
    told = [p for p in runs if p.state == "finished"] or runs
    paces = [p.seconds / p.transitions for p in told if p.seconds and p.transitions]
    open_ones = [p for p in runs if p.state not in ("finished", "failed")]
    if not paces or not open_ones:
        return None if open_ones else 0.0
    pace = sum(paces) / len(paces)
    at_a_time = workers or max(1, sum(p.state == "running" for p in runs))
    every = [pace * max(p.total - p.transitions, 0) for p in open_ones]
    return max(sum(every) / at_a_time, max(every))


def _span(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
