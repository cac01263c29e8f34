"""What every weighting can do, and the sums and checks that all of them share."""

import math
from abc import ABC, abstractmethod
from dataclasses import astuple
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from etairl.types import InputError

Vector = Float[np.ndarray, " horizon"]


class Eta(ABC):
    r"""A law $\eta$ on $\{0, 1, 2, …\}$; `parse_eta(str(eta)) == eta`."""

    name: ClassVar[str]
    """the word it is written with"""

    @abstractmethod
    def log_pmf(self, horizon: int) -> Vector:
        r"""$\log \eta(k)$ for $k < $ `horizon`, without renormalising (where a tail exists)."""

    @abstractmethod
    def tail(self, horizon: int) -> float | None:
        r"""$\eta(k \ge $ `horizon`$)$; None for a law that exists only when truncated."""

    @abstractmethod
    def full_mean(self) -> float:
        r"""$\mathbb{E}[k]$ of the law without a horizon."""

    @property
    def numbers(self) -> tuple[float | int, ...]:
        """The numbers behind its name."""
        return astuple(self)  # pyright: ignore[reportArgumentType]

    def __str__(self) -> str:
        return ":".join([self.name, ",".join(map(write_number, self.numbers))]).rstrip(":")

    def mean(self, horizon: int | None = None) -> float:
        r"""$\mathbb{E}[k]$, of the law truncated to `horizon` when that is given."""
        if horizon is None:
            return self.full_mean()
        return float(np.arange(check_horizon(horizon)) @ self.pmf(horizon))

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

    def simplified(self) -> "Eta":
        """The same law in its simplest spelling, so that equal weightings draw the same bits."""
        return self

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
    """Return `horizon` if it is a usable number of steps."""
    if horizon < 1 or horizon != int(horizon):
        raise InputError(f"the horizon must be a whole number of steps >= 1, got {horizon}")
    return int(horizon)


def check_discount(gamma: float) -> float:
    """Return `gamma` if it is a discount: in [0, 1], where 0 keeps the first step only."""
    if not 0.0 <= gamma <= 1.0:
        raise InputError(f"gamma must lie in [0, 1], got {gamma}")
    return gamma


def write_number(x: float | int) -> str:
    """Write the shortest text that reads back as the same float."""
    # 'e+' would look like the next component of a mixture.
    whole = x == int(x) and math.fabs(x) < 1e15
    return str(int(x)) if whole else repr(float(x)).replace("e+", "e")
