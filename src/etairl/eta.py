r"""The weighting $\eta$: a law on the number of steps $k \ge 0$ to look ahead.

$\eta$ enters the criterion $\mathbb{E}\sum_n w_n c_n$ through the time weights

$$w_n = \sum_{k \le n} \eta(k)\,\gamma^{n-k}, \qquad w_n = \gamma w_{n-1} + \eta(n).$$

Counting starts at $k = 0$, so $\delta_0$ is the classical criterion.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
from jaxtyping import Float

from etairl.types import InputError

Vector = Float[np.ndarray, " horizon"]
_FARTHEST = 2**53  # steps that a float can count
_LARGEST_MEAN = 1e6  # of a Poisson law: beyond, its logarithms lose more than nine digits


class Eta(ABC):
    r"""A law $\eta$ on $\{0, 1, 2, …\}$; `parse_eta(str(eta)) == eta`."""

    @abstractmethod
    def log_pmf(self, horizon: int) -> Vector:
        r"""$\log \eta(k)$ for $k < $ `horizon`, without renormalising (where a tail exists)."""

    @abstractmethod
    def tail(self, horizon: int) -> float | None:
        r"""$\eta(k \ge $ `horizon`$)$; None for a law that exists only when truncated."""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def mean(self, horizon: int | None = None) -> float:
        r"""$\mathbb{E}[k]$, of the law truncated to `horizon` when that is given."""

    def pmf(self, horizon: int) -> Vector:
        r"""$\eta$ truncated to $0 \le k < $ `horizon` and renormalised: sums to 1."""
        log_pmf = self.log_pmf(check_horizon(horizon))
        top = log_pmf.max()
        if top == -np.inf:
            raise InputError(
                f"{self} puts no mass on the first {horizon} steps; use a longer horizon"
            )
        mass = np.exp(log_pmf - top)
        return mass / mass.sum()

    def discount(self, gamma: float) -> float | None:
        r"""$\beta$ if $w_n = \frac{1-\beta}{1-\gamma}\beta^n$: RL with another discount; or None.

        So for $\delta_0$ in every spelling, with $\beta = \gamma$, for the zero-modified geometric
        law made for this $\gamma$ (errata (a)), and for $\mathrm{Geom}(\kappa)$ at $\gamma = 0$.
        """
        return gamma if self.tail(1) == 0.0 else None

    def weights(self, gamma: float, horizon: int) -> Vector:
        r"""Time weights $w_n = \sum_{k \le n} \eta(k) \gamma^{n-k}$ for $n < $ `horizon`.

        $\eta$ is not truncated, so $\sum_n w_n \to 1/(1-\gamma)$. For a law that exists only when
        truncated (`uniform`) the weights are those of its truncation; their ratios do not depend
        on `horizon`.
        """
        check_discount(gamma)
        return discounted_sum(np.exp(self.log_pmf(check_horizon(horizon))), gamma)


def discounted_sum(
    mass: Float[np.ndarray, "horizon ..."], gamma: float | Float[np.ndarray, " columns"]
) -> Float[np.ndarray, "horizon ..."]:
    r"""$w_n = \gamma w_{n-1} + \text{mass}_n$, $w_{-1} = 0$, along the first axis.

    By doubling: $\sum_{j<2s} \gamma^j m_{n-j}$ is the sum over $j<s$ plus $\gamma^s$ times the same
    sum $s$ steps earlier. A dozen array passes instead of a loop over n.
    """
    sums, step = np.array(mass), 1
    while step < len(sums):
        sums[step:] += gamma**step * sums[:-step]
        step *= 2
    return sums


def check_horizon(horizon: int) -> int:
    """`horizon` if it is a usable number of steps."""
    if horizon < 1 or horizon != int(horizon):
        raise InputError(f"the horizon must be a whole number of steps >= 1, got {horizon}")
    return int(horizon)


def check_discount(gamma: float) -> float:
    """`gamma` if it can discount a time index: in [0, 1], where 0 keeps the first step only."""
    if not 0.0 <= gamma <= 1.0:
        raise InputError(f"gamma must lie in [0, 1], got {gamma}")
    return gamma


def _truncated_mean(eta: Eta, horizon: int) -> float:
    return float(np.arange(horizon) @ eta.pmf(horizon))


@dataclass(frozen=True)
class Dirac(Eta):
    r"""$\delta_k$: look exactly `k` steps ahead. `Dirac(0)` is GAIL."""

    k: int = 0

    def __post_init__(self):
        if not (0 <= self.k <= _FARTHEST and self.k == int(self.k)):
            raise InputError(f"dirac needs a whole number of steps >= 0, got {self.k:g}")
        object.__setattr__(self, "k", int(self.k))

    def log_pmf(self, horizon: int) -> Vector:
        """See `Eta`."""
        return np.where(np.arange(horizon) == self.k, 0.0, -np.inf)

    def tail(self, horizon: int) -> float:
        """See `Eta`."""
        return float(self.k >= horizon)

    def mean(self, horizon: int | None = None) -> float:
        """See `Eta`."""
        return float(self.k) if horizon is None else _truncated_mean(self, horizon)

    def __str__(self) -> str:
        return f"dirac:{self.k}"


@dataclass(frozen=True)
class Geometric(Eta):
    r"""$\eta(k) = (1-\kappa)\kappa^k$, $\kappa$ the probability of going on one more step."""

    kappa: float = 0.99
    """0 is a Dirac mass at 0, 1 is uniform on the remaining horizon."""

    def __post_init__(self):
        if not 0.0 <= self.kappa <= 1.0:
            raise InputError(f"geometric needs kappa in [0, 1], got {self.kappa}")
        object.__setattr__(self, "kappa", float(self.kappa))

    def log_pmf(self, horizon: int) -> Vector:
        """See `Eta`."""
        if self.kappa == 0.0:
            return Dirac(0).log_pmf(horizon)
        if self.kappa == 1.0:
            return Uniform().log_pmf(horizon)
        return math.log1p(-self.kappa) + np.arange(horizon) * math.log(self.kappa)

    def tail(self, horizon: int) -> float | None:
        """See `Eta`."""
        return None if self.kappa == 1.0 else self.kappa**horizon

    def mean(self, horizon: int | None = None) -> float:
        """See `Eta`."""
        if horizon is not None:
            return _truncated_mean(self, horizon)
        return math.inf if self.kappa == 1.0 else self.kappa / (1.0 - self.kappa)

    def discount(self, gamma: float) -> float | None:
        """See `Eta`."""
        if gamma == 0.0 and self.kappa < 1.0:
            return self.kappa
        return gamma if self.kappa == 0.0 else None

    def __str__(self) -> str:
        return f"geometric:{_number(self.kappa)}"


@dataclass(frozen=True)
class Uniform(Eta):
    r"""Every remaining step alike: `Geometric(1)`. A law only on a finite horizon."""

    def log_pmf(self, horizon: int) -> Vector:
        """See `Eta`."""
        return np.full(horizon, -math.log(horizon))

    def tail(self, horizon: int) -> None:
        """See `Eta`."""
        return None

    def mean(self, horizon: int | None = None) -> float:
        """See `Eta`."""
        return math.inf if horizon is None else (check_horizon(horizon) - 1) / 2

    def __str__(self) -> str:
        return "uniform"


@dataclass(frozen=True)
class Poisson(Eta):
    r"""$\eta(k) = e^{-\lambda}\lambda^k/k!$: look about $\lambda$ steps ahead."""

    lam: float = 25.0

    def __post_init__(self):
        if not 0.0 < self.lam <= _LARGEST_MEAN:
            raise InputError(f"poisson needs a mean > 0 and at most 1e6, got {self.lam:g}")
        object.__setattr__(self, "lam", float(self.lam))

    def log_pmf(self, horizon: int) -> Vector:
        """See `Eta`."""
        from scipy.special import gammaln

        k = np.arange(horizon)
        return k * math.log(self.lam) - self.lam - gammaln(k + 1)

    def tail(self, horizon: int) -> float:
        """See `Eta`."""
        from scipy.special import gammainc

        # P(k >= h) = gammainc(h, lam), without the cancellation of 1 - cdf.
        return float(gammainc(horizon, self.lam))

    def mean(self, horizon: int | None = None) -> float:
        """See `Eta`."""
        return self.lam if horizon is None else _truncated_mean(self, horizon)

    def __str__(self) -> str:
        return f"poisson:{_number(self.lam)}"


@dataclass(frozen=True)
class Table(Eta):
    r"""Any law with finite support: `probabilities[k]` is $\eta(k)$."""

    probabilities: tuple[float, ...]

    def __post_init__(self):
        object.__setattr__(self, "probabilities", tuple(float(p) for p in self.probabilities))
        if not self.probabilities or not all(0.0 <= p <= 1.0 for p in self.probabilities):
            raise InputError(f"table needs probabilities in [0, 1], got {self.probabilities}")
        total = math.fsum(self.probabilities)
        if abs(total - 1.0) > 1e-6:
            raise InputError(
                f"the probabilities of a table must sum to 1, these sum to {total:.8g}"
            )

    def log_pmf(self, horizon: int) -> Vector:
        """See `Eta`."""
        pmf = np.zeros(horizon)
        known = self.probabilities[:horizon]
        pmf[: len(known)] = known
        with np.errstate(divide="ignore"):
            return np.log(pmf / math.fsum(self.probabilities))

    def tail(self, horizon: int) -> float:
        """See `Eta`."""
        return math.fsum(self.probabilities[horizon:]) / math.fsum(self.probabilities)

    def mean(self, horizon: int | None = None) -> float:
        """See `Eta`."""
        return _truncated_mean(self, len(self.probabilities) if horizon is None else horizon)

    def __str__(self) -> str:
        return "table:" + ",".join(_number(p) for p in self.probabilities)


@dataclass(frozen=True)
class ZeroModifiedGeometric(Eta):
    r"""The one family where theory is exact: $w_n = \frac{1-\beta}{1-\gamma}\beta^n$ (errata (a)).

    $\eta(0) = \frac{1-\beta}{1-\gamma}$ and $\eta(n) = \eta(0)(\beta-\gamma)\beta^{n-1}$. The
    $\eta$-criterion with discount `gamma` is then ordinary RL with discount `beta`.
    """

    beta: float = 0.995
    gamma: float = 0.99

    def __post_init__(self):
        if not 0.0 <= self.gamma <= self.beta < 1.0:
            raise InputError(
                "zero-modified needs 0 <= gamma <= beta < 1, "
                f"got beta {self.beta} and gamma {self.gamma}"
            )
        object.__setattr__(self, "beta", float(self.beta))
        object.__setattr__(self, "gamma", float(self.gamma))

    def log_pmf(self, horizon: int) -> Vector:
        """See `Eta`."""
        start = (1.0 - self.beta) / (1.0 - self.gamma)
        rest = start * (self.beta - self.gamma)
        log_pmf = np.full(horizon, -np.inf)
        log_pmf[0] = math.log(start)
        if rest > 0.0:
            log_pmf[1:] = math.log(rest) + np.arange(horizon - 1) * math.log(self.beta)
        return log_pmf

    def tail(self, horizon: int) -> float:
        """See `Eta`."""
        if horizon <= 0:
            return 1.0
        return (self.beta - self.gamma) / (1.0 - self.gamma) * self.beta ** (horizon - 1)

    def mean(self, horizon: int | None = None) -> float:
        """See `Eta`."""
        if horizon is not None:
            return _truncated_mean(self, horizon)
        return (self.beta - self.gamma) / ((1.0 - self.gamma) * (1.0 - self.beta))

    def discount(self, gamma: float) -> float | None:
        """See `Eta`."""
        if self.beta == self.gamma:  # a Dirac mass at 0
            return gamma
        return self.beta if gamma == self.gamma else None

    def __str__(self) -> str:
        return f"zero-modified:{_number(self.beta)},{_number(self.gamma)}"


@dataclass(frozen=True)
class Mixture(Eta):
    r"""$\eta = \sum_j p_j \eta_j$, with `shares` $p_j$."""

    components: tuple[Eta, ...]
    shares: tuple[float, ...]

    def __post_init__(self):
        object.__setattr__(self, "components", tuple(self.components))
        object.__setattr__(self, "shares", tuple(float(share) for share in self.shares))
        if not self.components or len(self.components) != len(self.shares):
            raise InputError(
                f"a mixture needs one share per component, got {len(self.components)} components "
                f"and {len(self.shares)} shares"
            )
        total = math.fsum(self.shares)
        if not all(share > 0.0 for share in self.shares) or not abs(total - 1.0) <= 1e-6:
            raise InputError(f"the shares of a mixture must be > 0 and sum to 1, got {self.shares}")
        for component in self.components:
            if isinstance(component, Mixture):
                raise InputError("a mixture of mixtures is a mixture: list all components at once")
            if component.tail(1) is None:
                raise InputError(
                    f"{component} is no law without a horizon and cannot be mixed; "
                    "use geometric:0.999 instead"
                )

    def log_pmf(self, horizon: int) -> Vector:
        """See `Eta`."""
        parts = [
            math.log(share / math.fsum(self.shares)) + component.log_pmf(horizon)
            for share, component in zip(self.shares, self.components, strict=True)
        ]
        return np.logaddexp.reduce(np.stack(parts), axis=0)

    def tail(self, horizon: int) -> float:
        """See `Eta`."""
        return self._average(tuple(component.tail(horizon) or 0.0 for component in self.components))

    def mean(self, horizon: int | None = None) -> float:
        """See `Eta`."""
        if horizon is not None:
            return _truncated_mean(self, horizon)
        return self._average(tuple(component.mean() for component in self.components))

    def _average(self, values: tuple[float, ...]) -> float:
        weighted = (share * v for share, v in zip(self.shares, values, strict=True))
        return math.fsum(weighted) / math.fsum(self.shares)

    def __str__(self) -> str:
        parts = zip(self.shares, self.components, strict=True)
        return "mixture:" + "+".join(f"{_number(share)}*{component}" for share, component in parts)


def _number(x: float) -> str:
    # The shortest text that reads back as the same float; 'e+' would look like the next component.
    return str(int(x)) if x == int(x) and abs(x) < 1e15 else repr(x).replace("e+", "e")


_FORMS = {
    "dirac": "dirac:0",
    "geometric": "geometric:0.99",
    "uniform": "uniform",
    "poisson": "poisson:25",
    "table": "table:0.2,0.3,0.5",
    "zero-modified": "zero-modified:0.995,0.99",
    "mixture": "mixture:0.5*dirac:0+0.5*poisson:25",
}
ETA_HELP = "one of " + ", ".join(_FORMS.values())


def parse_eta(text: str) -> Eta:
    """Read the one-line form of a weighting, such as `geometric:0.99`.

    Args:
        text: `dirac:k`, `geometric:kappa`, `uniform`, `poisson:lam`, `table:p0,p1,…`,
            `zero-modified:beta,gamma` (gamma 0.99 if left out) or `mixture:p*eta+q*eta`.

    Returns:
        The weighting; `str` of it reads back as the same weighting.
    """
    name, colon, rest = text.strip().partition(":")
    if name not in _FORMS:
        close = get_close_matches(name, _FORMS, n=1)
        hint = f"did you mean {_FORMS[close[0]]!r}?" if close else f"it is {ETA_HELP}"
        raise InputError(f"unknown weighting {text!r}: {hint}")
    if name == "uniform":
        if colon:
            raise InputError(f"'uniform' takes no number, got {text!r}")
        return Uniform()
    if not rest:
        raise InputError(f"{name!r} needs its numbers, for instance {_FORMS[name]!r}")
    if name == "mixture":
        return _parse_mixture(text, rest)
    return _from_numbers(name, text, [_parse_number(text, part) for part in rest.split(",")])


def _from_numbers(name: str, text: str, numbers: list[float]) -> Eta:
    if name == "table":
        return Table(tuple(numbers))
    if name == "zero-modified" and len(numbers) in (1, 2):
        return ZeroModifiedGeometric(*numbers)
    if len(numbers) != 1:
        raise InputError(f"{text!r} has {len(numbers)} numbers; write it like {_FORMS[name]!r}")
    if name == "dirac":
        if numbers[0] != int(numbers[0]) or abs(numbers[0]) > _FARTHEST:
            raise InputError(f"dirac needs a whole number of steps >= 0, got {text!r}")
        return Dirac(int(numbers[0]))
    return Geometric(numbers[0]) if name == "geometric" else Poisson(numbers[0])


def _parse_mixture(text: str, rest: str) -> Mixture:
    shares, components = [], []
    for part in rest.split("+"):
        share, star, component = part.partition("*")
        if not star:
            raise InputError(f"cannot read {part!r} in {text!r}: write {_FORMS['mixture']!r}")
        shares.append(_parse_number(text, share))
        components.append(parse_eta(component))
    return Mixture(tuple(components), tuple(shares))


def _parse_number(text: str, part: str) -> float:
    try:
        value = float(part)
    except ValueError:
        raise InputError(f"cannot read {part!r} in {text!r} as a number") from None
    if not math.isfinite(value):
        raise InputError(f"{part!r} in {text!r} is not a finite number")
    return value
