"""The law of the time index that a sampler draws, and what it does to an episode."""

from functools import lru_cache
from typing import Literal

import numpy as np
from jaxtyping import Float

from etairl.eta import Eta, Geometric, check_horizon, discounted_sum
from etairl.measures.draw_tables import Alias, Inverse
from etairl.types import InputError

Method = Literal["two_stage", "exact"]
IndexLaw = Float[np.ndarray, " horizon"]


def first_lag(eta: Eta, longest: int) -> int:
    r"""The smallest $k$ with $\eta(k) > 0$, if an episode is long enough for it."""
    possible = np.isfinite(eta.log_pmf(longest))
    if not possible.any():
        raise InputError(
            f"{eta} looks further ahead than the longest episode has steps ({longest}); "
            "use longer episodes or a shorter weighting"
        )
    return int(np.argmax(possible))


def time_weights(eta: Eta, gamma: float, horizon: int) -> IndexLaw:
    """$w_n$ up to a factor, which keeps the weights of a far-looking eta from underflowing."""
    first_lag(eta, horizon)
    log_pmf = eta.log_pmf(horizon)
    return discounted_sum(np.exp(log_pmf - log_pmf.max()), gamma)


def index_law(eta: Eta, gamma: float, method: Method, horizon: int) -> IndexLaw:
    """The law of the time index $n$ in an episode of `horizon` steps."""
    check_horizon(horizon)
    if method == "exact":
        weights = time_weights(eta, gamma, horizon)
        return weights / weights.sum()
    log_pmf = eta.log_pmf(horizon)
    log_mass = np.logaddexp.accumulate(log_pmf)
    starts = horizon - first_lag(eta, horizon)
    log_start = Geometric(gamma).log_pmf(starts)
    log_start = log_start - np.logaddexp.reduce(log_start)
    law = np.zeros(horizon)
    for t in range(starts):
        law[t:] += np.exp(log_pmf[: horizon - t] + (log_start[t] - log_mass[horizon - t - 1]))
    return law


def summarise_law(law: IndexLaw) -> dict[str, float]:
    """What a law of time indices does to an episode, next to the uniform law."""
    horizon = len(law)
    return {
        "tv_from_uniform": float(0.5 * np.abs(law - 1.0 / horizon).sum()),
        "mean_index": float(np.arange(horizon) @ law),
        "last_quarter": float(episode_shares(law, 4)[-1]),
        "last_frame_factor": float(law[-1] * horizon),
    }


def episode_shares(law: IndexLaw, parts: int) -> Float[np.ndarray, " {parts}"]:
    """Weight of equal parts of the episode; a step that straddles two parts is shared."""
    cumulative = np.concatenate([[0.0], np.cumsum(law)])
    edges = np.linspace(0, len(law), parts + 1)
    return np.diff(np.interp(edges, np.arange(len(law) + 1), cumulative))


@lru_cache(maxsize=64)
def table_of_index(eta: Eta, gamma: float, method: Method, length: int) -> Alias:
    """Draws of the time index in episodes of one length."""
    return Alias(index_law(eta, gamma, method, length))


@lru_cache(maxsize=64)
def table_of_time(eta: Eta, gamma: float, longest: int) -> Inverse:
    """Draws of the time index in proportion to $w_n$, in episodes of any length."""
    with np.errstate(divide="ignore"):
        return Inverse(np.log(time_weights(eta, gamma, longest)))


@lru_cache(maxsize=64)
def table_of_lag(eta: Eta, longest: int) -> Inverse:
    r"""Draws of the lag $k \sim \eta$, or of a starting time with a geometric $\eta$."""
    return Inverse(eta.log_pmf(longest))


@lru_cache(maxsize=64)
def table_of_past(eta: Eta, gamma: float, longest: int) -> Inverse:
    r"""The lag given where it leads: $P(k \mid n) \propto \eta(k)\gamma^{n-k}$ for $k \le n$."""
    return Inverse(eta.log_pmf(longest) - np.arange(longest) * np.log(gamma))
