r"""How well two behaviours match: the MMD² of their occupancies $\rho$ and $\mu^\eta$.

Every step of every episode counts, with its time weight ($1$ for $\rho$, $w_n$ for $\mu$): nothing
is drawn, nothing repeats. Pairs of steps from one episode are left out. Values are *squared* MMD.
"""

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Literal

import numpy as np
from jaxtyping import Complex, Float, Int

from etairl.demos.dataset import Standardiser
from etairl.evaluation.floors import FEWEST, Floor95, OwnGroups, is_hint
from etairl.evaluation.fourier import (
    Frequencies,
    Side,
    group_sums,
    mmd2_by_frequency,
    standard_error,
)
from etairl.evaluation.kernel import kernel_sums
from etairl.evaluation.resampling import Pool, numbered, pooled_points
from etairl.evaluation.steps import MEASURES, MeasureName, Steps
from etairl.types import InputError, Trajectories

EXACT = 20_000
"""Steps of both sides up to which the sums are exact; beyond, random features count all steps."""
Compared = Literal["pairs", "states"]
METRIC_NAMES = {
    "mmd2_rho": "MMD² of ρ",
    "mmd2_mu": "MMD² of μ",
    "score": "score",
    "success": "share of tasks solved",
}
_BLOCKS = 10  # of time, in an episode


@dataclass(frozen=True)
class Distance:
    """An MMD² and what to compare it with."""

    value: float
    low: float
    """bounds of the 95 % bootstrap interval over episodes, or blocks of time of a single one"""
    high: float
    floor: float | None
    """95 % of the values of an expert's own episodes, as many on either side, are below"""
    floor_by: str | None
    """how the floor was found"""
    p: float
    """chance that episodes of one law, relabelled, differ as much"""
    error: float
    """standard error by random features; 0 where the sums are exact"""

    @property
    def hinted(self) -> bool:
        """Whether the floor is no more than a hint, and may be too low."""
        return is_hint(self.floor_by)


