r"""How well two behaviours match: the MMD² of their occupancies $\rho$ and $\mu^\eta$.

Every step of every episode counts, with its time weight ($1$ for $\rho$, $w_n$ for $\mu$): nothing
is drawn, nothing repeats. Pairs of steps from one episode are left out. Values are *squared* MMD.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float

from etairl.demos.dataset import Standardiser
from etairl.eta import Dirac, Eta, Geometric, discounted_sum
from etairl.evaluation.fourier import Frequencies, Side, group_sums, mmd2_by_frequency
from etairl.evaluation.kernel import kernel_sums
from etairl.evaluation.resampling import Pool, checked, null_scale, numbered
from etairl.types import InputError, Trajectories

MeasureName = Literal["rho", "mu"]
MEASURES: dict[MeasureName, Eta] = {"rho": Dirac(0), "mu": Geometric(0.99)}
r"""$\mu$ with Geom(.99) and no discount, whatever the learner trained with, as in the paper."""
EXACT = 20_000
"""Steps of a side up to which the sums are exact; beyond, random features count all steps."""
_BLOCKS = 10  # of time, in an episode
_FEWEST = 8  # episodes of an expert whose splits say something about its spread
_SPLITS = 1000


@dataclass(frozen=True)
class Distance:
    """An MMD² and what to compare it with."""

    value: float
    low: float
    """bounds of the 95 % bootstrap interval over whole episodes"""
    high: float
    floor: float | None
    """95 % of the values of an expert's own episodes, as many on either side, are below"""
    floor_by: str | None
    """how the floor was found"""
    p: float
    """chance that episodes of one law, relabelled, differ as much"""
    error: float
    """standard error by random features; 0 where the sums are exact"""


