"""A study on disk: a folder of ordinary run directories, and what is known about them.

    study.json          the runs that were asked for, with all settings
    runs/NAME/          a run directory each; `etairl resume`, `evaluate` and `render` take them
    summary.jsonl       a few kilobytes of each finished run; with it, its directory may be gone
    failures/NAME.json  why a run failed
    logs/NAME.log       what the process of a run printed
    results.csv, results.json, statistics.json

Whoever works on a run holds a lock on it, which the system takes back when the process ends.
"""

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from etairl.decoding import encode
from etairl.locks import locked
from etairl.runs import RESUME_FOLDERS, RunDirectory, read_metrics, read_result
from etairl.storage import (
    UnreadableError,
    holds_anything,
    read_json,
    reading,
    write_atomic,
    write_json,
)
from etairl.studies.digest import Digest, DigestFile, digest_of, read_evaluation, seconds_of
from etairl.studies.jobs import Job, check_seeds, one_folder_each, same_run
from etairl.training.config_files import check_trust, code_in, config_from
from etairl.training.flat import flatten
from etairl.training.preset_changes import differing
from etairl.training.settings import TrainConfig
from etairl.types import InputError

RunState = Literal["finished", "running", "failed", "stopped", "waiting"]


@dataclass(frozen=True)
class RunProgress:
    """How far one run is."""

    name: str
    state: RunState
    transitions: int
    total: int
    seconds: float | None
    """spent on the cycles so far"""
    why: str | None
    """of a failed run"""

    @property
    def share(self) -> float:
        """The part of the transitions that is made."""
        return 1.0 if self.state == "finished" else min(self.transitions / self.total, 1.0)

    @property
    def left(self) -> float | None:
        """Seconds to go at the pace so far; None before there is one."""
        if self.state == "finished":
            return 0.0
        if not self.seconds or not self.transitions:
            return None
        return self.seconds * max(self.total - self.transitions, 0) / self.transitions


