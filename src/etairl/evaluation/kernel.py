r"""Sums of the RBF kernel $k(x, y) = e^{-|x-y|^2/h}$ over groups of points, in bounded memory."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from threadpoolctl import ThreadpoolController

from etairl.types import InputError

Sample = Float[np.ndarray, "rows dims"]
Bandwidth = float | Literal["paper", "median"]
OnProgress = Callable[[float], None]

_BLOCK = 1024  # rows and columns at a time: 4 MB of kernel values in single precision
_SMALL = 2**22  # pairs (2,048 points) below which double precision takes no time at all
_MAX_NORM = 256.0  # squared, in bandwidths: single precision then errs by at most 1e-4, mostly 1e-7


def resolve_bandwidth(points: Sample, bandwidth: Bandwidth) -> float:
    r"""$h$: a number as it is, `"paper"` is the dimension, `"median"` the median $|x_i-x_j|^2$."""
    if bandwidth == "paper":
        return float(points.shape[1])
    if bandwidth == "median":
        return _median_distance2(points)
    if not 0.0 < float(bandwidth) < np.inf:
        raise InputError(f"the bandwidth must be > 0, got {bandwidth}")
    return float(bandwidth)


def _median_distance2(points: np.ndarray) -> float:
    some = points[np.linspace(0, len(points) - 1, min(len(points), 2000)).astype(int)]
    some = some.astype(np.float64) - some.mean(axis=0, dtype=np.float64)
    norms = (some**2).sum(axis=1)
    distances = norms[:, None] + norms[None] - 2.0 * some @ some.T
    median = float(np.median(distances[np.triu_indices(len(some), k=1)]))
    if not median > 1e-12 * norms.max(initial=0.0):
        raise InputError("the median distance is 0: more than half of the points are equal")
    return median


def kernel_sums(
    points: Sample,
    groups: Int[np.ndarray, " rows"],
    bandwidth: float,
    weights: Float[np.ndarray, "laws rows"] | None = None,
    progress: OnProgress | None = None,
) -> Float[np.ndarray, "laws groups groups"]:
    r"""$S_{gh} = \sum_{i \in g,\, j \in h,\, i \ne j} a_i a_j\, k(x_i, x_j)$ for all groups $g, h$.

    Blocked: memory does not grow with the number of points. The squared distance comes from one
    matrix product per block, $-|z_i-z_j|^2 = [2z_i, -|z_i|^2, 1]\cdot[z_j, 1, -|z_j|^2]$, on points
    centred and scaled first so that single precision loses nothing that matters; where it could
    (few pairs, or points hundreds of bandwidths out) double precision is used.

    Args:
        points: $x$, one point per row.
        groups: group number 0, 1, … of each point, ascending.
        bandwidth: $h$.
        weights: $a$, a row for each law: the kernel is computed once for all of them. One row of
            ones if left out.
        progress: called with the finished fraction after each block of rows.
    """
    count = int(groups[-1]) + 1
    weights = np.ones((1, len(points))) if weights is None else weights
    left, right = _factors(points, bandwidth)
    sums = np.zeros((len(weights), count, count))

    def one(start: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return _row_block(left, right, groups, weights, start, count)

    # A thread per core, each with its own matrix products: their exponentials run in parallel too.
    with _controller().limit(limits=1), ThreadPoolExecutor(os.cpu_count()) as threads:
        starts = range(0, len(points), _BLOCK)
        for start, (present, own, other) in zip(starts, threads.map(one, starts), strict=True):
            sums[:, present] += own + other
            sums[:, :, present] += other.swapaxes(1, 2)
            if progress is not None:
                # A block of rows has as many columns as lie to its right: a triangle.
                left_over = max(0.0, 1.0 - (start + _BLOCK) / len(points))
                progress(1.0 - left_over**2)
    return sums


@cache
def _controller() -> ThreadpoolController:
    """Looks once for the libraries whose threads it limits: that takes longer than small sums."""
    return ThreadpoolController()


def _row_block(
    left: np.ndarray,
    right: np.ndarray,
    groups: np.ndarray,
    weights: np.ndarray,
    start: int,
    count: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups of a block of rows; their sums with the same block, and with all later columns."""
    rows = slice(start, start + _BLOCK)
    present, row_sums = indicators(groups[rows], weights[:, rows], left.dtype)
    own, other = np.zeros((2, len(weights), len(present), count))
    for j in range(start, len(left), _BLOCK):
        columns = slice(j, j + _BLOCK)
        block = left[rows] @ right[columns].T
        np.exp(block, out=block)
        if j == start:
            np.fill_diagonal(block, 0.0)
        column_groups, column_sums = indicators(groups[columns], weights[:, columns], left.dtype)
        # One product for all laws: a block is read once.
        summed = np.split(block @ np.concatenate(list(column_sums), axis=1), len(weights), axis=1)
        for law, (row_sum, part) in enumerate(zip(row_sums, summed, strict=True)):
            sums = row_sum.T.astype(np.float64) @ part.astype(np.float64)
            (own if j == start else other)[law][:, column_groups] += sums
    return present, own, other


def _factors(points: np.ndarray, bandwidth: float) -> tuple[np.ndarray, np.ndarray]:
    z = (points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)) / np.sqrt(bandwidth)
    norms = (z**2).sum(axis=1, keepdims=True)
    ones = np.ones_like(norms)
    single = len(points) ** 2 > _SMALL and norms.max() <= _MAX_NORM
    dtype = np.float32 if single else np.float64
    left = np.concatenate([2.0 * z, -norms, ones], axis=1)
    right = np.concatenate([z, ones, -norms], axis=1)
    return left.astype(dtype), right.astype(dtype)


def indicators(
    groups: np.ndarray, weights: np.ndarray, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """The groups in a block of rows, and for each law the matrix that sums its rows by group."""
    first = int(groups[0])
    present = np.arange(first, int(groups[-1]) + 1)
    matrices = np.zeros((len(weights), len(groups), len(present)), dtype)
    matrices[:, np.arange(len(groups)), groups - first] = weights
    return present, matrices
