"""Runs of a study on a Ray cluster: a task each, tried again where a node or a worker is lost."""

import os
import socket
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from etairl.studies.jobs import Job
from etairl.studies.processes import Ended, environment
from etairl.studies.study_folder import Study
from etairl.studies.worker import FAILED, work
from etairl.types import InputError

_RETRIES = 3


def run_on_ray(
    study: Study, jobs: Sequence[Job], address: str, checkpoint_seconds: float
) -> Generator[Ended | None, None, None]:
    """Make the runs on a cluster; yields whenever one has ended, and None in between.

    Ray places the tasks, one per core, and starts one again, three times at most, whose worker or
    node was lost: it resumes from the checkpoint. The folder of the study must be the same on every
    node; the address `auto` finds the cluster that this machine belongs to. When the generator is
    closed the tasks are cancelled, and the checkpoints stay.
    """
    ray = _ray()
    _check_listening(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise _nobody(address, str(error).split(". ")[0]) from None
    # A fresh process for every run: compiled code and simulators of the last one do not stay.
    task = ray.remote(num_cpus=1, max_retries=_RETRIES, max_calls=1)(_task)
    folder = str(study.path.resolve())
    pending: dict[Any, Job] = {
        task.remote(folder, job.name, checkpoint_seconds): job for job in jobs
    }
    try:
        while pending:
            ready, _ = ray.wait(list(pending), num_returns=1, timeout=1.0)
            for reference in ready:
                job = pending.pop(reference)
                try:
                    code = ray.get(reference)
                except ray.exceptions.RayError as error:
                    study.fail(job, type(error).__name__, _last_line(error))
                    code = FAILED
                yield Ended(job, code)
            yield None
    finally:
        for reference in pending:
            ray.cancel(reference, force=True)
        ray.shutdown()


def _last_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def _task(folder: str, name: str, checkpoint_seconds: float) -> int:
    # Not by Ray's `runtime_env`: it cannot start a Python in a path with a space. XLA reads its
    # flags when it is first used, which is in the worker; Ray itself sets OMP_NUM_THREADS.
    os.environ.update(environment())
    return work(Path(folder), name, checkpoint_seconds)


def _check_listening(address: str) -> None:
    """Ray itself tries for a minute and more."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return  # auto, or a kind of address that Ray knows
    try:
        socket.create_connection((host.removeprefix("ray://"), int(port)), timeout=10.0).close()
    except OSError as error:
        raise _nobody(address, error.strerror or str(error)) from None


def _nobody(address: str, why: str) -> InputError:
    return InputError(f"no Ray cluster at {address} ({why}); start one with: ray start --head")


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise InputError("--ray needs Ray: pip install 'etairl[ray]'") from None
    return ray
