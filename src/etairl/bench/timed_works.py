"""Works that are timed in a process of their own, on request: by us, and by other libraries.

    PYTHON -P timed_works.py FILE CORES

FILE is a Python file with a dictionary `WORKS`: by name, a function of settings that prepares a
work and returns it; the work is called with a number of units to do. Every request is a line of
JSON on standard input, every answer one on standard output:

    {"make": NAME, "settings": {…}, "as": KEY}   prepare a work
    {"run": N, "as": KEY}                        do N units            → {"seconds": …}
    {"drop": KEY}                                forget it
    {"about": [PACKAGE, …]}                      → {"versions": {…}, "megabytes": …}

Standard library only: it runs in the environments of other libraries and imports nothing of etairl.
"""

import gc
import importlib.util
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

Work = Callable[[int], object]
Works = dict[str, Callable[[dict[str, Any]], Work]]


def works_in(file: Path) -> Works:
    """The works of a file."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.WORKS


def answers(works: Works, requests: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """One for each request; what goes wrong is an answer, too."""
    made: dict[str, Work] = {}
    for request in requests:
        try:
            yield _answer(works, made, request)
        except Exception as error:
            yield {"error": f"{type(error).__name__}: {error}"}


def _answer(works: Works, made: dict[str, Work], request: dict[str, Any]) -> dict[str, Any]:
    if "make" in request:
        made[request["as"]] = works[request["make"]](request["settings"])
        return {}
    if "run" in request:
        work = made[request["as"]]
        start = time.perf_counter()
        work(request["run"])
        return {"seconds": time.perf_counter() - start}
    if "drop" in request:
        made.pop(request["drop"], None)
        gc.collect()
        return {}
    return {"versions": {p: version(p) for p in request["about"]}, "megabytes": megabytes()}


def megabytes() -> float:
    """The most memory that this process has had."""
    # On Linux, what getrusage knows begins with that of the process which started this one.
    status = Path("/proc/self/status")
    if status.is_file():
        lines = status.read_text().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def keep_to(cores: int) -> None:
    """Use no more than so many cores, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])


def main() -> None:
    """Answer until standard input ends."""
    file, cores = sys.argv[1:]
    keep_to(int(cores))  # before any thread begins
    # What libraries print must not come between the answers.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    works = works_in(Path(file))
    for answer in answers(works, map(json.loads, sys.stdin)):
        channel.write(json.dumps(answer) + "\n")
        channel.flush()


if __name__ == "__main__":
    main()
