r"""The regulariser $\Omega$ of the policy, one value per state: $\Omega(\pi(\cdot \mid s))$.

$\Omega$ is concave and subtracted from the cost, so a state that looks at action values $q$ solves

$$\min_{\pi} \langle\pi, q\rangle - \Omega(\pi),$$

whose value is `softmin(q)` and whose minimiser is `argmin(q)`. Section 2.3 of the paper has a hard
argmin there, which is right for a constant $\Omega$ only (errata (m)). Everything works along the
last axis and on the array API: NumPy and JAX share one definition.

A solver with drawn actions needs $\Omega$ as a mean, $-\Omega(\pi) = \mathbb{E}_{a\sim\pi}[
\varphi(\log\pi(a))]$: `drawn` is $\varphi$, exact when summed over all actions with their
probabilities, and one draw of it is unbiased.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Protocol, runtime_checkable

from jaxtyping import Float
from typing_extensions import override

from etairl.simplex import finite_log, project_simplex
from etairl.types import InputError

ActionRows = Float[Any, "... action"]
StateValues = Float[Any, "..."]


@runtime_checkable
class Regulariser(Protocol):
    r"""A concave $\Omega$ of the action probabilities in one state."""

    name: ClassVar[str]
    """the word it is written with"""
    adaptive: ClassVar[bool] = False
    """whether a temperature can adapt, and aim at an entropy or a divergence"""
    relative: ClassVar[bool] = False
    """whether it looks at a reference policy: for a solver a clone of the expert"""

    def value(self, policy: ActionRows) -> StateValues:
        r"""$\Omega(\pi)$."""
        ...

    def gradient(self, policy: ActionRows) -> ActionRows:
        r"""$\partial\Omega/\partial\pi(a)$, with every $\pi(a)$ a variable of its own."""
        ...

    def softmin(self, q: ActionRows) -> StateValues:
        r"""$\min_\pi \langle\pi, q\rangle - \Omega(\pi)$."""
        ...

    def argmin(self, q: ActionRows) -> ActionRows:
        r"""The $\pi$ that attains `softmin(q)`."""
        ...

    def drawn(self, log_prob: StateValues) -> StateValues:
        r"""$\varphi(\log\pi(a))$, whose mean over $a\sim\pi$ is $-\Omega(\pi)$."""
        ...


@dataclass(frozen=True)
class Unregularised(Regulariser):
    r"""$\Omega = 0$: a hard minimum, at the first of the best actions."""

    name: ClassVar[str] = "none"

    @override
    def value(self, policy: ActionRows) -> StateValues:
        return policy.__array_namespace__().sum(0.0 * policy, axis=-1)

    @override
    def gradient(self, policy: ActionRows) -> ActionRows:
        return 0.0 * policy

    @override
    def softmin(self, q: ActionRows) -> StateValues:
        return q.__array_namespace__().min(q, axis=-1)

    @override
    def argmin(self, q: ActionRows) -> ActionRows:
        xp = q.__array_namespace__()
        best = xp.argmin(q, axis=-1, keepdims=True)
        return xp.astype(xp.arange(q.shape[-1]) == best, q.dtype)

    @override
    def drawn(self, log_prob: StateValues) -> StateValues:
        return 0.0 * log_prob


@dataclass(frozen=True)
class Entropy(Regulariser):
    r"""$\Omega(\pi) = -\alpha\sum_a\pi(a)\log\pi(a)$.

    The softmin is $-\alpha\log\sum_a e^{-q(a)/\alpha}$, at $\pi(a) \propto e^{-q(a)/\alpha}$.
    """

    name: ClassVar[str] = "entropy"
    adaptive: ClassVar[bool] = True
    weight: float = 1.0
    r"""$\alpha > 0$, in the units of the cost"""

    def __post_init__(self):
        _check_weight(self)

    @override
    def value(self, policy: ActionRows) -> StateValues:
        xp = policy.__array_namespace__()
        return -self.weight * xp.sum(policy * finite_log(xp, policy), axis=-1)

    @override
    def gradient(self, policy: ActionRows) -> ActionRows:
        return -self.weight * (_steep_log(policy.__array_namespace__(), policy) + 1.0)

    @override
    def softmin(self, q: ActionRows) -> StateValues:
        return _soft(q.__array_namespace__(), q, self.weight, 1.0)[0]

    @override
    def argmin(self, q: ActionRows) -> ActionRows:
        return _soft(q.__array_namespace__(), q, self.weight, 1.0)[1]

    @override
    def drawn(self, log_prob: StateValues) -> StateValues:
        r"""$\alpha\log\pi(a)$."""
        return self.weight * log_prob


@dataclass(frozen=True)
class Tsallis(Regulariser):
    r"""$\Omega(\pi) = \frac{\alpha}{q(q-1)}(1 - \sum_a\pi(a)^q)$: soft, yet bad actions get 0.

    The limit $q\to1$ is `Entropy`. For action values $x$ the minimiser is
    $\pi(a) = [(q-1)(\lambda-x(a))/\alpha]_+^{1/(q-1)}$, with $\lambda$ such that it sums to 1; for
    $q=2$ that is the projection of $-x/\alpha$ on the simplex (sparsemax).
    """

    name: ClassVar[str] = "tsallis"
    weight: float = 1.0
    r"""$\alpha > 0$, in the units of the cost"""
    q: float = 2.0
    """> 1; the larger, the fewer actions stay possible"""

    def __post_init__(self):
        _check_weight(self)
        if not (self.q > 1.0 and math.isfinite(self.q)):
            raise InputError(f"tsallis needs q > 1, got {self.q:g}; the limit at 1 is the entropy")

    @override
    def value(self, policy: ActionRows) -> StateValues:
        powers = policy.__array_namespace__().sum(policy**self.q, axis=-1)
        return self.weight / (self.q * (self.q - 1.0)) * (1.0 - powers)

    @override
    def gradient(self, policy: ActionRows) -> ActionRows:
        return -self.weight / (self.q - 1.0) * policy ** (self.q - 1.0)

    @override
    def softmin(self, q: ActionRows) -> StateValues:
        policy = self.argmin(q)
        return q.__array_namespace__().sum(policy * q, axis=-1) - self.value(policy)

    @override
    def argmin(self, q: ActionRows) -> ActionRows:
        if self.q == 2.0:
            return project_simplex(-q / self.weight)
        xp = q.__array_namespace__()
        steep = (self.q - 1.0) * (xp.min(q, axis=-1, keepdims=True) - q) / self.weight
        # In these units the multiplier lies in [0, 1]: at 1 the best action alone has all.
        low = 0.0 * steep[..., :1]
        high = low + 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            mass = xp.sum(xp.clip(steep + middle, 0.0, None) ** (1.0 / (self.q - 1.0)), axis=-1)
            above = mass[..., None] > 1.0
            low, high = xp.where(above, low, middle), xp.where(above, middle, high)
        policy = xp.clip(steep + high, 0.0, None) ** (1.0 / (self.q - 1.0))
        return policy / xp.sum(policy, axis=-1, keepdims=True)

    @override
    def drawn(self, log_prob: StateValues) -> StateValues:
        r"""$\alpha\frac{\pi(a)^{q-1}-1}{q(q-1)}$, for densities, too."""
        xp = log_prob.__array_namespace__()
        # A density has no upper bound; beyond e^30 it is as good as infinite.
        power = xp.exp(xp.clip((self.q - 1.0) * log_prob, None, 30.0))
        return self.weight / (self.q * (self.q - 1.0)) * (power - 1.0)


@dataclass(frozen=True, eq=False)
class KullbackLeibler(Regulariser):
    r"""$\Omega(\pi) = -\alpha\,\mathrm{KL}(\pi \Vert \pi_0)$: stay near a reference policy.

    The softmin is $-\alpha\log\sum_a\pi_0(a)e^{-q(a)/\alpha}$. Equal to itself alone, so a solver
    takes the one object of `parse_regulariser("kl")`.
    """

    name: ClassVar[str] = "kl"
    adaptive: ClassVar[bool] = True
    relative: ClassVar[bool] = True
    weight: float = 1.0
    r"""$\alpha > 0$, in the units of the cost"""
    reference: ActionRows | None = None
    r"""$\pi_0$, positive everywhere; None for a solver that keeps it as a network, and needs
    nothing but `drawn`"""

    def __post_init__(self):
        _check_weight(self)
        if self.reference is None:
            return
        xp = self.reference.__array_namespace__()
        if not bool(xp.all(self.reference > 0.0)):
            raise InputError("the reference policy of a KL regulariser must be positive everywhere")
        if not bool(xp.all(xp.abs(xp.sum(self.reference, axis=-1) - 1.0) < 1e-6)):
            raise InputError("the rows of the reference policy of a KL regulariser must sum to 1")

    @property
    def table(self) -> ActionRows:
        """The reference, where sums over all actions need it."""
        if self.reference is None:
            raise InputError("KullbackLeibler() without a reference knows drawn actions only")
        return self.reference

    @override
    def value(self, policy: ActionRows) -> StateValues:
        xp = policy.__array_namespace__()
        ratio = finite_log(xp, policy) - xp.log(self.table)
        return -self.weight * xp.sum(policy * ratio, axis=-1)

    @override
    def gradient(self, policy: ActionRows) -> ActionRows:
        xp = policy.__array_namespace__()
        return -self.weight * (_steep_log(xp, policy) - xp.log(self.table) + 1.0)

    @override
    def softmin(self, q: ActionRows) -> StateValues:
        return _soft(q.__array_namespace__(), q, self.weight, self.table)[0]

    @override
    def argmin(self, q: ActionRows) -> ActionRows:
        return _soft(q.__array_namespace__(), q, self.weight, self.table)[1]

    @override
    def drawn(self, log_prob: StateValues) -> StateValues:
        r"""$\alpha\varphi$ of the log-*ratio* $\log\pi(a)-\log\pi_0(a)$."""
        return self.weight * log_prob


def _soft(xp: Any, q: ActionRows, weight: float, reference: Any) -> tuple[StateValues, ActionRows]:
    # Shifted by the smallest q, so that no exponential overflows.
    low = xp.min(q, axis=-1, keepdims=True)
    mass = reference * xp.exp((low - q) / weight)
    total = xp.sum(mass, axis=-1, keepdims=True)
    return (low - weight * xp.log(total))[..., 0], mass / total


def _steep_log(xp: Any, policy: ActionRows) -> ActionRows:
    """Logarithm that is very negative at 0, as a slope there must be, yet finite."""
    return xp.log(xp.clip(policy, xp.finfo(policy.dtype).smallest_normal, None))


def _check_weight(omega: Entropy | Tsallis | KullbackLeibler) -> None:
    if not (omega.weight > 0.0 and math.isfinite(omega.weight)):
        raise InputError(
            f"{omega.name} needs a positive weight, got {omega.weight}; use Unregularised() for "
            "none"
        )


REGULARISERS: dict[str, Regulariser] = {
    omega.name: omega for omega in (Entropy(), Tsallis(), KullbackLeibler(), Unregularised())
}
"""each with weight 1, by its name"""


@cache
def parse_regulariser(text: str) -> Regulariser:
    """`entropy`, `tsallis` or `tsallis:Q`, `kl`, `none`, with weight 1: a solver has its own.

    The same name is the same object: solvers are compared, and compiled once for equal ones.
    """
    name, _, rest = text.partition(":")
    if name == Tsallis.name and rest:
        try:
            return Tsallis(q=float(rest))
        except ValueError as error:
            why = error if isinstance(error, InputError) else f"{rest!r} is not a number"
            raise InputError(f"regulariser {text!r}: {why}") from None
    if text not in REGULARISERS:
        raise InputError(
            f"unknown regulariser {text!r}; choose entropy, tsallis:Q (for instance tsallis:2), kl "
            "or none"
        )
    return REGULARISERS[text]
