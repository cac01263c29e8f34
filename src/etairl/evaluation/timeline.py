"""Where in the episode a behaviour differs from an expert: quarter by quarter of the horizon."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from etairl.demos.dataset import Standardiser
from etairl.evaluation.matching import Distance, Reference, score
from etairl.types import Trajectories

QUARTERS = 4


@dataclass(frozen=True)
class Quarter:
    """A quarter of the horizon."""

    begin: int
    end: int
    alive: float
    """share of episodes that reach its first step"""
    return_mean: float | None
    """rewards of its steps; an episode that has ended earns nothing"""
    score: float | None
    mmd2_rho: Distance | None
    """None where too few episodes reach it"""
    mmd2_mu: Distance | None


@dataclass(frozen=True)
class Timeline:
    """Where in the episode a behaviour differs."""

    horizon: int
    ended_early: float
    """share of episodes that the world ended before the horizon"""
    survival: list[float]
    """share of episodes that last longer than 0, 1/20, 2/20, … of the horizon"""
    quarters: list[Quarter]


@dataclass(frozen=True)
class Expert:
    """Episodes of an expert to compare with, and a random policy as the other end of the scale."""

    name: str
    trajectories: Trajectories
    standardiser: Standardiser
    random: Trajectories
    horizon: int
    spare: tuple[Trajectories, ...] = ()
    """more episodes of it that no learner saw, for the floor"""

    @cached_property
    def scaled(self) -> Reference:
        """In units of the spread of the demonstrations."""
        return Reference.of(self.trajectories, self.standardiser, *self.spare)

    @cached_property
    def raw(self) -> Reference:
        """In the units of the environment; a second look, so by random features."""
        return Reference.of(self.trajectories, None, *self.spare, exact=False)

    @cached_property
    def windows(self) -> list[Reference | None]:
        """The quarters of the horizon."""
        return [self.scaled.window(*window) for window in quarters_of(self.horizon)]

    def score(self, learner: float | None, quarter: int | None = None) -> float | None:
        """Of a return, or of what was earned in a quarter; None if its episodes were cut before."""
        t = self.trajectories
        cut = t.durations[~t.terminated[t.last_rows]]
        if quarter is not None and (cut < quarters_of(self.horizon)[quarter][1]).any():
            return None
        ends = [earned(t, self.horizon, quarter) for t in (self.trajectories, self.random)]
        if learner is None or ends[0] is None or ends[1] is None or ends[0] == ends[1]:
            return None
        return score(learner, ends[0], ends[1])


def timeline(rng: np.random.Generator, played: Trajectories, expert: Expert) -> Timeline:
    """How many are still alive, and how each quarter of the horizon compares with the expert's."""
    steps, quarters = expert.scaled.seen(played), []
    for number, (begin, end) in enumerate(quarters_of(expert.horizon)):
        own, reference = steps.window(begin, end), expert.windows[number]
        distances = {}
        if reference is not None and reference.comparable(own):
            distances = reference.distances(rng, own)
        won = earned(played, expert.horizon, number)
        quarters.append(
            Quarter(
                begin=begin,
                end=end,
                alive=float((played.lengths > begin).mean()),
                return_mean=won,
                score=expert.score(won, number),
                mmd2_rho=distances.get("rho"),
                mmd2_mu=distances.get("mu"),
            )
        )
    reached = played.lengths[:, None] > np.linspace(0.0, 1.0, 21)[:-1] * expert.horizon
    early = played.terminated[played.last_rows] & (played.lengths < expert.horizon)
    ended = float(early.mean())
    return Timeline(expert.horizon, ended, reached.mean(axis=0).tolist(), quarters)


def quarters_of(horizon: int) -> Sequence[tuple[int, int]]:
    """First step of each quarter, and the one behind its last; fewer of a very short horizon."""
    edges = np.unique(np.linspace(0, horizon, QUARTERS + 1).round().astype(int)).tolist()
    return list(pairwise(edges))


def earned(t: Trajectories, horizon: int, quarter: int | None = None) -> float | None:
    """Mean return, or the mean of what was earned in a quarter; None where that is not known.

    A row of a thinned episode has the rewards of all its steps, in whichever quarter they are.
    """
    if t.rewards is None:
        return None
    rewards: Float[np.ndarray, " steps"] = t.rewards
    if quarter is not None:
        begin, end = quarters_of(horizon)[quarter]
        times, spans = t.times, 1 if t.spans is None else t.spans
        if any(((times < edge) & (times + spans > edge)).any() for edge in (begin, end)):
            return None
        inside = (times >= begin) & (times < end)
        rewards = rewards[inside]
    return float(rewards.sum(dtype=np.float64) / len(t))
