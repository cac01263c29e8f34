"""Tasks in forked processes, with limits of time and memory."""

import json
import os
import resource
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

_MEMORY = 12 * 2**30
DIED = "died"
_PATIENCE = 300.0  # seconds on the clock, whatever the machine does besides


class TooLong(BaseException):
    """A test took more time than it was given."""


def _too_long(*_: Any) -> None:
    raise TooLong


def within(task: Callable[[], Any], seconds: float) -> Any:
    """What a task returns; `TooLong` after so much time of the processor."""
    signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + 2.0 * seconds) + 2, hard))
    try:
        return task()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)


def one_by_one(tasks: Sequence[Callable[[], Any]], last: Callable[[], Any]) -> Iterator[Any]:
    """What tasks return, all of one process; `DIED` for one that ended it, and a new process then.

    Then what `last` returns in the process of the last one.
    """
    begin = 0
    while True:
        answers = _stream([*tasks[begin:], last])
        for answer in answers:
            yield answer
            begin += 1
        if begin > len(tasks):
            return
        yield DIED
        begin += 1
        if begin > len(tasks):
            return


def _stream(tasks: Sequence[Callable[[], Any]]) -> Iterator[Any]:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os.close(read)
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with os.fdopen(write, "w") as out:
                for task in tasks:
                    print(json.dumps(task()), file=out, flush=True)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        while True:
            timer = threading.Timer(_PATIENCE, lambda: os.killpg(child, signal.SIGKILL))
            timer.start()
            line = answers.readline()
            timer.cancel()
            if not line.endswith("\n"):
                break
            yield json.loads(line)
    os.waitpid(child, 0)


def forked(task: Callable[[], Any], seconds: float) -> tuple[str, Any]:
    """What a task in a process of its own returns; how it ended otherwise."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            os.close(read)
            limit = int(seconds) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            said = json.dumps(task()).encode()
            with os.fdopen(write, "wb") as out:
                out.write(said)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(write)
    timer = threading.Timer(max(_PATIENCE, seconds), lambda: os.killpg(child, signal.SIGKILL))
    timer.start()
    with os.fdopen(read, "rb") as answer:
        said = answer.read()
    _, status = os.waitpid(child, 0)
    timer.cancel()
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
        return "done", json.loads(said)
    signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    stopped = (signal.SIGXCPU, signal.SIGKILL)
    return ("timeout" if signalled in stopped else "crash"), None


def quiet(log: Path) -> int:
    """Standard output and error go to a file; the descriptor of what was the output."""
    kept = os.dup(1)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    return kept
