r"""The regulariser $\Omega$ of the policy, one value per state: $\Omega(\pi(\cdot \mid s))$.

$\Omega$ is concave and subtracted from the cost, so a state that looks at action values $q$ solves

$$\min_{\pi} \langle\pi, q\rangle - \Omega(\pi),$$

whose value is `softmin(q)` and whose minimiser is `argmin(q)`. Section 2.3 of the paper has a hard
argmin there, which is right for a constant $\Omega$ only (errata (m)). Everything works along the
last axis and on the array API: NumPy and JAX share one definition.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float

from etairl.simplex import project_simplex
from etairl.types import InputError

Rows = Float[Any, "... action"]
Values = Float[Any, "..."]


@runtime_checkable
class Regulariser(Protocol):
    r"""A concave $\Omega$ of the action probabilities in one state."""

    def value(self, policy: Rows) -> Values:
        r"""$\Omega(\pi)$."""
        ...

    def gradient(self, policy: Rows) -> Rows:
        r"""$\partial\Omega/\partial\pi(a)$, with every $\pi(a)$ a variable of its own."""
        ...

    def softmin(self, q: Rows) -> Values:
        r"""$\min_\pi \langle\pi, q\rangle - \Omega(\pi)$."""
        ...

    def argmin(self, q: Rows) -> Rows:
        r"""The $\pi$ that attains `softmin(q)`."""
        ...


@dataclass(frozen=True)
class Unregularised:
    r"""$\Omega = 0$: a hard minimum, at the first of the best actions."""

    def value(self, policy: Rows) -> Values:
        """See `Regulariser`."""
        return policy.__array_namespace__().sum(0.0 * policy, axis=-1)

    def gradient(self, policy: Rows) -> Rows:
        """See `Regulariser`."""
        return 0.0 * policy

    def softmin(self, q: Rows) -> Values:
        """See `Regulariser`."""
        return q.__array_namespace__().min(q, axis=-1)

    def argmin(self, q: Rows) -> Rows:
        """See `Regulariser`."""
        xp = q.__array_namespace__()
        best = xp.argmin(q, axis=-1, keepdims=True)
        return xp.astype(xp.arange(q.shape[-1]) == best, q.dtype)


@dataclass(frozen=True)
class Entropy:
    r"""$\Omega(\pi) = -\alpha\sum_a\pi(a)\log\pi(a)$.

    The softmin is $-\alpha\log\sum_a e^{-q(a)/\alpha}$, at $\pi(a) \propto e^{-q(a)/\alpha}$.
    """

    weight: float = 1.0
    r"""$\alpha > 0$, in the units of the cost"""

    def __post_init__(self):
        _check_weight("entropy", self.weight)

    def value(self, policy: Rows) -> Values:
        """See `Regulariser`."""
        xp = policy.__array_namespace__()
        return -self.weight * xp.sum(policy * _log(xp, policy), axis=-1)

    def gradient(self, policy: Rows) -> Rows:
        """See `Regulariser`."""
        return -self.weight * (_steep_log(policy.__array_namespace__(), policy) + 1.0)

    def softmin(self, q: Rows) -> Values:
        """See `Regulariser`."""
        return _soft(q.__array_namespace__(), q, self.weight, 1.0)[0]

    def argmin(self, q: Rows) -> Rows:
        """See `Regulariser`."""
        return _soft(q.__array_namespace__(), q, self.weight, 1.0)[1]


@dataclass(frozen=True)
class Tsallis:
    r"""$\Omega(\pi) = \frac{\alpha}{2}(1 - \sum_a\pi(a)^2)$: soft, yet bad actions get exactly 0.

    The minimiser is the projection of $-q/\alpha$ on the simplex (sparsemax).
    """

    weight: float = 1.0
    r"""$\alpha > 0$, in the units of the cost"""

    def __post_init__(self):
        _check_weight("tsallis", self.weight)

    def value(self, policy: Rows) -> Values:
        """See `Regulariser`."""
        squares = policy.__array_namespace__().sum(policy**2, axis=-1)
        return 0.5 * self.weight * (1.0 - squares)

    def gradient(self, policy: Rows) -> Rows:
        """See `Regulariser`."""
        return -self.weight * policy

    def softmin(self, q: Rows) -> Values:
        """See `Regulariser`."""
        policy = self.argmin(q)
        return q.__array_namespace__().sum(policy * q, axis=-1) - self.value(policy)

    def argmin(self, q: Rows) -> Rows:
        """See `Regulariser`."""
        return project_simplex(-q / self.weight)


@dataclass(frozen=True, eq=False)
class KullbackLeibler:
    r"""$\Omega(\pi) = -\alpha\,\mathrm{KL}(\pi \Vert \pi_0)$: stay near a reference policy.

    The softmin is $-\alpha\log\sum_a\pi_0(a)e^{-q(a)/\alpha}$.
    """

    weight: float
    r"""$\alpha > 0$, in the units of the cost"""
    reference: Rows
    r"""$\pi_0$, positive everywhere"""

    def __post_init__(self):
        _check_weight("kullback-leibler", self.weight)
        xp = self.reference.__array_namespace__()
        if not bool(xp.all(self.reference > 0.0)):
            raise InputError("the reference policy of a KL regulariser must be positive everywhere")
        if not bool(xp.all(xp.abs(xp.sum(self.reference, axis=-1) - 1.0) < 1e-6)):
            raise InputError("the rows of the reference policy of a KL regulariser must sum to 1")

    def value(self, policy: Rows) -> Values:
        """See `Regulariser`."""
        xp = policy.__array_namespace__()
        ratio = _log(xp, policy) - xp.log(self.reference)
        return -self.weight * xp.sum(policy * ratio, axis=-1)

    def gradient(self, policy: Rows) -> Rows:
        """See `Regulariser`."""
        xp = policy.__array_namespace__()
        return -self.weight * (_steep_log(xp, policy) - xp.log(self.reference) + 1.0)

    def softmin(self, q: Rows) -> Values:
        """See `Regulariser`."""
        return _soft(q.__array_namespace__(), q, self.weight, self.reference)[0]

    def argmin(self, q: Rows) -> Rows:
        """See `Regulariser`."""
        return _soft(q.__array_namespace__(), q, self.weight, self.reference)[1]


def _soft(xp: Any, q: Rows, weight: float, reference: Any) -> tuple[Values, Rows]:
    # Shifted by the smallest q, so that no exponential overflows.
    low = xp.min(q, axis=-1, keepdims=True)
    mass = reference * xp.exp((low - q) / weight)
    total = xp.sum(mass, axis=-1, keepdims=True)
    return (low - weight * xp.log(total))[..., 0], mass / total


def _log(xp: Any, policy: Rows) -> Rows:
    """Logarithm with log 0 = 0, for products in which 0 log 0 = 0."""
    return xp.log(xp.where(policy > 0.0, policy, 1.0))


def _steep_log(xp: Any, policy: Rows) -> Rows:
    """Logarithm that is very negative at 0, as a slope there must be, yet finite."""
    return xp.log(xp.clip(policy, xp.finfo(policy.dtype).smallest_normal, None))


def _check_weight(name: str, weight: float) -> None:
    if not (weight > 0.0 and math.isfinite(weight)):
        raise InputError(
            f"{name} needs a positive weight, got {weight}; use Unregularised() for none"
        )
