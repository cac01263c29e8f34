r"""How well two behaviours match: returns, and the MMD² of their occupancies $\rho$ and $\mu^\eta$.

Steps of an episode carry their time weights ($1$ for $\rho$, $w_n$ for $\mu$), so nothing is drawn
and nothing repeats; pairs of steps from one episode are left out. Values are *squared* MMD.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float

from etairl.demos.dataset import Standardiser
from etairl.eta import Dirac, Eta, Geometric, discounted_sum
from etairl.evaluation.resampling import Pool
from etairl.types import InputError, Trajectories

MeasureName = Literal["rho", "mu"]
MEASURES: dict[MeasureName, Eta] = {"rho": Dirac(0), "mu": Geometric(0.99)}
r"""$\mu$ with Geom(.99) and no discount, whatever the learner trained with, as in the paper."""


@dataclass(frozen=True)
class Distance:
    """An MMD² and what to compare it with."""

    value: float
    low: float
    """bounds of the 95 % bootstrap interval over whole episodes"""
    high: float
    floor: float | None
    """95 % of random halves of the expert's own episodes are closer than this; None below 4"""


@dataclass(frozen=True)
class StepSample:
    """State-action pairs of some steps of some episodes."""

    pairs: Float[np.ndarray, "points dims"]
    groups: np.ndarray
    time: np.ndarray

    @staticmethod
    def of(trajectories: Trajectories, most: int) -> "StepSample":
        """About `most` steps: evenly spread episodes, every so many steps of each.

        The first kept step moves from episode to episode, so that no rhythm is met in step; it lies
        within the episode, so that a short one is not lost.
        """
        t = trajectories
        enough = max(20, -(-most // int(t.lengths.max())))
        chosen = np.unique(np.linspace(0, len(t) - 1, min(len(t), enough)).astype(np.int64))
        some = t if len(chosen) == len(t) else t.take(chosen)
        stride = max(1, round(some.steps / most))
        time = some.times
        first = -np.arange(len(some)) % stride % some.lengths
        kept = np.flatnonzero((time - first[some.episode_numbers]) % stride == 0)
        return StepSample(some.pairs(kept), some.episode_numbers[kept], time[kept])

    def weights(self, measure: MeasureName) -> Float[np.ndarray, " points"]:
        r"""$w_n = \sum_{k \le n} \eta(k)$ at each step."""
        horizon = int(self.time.max()) + 1
        return discounted_sum(MEASURES[measure].pmf(horizon), 1.0)[self.time]


@dataclass(frozen=True)
class Reference:
    """The expert, to be compared with."""

    trajectories: Trajectories
    standardiser: Standardiser
    most: int = 2000
    """steps of either side that enter an MMD²"""

    def __post_init__(self):
        if len(self.trajectories) < 2:
            raise InputError("comparing behaviours needs at least 2 demonstrations")

    @cached_property
    def points(self) -> StepSample:
        """The expert's steps."""
        return StepSample.of(self.trajectories, self.most)

    def pool(self, other: Trajectories, measure: MeasureName, standardised: bool = True) -> Pool:
        """Kernel sums between the episodes of `other` and of the expert."""
        own = StepSample.of(other, self.most)
        if len(np.unique(own.groups)) < 2:
            raise InputError("comparing behaviours needs at least 2 episodes of the learner")
        scale = self.standardiser if standardised else (lambda x: x)
        return Pool.of(
            scale(own.pairs),
            scale(self.points.pairs),
            (own.groups, self.points.groups),
            "paper",
            weights=(own.weights(measure), self.points.weights(measure)),
        )

    def mmd2(self, other: Trajectories, measure: MeasureName, standardised: bool = True) -> float:
        """MMD² alone: what is looked at while training."""
        return self.pool(other, measure, standardised).value()

    def distance(
        self,
        rng: np.random.Generator,
        other: Trajectories,
        measure: MeasureName,
        standardised: bool = True,
        resamples: int = 1000,
    ) -> Distance:
        """MMD² with its interval and the expert's own floor, from the same kernel sums."""
        pool = self.pool(other, measure, standardised)
        low, high = np.quantile(pool.resampled(rng, resamples), [0.025, 0.975])
        floor = None
        if (~pool.of_x).sum() >= 4:
            floor = float(np.quantile(pool.split(rng, ~pool.of_x, 500), 0.95))
        return Distance(pool.value(), float(low), float(high), floor)

    def distances(self, rng: np.random.Generator, other: Trajectories) -> dict[str, Distance]:
        """Of both measures, in units of the demonstrations' spread and of plain values (`_raw`)."""
        return {
            f"mmd2_{measure}{'' if scaled else '_raw'}": self.distance(rng, other, measure, scaled)
            for measure in MEASURES
            for scaled in (True, False)
        }


def score(learner: float, expert: float, random: float) -> float:
    r"""$(J - J_{random})/(J_E - J_{random})$ of returns $J$: 0 is random, 1 is the expert."""
    if random == expert:
        raise InputError("expert and random policy have the same return: there is nothing to scale")
    return (learner - random) / (expert - random)