@dataclass(frozen=True)
class Reference:
    """The expert, to be compared with; in units of the spread of its pairs if standardised."""

    steps: Steps
    spare: Steps | None = None
    """episodes of the same expert that no learner saw: for the floor"""
    scale: Standardiser | None = None
    exact: bool = True
    """sum over all pairs of steps where these are few enough; else always by random features"""
    compared: Compared = "pairs"
    """of states and actions; states alone where the actions of the expert are not known"""

    @staticmethod
    def of(
        trajectories: Trajectories,
        standardiser: Standardiser | None = None,
        *spare: Trajectories,
        exact: bool = True,
    ) -> "Reference":
        """An expert by its demonstrations, and by more of its episodes for the floor."""
        more = reduce(Steps.joined, map(Steps.of, spare)) if spare else None
        compared = "pairs" if trajectories.act_dim else "states"
        return Reference(Steps.of(trajectories), more, standardiser, exact, compared)

    def __post_init__(self):
        if not len(self.steps):
            raise InputError("comparing behaviours needs a demonstration; there is none")

    def seen(self, played: Trajectories) -> Steps:
        """The steps of a behaviour, as far as they can be compared."""
        return Steps.of(played if self.compared == "pairs" else played.without_actions())

    def window(self, begin: int, end: int) -> "Reference | None":
        """By the times from `begin` to before `end`; None where no demonstration is as long."""
        steps = self.steps.window(begin, end)
        spare = None if self.spare is None else self.spare.window(begin, end)
        return replace(self, steps=steps, spare=spare) if len(steps) > 1 else None

    def comparable(self, other: Steps) -> bool:
        """Whether there is enough of either side."""
        return len(other) > 1 and self._grouped(other) is not None

    def _grouped(self, other: Steps) -> tuple[Steps, Steps] | None:
        """Both sides in episodes, or in blocks of time where a side has a single episode."""
        both = (other, self.steps)
        if min(side.episodes for side in both) < 2:
            both = (self._in_blocks(other), self._in_blocks(self.steps))
        return None if min(side.episodes for side in both) < 2 else both

    def pools(self, other: Steps) -> tuple[dict[MeasureName, Pool], dict[MeasureName, float]]:
        """Kernel sums between the episodes of `other` and of the expert, and their errors."""
        both = self._grouped(other) if len(other) else None
        if both is None:
            raise InputError("comparing behaviours needs 2 episodes of either side, or 2 steps")
        other, expert = both
        points = pooled_points(self._scaled(other), self._scaled(expert))
        ids, in_x = numbered((other.groups, expert.groups), (len(other), len(expert)))
        weights = np.concatenate([other.weights(), expert.weights()], axis=1)
        of_x = np.arange(int(ids[-1]) + 1) < in_x
        if self.exact and len(points) <= EXACT:
            return _named(_exact_sums(points, ids, weights), _sizes(ids, weights), of_x)
        shown = self._features(expert) if expert is not self.steps else self._expert_features
        z = np.concatenate([self._features(other), shown], axis=1)
        return _named(group_sums(z), _sizes(ids, weights), of_x, z)

    def mmd2(self, other: Trajectories) -> dict[MeasureName, float]:
        """MMD² by random features: what is looked at while training, with all steps."""
        steps = self.seen(other)
        if min(steps.episodes, self.steps.episodes) < 2:
            return {name: pool.value() for name, pool in self.pools(steps)[0].items()}
        own, expert = self._sides(steps), self._expert_sides
        return {
            name: float(mmd2_by_frequency(x, y).mean())
            for name, x, y in zip(MEASURES, own, expert, strict=True)
        }

    def distances(self, rng: np.random.Generator, other: Steps) -> dict[MeasureName, Distance]:
        """MMD² of both measures, with their intervals, floors and tests."""
        distances = {}
        pools, errors = self.pools(other)
        for name, pool in pools.items():
            floor, floor_by = self.floor(name, other.lengths, self.steps.episodes)
            low, high = pool.interval(rng)
            p = pool.p_value(rng)
            distances[name] = Distance(pool.value(), low, high, floor, floor_by, p, errors[name])
        return distances

    def floor(self, measure: MeasureName, lengths: Int[np.ndarray, " n"], m: int) -> Floor95:
        """What 95 % of comparisons of n episodes of such lengths with m of this expert stay below.

        In blocks of time where a comparison is, and where the expert has few episodes.
        """
        key = (lengths.tobytes(), m)
        if key not in self._floors:
            many = self._every.episodes
            in_blocks = min(len(lengths), m) < 2 or many < FEWEST
            n, share = len(lengths), 1.0
            parts = [] if in_blocks else self._every.parts(np.random.default_rng(1), lengths)
            if in_blocks:
                own = self._own_blocks
                share = min(1.0, float(lengths.mean() / self._every.lengths.mean()))
            elif parts:
                every = reduce(Steps.joined, parts, self._every)
                own = self._own_groups(every, in_blocks=False, exact=False)
            else:
                own = self._own_episodes
            self._floors[key] = {name: groups.floor(n, m, share) for name, groups in own.items()}
        return self._floors[key][measure]

    @cached_property
    def _floors(self) -> dict[tuple[bytes, int], dict[MeasureName, Floor95]]:
        return {}

    @cached_property
    def _every(self) -> Steps:
        return self.steps if self.spare is None else self.steps.joined(self.spare)

    def _in_blocks(self, steps: Steps) -> Steps:
        first = int(self.steps.time.min())
        size = max(1, -(-(int(self.steps.time.max()) + 1 - first) // _BLOCKS))
        return steps.blocks(size, first)

    @cached_property
    def _own_episodes(self) -> dict[MeasureName, OwnGroups]:
        return self._own_groups(self._every, in_blocks=False, exact=self.exact)

    @cached_property
    def _own_blocks(self) -> dict[MeasureName, OwnGroups]:
        return self._own_groups(self._every, in_blocks=True, exact=self.exact)

    def _own_groups(
        self, every: Steps, in_blocks: bool, exact: bool
    ) -> dict[MeasureName, OwnGroups]:
        """Kernel sums between episodes, or blocks of time of them; parts come behind the whole."""
        grouped, episodes = self._in_blocks(every) if in_blocks else every, self._every.episodes
        _, first, ids = np.unique(grouped.groups, return_index=True, return_inverse=True)
        _, number = np.unique(every.groups[first], return_inverse=True)
        points, weights = pooled_points(self._scaled(every), None), every.weights()
        if exact and len(points) <= EXACT:
            sums = _exact_sums(points, ids, weights)
        else:
            sums = group_sums(self._all_frequencies.sums(points, ids, weights))
        pools, _ = _named(sums, _sizes(ids, weights), np.ones(len(first), bool))
        owner, part = number % episodes, number // episodes
        return {name: OwnGroups(pool, owner, part) for name, pool in pools.items()}

    @cached_property
    def _all_frequencies(self) -> Frequencies:
        points = self._scaled(self.steps)
        return Frequencies.draw(np.random.default_rng(0), points, float(points.shape[1]))

    def _features(self, steps: Steps) -> Complex[np.ndarray, "measures groups frequencies"]:
        _, ids = np.unique(steps.groups, return_inverse=True)
        return self._all_frequencies.sums(self._scaled(steps), ids, steps.weights())

    @cached_property
    def _expert_features(self) -> Complex[np.ndarray, "measures groups frequencies"]:
        """The same for all who are compared with the expert."""
        return self._features(self.steps)

    @cached_property
    def _frequencies(self) -> Frequencies:
        """The same throughout a run, and fewer: the value is looked at often, and not judged."""
        points = self._scaled(self.steps)
        return Frequencies.draw(np.random.default_rng(0), points, float(points.shape[1]), 256)

    def _sides(self, steps: Steps) -> list[Side]:
        weights = steps.weights()
        z = self._frequencies.sums(self._scaled(steps), steps.groups, weights)
        return [Side.of(*law) for law in zip(z, _sizes(steps.groups, weights), strict=True)]

    @cached_property
    def _expert_sides(self) -> list[Side]:
        return self._sides(self.steps)

    def _scaled(self, steps: Steps) -> np.ndarray:
        return steps.pairs if self.scale is None else self.scale(steps.pairs)


def _exact_sums(
    points: np.ndarray, ids: np.ndarray, weights: np.ndarray
) -> Float[np.ndarray, "measures groups groups"]:
    """Over all pairs, with those of each point with itself, as random features have them."""
    sums = kernel_sums(points, ids, float(points.shape[1]), weights)
    every = np.arange(sums.shape[1])
    sums[:, every, every] += _sizes(ids, weights**2)
    return sums


def _named(
    sums: np.ndarray,
    sizes: Float[np.ndarray, "measures groups"],
    of_x: np.ndarray,
    z: Complex[np.ndarray, "measures groups frequencies"] | None = None,
) -> tuple[dict[MeasureName, Pool], dict[MeasureName, float]]:
    """A pool of each measure, and its standard error where it is from random features `z`."""
    errors = [0.0] * len(sums)
    for law, own in enumerate([] if z is None else z):
        x, y = (Side.of(own[side], sizes[law, side]) for side in (of_x, ~of_x))
        values = mmd2_by_frequency(x, y)
        errors[law] = standard_error(values)
    pools = (Pool(s, size, of_x, False) for s, size in zip(sums, sizes, strict=True))
    return dict(zip(MEASURES, pools, strict=True)), dict(zip(MEASURES, errors, strict=True))


def _sizes(groups: np.ndarray, weights: np.ndarray) -> Float[np.ndarray, "measures groups"]:
    return np.stack([np.bincount(groups, weights=law) for law in weights])


def score(learner: float, expert: float, random: float) -> float:
    r"""$(J - J_{random})/(J_E - J_{random})$ of returns $J$: 0 is random, 1 is the expert."""
    if random == expert:
        raise InputError("expert and random policy have the same return: there is nothing to scale")
    return (learner - random) / (expert - random)
