"""What chance alone would do, what several tests may claim together, what n seeds can show."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from jaxtyping import Float
from scipy import stats

LEVEL = 0.95
_MOST_SIGNS = 15  # 2^15 sign flips are counted one by one; beyond, they are drawn
_MOST_SEEDS = 10_000


def t_limit(freedom: float | int) -> float:
    """How many standard errors wide either side of Student's 95 % interval is."""
    return float(stats.t.ppf((1.0 + LEVEL) / 2.0, freedom))


def sign_flips(
    differences: Float[np.ndarray, " _"], rng: np.random.Generator | None = None
) -> float:
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


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values of several tests, each raised so that 5 % is the risk of any false alarm (Holm)."""
    raised, least = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(np.argsort(p_values, kind="stable").tolist()):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[index]))
        raised[index] = least
    return raised


def power_of(n: int, effect: float, alpha: float = 0.05) -> float:
    r"""Probability that the paired t-test with $n$ seeds finds a standardised effect.

    The statistic is noncentral $t$ with $n - 1$ degrees of freedom and centre $\sqrt n\,d$.
    """
    return 0.0 if n < 2 else t_power(n - 1, effect * np.sqrt(n), alpha)


def t_power(freedom: int, centre: float, alpha: float = 0.05) -> float:
    """Probability that a two-sided t-test finds what shifts its statistic to `centre`."""
    limit, centre = float(stats.t.ppf(1.0 - alpha / 2.0, freedom)), abs(centre)
    if centre > 35.0:  # certain; the noncentral t has no digits left there
        return 1.0
    # SciPy's lower tail is NaN for some centres, all of them so large that it is nothing.
    lower = np.nan_to_num(stats.nct.cdf(-limit, freedom, centre))
    return float(min(1.0, stats.nct.sf(limit, freedom, centre) + lower))


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
