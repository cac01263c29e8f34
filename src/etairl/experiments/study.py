"""A study on disk: a folder of ordinary run directories, and what is known about them.

    study.json          the runs that were asked for, with all settings
    runs/NAME/          a run directory each; `etairl resume`, `evaluate` and `render` take them
    failures/NAME.json  why a run failed
    logs/NAME.log       what the process of a run printed
    results.csv, results.json, statistics.json

Whoever works on a run holds a lock on it, which the system takes back when the process ends.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from etairl.experiments.jobs import Job, same_run
from etairl.experiments.settings import TrainConfig, config_from
from etairl.runs import RunDirectory, holds_anything, read_metrics, write_json
from etairl.types import InputError

State = Literal["finished", "running", "failed", "stopped", "waiting"]


@dataclass(frozen=True)
class Progress:
    """How far one run is."""

    name: str
    state: State
    transitions: int
    total: int
    seconds: float | None
    """spent on the cycles so far"""
    why: str | None
    """of a failed run"""

    @property
    def left(self) -> float | None:
        """Seconds to go at the pace so far; None before there is one."""
        if self.state == "finished":
            return 0.0
        if not self.seconds or not self.transitions:
            return None
        return self.seconds * max(self.total - self.transitions, 0) / self.transitions


class Study:
    """A folder of runs that belong together."""

    def __init__(self, path: Path):
        self.path = path
        try:
            found = json.loads((path / "study.json").read_text())
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"{path} is no study: its study.json: {why}") from None
        self.name: str = found["name"]
        self.scale: str | None = found["scale"]
        self.jobs = [
            Job(row["arm"], config_from(row["config"], path / "study.json"))
            for row in found["runs"]
        ]

    @staticmethod
    def open(path: Path, name: str, scale: str | None, jobs: Sequence[Job]) -> "Study":
        """Begin a study, or go on with it; runs that are new to it are added.

        A folder with another study, or with a run of the same name and other settings, is refused.
        """
        every = list(jobs)
        if (path / "study.json").is_file():
            before = Study(path)
            if (before.name, before.scale) != (name, scale):
                raise InputError(
                    f"{path} holds the study {before.name} at scale {before.scale}; choose another "
                    "folder with -o"
                )
            known = {job.name: job for job in before.jobs}
            for job in jobs:
                if job.name in known and known[job.name].config != job.config:
                    other = _differing(known[job.name].config, job.config)
                    raise InputError(
                        f"{job.where('')}{path} holds a run {job.name} with other settings "
                        f"({other}); choose another folder with -o"
                    )
            every = before.jobs + [job for job in jobs if job.name not in known]
        elif holds_anything(path):
            raise InputError(f"{path} exists and is no study; choose another folder with -o")
        rows = [{"name": j.name, "arm": j.arm, "config": asdict(j.config)} for j in every]
        write_json(path / "study.json", {"name": name, "scale": scale, "runs": rows})
        return Study(path)

    def run_path(self, job: Job | str) -> Path:
        """The directory of a run."""
        return self.path / "runs" / (job if isinstance(job, str) else job.name)

    def job(self, name: str) -> Job:
        """A run by its name."""
        return next(job for job in self.jobs if job.name == name)

    def finished(self, job: Job) -> bool:
        """Whether a run came to its end."""
        return RunDirectory(self.run_path(job)).finished

    def reuse(self, other: "Study", jobs: Sequence[Job]) -> list[Job]:
        """Copy runs that another study has finished with the same settings; those copied."""
        theirs = {same_run(job.config): job for job in other.jobs if other.finished(job)}
        copied = []
        for job in jobs:
            twin = theirs.get(same_run(job.config))
            if twin is None or self.run_path(job).exists():
                continue
            beside = self.run_path(job).with_name(f".{job.name}.part")
            shutil.rmtree(beside, ignore_errors=True)
            shutil.copytree(other.run_path(twin), beside)
            os.replace(beside, self.run_path(job))
            copied.append(job)
        return copied

    def fail(self, job: Job, kind: str, message: str, trace: str = "") -> None:
        """Write down why a run failed."""
        why = {"kind": kind, "message": message, "trace": trace}
        write_json(self.path / "failures" / f"{job.name}.json", why)

    def forget_failure(self, job: Job) -> None:
        """The run is tried again."""
        (self.path / "failures" / f"{job.name}.json").unlink(missing_ok=True)

    def failure(self, job: Job) -> str | None:
        """Why a run failed, in a sentence."""
        try:
            found = json.loads((self.path / "failures" / f"{job.name}.json").read_text())
        except (OSError, ValueError):
            return None
        return f"{found['kind']}: {found['message']}" if found["kind"] else found["message"]

    def progress(self, job: Job) -> Progress:
        """How far a run is."""
        total, run = job.config.girl.transitions, self.run_path(job)
        if self.finished(job):
            done = json.loads((run / "result.json").read_text())["transitions"]
            return Progress(job.name, "finished", done, total, _seconds(run), None)
        rows = read_metrics(run)
        reached = rows[-1]["transitions"] if rows else 0
        why = self.failure(job)
        state: State = "failed" if why else "stopped" if rows else "waiting"
        if self.is_locked(job):
            state, why = "running", None
        return Progress(job.name, state, reached, total, _seconds(run), why)

    def is_locked(self, job: Job) -> bool:
        """Whether somebody works on a run."""
        try:
            with locked(self._lock(job), 0.0):
                return False
        except InputError:
            return True

    @contextmanager
    def claimed(self, job: Job, patience: float = 60.0) -> Iterator[None]:
        """Work on a run alone; waits for one that is just ending."""
        with locked(self._lock(job), patience):
            yield

    def _lock(self, job: Job) -> Path:
        return self.path / "locks" / job.name


@contextmanager
def locked(path: Path, patience: float) -> Iterator[None]:
    """Hold a lock on a file; the system takes it back when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:
        raise InputError("studies need file locks as Linux and macOS have them") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise InputError(
                        f"another process works on {path.parent.parent / path.name}"
                    ) from None
                time.sleep(0.05)
        yield


def _differing(a: TrainConfig, b: TrainConfig) -> str:
    x, y = asdict(a), asdict(b)
    return ", ".join(key for key in x if x[key] != y[key])


def _seconds(run: Path) -> float | None:
    """Time that the cycles took, those of an interrupted stretch that were made again left out."""
    file = run / "timing.jsonl"
    if not file.is_file():
        return None
    rows: dict[int, Any] = {}
    for line in file.read_text().splitlines():
        if line.endswith("}"):
            row = json.loads(line)
            rows[row["cycle"]] = row["seconds"]
    return float(sum(rows.values()))
