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

from etairl.evaluation.kernel import Bandwidth, OnProgress, kernel_sums, resolve_bandwidth
from etairl.evaluation.resampling import Groups, Pool, checked
from etairl.types import InputError

X = Float[np.ndarray, "n dims"]
Y = Float[np.ndarray, "m dims"]

FOURIER_FROM = 100_000
"""Points on one side from which random Fourier features replace the exact sum."""
_FOURIER_BLOCK = 4096
_MAX_BINS = 1000  # resampled units a side when the points come without groups


class Estimate(NamedTuple):
    """A value and the standard error of its approximation: 0 for the exact sum."""

    value: float
    standard_error: float
    method: str


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
    progress: OnProgress | None = None,
) -> float:
    r"""$a^\top K_{xx} a + b^\top K_{yy} b - 2 a^\top K_{xy} b$, weights normalised to sum 1.

    With time weights for `a` and `b` this is the exact MMD² between two empirical $\mu^\eta$, and
    needs no index draws. It is a V-statistic: never negative, biased upwards by about
    $(1 - \mathbb{E}k)\,(\sum_i a_i^2 + \sum_j b_j^2)$.
    """
    points = checked(x, y)
    for name, weights, rows in (("a", a, x), ("b", b, y)):
        finite = weights.shape == (len(rows),) and 0 < weights.sum() < np.inf
        if not finite or not (weights >= 0).all():
            raise InputError(f"{name} must hold {len(rows)} weights >= 0 that are not all 0")
    signed = np.concatenate([a / a.sum(), -b / b.sum()])
    h = resolve_bandwidth(points, bandwidth)
    everything = np.zeros(len(points), dtype=np.int64)
    off_diagonal = kernel_sums(points, everything, h, signed, progress)[0, 0]
    return float(off_diagonal + signed @ signed)


def mmd2_fourier(
    rng: np.random.Generator,
    x: X,
    y: Y,
    bandwidth: Bandwidth = "paper",
    frequencies: int = 1024,
    progress: OnProgress | None = None,
) -> Estimate:
    r"""Estimate of `mmd2` in time linear in the number of points, with its error.

    $k(x, y) = \mathbb{E}_\omega \cos \omega^\top(x - y)$ with $\omega \sim N(0, 2I/h)$: every
    frequency gives an unbiased MMD² of its own, so their mean estimates `mmd2`, and their spread
    says how well: the standard error falls with $\sqrt{\text{frequencies}}$.
    """
    points = checked(x, y)
    if frequencies < 2:
        raise InputError(f"frequencies must be at least 2, got {frequencies}")
    scale = np.sqrt(2.0 / resolve_bandwidth(points, bandwidth))
    omega = (scale * rng.standard_normal((points.shape[1], frequencies))).astype(np.float32)
    centre = points.mean(axis=0)
    z = np.zeros((2, frequencies), dtype=np.complex128)
    for side, (begin, end) in enumerate(((0, len(x)), (len(x), len(points)))):
        for start in range(begin, end, _FOURIER_BLOCK):
            block = points[start : min(start + _FOURIER_BLOCK, end)] - centre
            phase = block.astype(np.float32) @ omega
            z[side] += np.cos(phase).sum(axis=0) + 1j * np.sin(phase).sum(axis=0)
            if progress is not None:
                progress((start + len(block)) / len(points))
    n, m = len(x), len(y)
    values = (
        (np.abs(z[0]) ** 2 - n) / (n * (n - 1))
        + (np.abs(z[1]) ** 2 - m) / (m * (m - 1))
        - 2.0 * (z[0] * z[1].conj()).real / (n * m)
    )
    error = float(values.std(ddof=1) / np.sqrt(frequencies))
    return Estimate(float(values.mean()), error, f"{frequencies} random Fourier features")


def estimate_mmd2(
    rng: np.random.Generator,
    x: X,
    y: Y,
    bandwidth: Bandwidth = "paper",
    progress: OnProgress | None = None,
) -> Estimate:
    """`mmd2` up to 100,000 points a side, `mmd2_fourier` beyond."""
    if max(len(x), len(y)) > FOURIER_FROM:
        return mmd2_fourier(rng, x, y, bandwidth, progress=progress)
    return Estimate(mmd2(x, y, None, bandwidth, progress), 0.0, "exact sum")


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
    labels = np.broadcast_to(pool.of_x, (permutations + 1, len(pool.of_x))).astype(np.float64)
    labels[1:] = rng.permuted(labels[1:], axis=1)
    values = pool.mmd2(labels, 1.0 - labels)
    # The same split summed in another order may differ in the last bit: count it as a tie.
    return float((values >= values[0] - 1e-12 * np.abs(values).max()).mean())


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
    values = pool.resampled(rng, resamples)
    low, high = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return BootstrapInterval(float(low), float(high), level)


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
    values = pool.split(rng, pool.of_x, splits)
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