class Study:
    """A folder of runs that belong together.

    One whose settings name code (an environment of the user's own, say) is opened with `trust`
    only, or if the same code is `named`: whoever runs or reports on it imports that code.
    """

    def __init__(self, path: Path, trust: bool = False, named: Collection[str] = ()):
        self.path, self._digests = path, DigestFile(path)
        file = path / "study.json"
        if not file.is_file():
            why = "it has no study.json" if path.is_dir() else "there is no such folder"
            raise InputError(f"{path} is not a study: {why}; name one that etairl study has made")
        content = read_json(file)
        with reading(file):
            self.name: str = content["name"]
            self.scale: str | None = content["scale"]
            self.evaluate: int | None = content.get("evaluate")
            runs = content["runs"]
            if not all(isinstance(text, str) for text in (self.name, *(r["arm"] for r in runs))):
                raise UnreadableError(f"{file}: a name in it is not text")
            self.jobs = [Job(r["arm"], config_from(r["config"], file, trust, named)) for r in runs]

    @staticmethod
    def check(path: Path, name: str, scale: str | None, jobs: Sequence[Job]) -> list[Job]:
        """Refuse a folder with another study, or with other settings; else all runs, old and new.

        Nothing is written.
        """
        if not (path / "study.json").is_file():
            if holds_anything(path) and set(os.listdir(path)) != {"locks"}:
                raise InputError(f"{path} exists and is not a study; choose another folder with -o")
            check_seeds(jobs)
            return list(jobs)
        before = Study(path, trust=True)  # its runs are compared, not made
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
        check_seeds(every)
        return every

    @staticmethod
    def open(
        path: Path,
        name: str,
        scale: str | None,
        jobs: Sequence[Job],
        evaluate: int | None = None,
        trust: bool = False,
    ) -> "Study":
        """Begin or resume a study; runs that are new to it are added.

        With `trust`, code that runs in the folder name may be imported; that of `jobs` may be.
        Each policy is evaluated in `evaluate` episodes once its run is finished.
        """
        every = Study.check(path, name, scale, jobs)
        named = [code for job in jobs for code in code_in(job.config)]
        for job in every:
            check_trust(job.config, path / "study.json", trust, named)
        rows = [{"name": j.name, "arm": j.arm, "config": encode(j.config)} for j in every]
        asked = {} if evaluate is None else {"evaluate": evaluate}
        write_json(path / "study.json", {"name": name, "scale": scale, **asked, "runs": rows})
        return Study(path, trust, named)

    def run_path(self, job: Job | str) -> Path:
        """The directory of a run."""
        return self.path / "runs" / (job if isinstance(job, str) else job.name)

    def job(self, name: str) -> Job:
        """A run by its name."""
        return next(job for job in self.jobs if job.name == name)

    def finished(self, job: Job) -> bool:
        """Whether a run came to its end, here or wherever its digest was kept."""
        return RunDirectory(self.run_path(job)).finished or self._kept(job) is not None

    def evaluated(self, job: Job) -> bool:
        """Whether a finished run has been evaluated as the study asks for, or cannot be."""
        run = self.run_path(job)
        if self.evaluate is None or not RunDirectory(run).finished:
            return True
        rows = read_evaluation(run)
        return rows is not None and rows[0]["episodes"] == self.evaluate

    def digests(self) -> dict[str, Digest]:
        """Those of all finished runs by name, in the order of the study; new ones are kept.

        A digest of other settings, or of a run that has been made anew, does not count.
        """
        known = {job.name: digest for job in self.jobs if (digest := self.look(job))}
        local = [name for name in known if RunDirectory(self.run_path(name)).finished]
        for name in local:
            RunDirectory(self.run_path(name)).clear()
        self.keep({name: known[name] for name in local})
        return known

    def look(self, job: Job) -> Digest | None:
        """The digest of a finished run, else None; nothing is written."""
        run = self.run_path(job)
        return digest_of(run) if RunDirectory(run).finished else self._kept(job)

    def keep(self, digests: dict[str, Digest]) -> None:
        """Take digests of runs, also of those that were made elsewhere."""
        whole = {
            name: digest if digest.config else replace(digest, config=encode(self.job(name).config))
            for name, digest in digests.items()
        }
        self._digests.put(whole)

    def _kept(self, job: Job) -> Digest | None:
        digest = self._digests.get(job.name)
        if digest is None:
            return None
        if digest.config is None:
            made = next((j.config for j in self.jobs if j.name == job.name), job.config)
        else:
            made = config_from(digest.config, self.path / "summary.jsonl", trust=True)
        return digest if same_run(made, moved=True) == same_run(job.config, moved=True) else None

    def reuse(self, other: "Study", jobs: Sequence[Job]) -> list[Job]:
        """Copy runs that another study has finished with the same settings; those copied.

        Demonstrations may lie in another folder, unless a study has two files of one name.
        """
        finished = [job for job in other.jobs if other.finished(job)]
        moved = all(map(one_folder_each, (finished, jobs)))
        theirs = {same_run(job.config, moved): job for job in finished}
        copied, digests = [], {}
        for job in jobs:
            twin = theirs.get(same_run(job.config, moved))
            if twin is None or self.finished(job) or self.run_path(job).exists():
                continue
            if RunDirectory(other.run_path(twin)).finished:
                beside = self.run_path(job).with_name(f".{job.name}.part")
                shutil.rmtree(beside, ignore_errors=True)
                left_over = shutil.ignore_patterns(*RESUME_FOLDERS)
                shutil.copytree(other.run_path(twin), beside, ignore=left_over)
                os.replace(beside, self.run_path(job))
            elif (digest := other.look(twin)) is not None:
                digests[job.name] = digest
            copied.append(job)
        self.keep(digests)
        return copied

    def fail(self, job: Job, kind: str, message: str, trace: str = "") -> None:
        """Write down why a run failed."""
        why = {"kind": kind, "message": message, "trace": trace}
        write_json(self._failure_file(job), why)

    def forget_failure(self, job: Job) -> None:
        """The run is tried again."""
        self._failure_file(job).unlink(missing_ok=True)

    def copy_failure(self, job: Job, others: Iterable["Study"]) -> None:
        """Say of a run what other studies say now: why it failed, or nothing."""
        told = next((other for other in others if other.failure(job)), None)
        if told is None:
            self.forget_failure(job)
        else:
            write_atomic(self._failure_file(job), told._failure_file(job).read_bytes())

    def failure(self, job: Job) -> str | None:
        """Why a run failed, in a sentence."""
        file = self._failure_file(job)
        if not file.is_file():
            return None
        why = read_json(file)
        return ": ".join(str(why[part]) for part in ("kind", "message") if why.get(part))

    def _failure_file(self, job: Job) -> Path:
        return self.path / "failures" / f"{job.name}.json"

    def progress(self, job: Job) -> RunProgress:
        """How far a run is."""
        total, run = job.config.girl.transitions, self.run_path(job)
        if RunDirectory(run).finished:
            reached = read_result(run)["transitions"]
            return RunProgress(job.name, "finished", reached, total, seconds_of(run), None)
        if (kept := self._kept(job)) is not None:
            reached = kept.result["transitions"]
            return RunProgress(job.name, "finished", reached, total, kept.seconds, None)
        rows = read_metrics(run)
        reached = rows[-1]["transitions"] if rows else 0
        why = self.failure(job)
        state: RunState = "failed" if why else "stopped" if rows else "waiting"
        if self.is_locked(job):
            state, why = "running", None
        return RunProgress(job.name, state, reached, total, seconds_of(run), why)

    def is_locked(self, job: Job) -> bool:
        """Whether somebody works on a run."""
        if not self._lock(job).exists():  # only to look is to write nothing
            return False
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


def _differing(a: TrainConfig, b: TrainConfig) -> str:
    return ", ".join(differing([flatten(a), flatten(b)]))
