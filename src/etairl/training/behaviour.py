"""One behaviour beside an expert, in numbers: as a whole, and quarter by quarter of the episode."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from etairl.demos import Playing, Standardiser
from etairl.evaluation.explanation import FeatureGap
from etairl.evaluation.matching import Distance, Reference, Steps, score
from etairl.training.multitask import Outcome
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
    """share of episodes that the world ended"""
    survival: list[float]
    """share of episodes that last longer than 0, 1/20, 2/20, … of the horizon"""
    quarters: list[Quarter]


@dataclass(frozen=True)
class Behaviour:
    """One behaviour beside an expert that acts in the same way, where there is one."""

    name: str
    playing: Playing | None
    """drawn or greedy actions; None where that is not known"""
    beside: str
    """whom MMD² and score compare it with"""
    episodes: int
    return_mean: float | None
    return_std: float | None
    length: float
    score: float | None
    """0 is a random policy, 1 the expert; None without rewards that tell them apart"""
    mmd2_rho: Distance
    mmd2_mu: Distance
    mmd2_rho_raw: Distance
    mmd2_mu_raw: Distance
    timeline: Timeline
    features: list[FeatureGap] | None = None
    """of a cost that is linear in features: each of them, the heaviest first"""
    success: float | None = None
    """share of the demonstrated tasks that were solved; None where there is a single task"""
    generalisation: Outcome | None = None
    """on all tasks, with twice the horizon; None where there is a single task"""
    longer: Timeline | None = None
    """of episodes of twice the horizon, where that was asked for"""

    @property
    def title(self) -> str:
        """Name and kind."""
        return self.name if self.playing is None else f"{self.name}, {self.playing}"


@dataclass(frozen=True)
class Expert:
    """Episodes of an expert to compare with, and a random policy as the other end of the scale."""

    name: str
    trajectories: Trajectories
    standardiser: Standardiser
    random: Trajectories
    horizon: int
    spare: Trajectories | None = None
    """episodes that no learner saw, for the floor"""

    @cached_property
    def scaled(self) -> Reference:
        """In units of the spread of the demonstrations."""
        return Reference.of(self.trajectories, self.standardiser, self.spare)

    @cached_property
    def raw(self) -> Reference:
        """In the units of the environment."""
        return Reference.of(self.trajectories, None, self.spare)

    @cached_property
    def windows(self) -> list[Reference | None]:
        """The quarters of the horizon."""
        return [self.scaled.window(*window) for window in quarters_of(self.horizon)]

    def score(self, learner: float | None, quarter: int | None = None) -> float | None:
        """Of a return, or of what was earned in a quarter."""
        ends = [_earned(t, self.horizon, quarter) for t in (self.trajectories, self.random)]
        if learner is None or ends[0] is None or ends[1] is None or ends[0] == ends[1]:
            return None
        return score(learner, ends[0], ends[1])


def judge(
    rng: np.random.Generator,
    name: str,
    playing: Playing | None,
    played: Trajectories,
    expert: Expert,
    features: list[FeatureGap] | None = None,
) -> Behaviour:
    """One behaviour beside an expert."""
    steps, returns = Steps.of(played), played.returns
    scaled, raw = expert.scaled.distances(rng, steps), expert.raw.distances(rng, steps)
    return Behaviour(
        name=name,
        playing=playing,
        beside=expert.name,
        episodes=len(played),
        return_mean=_earned(played, expert.horizon),
        return_std=None if returns is None else float(returns.std()),
        length=float(played.lengths.mean()),
        score=expert.score(_earned(played, expert.horizon)),
        mmd2_rho=scaled["rho"],
        mmd2_mu=scaled["mu"],
        mmd2_rho_raw=raw["rho"],
        mmd2_mu_raw=raw["mu"],
        timeline=timeline(rng, played, expert),
        features=features,
    )


def timeline(rng: np.random.Generator, played: Trajectories, expert: Expert) -> Timeline:
    """How many are still alive, and how each quarter of the horizon compares with the expert's."""
    steps, found = Steps.of(played), []
    for number, (begin, end) in enumerate(quarters_of(expert.horizon)):
        own, reference = steps.window(begin, end), expert.windows[number]
        distances = {}
        if reference is not None and reference.comparable(own):
            distances = reference.distances(rng, own)
        earned = _earned(played, expert.horizon, number)
        found.append(
            Quarter(
                begin=begin,
                end=end,
                alive=float((played.lengths > begin).mean()),
                return_mean=earned,
                score=expert.score(earned, number),
                mmd2_rho=distances.get("rho"),
                mmd2_mu=distances.get("mu"),
            )
        )
    reached = played.lengths[:, None] > np.linspace(0.0, 1.0, 21)[:-1] * expert.horizon
    ended = float(played.terminated[played.last_rows].mean())
    return Timeline(expert.horizon, ended, reached.mean(axis=0).tolist(), found)


def quarters_of(horizon: int) -> Sequence[tuple[int, int]]:
    """First step of each quarter, and the one behind its last; fewer of a very short horizon."""
    edges = np.unique(np.linspace(0, horizon, QUARTERS + 1).round().astype(int)).tolist()
    return list(pairwise(edges))


def _earned(t: Trajectories, horizon: int, quarter: int | None = None) -> float | None:
    """Mean return, or the mean of what was earned in a quarter; None without rewards."""
    if t.rewards is None:
        return None
    rewards: Float[np.ndarray, " steps"] = t.rewards
    if quarter is not None:
        begin, end = quarters_of(horizon)[quarter]
        rewards = rewards[(t.times >= begin) & (t.times < end)]
    return float(rewards.sum(dtype=np.float64) / len(t))
