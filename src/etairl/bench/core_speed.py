"""A cycle of learning on both cores beside the same cycle on one, in turn."""

import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from etairl.bench.interleaved import Contestant, Ratio, Turn, Worker, in_turn
from etairl.studies.processes import cores
from etairl.types import InputError

_WORKS = Path(__file__).with_name("works_of_etairl.py")


class Case(NamedTuple):
    """What is played, and what both cores must give."""

    preset: str
    changed: dict[str, Any]
    """settings by flat name"""
    limit: float | None = None


CASES = (
    Case("off-policy", {"updates_per_step": 1.0, "at_once": 25}, 1.5),
    Case("off-policy", {"updates_per_step": 1.0}),
    Case("default", {}),
)


@dataclass(frozen=True)
class CoreSpeed:
    """Milliseconds of one transition, with all that is learned from it."""

    settings: str
    environment: str
    one_core: float
    """median"""
    both_cores: float
    """median"""
    ratio: float
    """of one to both; median over the rounds"""
    lowest: float
    highest: float
    fastest: float
    """ratio of the fastest round of either: what is left where other programs want the cores"""
    limit: float | None
    """of `fastest`"""
    ok: bool


def bench_cores(case: Case, environment: str, horizon: int = 125, rounds: int = 9) -> CoreSpeed:
    """Cycles with four copies or eight, by the preset, in a process for either side."""
    if not hasattr(os, "sched_setaffinity") or cores() < 2:
        raise InputError("one core can be compared with both where there are two, on Linux")
    config: dict[str, Any] = {"env": environment, "demos": f"{environment}-25x500", "mode": "fixed"}
    config |= {"horizon": horizon, **case.changed}
    with ExitStack() as stack:
        turns = []
        for many in (2, 1):
            title = f"a cycle on {many} of the cores"
            side = Contestant(title, Path(sys.executable), _WORKS, cores=many, own=True)
            worker = stack.enter_context(Worker(side))
            settings = {"preset": case.preset, "config": config, "cores": many}
            worker.make("cycle", "cycle", settings)
            turns.append(Turn(worker, "cycle", 8 * horizon))
        both, one = in_turn(turns, rounds)
    ratio, fastest = Ratio.of(both, one), min(one) / min(both)
    options = [f"--{name.replace('_', '-')} {value:g}" for name, value in case.changed.items()]
    return CoreSpeed(
        " ".join([case.preset, *options]),
        environment,
        1e3 * ratio.theirs,
        1e3 * ratio.ours,
        *ratio[2:],
        fastest,
        case.limit,
        ok=case.limit is None or fastest >= case.limit,
    )