@dataclass(frozen=True)
class Steps:
    """State-action pairs of the steps of some episodes."""

    pairs: Float[np.ndarray, "points dims"]
    groups: np.ndarray
    """number of the episode, or of its block of time"""
    time: np.ndarray

    @staticmethod
    def of(trajectories: Trajectories) -> "Steps":
        """All steps of all episodes."""
        t = trajectories
        return Steps(t.pairs(), t.episode_numbers, t.times)

    def __len__(self) -> int:
        return len(self.time)

    @property
    def episodes(self) -> int:
        """Number of groups."""
        return int((np.diff(self.groups) > 0).sum()) + 1 if len(self) else 0

    def window(self, begin: int, end: int) -> "Steps":
        """Those of the times from `begin` to before `end`."""
        kept = (self.time >= begin) & (self.time < end)
        return Steps(self.pairs[kept], self.groups[kept], self.time[kept])

    def blocks(self, size: int) -> "Steps":
        """The same steps; groups are blocks of so many steps of an episode."""
        many = int(self.time.max()) // size + 1
        return Steps(self.pairs, self.groups * many + self.time // size, self.time)

    def joined(self, other: "Steps") -> "Steps":
        """With the episodes of another behind one's own."""
        groups = other.groups + self.groups[-1] + 1
        both = ((self.pairs, other.pairs), (self.groups, groups), (self.time, other.time))
        return Steps(*map(np.concatenate, both))

    def weights(self) -> Float[np.ndarray, "measures points"]:
        r"""$w_n = \sum_{k \le n} \eta(k)$ at each step, for each measure."""
        horizon = int(self.time.max()) + 1
        laws = (discounted_sum(eta.pmf(horizon), 1.0) for eta in MEASURES.values())
        return np.stack([law[self.time] for law in laws])


@dataclass(frozen=True)
class Reference:
    """The expert, to be compared with; in units of the spread of its pairs if standardised."""

    steps: Steps
    spare: Steps | None = None
    """episodes of the same expert that no learner saw: for the floor"""
    scale: Standardiser | None = None

    @staticmethod
    def of(
        trajectories: Trajectories,
        standardiser: Standardiser | None = None,
        spare: Trajectories | None = None,
    ) -> "Reference":
        """An expert by its demonstrations, and by more of them for the floor."""
        more = None if spare is None else Steps.of(spare)
        return Reference(Steps.of(trajectories), more, standardiser)

    def __post_init__(self):
        if not len(self.steps):
            raise InputError("comparing behaviours needs a demonstration; there is none")

    def window(self, begin: int, end: int) -> "Reference | None":
        """By the times from `begin` to before `end`; None where no demonstration is as long."""
        steps = self.steps.window(begin, end)
        spare = None if self.spare is None else self.spare.window(begin, end)
        return Reference(steps, spare, self.scale) if len(steps) > 1 else None

    def comparable(self, other: Steps) -> bool:
        """Whether there is enough of either side."""
        return len(other) > 1 and self._grouped(other) is not None

    def _grouped(self, other: Steps) -> tuple[Steps, Steps] | None:
        """Both sides in episodes, or in blocks of time where a side has a single episode."""
        both = (other, self.steps)
        if min(side.episodes for side in both) < 2:
            both = (other.blocks(self._block), self.steps.blocks(self._block))
        return None if min(side.episodes for side in both) < 2 else both

    def pools(self, other: Steps) -> tuple[dict[MeasureName, Pool], dict[MeasureName, float]]:
        """Kernel sums between the episodes of `other` and of the expert, and their errors."""
        both = self._grouped(other) if len(other) else None
        if both is None:
            raise InputError("comparing behaviours needs 2 episodes of either side, or 2 steps")
        other, expert = both
        points = checked(self._scaled(other), self._scaled(expert))
        ids, in_x = numbered((other.groups, expert.groups), (len(other), len(expert)))
        weights = np.concatenate([other.weights(), expert.weights()], axis=1)
        of_x = np.arange(int(ids[-1]) + 1) < in_x
        return _pools(points, ids, weights, of_x, max(len(other), len(expert)))

    def mmd2(self, other: Trajectories) -> dict[MeasureName, float]:
        """MMD² by random features: what is looked at while training, with all steps."""
        steps = Steps.of(other)
        if min(steps.episodes, self.steps.episodes) < 2:
            return {name: pool.value() for name, pool in self.pools(steps)[0].items()}
        own, expert = self._sides(steps), self._expert_sides
        return {
            name: float(mmd2_by_frequency(x, y).mean())
            for name, x, y in zip(MEASURES, own, expert, strict=True)
        }

    def distances(self, rng: np.random.Generator, other: Steps) -> dict[MeasureName, Distance]:
        """MMD² of both measures, with their intervals, floors and tests."""
        found = {}
        pools, errors = self.pools(other)
        for name, pool in pools.items():
            many = int(pool.of_x.sum()), int((~pool.of_x).sum())
            floor, floor_by = self.floor(rng, name, *many)
            low, high = pool.interval(rng)
            p = pool.p_value(rng)
            found[name] = Distance(pool.value(), low, high, floor, floor_by, p, errors[name])
        return found

    def floor(
        self, rng: np.random.Generator, measure: MeasureName, n: int, m: int
    ) -> tuple[float | None, str | None]:
        """What 95 % of comparisons of n with m groups of this expert stay below, and by what means.

        Drawn from its episodes where there are n + m of them; else from splits of all there are,
        scaled by how the spread of a null distribution depends on the sizes (`null_scale`). Fewer
        than 8 episodes are cut into blocks of time.
        """
        pool, by_blocks = self._own[measure]
        groups = len(pool.of_x)
        if groups < _FEWEST:
            return None, None
        if by_blocks and min(self.steps.episodes, n, m) >= 2:
            # The comparison is one of episodes: in blocks, it has this many times more groups.
            each = groups / (self.steps.episodes + (self.spare.episodes if self.spare else 0))
            n, m = round(n * each), round(m * each)
        if n + m <= groups:
            a, b, factor, how = n, m, 1.0, "drawn from the demonstrations"
        else:
            # Blocks of one episode differ in their law: halves even that out.
            a = groups // 2 if by_blocks else round(groups * n / (n + m))
            a = min(max(a, 2), groups - 2)
            b = groups - a
            factor = null_scale(n, m) / null_scale(a, b)
            how = f"splits into {a} and {b}, scaled to {n} and {m}"
        values = pool.null(rng, (a, b), _SPLITS)
        unit = "blocks of time" if by_blocks else "episodes"
        return max(0.0, factor * float(np.quantile(values, 0.95))), f"{unit}, {how}"

    @cached_property
    def _block(self) -> int:
        """Steps in a block of time."""
        return max(1, -(-(int(np.ptp(self.steps.time)) + 1) // _BLOCKS))

    @cached_property
    def _own(self) -> dict[MeasureName, tuple[Pool, bool]]:
        """Kernel sums between all episodes of the expert, or blocks of time of them."""
        every = self.steps if self.spare is None else self.steps.joined(self.spare)
        by_blocks = every.episodes < _FEWEST
        every = every.blocks(self._block) if by_blocks else every
        _, ids = np.unique(every.groups, return_inverse=True)
        of_x = np.ones(int(ids[-1]) + 1, bool)
        if len(of_x) < _FEWEST:
            return {name: (Pool(of_x, of_x, of_x, False), by_blocks) for name in MEASURES}
        points = checked(self._scaled(every), None)
        pools, _ = _pools(points, ids, every.weights(), of_x, len(every))
        return {name: (pool, by_blocks) for name, pool in pools.items()}

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


def _pools(
    points: np.ndarray, ids: np.ndarray, weights: np.ndarray, of_x: np.ndarray, most: int
) -> tuple[dict[MeasureName, Pool], dict[MeasureName, float]]:
    """Exact up to `EXACT` steps of a side, by random features beyond."""
    h = float(points.shape[1])
    sizes, errors = _sizes(ids, weights), [0.0] * len(weights)
    if most <= EXACT:
        sums = kernel_sums(points, ids, h, weights)
    else:
        z = Frequencies.draw(np.random.default_rng(0), points, h).sums(points, ids, weights)
        sums = group_sums(z)
        if not of_x.all():
            for law in range(len(weights)):
                x, y = (Side.of(z[law, side], sizes[law, side]) for side in (of_x, ~of_x))
                values = mmd2_by_frequency(x, y)
                errors[law] = float(values.std(ddof=1) / np.sqrt(len(values)))
    pools = (Pool(s, size, of_x, False) for s, size in zip(sums, sizes, strict=True))
    return dict(zip(MEASURES, pools, strict=True)), dict(zip(MEASURES, errors, strict=True))


def _sizes(groups: np.ndarray, weights: np.ndarray) -> Float[np.ndarray, "measures groups"]:
    return np.stack([np.bincount(groups, weights=law) for law in weights])


def score(learner: float, expert: float, random: float) -> float:
    r"""$(J - J_{random})/(J_E - J_{random})$ of returns $J$: 0 is random, 1 is the expert."""
    if random == expert:
        raise InputError("expert and random policy have the same return: there is nothing to scale")
    return (learner - random) / (expert - random)
