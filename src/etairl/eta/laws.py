r"""The weightings: Dirac, geometric, uniform, Poisson, table, zero-modified geometric, mixture."""

import math
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from etairl.eta.law import Eta, Vector, write_number
from etairl.types import InputError

_FARTHEST = 2**53  # steps that a float can count
_LARGEST_MEAN = 1e6  # of a Poisson law: beyond, its logarithms lose more than nine digits


@dataclass(frozen=True)
class Dirac(Eta):
    r"""$\delta_k$: look exactly `k` steps ahead. `Dirac(0)` is GAIL."""

    name = "dirac"
    k: int = 0

    def __post_init__(self):
        if not (0 <= self.k <= _FARTHEST and self.k == int(self.k)):
            raise InputError(f"dirac needs a whole number of steps >= 0, got {self.k:g}")

    @override
    def log_pmf(self, horizon: int) -> Vector:
        return np.where(np.arange(horizon) == self.k, 0.0, -np.inf)

    @override
    def tail(self, horizon: int) -> float:
        return float(self.k >= horizon)

    @override
    def full_mean(self) -> float:
        return float(self.k)


@dataclass(frozen=True)
class Geometric(Eta):
    r"""$\eta(k) = (1-\kappa)\kappa^k$, $\kappa$ the probability of looking one step further."""

    name = "geometric"
    kappa: float = 0.99
    """0 is a Dirac mass at 0, 1 is uniform on the remaining horizon."""

    def __post_init__(self):
        if not 0.0 <= self.kappa <= 1.0:
            raise InputError(f"geometric needs kappa in [0, 1], got {self.kappa}")

    @override
    def simplified(self) -> Eta:
        if self.kappa == 0.0:
            return Dirac(0)
        return Uniform() if self.kappa == 1.0 else self

    @override
    def log_pmf(self, horizon: int) -> Vector:
        if self.kappa in (0.0, 1.0):
            return self.simplified().log_pmf(horizon)
        return math.log1p(-self.kappa) + np.arange(horizon) * math.log(self.kappa)

    @override
    def tail(self, horizon: int) -> float | None:
        return None if self.kappa == 1.0 else float(self.kappa) ** horizon

    @override
    def full_mean(self) -> float:
        return math.inf if self.kappa == 1.0 else self.kappa / (1.0 - self.kappa)

    @override
    def discount(self, gamma: float) -> float | None:
        if gamma == 0.0 and self.kappa < 1.0:
            return self.kappa
        return gamma if self.kappa == 0.0 else None


@dataclass(frozen=True)
class Uniform(Eta):
    r"""Every remaining step alike: `Geometric(1)`. A law only on a finite horizon."""

    name = "uniform"

    @override
    def log_pmf(self, horizon: int) -> Vector:
        return np.full(horizon, -math.log(horizon))

    @override
    def tail(self, horizon: int) -> None:
        return None

    @override
    def full_mean(self) -> float:
        return math.inf


@dataclass(frozen=True)
class Poisson(Eta):
    r"""$\eta(k) = e^{-\lambda}\lambda^k/k!$: look about $\lambda$ steps ahead."""

    name = "poisson"
    lam: float = 25.0

    def __post_init__(self):
        if not 0.0 < self.lam <= _LARGEST_MEAN:
            raise InputError(f"poisson needs a mean > 0 and at most 1e6, got {self.lam:g}")

    @override
    def log_pmf(self, horizon: int) -> Vector:
        from scipy.special import gammaln

        k = np.arange(horizon)
        return k * math.log(self.lam) - float(self.lam) - gammaln(k + 1)

    @override
    def tail(self, horizon: int) -> float:
        from scipy.special import gammainc

        # P(k >= h) = gammainc(h, lam), without the cancellation of 1 - cdf.
        return float(gammainc(horizon, float(self.lam)))

    @override
    def full_mean(self) -> float:
        return float(self.lam)


