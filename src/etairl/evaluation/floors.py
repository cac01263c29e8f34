"""What an expert's own episodes differ by: the null distribution of MMD² at given sizes."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int
from scipy.special import chdtri, fdtri

from etairl.evaluation.resampling import Pool, disjoint, null_scale

FEWEST = 8
"""episodes of an expert from which on splits of them say something about their spread"""
_BLOCKS = "blocks of time"
_SPLITS = 1000
_LEVEL = 0.95


_Splits = Bool[np.ndarray, "splits _"]


def is_hint(by: str | None) -> bool:
    """Whether a floor found in such a way may be too low: blocks of an episode are alike."""
    return by is not None and by.startswith(_BLOCKS)


class Floor95(NamedTuple):
    """95 % of an expert's comparisons with itself stay below the value."""

    value: float | None
    by: str | None
    """how it was found"""


class Spread(NamedTuple):
    r"""Second moments of the centred kernel between groups of two kinds, x and y, of one law.

    A group counts with its size, in units of the mean size of its kind. That the mean is known
    from the same groups makes the products a little too small.
    """

    own_x: float
    """of a group with itself"""
    own_y: float
    xx: float
    """squared, between two groups of different episodes"""
    yy: float
    xy: float

    @staticmethod
    def of(pool: Pool, owner: Int[np.ndarray, " groups"], x: np.ndarray, y: np.ndarray) -> "Spread":
        """Of the groups `x` and `y` of a pool, centred at the mean of all of `y`."""
        sizes, every = pool.sizes, pool.sizes[y].sum()
        centre = pool.sums[:, y].sum(axis=1) / every
        h = pool.sums - np.outer(centre, sizes) - np.outer(sizes, centre)
        h += centre[y].sum() / every * np.outer(sizes, sizes)
        unit_x, unit_y = sizes[x].mean(), sizes[y].mean()
        others = owner[:, None] != owner[None]

        def squared(a: np.ndarray, b: np.ndarray, unit: float) -> float:
            rows = np.ix_(a, b)
            return float(((h[rows] / unit) ** 2)[others[rows]].mean())

        free = y.sum() / (y.sum() - 1)
        return Spread(
            float(np.diag(h)[x].mean() * free / unit_x**2),
            float(np.diag(h)[y].mean() * free / unit_y**2),
            squared(x, x, unit_x**2),
            squared(y, y, unit_y**2),
            squared(x, y, unit_x * unit_y),
        )

    def scale(self, n: int | float, m: int | float) -> float:
        r"""Standard deviation of MMD² of n groups x against m groups y, up to a factor $\sqrt2$.

        $\sqrt{v_{xx}/(n(n-1)) + v_{yy}/(m(m-1)) + 2v_{xy}/(nm)}$: `null_scale` for equal kinds.
        """
        own = self.xx / (n * (n - 1)) + self.yy / (m * (m - 1))
        return math.sqrt(own + 2.0 * self.xy / (n * m))

    def dimensions(self, n: int | float, m: int | float) -> float:
        r"""In how many directions the difference of two means varies.

        $(\sum\lambda)^2/\sum\lambda^2$ of the eigenvalues of its covariance; from 1 to a million.
        """
        squares = self.xx / n**2 + self.yy / m**2 + 2.0 * self.xy / (n * m)
        trace = self.own_x / n + self.own_y / m
        return 1e6 if squares <= 0.0 else float(np.clip(trace**2 / squares, 1.0, 1e6))


def for_few(dimensions: int | float, freedom: int | float) -> float:
    r"""By how much a floor is higher since the spread that it follows from is estimated itself.

    With $D$ directions and $f$ degrees of freedom $(F_{0.95}(D, fD) - 1)/(\chi^2_{0.95}(D)/D - 1)$:
    a squared distance of means in units of its known mean is like $\chi^2(D)/D$ (Box, 1954), in
    units of an estimated one like $F$.
    """
    known = float(chdtri(dimensions, 1.0 - _LEVEL)) / dimensions
    return (float(fdtri(dimensions, freedom * dimensions, _LEVEL)) - 1.0) / (known - 1.0)


