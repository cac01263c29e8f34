"""A change as a share of a base that is itself noisy: Fieller's intervals."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from etairl.evaluation.significance import t_limit

SeedValues = Float[np.ndarray, " _"]
AT_FLOOR = "the base is at or below its floor: there is no share to speak of"


@dataclass(frozen=True)
class Change:
    """A change as a share of a base; None, with a note, where the base or its noise forbids it."""

    value: float | None
    low: float | None
    high: float | None
    note: str | None = None


def relative_change(x: SeedValues, y: SeedValues, floor: float = 0.0) -> Change:
    r"""$\bar x/\bar y - 1$ of paired values with Fieller's interval, exact for normal values.

    It has every $r - 1$ for which the paired t-test does not tell $x$ from $r y$.
    """
    n, ours, base = len(x), float(x.mean()), float(y.mean())
    if base <= max(floor, 0.0):
        return Change(None, None, None, AT_FLOOR)
    if n < 2:
        return Change(ours / base - 1.0, None, None, "a single seed has no interval")
    if float((x - y).std(ddof=1)) == 0.0:
        why = "all differences are the same: no interval"
        return Change(ours / base - 1.0, None, None, why)
    return fieller(ours, base, np.cov(x, y) * t_limit(n - 1) ** 2 / n, floor)


def fieller(ours: float, base: float, wide: Float[np.ndarray, "2 2"], floor: float = 0.0) -> Change:
    r"""$\mu_x/\mu_y - 1$ of two normal estimates with Fieller's interval.

    It has every $r - 1$ with $(\hat x - r \hat y)^2 \le t^2\,\mathrm{Var}(\hat x - r \hat y)$.
    That set is an interval where $\hat y$ itself is apart from 0, and has no bounds elsewhere.

    Args:
        ours: the estimate $\hat x$.
        base: the estimate $\hat y$.
        wide: their covariance, times $t^2$.
        floor: a base at or below it leaves no share to speak of.
    """
    if base <= max(floor, 0.0):
        return Change(None, None, None, AT_FLOOR)
    value = ours / base - 1.0
    (xx, xy), (_, yy) = wide
    a, b, c = base**2 - yy, ours * base - xy, ours**2 - xx
    if a <= 0.0:
        return Change(value, None, None, "the base is not clearly above 0: the share has no bounds")
    half = float(np.sqrt(max(0.0, b * b - a * c)))
    return Change(value, float((b - half) / a) - 1.0, float((b + half) / a) - 1.0)
