"""What a handful of seeds can say: means, intervals, comparisons, and what they could have shown.

Every value is one of a whole run. Smaller is better, as everywhere with costs and distances. Runs
of two settings with the same seed begin alike, so comparisons are made pair by pair.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float
from scipy import stats

Values = Float[np.ndarray, " _"]
Statistic = Callable[[Float[np.ndarray, "resamples seeds"]], Float[np.ndarray, " resamples"]]
RESAMPLES = 2000
LEVEL = 0.95
_MOST_SIGNS = 15  # 2^15 sign flips are counted one by one; beyond, they are drawn
_MOST_SEEDS = 10_000


def _mean(rows: Float[np.ndarray, "resamples seeds"]) -> Float[np.ndarray, " resamples"]:
    return rows.mean(axis=1)


def _interquartile(rows: Float[np.ndarray, "resamples seeds"]) -> Float[np.ndarray, " resamples"]:
    cut = rows.shape[1] // 4
    return np.sort(rows, axis=1)[:, cut : rows.shape[1] - cut].mean(axis=1)


@dataclass(frozen=True)
class Interval:
    """A value and the bounds of its interval; the bounds are None where one value is all."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Summary:
    """Some runs that differ in their seed alone."""

    seeds: int
    mean: Interval
    iqm: Interval
    """interquartile mean: a quarter of the runs, rounded down, is left out at either end"""
    std: float | None


@dataclass(frozen=True)
class Paired:
    """A setting beside another one with equal seeds; below 0 the first is better."""

    seeds: int
    difference: Interval
    """mean of the differences, with the interval of Student's t"""
    relative: Interval
    """the same as a share of the other setting's mean"""
    p_t: float | None
    """of the paired t-test, two-sided"""
    p_signs: float
    """share of all flips of the differences' signs that are at least as extreme"""
    effect: float | None
    """mean over standard deviation of the differences, corrected for few seeds (Hedges)"""
    improvement: float
    """probability that a run of the first setting is better than one of the other"""
    power: float | None
    """probability that so many seeds show a change of 25 %, if there is one"""
    needed: int | None
    """seeds with which that probability is 0.8"""


def iqm(values: Values) -> float:
    """Mean without the lowest and the highest quarter (rounded down) of the values."""
    return float(_interquartile(values[None])[0])


def stratified_bootstrap(
    rng: np.random.Generator,
    strata: Sequence[Values],
    statistic: Statistic = _mean,
    resamples: int = RESAMPLES,
) -> Interval:
    """A statistic of all values together; seeds are drawn anew within each stratum.

    A stratum is a task: that some tasks are harder than others is no chance, and is kept.
    """
    whole = float(statistic(np.concatenate(list(strata))[None])[0])
    if all(len(values) < 2 for values in strata):
        return Interval(whole, None, None)
    drawn = [v[rng.integers(len(v), size=(resamples, len(v)))] for v in strata]
    low, high = _bounds(statistic(np.concatenate(drawn, axis=1)))
    return Interval(whole, low, high)


def _bounds(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return float(low), float(high)


def summarise(rng: np.random.Generator, strata: Sequence[Values]) -> Summary:
    """Mean and interquartile mean of runs, from one task or from several."""
    every = np.concatenate(list(strata))
    return Summary(
        seeds=len(every),
        mean=stratified_bootstrap(rng, strata),
        iqm=stratified_bootstrap(rng, strata, _interquartile),
        std=float(every.std(ddof=1)) if len(every) > 1 else None,
    )


def probability_of_improvement(ours: Sequence[Values], others: Sequence[Values]) -> float:
    r"""$P(X < Y)$, ties counted half, for runs of two settings; the mean over the strata."""
    shares = []
    for x, y in zip(ours, others, strict=True):
        below, equal = x[:, None] < y[None], x[:, None] == y[None]
        shares.append(float((below + 0.5 * equal).mean()))
    return float(np.mean(shares))


def compare(
    ours: Mapping[int, float],
    others: Mapping[int, float],
    wanted: float = 0.25,
    rng: np.random.Generator | None = None,
) -> Paired | None:
    """Two settings by the seeds that both have; None without one.

    Args:
        ours: value of each seed.
        others: the same of the setting to compare with.
        wanted: the change, as a share of the other's mean, that the power is asked for.
        rng: draws the flips of signs beyond 15 seeds.
    """
    both = sorted(ours.keys() & others.keys())
    if not both:
        return None
    x, y = (np.array([side[seed] for seed in both], float) for side in (ours, others))
    d, base, n = x - y, float(y.mean()), len(both)
    mean, spread = float(d.mean()), float(d.std(ddof=1)) if n > 1 else None
    low = high = p_t = effect = power = needed = None
    if spread is not None and spread > 0.0:
        half = float(stats.t.ppf((1.0 + LEVEL) / 2.0, n - 1)) * spread / np.sqrt(n)
        low, high = mean - half, mean + half
        p_t = float(2.0 * stats.t.sf(abs(mean) * np.sqrt(n) / spread, n - 1))
        effect = mean / spread * (1.0 - 3.0 / (4.0 * (n - 1) - 1.0)) if n > 2 else mean / spread
        power = power_of(n, wanted * abs(base) / spread)
        needed = seeds_needed(wanted * abs(base) / spread)
    return Paired(
        seeds=n,
        difference=Interval(mean, low, high),
        relative=_relative(mean, low, high, base),
        p_t=p_t,
        p_signs=sign_flips(d, rng),
        effect=effect,
        improvement=probability_of_improvement([x], [y]),
        power=power,
        needed=needed,
    )


def _relative(mean: float, low: float | None, high: float | None, base: float) -> Interval:
    if base == 0.0:
        return Interval(float("nan"), None, None)
    scaled = [None if v is None else v / abs(base) for v in (low, high)]
    return Interval(mean / abs(base), scaled[0], scaled[1])


def sign_flips(differences: Values, rng: np.random.Generator | None = None) -> float:
    """Share of sign patterns whose mean is at least as far from 0; two-sided, no law assumed."""
    n = len(differences)
    if n <= _MOST_SIGNS:
        signs = np.array(list(product((-1.0, 1.0), repeat=n)))
    else:
        rng = np.random.default_rng(0) if rng is None else rng
        signs = rng.choice((-1.0, 1.0), size=(2**_MOST_SIGNS, n))
        signs[0] = 1.0  # what was observed is one of the patterns
    means = np.abs(signs @ differences)
    return float((means >= np.abs(differences.sum()) * (1.0 - 1e-12)).mean())


def power_of(n: int, effect: float, alpha: float = 0.05) -> float:
    r"""Probability that the paired t-test with $n$ seeds finds a standardised effect.

    The statistic is noncentral $t$ with $n - 1$ degrees of freedom and centre $\sqrt n\,d$.
    """
    if n < 2:
        return 0.0
    limit = float(stats.t.ppf(1.0 - alpha / 2.0, n - 1))
    centre = abs(effect) * np.sqrt(n)
    if centre > 35.0:  # certain; the noncentral t has no digits left there
        return 1.0
    found = stats.nct.sf(limit, n - 1, centre) + stats.nct.cdf(-limit, n - 1, centre)
    return float(min(1.0, found))


def seeds_needed(effect: float, power: float = 0.8) -> int | None:
    """The fewest seeds with this power; None beyond ten thousand."""
    if power_of(_MOST_SEEDS, effect) < power:
        return None
    low, high = 1, 2
    while power_of(high, effect) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle, effect) >= power else (middle, high)
    return high