class OwnGroups(NamedTuple):
    """Kernel sums between the groups of an expert: its episodes, or blocks of time of them."""

    pool: Pool
    """with the pairs of each point with itself"""
    owner: Int[np.ndarray, " groups"]
    """number of the episode that a group belongs to"""
    part: Int[np.ndarray, " groups"]
    """0 of whole episodes; 1, 2, … of parts of them that are as long as those of a learner"""

    def floor(self, n: int, m: int, share: float = 1.0) -> Floor95:
        """Of n episodes against m.

        Drawn from all episodes where there are n + m of them; else from splits of all there are
        that leave the smaller side as it is where they can, scaled by how the spread of a null
        distribution depends on the sizes (`Spread.scale`). Parts of episodes, where there are any,
        take the place of the n. Either is raised for what so few episodes leave open (`for_few`).
        Of fewer than 8 episodes, blocks of time are split in halves: a hint, since blocks of one
        episode are alike. Splits without pairs on a side say nothing.

        Args:
            n: episodes of a learner.
            m: episodes of the expert.
            share: how long those of the learner are beside those of the expert; for blocks of
                time, of which it then has fewer.
        """
        groups, episodes = int((self.part == 0).sum()), int(self.owner.max()) + 1
        each, rng = groups / episodes, np.random.default_rng(0)
        if groups < FEWEST:
            return Floor95(None, None)
        wanted = _sizes(share * n, m, each)
        if episodes < FEWEST:
            half = groups // 2, groups - groups // 2
            values = self.pool.null(rng, half, _SPLITS)
            factor = null_scale(*wanted) / null_scale(*half)
            how = f"{_BLOCKS}, splits into {half[0]} and {half[1]}, scaled to {n} and {m}: a hint"
            return Floor95(_quantile(values, factor), how)
        a, b = n, m
        if n + m > episodes:
            small = min(n, m, episodes // 2)
            a, b = (small, episodes - small) if n < m else (episodes - small, small)
        sides = self._sides(rng, *disjoint(rng, episodes, (a, b), _SPLITS))
        paired = (np.minimum(*(side.sum(axis=1) for side in sides))) >= 2
        if not paired.any():
            return Floor95(None, None)
        values = self.pool.mmd2(*(side[paired].astype(np.float64) for side in sides))
        whole = self.part == 0
        spread = Spread.of(self.pool, self.owner, ~whole if self.part.any() else whole, whole)
        measured = spread.scale(*_sizes(a, b, each))
        factor = spread.scale(*wanted) / measured if measured > 0.0 else 1.0
        factor *= for_few(spread.dimensions(*wanted), episodes - 1)
        drawn = "drawn from the demonstrations"
        scaled = f"splits into {a} and {b}, scaled to {n} and {m}"
        how = f"episodes, {drawn if (a, b) == (n, m) else scaled}"
        if self.part.any():
            how += ", the first as short as the learner's"
        return Floor95(_quantile(values, factor), how)

    def _sides(self, rng: np.random.Generator, x: _Splits, y: _Splits) -> tuple[_Splits, _Splits]:
        """From episodes to groups; of each of the first, one of its parts where there are any."""
        many = int(self.part.max())
        chosen = rng.integers(1, many + 1, size=x.shape) if many else np.zeros(x.shape, int)
        return x[:, self.owner] & (chosen[:, self.owner] == self.part), y[:, self.owner] & (
            self.part == 0
        )


def _sizes(n: int | float, m: int, each: float) -> tuple[float, float]:
    """Groups of so many episodes; two at least."""
    return max(2.0, n * each), max(2.0, m * each)


def _quantile(values: np.ndarray, factor: float) -> float:
    return max(0.0, factor * float(np.quantile(values, _LEVEL)))
