"""`etairl` called in this process, or as one of its own that need not import everything again.

Python's fork server imports the libraries once for a worker of the tests. What it forks is the
program: with a number, signals, streams and an exit code of its own, and killed like any other.
"""

import contextlib
import io
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

from etairl.cli.app import main

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    ["etairl.cli.train", "etairl.cli.expert", "etairl.cli.idle", "envpool"]
)


def call(*words: object) -> subprocess.CompletedProcess[str]:
    """`etairl WORDS` in this process: what it prints, and its exit code."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(map(str, words)))
        except SystemExit as stop:  # how the option parser ends
            code = int(stop.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def start(
    *words: object,
    folder: Path,
    before: Callable[[], None] | None = None,
    output: Path | None = None,
) -> BaseProcess:
    """`etairl WORDS` in a folder, after `before` in the same process; what it says goes to a file.

    `before` is one of those below: the process imports it by its name.
    """
    call = (list(map(str, words)), folder, before, output or Path(os.devnull))
    process = _SERVER.Process(target=_become, args=call, daemon=True)  # ends with the tests
    process.start()
    return process


def run(
    *words: object, folder: Path, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Like `subprocess.run`, with both streams in `stderr`."""
    said = folder / "said"
    process = start(*words, folder=folder, before=before, output=said)
    process.join()
    return subprocess.CompletedProcess(words, process.exitcode or 0, stderr=said.read_text())


def _become(
    words: list[str], folder: Path, before: Callable[[], None] | None, output: Path
) -> None:
    os.chdir(folder)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    if before is not None:
        before()
    sys.exit(main(words))


def killed_at_a_rename(number: int) -> None:
    """From now on this process kills itself between the writing of a file and its renaming."""
    left, rename = [number], os.replace

    def replace(source, target):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        rename(source, target)

    os.replace = replace


def no_large_files() -> None:
    """From now on no file of this process may grow beyond 20 kB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_480, 20_480))


def on_one_core() -> None:
    """From now on this process uses a single core."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
