"""Runs of a study side by side on this machine: a process each, single-threaded."""

import os
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from typing import NamedTuple

from etairl import COMPILED_FOR
from etairl.studies.jobs import Job
from etairl.studies.study_folder import Study
from etairl.studies.worker import (
    ALONE,
    FAILED,
    ONE_THREAD,
    STOPPED,
    allowed_cores,
    cache,
)
from etairl.types import InputError

_TRIES = 3
_PAUSE = 0.1


class Ended(NamedTuple):
    """A process of a run has ended."""

    job: Job
    code: int
    """0 finished, 1 failed, 130 stopped; below 0 the signal that killed it"""


def cores() -> int:
    """How many this process may use."""
    return len(allowed_cores()) or os.cpu_count() or 1


def environment() -> dict[str, str]:
    """Of a process of a run: one thread, the cache of compiled code, and flags of the user."""
    flags = {"XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD['XLA_FLAGS']}".strip()}
    return _compiled() | {"NPROC": COMPILED_FOR} | os.environ | ONE_THREAD | flags


def _compiled() -> dict[str, str]:
    """Where compiled code is kept; nowhere if this user's home cannot be written."""
    place = cache("jax")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return {}
    return {"JAX_COMPILATION_CACHE_DIR": str(place)} if os.access(place, os.W_OK) else {}


def run_locally(
    study: Study, jobs: Sequence[Job], workers: int, checkpoint_seconds: float
) -> Generator[Ended | None, None, None]:
    """Make the runs, `workers` at a time; yields whenever one has ended, and None in between.

    Each has a core of its own where there are enough, also beside other studies: the threads of a
    run take turns, and waking one on another core costs a third of the time. A process that was
    killed is started again, twice at most, and resumes from its checkpoint. When the generator is
    closed, the runs at hand stop after their cycle, with a checkpoint.
    """
    if workers < 1:
        raise InputError(f"at least one worker is needed, got {workers}")
    waiting, tries = list(jobs), dict.fromkeys((job.name for job in jobs), 0)
    active: dict[str, tuple[Job, subprocess.Popen[bytes]]] = {}
    alone = workers <= cores()
    try:
        while waiting or active:
            while waiting and len(active) < workers:
                job = waiting.pop(0)
                tries[job.name] += 1
                active[job.name] = job, _start(study, job, checkpoint_seconds, alone)
            for job, process in list(active.values()):
                code = process.poll()
                if code is None:
                    continue
                del active[job.name]
                _close(process)
                if code < 0 and tries[job.name] < _TRIES:
                    waiting.insert(0, job)
                    continue
                _note(study, job, code)
                yield Ended(job, code)
            yield None
            time.sleep(_PAUSE)
    finally:
        for _, process in active.values():
            _close(process)
        for _, process in active.values():
            process.wait()


def _start(
    study: Study, job: Job, checkpoint_seconds: float, alone: bool
) -> subprocess.Popen[bytes]:
    log = study.path / "logs" / f"{job.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    words = ["-m", "etairl.studies.worker", str(study.path), job.name, str(checkpoint_seconds)]
    words += [ALONE] if alone else []
    with log.open("ab") as stream:
        # A session of its own: Ctrl-C comes to us, and we ask it to stop in good order.
        return subprocess.Popen(
            [sys.executable, *words],
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=stream,
            env=environment(),
            start_new_session=True,
        )


def _close(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def _note(study: Study, job: Job, code: int) -> None:
    if code in (0, STOPPED) or (code == FAILED and study.failure(job)):
        return
    log = study.path / "logs" / f"{job.name}.log"
    if code < 0:
        why = f"its process was killed by signal {-code}, {_TRIES} times"
        study.fail(job, "", f"{why}; is there enough memory? See {log}")
    else:
        study.fail(job, "", f"its process ended with code {code}; see {log}")
