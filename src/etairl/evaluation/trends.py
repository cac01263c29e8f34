r"""A trend over runs of several settings: all of them together show more than a pair of them.

Least squares of $y_{si} = a_s + b\,x_{si}$ over runs $i$ of seeds $s$. Runs with one seed begin
alike, so each seed has a level $a_s$ of its own. $x \ge 0$ says how far a setting is from the base.
Noise may differ from setting to setting: the covariance of $\hat\beta = (\hat a, \hat b)$ is

$$\sum_i (\hat\beta - \hat\beta_{-i})(\hat\beta - \hat\beta_{-i})^\top, \qquad
\hat\beta - \hat\beta_{-i} = (X^\top X)^{-1} x_i \frac{e_i}{1 - h_i},$$

with $\hat\beta_{-i}$ without run $i$, residuals $e$ and leverages $h$ (MacKinnon and White's HC3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from etairl.evaluation.ratios import Change, fieller
from etairl.evaluation.significance import t_limit, t_power
from etairl.evaluation.statistics import Interval


@dataclass(frozen=True)
class Trend:
    """A line through runs; below 0, settings that are farther from the base are better.

    Intervals are for these seeds: how far the levels of others would be is not in them.
    """

    runs: int
    seeds: int
    reach: float
    """the largest x"""
    start: float
    """the line at x = 0, mean over the seeds"""
    end: float
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
    """The line, with intervals of as many degrees of freedom as runs less seeds less one.

    Args:
        points: x and y of the runs of each seed; a seed with a single run says nothing.
        wanted: the change, as a share of the start, that the power is asked for.
        floor: a start at or below it leaves no share to speak of.

    Returns:
        None where a line cannot be fitted: fewer than three different x, one run that decides
        all, no degree of freedom, no noise.
    """
    seeds = [np.array(runs, float) for runs in points.values() if len(runs) > 1]
    if not seeds:
        return None
    x, y = np.concatenate(seeds).T
    design = np.column_stack([np.repeat(np.eye(len(seeds)), [len(s) for s in seeds], axis=0), x])
    freedom = len(y) - design.shape[1]
    if freedom < 1 or len(np.unique(x)) < 3 or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    line, covariance = _least_squares(design, y)
    reach = float(x.max())
    level = np.append(np.full(len(seeds), 1.0 / len(seeds)), 0.0)
    ends = np.array([level + np.eye(len(level))[-1] * reach, level])
    end, start = (float(value) for value in ends @ line)
    error = reach * float(np.sqrt(covariance[-1, -1]))
    if not error > 1e-9 * float(np.abs(y).max()):
        return None
    limit = t_limit(freedom)
    change = end - start
    return Trend(
        runs=len(y),
        seeds=len(seeds),
        reach=reach,
        start=start,
        end=end,
        change=Interval(change, change - limit * error, change + limit * error),
        relative=fieller(end, start, ends @ covariance @ ends.T * limit**2, floor),
        p=float(2.0 * stats.t.sf(abs(change) / error, freedom)),
        wanted=wanted,
        power=t_power(freedom, wanted * start / error) if start > max(floor, 0.0) else None,
    )


def _least_squares(
    design: Float[np.ndarray, "runs terms"], y: Float[np.ndarray, " runs"]
) -> tuple[Float[np.ndarray, " terms"], Float[np.ndarray, "terms terms"]]:
    """Coefficients and their covariance; that is NaN where one run decides all."""
    inverse = np.linalg.inv(design.T @ design)
    line = inverse @ design.T @ y
    influence = design @ inverse
    leverage = (influence * design).sum(axis=1)
    if leverage.max() > 1.0 - 1e-9:
        return line, np.full_like(inverse, np.nan)
    moved = influence * ((y - design @ line) / (1.0 - leverage))[:, None]
    return line, moved.T @ moved
