"""How long it takes, by the clock, until a greedy learner has 90 % of the expert's score."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np

from etairl.evaluation.matching import score
from etairl.rollouts import UniformPolicy
from etairl.training.playing import play
from etairl.training.preparation import prepare
from etairl.training.settings import TrainConfig
from etairl.types import InputError, Policy

REACHED = 0.9
"""of the expert's score, where the clock stops"""
BEYOND = 2
"""the learner goes on to so many times the transitions, to see whether it stays there"""
EPISODES = 10
"""of the greedy policy at each look"""
_SEED = 5
"""of those episodes: no training episode has it"""


class Look(NamedTuple):
    """The score of a learner at some time."""

    transitions: int
    score: float
    seconds: float = 0.0


@dataclass(frozen=True)
class Race:
    """One learner on its way to the expert.

    The clock has everything from the settings on, with compiling; it stands still at each look.
    """

    environment: str
    seed: int
    seconds: float | None
    """until the first look with 90 % of the expert's score; None if there was none"""
    transitions: int | None
    """until then"""
    score: float
    """at the last look"""
    lowest: float | None
    """the smallest score of all looks from then on"""
    collapsed: float | None
    """share of the cycles from then on with less than half of the expert's score, actions drawn"""


def race(config: TrainConfig, tell: Callable[[Look], None], look_every: int = 10) -> Race:
    """Train, and look at the greedy policy every few cycles; `tell` hears of each look."""
    begin = time.perf_counter()
    prepared = prepare(config)
    returns = prepared.demos.trajectories.returns
    if returns is None:
        raise InputError(f"{config.demos} has no rewards, by which a race is judged; name others")
    game = prepared.cycles()
    spent, expert = time.perf_counter() - begin, float(returns.mean())
    random = _mean_return(config, UniformPolicy(prepared.task), drawn=True)
    looks, cycles = list[Look](), list[Look]()
    begin = time.perf_counter()
    for cycle in game:
        now, played = cycle.state, cycle.rolled_out.take(np.arange(config.girl.episodes))
        assert played.returns is not None
        drawn = score(float(played.returns.mean()), expert, random)
        cycles.append(Look(now.transitions, drawn))
        over = now.transitions >= config.girl.transitions
        if now.cycles % look_every and not over:
            continue
        jax.block_until_ready(now)
        spent += time.perf_counter() - begin
        greedy = _mean_return(config, prepared.game.solver.policy(now.solver), drawn=False)
        looks.append(Look(now.transitions, score(greedy, expert, random), spent))
        tell(looks[-1])
        first = _first(looks)
        if over or (first is not None and now.transitions >= BEYOND * first.transitions):
            break
        begin = time.perf_counter()
    return outcome(config, looks, cycles)


def outcome(config: TrainConfig, looks: Sequence[Look], cycles: Sequence[Look]) -> Race:
    """What came of a race: looks at the greedy policy, and the cycles as they were played."""
    first, last = _first(looks), looks[-1].score
    if first is None:
        return Race(config.env, config.seed, None, None, last, None, None)
    later = [look.score for look in looks if look.transitions >= first.transitions]
    drawn = [cycle.score for cycle in cycles if cycle.transitions >= first.transitions]
    fallen = float(np.mean(np.array(drawn) < 0.5)) if drawn else None
    return Race(config.env, config.seed, first.seconds, first.transitions, last, min(later), fallen)


def _first(looks: Sequence[Look]) -> Look | None:
    return next((look for look in looks if look.score >= REACHED), None)


def _mean_return(config: TrainConfig, policy: Policy, drawn: bool) -> float:
    played = play(config, policy, EPISODES, _SEED, drawn)
    assert played.returns is not None
    return float(played.returns.mean())
