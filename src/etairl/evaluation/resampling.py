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
        weights: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> "Pool":
        """Sum the kernel over all pairs of groups."""
        points = checked(x, y)
        if groups is None:
            ids, in_x = (np.arange(len(points)) >= len(x)).astype(np.int64), 1
        else:
            ids, in_x = _numbered(groups, (len(x), len(points) - len(x)))
        h = resolve_bandwidth(points, bandwidth)
        if weights is None:
            sums, sizes = kernel_sums(points, ids, h, progress=progress), np.bincount(ids)
        else:
            assert groups is not None, "weighted points need groups"
            both = np.concatenate(weights)
            sums = kernel_sums(points, ids, h, both, progress)
            sizes = np.bincount(ids, weights=both)
        return Pool(sums, sizes, np.arange(len(sizes)) < in_x, groups is None)

    def value(self) -> float:
        """Of the two samples as they are."""
        first = self.of_x[None].astype(np.float64)
        return float(self.mmd2(first, 1.0 - first)[0])

    def resampled(self, rng: np.random.Generator, resamples: int) -> Float[np.ndarray, " samples"]:
        """With groups of either side drawn again, with replacement."""
        counts = np.zeros((resamples, len(self.of_x)))
        for side in (self.of_x, ~self.of_x):
            many = int(side.sum())
            counts[:, side] = rng.multinomial(many, np.full(many, 1.0 / many), size=resamples)
        # A draw of one episode over and over has no pairs: it says nothing, and is left out.
        with np.errstate(invalid="ignore", divide="ignore"):
            values = self.mmd2(counts * self.of_x, counts * ~self.of_x)
        return values[np.isfinite(values)]

    def split(
        self, rng: np.random.Generator, side: Bool[np.ndarray, " groups"], splits: int
    ) -> Float[np.ndarray, " samples"]:
        """Random halves of the groups of one side against each other."""
        chosen = _halves(rng, int(side.sum()), splits)
        half = np.zeros((len(chosen), len(side)))
        half[:, side] = chosen
        return self.mmd2(half, side - half)

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


def checked(x: np.ndarray, y: np.ndarray | None) -> np.ndarray:
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


def _numbered(groups: Groups, rows: tuple[int, int]) -> tuple[np.ndarray, int]:
    """Group numbers 0, 1, … over both samples, and how many of them belong to x."""
    numbers, before = [], 0
    for name, side, many in zip("xy", groups, rows, strict=True):
        if side.shape != (many,) or (np.diff(side) < 0).any():
            raise InputError(f"groups of {name}: one ascending number per point, please")
        _, ids = np.unique(side, return_inverse=True)
        if many and ids[-1] < 1:
            raise InputError(f"with groups, {name} needs at least 2 episodes")
        numbers.append(ids + before)
        before += len(np.unique(ids))
    return np.concatenate(numbers), int(numbers[0][-1]) + 1


def _halves(rng: np.random.Generator, episodes: int, splits: int) -> np.ndarray:
    """All ways to take half of the episodes where they are few, random ones otherwise."""
    size = episodes // 2
    if math.comb(episodes, size) <= splits:
        chosen = list(combinations(range(episodes), size))
        halves = np.zeros((len(chosen), episodes), dtype=bool)
        np.put_along_axis(halves, np.array(chosen), True, axis=1)
        return halves
    labels = np.broadcast_to(np.arange(episodes) < size, (splits, episodes))
    return rng.permuted(labels, axis=1)
