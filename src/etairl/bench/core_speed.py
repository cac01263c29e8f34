"""A cycle of learning on both cores beside the same on one, an update for each transition."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from etairl.types import InputError

AT_ONCE = 25
"""updates of critics and actor at once, in the rows that use both cores"""


@dataclass(frozen=True)
class CoreSpeed:
    """Seconds of one cycle; the fastest of several, which took turns."""

    environment: str
    transitions: int
    """of one cycle, and updates"""
    at_once: int
    """updates of critics and actor at once; 0 for one after the other"""
    one_core: float
    both_cores: float
    ratio: float
    """of one core to both"""
    limit: float | None
    ok: bool


def bench_cores(environment: str, rounds: int = 8, horizon: int = 125) -> list[CoreSpeed]:
    """Cycles of the preset off-policy in processes that may use one core, or all; in turn.

    Empty where there is a single core, or none can be taken away from a process.
    """
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(usable) < 2:
        return []
    settings = {"env": environment, "demos": f"{environment}-25x500", "horizon": horizon}
    sides = [(at_once, cores) for at_once in (0, AT_ONCE) for cores in (usable[:1], usable)]
    with ExitStack() as stack:
        cycles = [
            stack.enter_context(_cycles(cores, settings | {"at_once": at_once}))
            for at_once, cores in sides
        ]
        taken = [[next(side) for side in cycles] for _ in range(rounds)]
    best = [min(seconds) for seconds in zip(*taken, strict=True)]
    rows = []
    for at_once, one, both in zip((0, AT_ONCE), best[::2], best[1::2], strict=True):
        limit = 1.5 if at_once else None
        ok = limit is None or one / both >= limit
        rows.append(CoreSpeed(environment, 4 * horizon, at_once, one, both, one / both, limit, ok))
    return rows


@contextmanager
def _cycles(cores: list[int], settings: dict[str, Any]) -> Iterator[Iterator[float]]:
    """Seconds of one cycle after the other, of a process that may use these cores alone."""
    command = [sys.executable, "-m", __name__, json.dumps(cores), json.dumps(settings)]
    pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipe) as process:
        answers = _answers(process)
        next(answers)  # compiles
        yield answers
        assert process.stdin is not None
        process.stdin.close()


def _answers(process: Any) -> Iterator[float]:
    while True:
        process.stdin.write("\n")
        process.stdin.flush()
        if not (line := process.stdout.readline()):
            raise InputError("a process that plays cycles has ended; its message is above")
        yield float(line)


def _play(cores: list[int], settings: dict[str, Any]) -> None:
    """A cycle for each line that comes in; its seconds go out."""
    os.sched_setaffinity(0, cores)  # before any thread begins
    import jax

    from etairl.training.flat import configure
    from etairl.training.preparation import prepare

    config = configure("off-policy", mode="fixed", updates_per_step=1.0, **settings)
    cycles = prepare(config, threads=len(cores)).cycles()
    for _ in sys.stdin:
        start = time.perf_counter()
        jax.block_until_ready(next(cycles).state)
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    _play(*map(json.loads, sys.argv[1:]))
