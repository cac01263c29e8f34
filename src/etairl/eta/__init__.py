r"""The weighting $\eta$: a law on the number of steps $k \ge 0$ to look ahead.

$\eta$ enters the criterion $\mathbb{E}\sum_n w_n c_n$ through the time weights

$$w_n = \sum_{k \le n} \eta(k)\,\gamma^{n-k}, \qquad w_n = \gamma w_{n-1} + \eta(n).$$

Counting starts at $k = 0$, so $\delta_0$ is the classical criterion.
"""

from etairl.eta.law import Eta, check_discount, check_horizon, discounted_sum
from etairl.eta.laws import (
    Dirac,
    Geometric,
    Mixture,
    Poisson,
    Table,
    Uniform,
    ZeroModifiedGeometric,
)
from etairl.eta.parsing import parse_eta

__all__ = [
    "Dirac",
    "Eta",
    "Geometric",
    "Mixture",
    "Poisson",
    "Table",
    "Uniform",
    "ZeroModifiedGeometric",
    "check_discount",
    "check_horizon",
    "discounted_sum",
    "parse_eta",
]
