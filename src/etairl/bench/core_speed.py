"""A cycle of learning on both cores beside the same cycle on one, in turn."""

import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from etairl.bench.interleaved import Contestant, Ratio, Turn, Worker, in_turn
from etairl.studies.processes import cores
from etairl.training.flat import configure

_WORKS = Path(__file__).with_name("works_of_etairl.py")


class CoreCase(NamedTuple):
    """What is played, and what both cores must give."""

    preset: str
    changed: dict[str, Any]
    """settings by flat name"""
    limit: float | None = None


CORE_CASES = (
    CoreCase("off-policy", {"updates_per_step": 1.0, "at_once": 25}, 1.5),
    CoreCase("off-policy", {"updates_per_step": 1.0}),
    CoreCase("default", {}),
)
"""an update for each transition: critics and actor at once, and in turn; and on-policy"""


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
    """ratio of the fastest rounds: what is left where other programs want the cores, too"""
    limit: float | None
    """of `fastest`"""
    ok: bool


def can_compare() -> bool:
    """Whether there are two cores, and a process can be kept to one."""
    return hasattr(os, "sched_setaffinity") and cores() > 1


def bench_cores(
    case: CoreCase, environment: str = "HalfCheetah-v5", horizon: int = 100, rounds: int = 9
) -> CoreSpeed:
    """Cycles in a process that may use two cores, and in one that may use one."""
    changed: dict[str, Any] = {"env": environment, "demos": f"{environment}-25x500"}
    changed |= {"mode": "fixed", "horizon": horizon, **case.changed}
    transitions = configure(case.preset, **changed).girl.episodes * horizon
    with ExitStack() as stack:
        turns = []
        for many in (2, 1):
            title = f"a cycle on {many} of the cores"
            side = Contestant(title, Path(sys.executable), _WORKS, cores=many, own=True)
            worker = stack.enter_context(Worker(side))
            settings = {"preset": case.preset, "config": changed, "cores": many}
            worker.make("cycle", "cycle", settings)
            turns.append(Turn(worker, "cycle", transitions))
        both, one = in_turn(turns, rounds)
    ratio, fastest = Ratio.of(both, one), min(one) / min(both)
    options = [f"--{name.replace('_', '-')} {value}" for name, value in case.changed.items()]
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
