r"""A trend over runs of several settings: all of them together show more than a pair of them.

Least squares of $y_{si} = a_s + b\,x_{si}$ over runs $i$ of seeds $s$. Runs with one seed begin
alike, so each seed has a level $a_s$ of its own. $x \ge 0$ says how far a setting is from the base.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from etairl.evaluation.significance import t_power
from etairl.evaluation.statistics import LEVEL, Change, Interval, fieller


@dataclass(frozen=True)
class Trend:
    """A line through runs; below 0, settings that are farther from the base are better."""

    runs: int
    seeds: int
    reach: float
    """the largest x"""
    start: Interval
    """the line at x = 0, mean over the seeds"""
    end: Interval
    """the same at the largest x"""
    change: Interval
    """the second less the first"""
    relative: Change
    """the same as a share of the first, with Fieller's interval"""
    p: float
    """of the t-test that there is no change, two-sided"""
    wanted: float
    """the change, as a share of the start, that the power is about"""
    power: float | None
    """probability that so many runs show such a change, if there is one"""


def fit_trend(
    points: Mapping[int, Sequence[tuple[float, float]]], wanted: float = 0.25, floor: float = 0.0
) -> Trend | None:
    r"""The line with its intervals, $\hat b \pm t\,\hat\sigma/\sqrt{S}$ and the like.

    $S = \sum_{si} (x_{si}-\bar x_s)^2$ and $\hat\sigma^2$ is the mean square of the residuals, with
    as many degrees of freedom as there are runs, less the seeds, less one.

    Args:
        points: x and y of the runs of each seed.
        wanted: the change, as a share of the start, that the power is asked for.
        floor: a start at or below it leaves no share to speak of.

    Returns:
        None with fewer than three different x, with no degree of freedom, or without any noise.
    """
    seeds = [np.array(runs, float).T for runs in points.values() if len(runs)]
    runs = sum(x.size for x, _ in seeds)
    freedom = runs - len(seeds) - 1
    if freedom < 1 or len(np.unique(np.concatenate([x for x, _ in seeds]))) < 3:
        return None
    spread = sum(float(((x - x.mean()) ** 2).sum()) for x, _ in seeds)
    shared = sum(float(((x - x.mean()) * (y - y.mean())).sum()) for x, y in seeds)
    if spread == 0.0:
        return None  # each seed has a single setting
    slope = shared / spread
    rest = [y - y.mean() - slope * (x - x.mean()) for x, y in seeds]
    noise = sum(float((r**2).sum()) for r in rest) / freedom
    if noise <= 0.0:
        return None
    reach = max(float(x.max()) for x, _ in seeds)
    middle = float(np.mean([x.mean() for x, _ in seeds]))
    start = float(np.mean([y.mean() for _, y in seeds])) - slope * middle
    # Of start and slope: variances and covariance.
    level = noise * sum(1.0 / x.size for x, _ in seeds) / len(seeds) ** 2
    vary_start, vary_slope, shared_start = (
        level + noise * middle**2 / spread,
        noise / spread,
        -noise * middle / spread,
    )
    vary_end = vary_start + 2.0 * reach * shared_start + reach**2 * vary_slope
    both = vary_start + reach * shared_start  # covariance of start and end
    limit = float(stats.t.ppf((1.0 + LEVEL) / 2.0, freedom))
    change, error = slope * reach, reach * float(np.sqrt(vary_slope))
    covariance = np.array([[vary_end, both], [both, vary_start]])
    return Trend(
        runs=runs,
        seeds=len(seeds),
        reach=reach,
        start=_around(start, limit * np.sqrt(vary_start)),
        end=_around(start + change, limit * np.sqrt(vary_end)),
        change=_around(change, limit * error),
        relative=fieller(start + change, start, covariance * limit**2, floor),
        p=float(2.0 * stats.t.sf(abs(change) / error, freedom)),
        wanted=wanted,
        power=t_power(freedom, wanted * start / error) if start > max(floor, 0.0) else None,
    )


def _around(value: float, half: float) -> Interval:
    return Interval(value, value - float(half), value + float(half))
