"""Kernel sums between the groups of two samples: any MMD² of resampled groups follows."""

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from etairl.evaluation.kernel import Bandwidth, OnProgress, kernel_sums, resolve_bandwidth
from etairl.types import InputError

Groups = tuple[Int[np.ndarray, " n"], Int[np.ndarray, " m"]]


class Pool(NamedTuple):
    r"""Points of both samples in one pool: kernel sums between its groups, and their sizes.

    With weights a group's size is the sum of its weights: the pool then compares two weighted
    measures, for instance two empirical $\mu^\eta$ with the time weights of their steps.
    """

    sums: np.ndarray
    sizes: np.ndarray
    of_x: np.ndarray  # which groups belong to x, the others to y
    within: bool  # whether pairs from one group count

    @staticmethod
    def of(
        x: np.ndarray,
        y: np.ndarray | None,
        groups: Groups | None,
        bandwidth: Bandwidth,
        progress: OnProgress | None = None,
    ) -> "Pool":
        """Sum the kernel over all pairs of groups."""
        points = pooled_points(x, y)
        if groups is None:
            ids, in_x = (np.arange(len(points)) >= len(x)).astype(np.int64), 1
        else:
            ids, in_x = numbered(groups, (len(x), len(points) - len(x)))
        h = resolve_bandwidth(points, bandwidth)
        sums, sizes = kernel_sums(points, ids, h, progress=progress)[0], np.bincount(ids)
        return Pool(sums, sizes, np.arange(len(sizes)) < in_x, groups is None)

    def value(self) -> float:
        """Of the two samples as they are."""
        first = self.of_x[None].astype(np.float64)
        return float(self.mmd2(first, 1.0 - first)[0])

    def interval(
        self, rng: np.random.Generator, level: float = 0.95, resamples: int = 1000
    ) -> tuple[float, float]:
        """Percentile interval from groups of either side drawn again, with replacement.

        A draw with fewer than two distinct groups on a side has no pairs: it says nothing, and is
        left out. The interval is widened, where that is needed, to hold the value itself.
        """
        counts = np.zeros((resamples, len(self.of_x)))
        for side in (self.of_x, ~self.of_x):
            many = int(side.sum())
            counts[:, side] = rng.multinomial(many, np.full(many, 1.0 / many), size=resamples)
        distinct = [(counts[:, side] > 0).sum(axis=1) for side in (self.of_x, ~self.of_x)]
        counts = counts[self.within | (np.minimum(*distinct) >= 2)]
        value = self.value()
        if not len(counts):
            return value, value
        values = self.mmd2(counts * self.of_x, counts * ~self.of_x)
        low, high = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        return min(float(low), value), max(float(high), value)

    def p_value(self, rng: np.random.Generator, permutations: int = 1000) -> float:
        """Share of relabellings of the groups with an MMD² as large: "both are of one law"."""
        labels = np.broadcast_to(self.of_x, (permutations + 1, len(self.of_x))).astype(np.float64)
        labels[1:] = rng.permuted(labels[1:], axis=1)
        values = self.mmd2(labels, 1.0 - labels)
        # The same split summed in another order may differ in the last bit: count it as a tie.
        return float((values >= values[0] - 1e-12 * np.abs(values).max()).mean())

    def null(
        self, rng: np.random.Generator, many: tuple[int, int], splits: int
    ) -> Float[np.ndarray, " samples"]:
        """So many groups of all against so many others, drawn at random: both are of one law."""
        first, second = disjoint(rng, len(self.of_x), many, splits)
        return self.mmd2(first.astype(np.float64), second.astype(np.float64))

    def mmd2(
        self, a: Float[np.ndarray, "samples groups"], b: Float[np.ndarray, "samples groups"]
    ) -> Float[np.ndarray, " samples"]:
        """Unbiased MMD² for each row: x is `a[row, g]` copies of group g, y `b[row, g]` copies."""
        inside, own_pairs = (
            (np.zeros(len(self.sizes)), self.sizes)
            if self.within
            else (np.diag(self.sums), self.sizes**2)
        )

        def mean_of_pairs(weights: np.ndarray) -> np.ndarray:
            total = ((weights @ self.sums) * weights).sum(axis=-1) - weights**2 @ inside
            return total / ((weights @ self.sizes) ** 2 - weights**2 @ own_pairs)

        across = ((a @ self.sums) * b).sum(axis=-1) / ((a @ self.sizes) * (b @ self.sizes))
        return mean_of_pairs(a) + mean_of_pairs(b) - 2.0 * across


def null_scale(n: int | float, m: int | float) -> float:
    r"""Spread of an MMD² of n against m groups of one law, up to a factor that is that law's own.

    The kernel, centred, is all that is left: $\operatorname{Var} = 2v\,[\frac1{n(n-1)} +
    \frac1{m(m-1)} + \frac2{nm}]$ with $v$ its second moment between two groups.
    """
    return math.sqrt(1.0 / (n * (n - 1)) + 1.0 / (m * (m - 1)) + 2.0 / (n * m))


def pooled_points(x: np.ndarray, y: np.ndarray | None) -> np.ndarray:
    """The points of both samples; a single sample, for its floor, where y is None."""
    sides = [x] if y is None else [x, y]
    shapes = " and ".join(str(side.shape) for side in sides)
    if any(side.ndim != 2 or side.shape[1] != x.shape[1] for side in sides) or x.shape[1] == 0:
        raise InputError(f"samples must be [points, dims] alike, got {shapes}")
    if any(len(side) < 2 for side in sides):
        raise InputError(f"an MMD needs at least 2 points on each side, got shapes {shapes}")
    points = np.concatenate(sides)
    if not np.isfinite(points).all():
        raise InputError("the points hold NaN or infinite values")
    return points


def numbered(groups: Groups, rows: tuple[int, int]) -> tuple[np.ndarray, int]:
    """Group numbers 0, 1, … over both samples, and how many of them belong to x."""
    numbers, before = [], 0
    for name, side, many in zip("xy", groups, rows, strict=True):
        if side.shape != (many,) or (np.diff(side) < 0).any():
            raise InputError(f"groups of {name}: they must be one ascending number per point")
        _, ids = np.unique(side, return_inverse=True)
        if many and ids[-1] < 1:
            raise InputError(f"with groups, {name} needs at least 2 episodes")
        numbers.append(ids + before)
        before += len(np.unique(ids))
    return np.concatenate(numbers), int(numbers[0][-1]) + 1


def disjoint(
    rng: np.random.Generator, groups: int, many: tuple[int, int], splits: int
) -> tuple[Bool[np.ndarray, "splits groups"], Bool[np.ndarray, "splits groups"]]:
    """Two sets of groups without a common one: all ways where they are few, else random ones."""
    n, m = many
    if n + m == groups and math.comb(groups, n) <= splits:
        chosen = np.array(list(combinations(range(groups), n)))
        first = np.zeros((len(chosen), groups), dtype=bool)
        np.put_along_axis(first, chosen, True, axis=1)
        return first, ~first
    order = rng.permuted(np.broadcast_to(np.arange(groups), (splits, groups)), axis=1)
    return order < n, (order >= n) & (order < n + m)
