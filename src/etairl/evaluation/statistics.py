"""What a handful of seeds can say: means, intervals, comparisons, and what they could have shown.

Every value is one of a whole run. Smaller is better, as everywhere with costs and distances. Runs
of two settings with the same seed begin alike, so comparisons are made pair by pair.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from etairl.evaluation.ratios import Change, SeedValues, relative_change
from etairl.evaluation.significance import LEVEL, power_of, seeds_needed, sign_flips, t_limit

RESAMPLES = 2000


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
    mean_by: str = "Student's t"
    """what the interval of the mean is"""
    iqm_by: str = "stratified bootstrap"
    """what the interval of the interquartile mean is"""


@dataclass(frozen=True)
class Paired:
    """A setting beside another one with equal seeds; below 0 the first is better."""

    seeds: int
    ours: float
    """mean of the first setting over the seeds that both have"""
    other: float
    """the same of the other one, the base"""
    difference: Interval
    """mean of the differences, with the interval of Student's t"""
    relative: Change
    """the same as a share of the base, with Fieller's interval; None at or below the floor"""
    p_t: float | None
    """of the paired t-test, two-sided"""
    p_signs: float
    """share of all flips of the differences' signs that are at least as extreme"""
    effect: float | None
    """mean over standard deviation of the differences, corrected for few seeds (Hedges)"""
    improvement: float
    """probability that a run of the first setting is better than one of the other"""
    improvement_bounds: tuple[float, float] | None
    """bootstrap interval of that, seeds drawn anew; too narrow with few of them"""
    wanted: float
    """the change, as a share of the base, that the power is about"""
    power: float | None
    """probability that so many seeds show such a change, if there is one"""
    needed: int | None
    """seeds with which that probability is 0.8"""


def iqm(values: SeedValues) -> float:
    """Mean without the lowest and the highest quarter (rounded down) of the values."""
    return float(_interquartile(values[None])[0])


def stratified_bootstrap(
    rng: np.random.Generator,
    strata: Sequence[SeedValues],
    statistic: Callable[[np.ndarray], np.ndarray] = _mean,
    resamples: int = RESAMPLES,
) -> Interval:
    """A statistic of all values together; seeds are drawn anew within each stratum.

    A stratum is a task: that some tasks are harder than others is not chance, and is kept.
    """
    whole = float(statistic(np.concatenate(list(strata))[None])[0])
    if any(len(values) < 2 for values in strata):
        return Interval(whole, None, None)
    drawn = [v[rng.integers(len(v), size=(resamples, len(v)))] for v in strata]
    low, high = _bounds(statistic(np.concatenate(drawn, axis=1)))
    return Interval(whole, low, high)


