"""One run of a study in a process of its own: `python -m etairl.studies.worker`.

Its arguments: the study, the name of the run, seconds between checkpoints, and `alone` where it is
to keep to a core that no other run has. It stops after the cycle at hand, with a checkpoint, when
its standard input is closed: whoever started it has asked for that, or is gone.
"""

import os
import platform
import sys
import threading
import traceback
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path

from etairl.locks import first_free
from etairl.types import InputError

FINISHED, FAILED, STOPPED = 0, 1, 130
ALONE = "alone"
ONE_THREAD = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Several runs share a device where there is one.
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}
"""of a process that keeps to one core; must be set before it begins"""


def work(
    folder: Path, name: str, checkpoint_seconds: float, stop: Callable[[], bool] = lambda: False
) -> int:
    """Make one run of a study, from its checkpoint if there is one; returns the exit code.

    Once it is finished it is evaluated, if the study asks for that. What goes wrong is written down
    in the study and stops no other run.
    """
    # Late: a process that only asks for ONE_THREAD needs no JAX.
    from etairl.studies.evaluated import evaluate_run
    from etairl.studies.study_folder import Study
    from etairl.training.session import open_run

    study = Study(folder, trust=True)  # whoever started the study has said so
    job = study.job(name)
    path = study.run_path(job)
    try:
        with (
            study.claimed(job),
            open_run(
                job.config, path, resume=True, threads=1, checkpoint_seconds=checkpoint_seconds
            ) as run,
        ):
            study.forget_failure(job)
            for note in run.directory.notes:  # into the log of the run
                print(note, flush=True)
            reports = run.play()
            for _ in reports:
                if stop():
                    reports.close()  # writes a checkpoint
                    return STOPPED
        evaluate_run(study, job)
        return FINISHED
    except Exception as error:
        kind = "" if isinstance(error, InputError) else type(error).__name__
        study.fail(job, kind, str(error) or kind, traceback.format_exc())
        return FAILED


def cache(kind: str) -> Path:
    """Where this user keeps something from run to run.

    By machine: what one processor compiled may be beyond another that shares the home folder.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "etairl" / f"{kind}-{platform.node()}"


def allowed_cores() -> list[int]:
    """Cores that this process can be kept to; none where the system cannot do that."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def keep_to_a_core() -> TextIOWrapper | None:
    """Take a core that no other run of this user keeps to; it is had until the file is closed."""
    cores, folder = allowed_cores(), cache("cores")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = first_free([folder / str(core) for core in cores])
    except OSError:  # no place to write: any core will do
        return None
    if free is None:
        return None
    os.sched_setaffinity(0, {cores[free[0]]})
    return free[1]


def main(arguments: list[str]) -> int:
    """Make and evaluate the run that the command line names; returns the exit code."""
    folder, name, seconds, *alone = arguments
    mine = keep_to_a_core() if alone == [ALONE] else None  # before any thread begins
    asked = threading.Event()

    def listen() -> None:
        # Not sys.stdin: its buffer may not be read while the interpreter goes down.
        while os.read(0, 1024):
            pass
        asked.set()

    threading.Thread(target=listen, daemon=True).start()
    code = work(Path(folder), name, float(seconds), asked.is_set)
    if mine is not None:
        mine.close()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
