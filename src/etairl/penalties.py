r"""The penalty $\psi$ of the cost: where costs may lie, and the best cost against two measures.

The cost player solves $\max_c\langle\mu - \mu_E, c\rangle - \psi(c)$. For costs linear in features,
$c = \sum_i w_i f_i$, that is $\max_w w\cdot\Delta$ over a set of weights, with
$\Delta = \langle\mu, f\rangle - \langle\mu_E, f\rangle$: `Ball` (EMMA, Proposition `P:EMMA`) and
`Simplex` (WIEM, Proposition `P:WIEM`) have it in closed form. `GAN` is MEGAN's penalty. All on the
array API: NumPy and JAX share one definition.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from typing_extensions import override

from etairl.simplex import finite_log, project_simplex
from etairl.types import InputError

Coefs = Float[Any, " feature"]
Masses = Float[Any, "..."]
Rate = float | Float[Any, ""]
_ROUNDING = 1e-3  # of sums of some hundred numbers in single precision
_LEAST = 1e-4  # share of an even weight from which multiplicative weights always grow again


@runtime_checkable
class WeightSet(Protocol):
    r"""A convex set of feature weights $w$; its indicator is the penalty $\imath_{\mathcal C}$."""

    def maximum(self, difference: Coefs, previous: Coefs | None = None) -> tuple[Any, Coefs]:
        r"""$\max_w w\cdot\Delta$ and where it is attained; at $\Delta = 0$, at `previous`."""
        ...

    def project(self, weights: Coefs) -> Coefs:
        """The nearest point of the set."""
        ...

    def ascend(self, weights: Coefs, difference: Coefs, rate: Rate) -> Coefs:
        r"""A step from $w$ that makes $w\cdot\Delta$ larger and stays in the set."""
        ...

    def check(self, weights: Coefs) -> None:
        """Refuse weights outside the set, up to rounding in single precision."""
        ...


@dataclass(frozen=True)
class Ball(WeightSet):
    r"""$\lVert w\rVert_2 \le r$, as in EMMA.

    The maximum is $r\lVert\Delta\rVert_2$, at $w = r\Delta/\lVert\Delta\rVert_2$.
    """

    radius: float = 1.0

    def __post_init__(self):
        if not (self.radius > 0.0 and math.isfinite(self.radius)):
            raise InputError(f"a ball of costs needs a positive radius, got {self.radius}")

    @override
    def maximum(self, difference: Coefs, previous: Coefs | None = None) -> tuple[Any, Coefs]:
        xp = difference.__array_namespace__()
        norm = xp.sqrt(xp.sum(difference**2))
        # Every w is a maximiser at 0: keep the one we had.
        kept = 0.0 * difference if previous is None else previous
        direction = self.radius * difference / xp.where(norm > 0.0, norm, 1.0)
        return self.radius * norm, xp.where(norm > 0.0, direction, kept)

    @override
    def project(self, weights: Coefs) -> Coefs:
        xp = weights.__array_namespace__()
        norm = xp.sqrt(xp.sum(weights**2))
        return weights * xp.where(norm > self.radius, self.radius / xp.where(norm > 0, norm, 1), 1)

    @override
    def ascend(self, weights: Coefs, difference: Coefs, rate: Rate) -> Coefs:
        r"""Projected ascent, the nearest point to $w+\text{rate}\,\Delta$."""
        return self.project(weights + rate * difference)

    @override
    def check(self, weights: Coefs) -> None:
        norm = math.sqrt(sum(float(w) ** 2 for w in weights))
        if not norm <= self.radius * (1.0 + _ROUNDING):
            raise InputError(
                f"the norm of the weights is {norm:.4g}, but they must lie in the ball of radius "
                f"{self.radius:g}"
            )


@dataclass(frozen=True)
class Simplex(WeightSet):
    r"""$w \ge 0$, $\sum_i w_i = 1$, as in WIEM.

    The maximum is $\max_i\Delta_i$, at a vertex; of several, the first.
    """

    @override
    def maximum(self, difference: Coefs, previous: Coefs | None = None) -> tuple[Any, Coefs]:
        xp = difference.__array_namespace__()
        vertex = xp.astype(
            xp.arange(difference.shape[0]) == xp.argmax(difference), difference.dtype
        )
        if previous is None:
            return xp.max(difference), vertex
        tied = xp.all(difference == difference[0])
        return xp.max(difference), xp.where(tied, previous, vertex)

    @override
    def project(self, weights: Coefs) -> Coefs:
        return project_simplex(weights)

    @override
    def ascend(self, weights: Coefs, difference: Coefs, rate: Rate) -> Coefs:
        r"""Multiplicative weights, $w_i\propto w_i e^{\text{rate}\,\Delta_i}$.

        A weight of 0 could never return, so before it grows each has at least $10^{-4}/n$.
        """
        xp = weights.__array_namespace__()
        grown = xp.clip(weights, _LEAST / weights.shape[0], None)
        grown = grown * xp.exp(rate * (difference - xp.max(difference)))
        return grown / xp.sum(grown)

    @override
    def check(self, weights: Coefs) -> None:
        values = [float(w) for w in weights]
        lowest, total = min(values), sum(values)
        if not (lowest >= -_ROUNDING and abs(total - 1.0) <= _ROUNDING):
            raise InputError(
                f"the weights sum to {total:.4g} and the smallest is {lowest:.4g}, but they must "
                "lie on the simplex: none below 0, sum 1"
            )


def surrogate_step(
    weights: Coefs, difference: Coefs, target: Any, rate: Rate, allowed: WeightSet | None
) -> Coefs:
    r"""One step on the quadratic loss $(w\cdot\Delta - \max)^2$ of Appendix B, then projection.

    With brackets in WIEM's target, where the paper lacks them, and with *means* in $\Delta$, where
    it has sums. It finds the maximiser slowly on a ball, and not at all without projection
    (errata (h)); `WeightSet.maximum` is the closed form.
    """
    xp = weights.__array_namespace__()
    moved = weights - 2.0 * rate * (xp.sum(weights * difference) - target) * difference
    return moved if allowed is None else allowed.project(moved)


@dataclass(frozen=True)
class GAN:
    r"""$\psi_{GAN}(c) = \langle\mu_E, g(c)\rangle$, $g(x) = -x - \log(1-e^x)$, for costs $c < 0$.

    With $D = e^c$, the probability of *learner*,

    $$\langle\mu-\mu_E, c\rangle - \psi_{GAN}(c)
    = \langle\mu, \log D\rangle + \langle\mu_E, \log(1-D)\rangle .$$

    Plus, where Proposition `P:MEGAN` prints a minus (errata (i)). For measures of equal mass $m$
    the maximum is $m(2\,\mathrm{JS} - \log 4)$, at $D = \mu/(\mu+\mu_E)$.
    """

    floor: float = 1e-12
    """the smallest D that makes a cost: where only the expert goes, log D would be infinite"""

    def penalty(self, cost: Masses, expert: Masses) -> Any:
        r"""$\psi_{GAN}(c)$; infinite where a cost is not negative and the expert goes."""
        xp = cost.__array_namespace__()
        negative = xp.where(cost < 0.0, cost, -1.0)
        g = xp.where(cost < 0.0, -negative - xp.log(-xp.expm1(negative)), math.inf)
        return xp.sum(xp.where(expert > 0.0, expert * xp.where(expert > 0.0, g, 0.0), 0.0))

    def discriminator(self, own: Masses, expert: Masses) -> Masses:
        r"""$D = \mu/(\mu+\mu_E)$; one half where nobody goes."""
        xp = own.__array_namespace__()
        total = own + expert
        return xp.where(total > 0.0, own / xp.where(total > 0.0, total, 1.0), 0.5)

    def maximum(self, own: Masses, expert: Masses) -> tuple[Any, Masses]:
        r"""$\max_c\langle\mu-\mu_E, c\rangle - \psi_{GAN}(c)$, and the cost $\log D$."""
        xp = own.__array_namespace__()
        d = self.discriminator(own, expert)
        value = xp.sum(own * finite_log(xp, d)) + xp.sum(expert * finite_log(xp, 1.0 - d))
        return value, xp.log(xp.clip(d, self.floor, None))


def jensen_shannon(p: Masses, q: Masses, axis: int | None = None) -> Any:
    r"""Jensen–Shannon divergence of two measures of equal mass; of many of them along an axis.

    $\mathrm{JS} = \frac12\mathrm{KL}(p\Vert m) + \frac12\mathrm{KL}(q\Vert m)$ with
    $m = \frac{p+q}{2}$.
    """
    xp = p.__array_namespace__()
    middle = 0.5 * (p + q)
    parts = (x * (finite_log(xp, x) - finite_log(xp, middle)) for x in (p, q))
    return 0.5 * sum(xp.sum(part, axis=axis) for part in parts)
