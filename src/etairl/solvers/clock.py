r"""What the time index of a transition decides under a weighting $\eta$ (errata (f)).

Of the weight $w_t = \gamma w_{t-1} + \eta(t)$ the first part has begun to run before $t$; the part
$S_t = \eta(k \ge t)$ still waits, and its wait ends at $t$ with the chance $h_t = \eta(t)/S_t$. For
$\mathrm{Geom}(\kappa)$ the chance is $1-\kappa$ at all times.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from etairl.eta import Eta, Geometric
from etairl.types import InputError

_MOST_BEYOND = 0.5
"""share of a law that may lie beyond the horizon before its weights say too little"""


class Clock(NamedTuple):
    """One entry per step of an episode, or per row of a batch."""

    chance: Float[Any, " times"]
    r"""$h_t$, that the wait ends at this step"""
    waiting: Float[Any, " times"]
    r"""$S_t$, in units of $\bar w$"""
    running: Float[Any, " times"]
    r"""$\gamma w_{t-1}$, in units of $\bar w$"""
    weight: Float[Any, " times"]
    r"""$w_t$, in units of $\bar w$"""
    time_features: Float[Any, "times columns"]
    r"""what a critic sees of the time: $t/H$ and $S_t$, or nothing where $h$ is constant"""

    def at(self, time: Array) -> "Clock":
        """At the time indices of a batch, on the device."""
        return Clock(*(jnp.asarray(part, jnp.float32)[time] for part in self))

    def beside(self, obs: Float[Array, "batch obs"]) -> Float[Array, "batch seen"]:
        """Observations, and the time features."""
        return jnp.concatenate([obs, self.time_features], axis=-1)


def has_clock(eta: Eta) -> bool:
    """Whether a critic must see the time: the chance is constant for geometric laws only."""
    return not (isinstance(eta, Geometric) and eta.kappa < 1.0)


@lru_cache
def make_clock(eta: Eta, gamma: float, horizon: int) -> Clock:
    r"""For $t = 0, …, H$; the unit of weights is $\bar w$, their mean over an episode of $H$ steps.

    A geometric law goes on beyond the horizon. Of any other, what lies beyond counts as $k = H$:
    no step is played there from which a critic could learn.
    """
    eta.pmf(horizon)  # refuses a law without mass on an episode
    mass = np.append(np.exp(eta.log_pmf(horizon)), eta.tail(horizon) or 0.0)
    waiting = np.cumsum(mass[::-1])[::-1]
    if not has_clock(eta):
        assert isinstance(eta, Geometric)
        chance, features = np.full(horizon + 1, 1.0 - eta.kappa), np.zeros((horizon + 1, 0))
    elif mass[-1] > _MOST_BEYOND:
        raise InputError(
            f"{eta} has {mass[-1]:.0%} of its mass beyond the horizon of {horizon} steps, where "
            "a solver that weighs time learns nothing of it; take a longer --horizon, a geometric "
            "weighting, one that looks less far ahead, or a --solver that does not weigh time"
        )
    else:
        chance = np.divide(mass, waiting, out=np.ones(horizon + 1), where=waiting > 0.0)
        features = np.stack([np.arange(horizon + 1) / horizon, waiting], axis=1)
    weights = eta.weights(gamma, horizon)
    running = gamma * np.append(0.0, weights)
    unit = weights.mean()
    weight = running + chance * waiting
    return Clock(chance, waiting / unit, running / unit, weight / unit, features)