@dataclass(frozen=True)
class Table(Eta):
    r"""Any law with finite support: `probabilities[k]` is $\eta(k)$."""

    name = "table"
    probabilities: tuple[float, ...]

    def __post_init__(self):
        if not self.probabilities or not all(0.0 <= p <= 1.0 for p in self.probabilities):
            raise InputError(f"table needs probabilities in [0, 1], got {self.probabilities}")
        total = math.fsum(self.probabilities)
        if abs(total - 1.0) > 1e-6:
            raise InputError(
                f"the probabilities of a table must sum to 1, these sum to {total:.8g}"
            )

    @property
    @override
    def numbers(self) -> tuple[float | int, ...]:
        return self.probabilities

    @override
    def log_pmf(self, horizon: int) -> Vector:
        pmf = np.zeros(horizon)
        known = self.probabilities[:horizon]
        pmf[: len(known)] = known
        with np.errstate(divide="ignore"):
            return np.log(pmf / math.fsum(self.probabilities))

    @override
    def tail(self, horizon: int) -> float:
        return math.fsum(self.probabilities[horizon:]) / math.fsum(self.probabilities)

    @override
    def full_mean(self) -> float:
        return self.mean(len(self.probabilities))


@dataclass(frozen=True)
class ZeroModifiedGeometric(Eta):
    r"""The one family where theory is exact: $w_n = \frac{1-\beta}{1-\gamma}\beta^n$ (errata (a)).

    $\eta(0) = \frac{1-\beta}{1-\gamma}$ and $\eta(n) = \eta(0)(\beta-\gamma)\beta^{n-1}$. The
    $\eta$-criterion with discount `gamma` is then ordinary RL with discount `beta`.
    """

    name = "zero-modified"
    beta: float = 0.995
    gamma: float = 0.99

    def __post_init__(self):
        if not 0.0 <= self.gamma <= self.beta < 1.0:
            raise InputError(
                "zero-modified needs 0 <= gamma <= beta < 1, "
                f"got beta {self.beta} and gamma {self.gamma}"
            )

    @override
    def log_pmf(self, horizon: int) -> Vector:
        start = (1.0 - self.beta) / (1.0 - self.gamma)
        rest = start * (self.beta - self.gamma)
        log_pmf = np.full(horizon, -np.inf)
        log_pmf[0] = math.log(start)
        if rest > 0.0:
            log_pmf[1:] = math.log(rest) + np.arange(horizon - 1) * math.log(self.beta)
        return log_pmf

    @override
    def tail(self, horizon: int) -> float:
        if horizon <= 0:
            return 1.0
        return (self.beta - self.gamma) / (1.0 - self.gamma) * self.beta ** (horizon - 1)

    @override
    def full_mean(self) -> float:
        return (self.beta - self.gamma) / ((1.0 - self.gamma) * (1.0 - self.beta))

    @override
    def discount(self, gamma: float) -> float | None:
        if self.beta == self.gamma:  # a Dirac mass at 0
            return gamma
        return self.beta if gamma == self.gamma else None


@dataclass(frozen=True)
class Mixture(Eta):
    r"""$\eta = \sum_j p_j \eta_j$, with `shares` $p_j$."""

    name = "mixture"
    components: tuple[Eta, ...]
    shares: tuple[float, ...]

    def __post_init__(self):
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
                raise InputError("a mixture of mixtures is a mixture; list all components at once")
            if component.tail(1) is None:
                raise InputError(
                    f"{component} is not a law without a horizon and cannot be mixed; "
                    "use geometric:0.999 instead"
                )

    @override
    def log_pmf(self, horizon: int) -> Vector:
        total = math.fsum(self.shares)
        parts = [
            math.log(share / total) + component.log_pmf(horizon)
            for share, component in zip(self.shares, self.components, strict=True)
        ]
        return np.logaddexp.reduce(np.stack(parts), axis=0)

    @override
    def tail(self, horizon: int) -> float:
        return self._average([component.tail(horizon) or 0.0 for component in self.components])

    @override
    def full_mean(self) -> float:
        return self._average([component.mean() for component in self.components])

    def _average(self, values: list[float]) -> float:
        weighted = (share * v for share, v in zip(self.shares, values, strict=True))
        return math.fsum(weighted) / math.fsum(self.shares)

    def __str__(self) -> str:
        parts = zip(self.shares, self.components, strict=True)
        return "mixture:" + "+".join(f"{write_number(share)}*{law}" for share, law in parts)