def _bounds(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return float(low), float(high)


def mean_interval(
    strata: Sequence[SeedValues], residuals: Sequence[SeedValues] | None = None
) -> Interval:
    r"""The mean of all values with the interval of Student's t, variances pooled over strata.

    $\sum_s (n_s/N)^2 s_s^2/n_s$ is the variance, with Welch and Satterthwaite's degrees of
    freedom. No bounds where a stratum has a single value. `residuals` has what varies, if that is
    not the values themselves.
    """
    every = np.concatenate(list(strata))
    mean, total = float(every.mean()), len(every)
    noise = list(strata if residuals is None else residuals)
    if any(len(values) < 2 for values in noise):
        return Interval(mean, None, None)
    parts = np.array([len(v) * float(v.var(ddof=1)) / total**2 for v in noise])
    if not parts.sum() > 0.0:
        return Interval(mean, mean, mean)
    freedom = parts.sum() ** 2 / (parts**2 / [len(v) - 1 for v in noise]).sum()
    half = t_limit(float(freedom)) * float(np.sqrt(parts.sum()))
    return Interval(mean, mean - half, mean + half)


def summarise(rng: np.random.Generator, strata: Sequence[SeedValues]) -> Summary:
    """Mean and interquartile mean of runs, from one task or from several."""
    every = np.concatenate(list(strata))
    return Summary(
        seeds=len(every),
        mean=mean_interval(strata),
        iqm=stratified_bootstrap(rng, strata, _interquartile),
        std=float(every.std(ddof=1)) if len(every) > 1 else None,
    )


def summarise_shares(
    rng: np.random.Generator,
    ours: Sequence[SeedValues],
    others: Sequence[SeedValues],
    resamples: int = RESAMPLES,
) -> Summary:
    r"""The same of runs in shares of the other setting's mean, stratum by stratum.

    Both sides have their seeds in the same order. The base is as noisy as what is divided by it:
    the mean has the t interval of the linearised share, with residuals $(x - r y)/\bar y$, and the
    bootstrap draws seeds of both sides together.
    """
    shares = [x / y.mean() for x, y in zip(ours, others, strict=True)]
    residuals = [
        (x - y * (x.mean() / y.mean())) / y.mean() for x, y in zip(ours, others, strict=True)
    ]
    every = np.concatenate(shares)
    middle = iqm(every)
    low = high = None
    if all(len(x) > 1 for x in ours):
        drawn = []
        for x, y in zip(ours, others, strict=True):
            seeds = rng.integers(len(x), size=(resamples, len(x)))
            with np.errstate(divide="ignore", invalid="ignore"):
                drawn.append(x[seeds] / y[seeds].mean(axis=1, keepdims=True))
        resampled = _interquartile(np.concatenate(drawn, axis=1))
        if np.isfinite(resampled).all():
            low, high = _bounds(resampled)
    return Summary(
        seeds=len(every),
        mean=mean_interval(shares, residuals),
        iqm=Interval(middle, low, high),
        std=float(every.std(ddof=1)) if len(every) > 1 else None,
        mean_by="Student's t of the linearised share",
        iqm_by="stratified bootstrap, seeds of both sides together",
    )


def _wins(x: SeedValues, y: SeedValues) -> Float[np.ndarray, "ours others"]:
    return (x[:, None] < y[None]) + 0.5 * (x[:, None] == y[None])


def probability_of_improvement(ours: Sequence[SeedValues], others: Sequence[SeedValues]) -> float:
    r"""$P(X < Y)$, ties counted half, for runs of two settings; the mean over the strata."""
    return float(np.mean([_wins(x, y).mean() for x, y in zip(ours, others, strict=True)]))


def improvement_bounds(
    rng: np.random.Generator, ours: Sequence[SeedValues], others: Sequence[SeedValues]
) -> tuple[float, float] | None:
    """Stratified bootstrap interval of that: seeds, the same on both sides, are drawn anew."""
    if any(len(x) < 2 for x in ours):
        return None
    drawn = np.zeros(RESAMPLES)
    for x, y in zip(ours, others, strict=True):
        n = len(x)
        shares = rng.multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES) / n
        drawn += ((shares @ _wins(x, y)) * shares).sum(axis=1)
    return _bounds(drawn / len(ours))


def compare(
    ours: Mapping[int, float],
    others: Mapping[int, float],
    wanted: float = 0.25,
    floor: float = 0.0,
) -> Paired | None:
    """Two settings by the seeds that both have; None without one.

    Args:
        ours: value of each seed.
        others: the same of the setting to compare with.
        wanted: the change, as a share of the other's mean, that the power is asked for.
        floor: a base at or below it leaves no share to speak of.
    """
    both = sorted(ours.keys() & others.keys())
    if not both:
        return None
    rng = np.random.default_rng(0)
    x, y = (np.array([side[seed] for seed in both], float) for side in (ours, others))
    d, base, n = x - y, float(y.mean()), len(both)
    mean, spread = float(d.mean()), float(d.std(ddof=1)) if n > 1 else None
    low = high = p_t = effect = power = needed = None
    if spread is not None and spread > 0.0:
        half = float(t_limit(n - 1) * spread / np.sqrt(n))
        low, high = mean - half, mean + half
        p_t = float(2.0 * stats.t.sf(abs(mean) * np.sqrt(n) / spread, n - 1))
        effect = mean / spread * (1.0 - 3.0 / (4.0 * (n - 1) - 1.0)) if n > 2 else mean / spread
        if base > max(floor, 0.0):
            power = power_of(n, wanted * base / spread)
            needed = seeds_needed(wanted * base / spread)
    return Paired(
        seeds=n,
        ours=float(x.mean()),
        other=base,
        difference=Interval(mean, low, high),
        relative=relative_change(x, y, floor),
        p_t=p_t,
        p_signs=sign_flips(d, rng),
        effect=effect,
        improvement=probability_of_improvement([x], [y]),
        improvement_bounds=improvement_bounds(rng, [x], [y]),
        wanted=wanted,
        power=power,
        needed=needed,
    )
