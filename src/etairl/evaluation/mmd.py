r"""Maximum mean discrepancy with the RBF kernel: how far apart are two samples?

$$k(x, y) = e^{-|x-y|^2/h}, \qquad
\widehat{\mathrm{MMD}}{}^2 = \frac{\sum_{i \ne j} k(x_i, x_j)}{N(N-1)}
 + \frac{\sum_{i \ne j} k(y_i, y_j)}{M(M-1)} - \frac{2}{NM}\sum_{i,j} k(x_i, y_j)$$

with $h = d$, the dimension, as in the paper; its two misprints are corrected (errata (k)). The
value estimates the *squared* MMD without bias, so under equal laws it is often negative.

Steps of one episode depend on each other, and pairs of them make the sums above biased. Given
`groups`, the episode number of each point, the sums $i \ne j$ run over pairs from different
episodes only, which is unbiased again, and whatever resamples moves whole episodes.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from etairl.evaluation.fourier import Frequencies, Side, mmd2_by_frequency, standard_error
from etairl.evaluation.kernel import Bandwidth, OnProgress, kernel_sums, resolve_bandwidth
from etairl.evaluation.resampling import Groups, Pool, pooled_points
from etairl.types import InputError

X = Float[np.ndarray, "n dims"]
Y = Float[np.ndarray, "m dims"]

_MAX_BINS = 1000  # resampled units a side when the points come without groups


class Estimate(NamedTuple):
    """A value and the standard error of its approximation."""

    value: float
    standard_error: float


class BootstrapInterval(NamedTuple):
    """A bootstrap interval."""

    low: float
    high: float
    level: float


class Floor(NamedTuple):
    """MMD² of a source against itself: what a perfect imitator would get."""

    mean: float
    high: float
    """95 % of the splits lie below."""
    size: int
    """points in one half"""
    splits: int


def mmd2(
    x: X,
    y: Y,
    groups: Groups | None = None,
    bandwidth: Bandwidth = "paper",
    progress: OnProgress | None = None,
) -> float:
    r"""Unbiased estimate of $\mathrm{MMD}^2$ between the laws of the rows of `x` and of `y`.

    Args:
        x: at least two points; draw them without replacement, repeats bias the value upwards.
        y: at least two points of the same dimension.
        groups: episode number of each point of `x` and of `y`, ascending, to leave out pairs from
            one episode. Without it every pair counts, as in the paper.
        bandwidth: $h$ in $e^{-|x-y|^2/h}$: a number, `"paper"` ($h = d$) or `"median"`.
        progress: called with the finished fraction now and then.

    Returns:
        The estimate, which may be negative.
    """
    pool = Pool.of(x, y, groups, bandwidth, progress)
    return pool.value()


def mmd2_weighted(
    x: X,
    a: Float[np.ndarray, " n"],
    y: Y,
    b: Float[np.ndarray, " m"],
    bandwidth: Bandwidth = "paper",
) -> float:
    r"""$a^\top K_{xx} a + b^\top K_{yy} b - 2 a^\top K_{xy} b$, weights normalised to sum 1.

    With time weights for `a` and `b` this is the exact MMD² between two empirical $\mu^\eta$, and
    needs no index draws. It is a V-statistic: never negative, biased upwards by about
    $(1 - \mathbb{E}k)\,(\sum_i a_i^2 + \sum_j b_j^2)$.
    """
    points = pooled_points(x, y)
    for name, weights, rows in (("a", a, x), ("b", b, y)):
        finite = weights.shape == (len(rows),) and 0 < weights.sum() < np.inf
        if not finite or not (weights >= 0).all():
            raise InputError(f"{name} must hold {len(rows)} weights >= 0 that are not all 0")
    signed = np.concatenate([a / a.sum(), -b / b.sum()])
    h = resolve_bandwidth(points, bandwidth)
    everything = np.zeros(len(points), dtype=np.int64)
    off_diagonal = kernel_sums(points, everything, h, signed[None])[0, 0, 0]
    return float(off_diagonal + signed @ signed)


def mmd2_fourier(
    rng: np.random.Generator,
    x: X,
    y: Y,
    bandwidth: Bandwidth = "paper",
    frequencies: int = 1024,
) -> Estimate:
    """Estimate of `mmd2` in time linear in the number of points, with its standard error."""
    points = pooled_points(x, y)
    drawn = Frequencies.draw(rng, points, resolve_bandwidth(points, bandwidth), frequencies)
    sides = (np.arange(len(points)) >= len(x)).astype(np.int64)
    z = drawn.sums(points, sides, np.ones((1, len(points))))[0]
    n, m = len(x), len(y)
    values = mmd2_by_frequency(Side(z[0], n, n, n), Side(z[1], m, m, m))
    return Estimate(float(values.mean()), standard_error(values))


def permutation_test(
    rng: np.random.Generator,
    x: X,
    y: Y,
    groups: Groups | None = None,
    bandwidth: Bandwidth = "paper",
    permutations: int = 1000,
) -> float:
    """p-value of "`x` and `y` come from one law": the share of relabellings with an MMD² as large.

    With groups the law is that of whole episodes, their lengths included: a sample whose episodes
    end earlier may be told apart by that alone.

    Args:
        rng: draws the relabellings.
        x: points of the first sample.
        y: points of the second.
        groups: episode number of each point, ascending. Without it the points are taken for
            independent, and steps of an episode make the test reject too often.
        bandwidth: see `mmd2`.
        permutations: number of relabellings; the smallest p-value is 1/(permutations + 1).

    Returns:
        The p-value, exact at its level when the groups are exchangeable.
    """
    _at_least_one(permutations=permutations)
    pool = Pool.of(x, y, groups or _pair_of_bins(x, y), bandwidth)
    return pool.p_value(rng, permutations)


def bootstrap_interval(
    rng: np.random.Generator,
    x: X,
    y: Y,
    groups: Groups | None = None,
    bandwidth: Bandwidth = "paper",
    level: float = 0.95,
    resamples: int = 1000,
) -> BootstrapInterval:
    """Percentile interval for MMD², from drawing whole groups again with replacement.

    Pairs from one episode, or from it and its copy, are left out as in the estimate itself. See
    `permutation_test` for the arguments.
    """
    _at_least_one(resamples=resamples)
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie in (0, 1), got {level}")
    pool = Pool.of(x, y, groups or _pair_of_bins(x, y), bandwidth)
    return BootstrapInterval(*pool.interval(rng, level, resamples), level)


def floor(
    rng: np.random.Generator,
    x: X,
    groups: Int[np.ndarray, " n"] | None = None,
    bandwidth: Bandwidth = "paper",
    splits: int = 200,
    progress: OnProgress | None = None,
) -> Floor:
    """MMD² between random halves of one sample: what is left when the behaviours are the same.

    Args:
        rng: draws the halves.
        x: points of one source, for instance all demonstrations.
        groups: episode number of each point, ascending; whole episodes go to one half.
        bandwidth: see `mmd2`.
        splits: number of random splits.
        progress: called with the finished fraction now and then.

    Returns:
        Mean and 95 % quantile over the splits. The mean is near 0, the quantile shrinks with the
        number of episodes: compare an MMD² of as many episodes a side, computed with `groups`.
    """
    _at_least_one(splits=splits)
    groups = _bins(len(x))[0] if groups is None else groups
    episodes = len(np.unique(groups))
    if episodes < 4:
        raise InputError(f"a floor needs at least 4 episodes to split in two, got {episodes}")
    pool = Pool.of(x, None, (groups, groups[:0]), bandwidth, progress)
    values = pool.null(rng, (episodes // 2, episodes - episodes // 2), splits)
    size = int(pool.sizes.sum()) // 2
    return Floor(float(values.mean()), float(np.quantile(values, 0.95)), size, len(values))


def _bins(*points: int) -> tuple[Int[np.ndarray, " rows"], ...]:
    """Groups for independent points: bins of one size on all sides, so that they can be swapped."""
    size = max(1, -(-sum(points) // (2 * _MAX_BINS)))
    return tuple(np.arange(many) // size for many in points)


def _pair_of_bins(x: np.ndarray, y: np.ndarray) -> Groups:
    of_x, of_y = _bins(len(x), len(y))
    return of_x, of_y


def _at_least_one(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise InputError(f"{name} must be at least 1, got {count}")
