"""What so many seeds can show: the power of the paired t-test, and the seeds that it needs."""

import numpy as np
from scipy import stats

_MOST_SEEDS = 10_000


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
