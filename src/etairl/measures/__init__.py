r"""Samplers of $\rho_\pi$, $P^\eta_\pi$ and $\mu^\eta_\pi$ from episodes of unequal length.

All three draw a time index $n = t + k$ in an episode of length $T$, with $t$ discounted by
`gamma_irl` and $k \sim \eta$, both within the episode. Two ways, chosen by name (errata (l)):

* `two_stage`, as the paper: $t \sim \gamma^t$ on $[0, T)$, then $k \sim \eta$ truncated to
  $[0, T - t)$:  $P(n) = \sum_{t \le n} p_T(t)\,\eta(n-t)/\eta([0, T-t))$;
* `exact`, the truncated $\mu$:  $P(n) = w_n / \sum_{m<T} w_m$.

$\rho$ is $\mu$ with $\eta = \delta_0$, and $P^\eta(\cdot \mid s_0)$ is $\mu$ with $\gamma = 0$.
"""

from etairl.measures.index_laws import Method, episode_shares, summarise_law, time_weights
from etairl.measures.plan import EpisodeChoice
from etairl.measures.sampler import FutureSampler, future, mu, rho

__all__ = [
    "EpisodeChoice",
    "FutureSampler",
    "Method",
    "episode_shares",
    "future",
    "mu",
    "rho",
    "summarise_law",
    "time_weights",
]
