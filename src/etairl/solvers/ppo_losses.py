r"""The formulas of proximal policy optimisation, plain and with a weighting $\eta$.

Returns are those of rewards, $-c$. Rows are the steps of a cycle, one episode behind the other.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from etairl.hyper import Number
from etairl.networks import Rows, Scalar
from etairl.solvers.clock import Clock


class Advantages(NamedTuple):
    """Of the actions that were taken, and what the critics should have said."""

    advantage: Rows
    value: Rows
    r"""a better estimate of $v(s) = \mathbb{E}\sum_n \gamma^n r_n$"""
    waiting: Rows | None = None
    r"""a better estimate of $\bar U_t(s)$, with a weighting"""


class Values(NamedTuple):
    """What a critic says of the states of the rows, and of those that they led to."""

    now: Rows
    after: Rows
    """0 where the world has ended"""


def decayed_sum(x: Rows, decay: Rows) -> Rows:
    r"""$y_t = x_t + d_ty_{t+1}$, for all rows at once; $d_t$ is 0 where an episode ends."""

    def merge(later: tuple[Array, Array], earlier: tuple[Array, Array]) -> tuple[Array, Array]:
        (y, product), (x, d) = later, earlier
        return x + d * y, d * product

    return jax.lax.associative_scan(merge, (x, decay), reverse=True)[0]


def advantages(gamma: Number, lam: Number, reward: Rows, v: Values, last: Rows) -> Advantages:
    r"""Generalised advantage estimates.

    $$\delta_t = r_t + \gamma v(s_{t+1}) - v(s_t),\qquad
    A_t = \sum_{l\ge0}(\gamma\lambda)^l\delta_{t+l}$$

    `last` is 1 at the last row of an episode, where the sum stops.
    """
    delta = reward + gamma * v.after - v.now
    advantage = decayed_sum(delta, gamma * lam * (1.0 - last))
    return Advantages(advantage, v.now + advantage)


def eta_advantages(
    gamma: Number,
    lam: Number,
    reward: Rows,
    v: Values,
    u: Values,
    now: Clock,
    after: Clock,
    last: Rows,
) -> Advantages:
    r"""Advantages for $J_\eta$, by the corrected identity (errata (f), (g)).

    What is still to come of $\sum_n w_nr_n$ at time $t$ is
    $V_t(s) = \gamma w_{t-1}v(s) + S_t\bar U_t(s)$: the part of the weight that has begun to run,
    and the part that waits. So

    $$\delta_t = w_tr_t + V_{t+1}(s_{t+1}) - V_t(s_t),\qquad
    A_t = \sum_{l\ge0}\lambda^l\delta_{t+l},$$

    the discount being in the weights. $v$ is learned as without a weighting, and $\bar U$ by
    $\bar U_t = h_t(r_t + \gamma v(s_{t+1})) + (1-h_t)\bar U_{t+1}(s_{t+1})$, with $\lambda$ too.
    """
    plain = advantages(gamma, lam, reward, v, last)
    ahead = after.running * v.after + after.waiting * u.after
    delta = now.weight * reward + ahead - (now.running * v.now + now.waiting * u.now)
    advantage = decayed_sum(delta, lam * (1.0 - last))
    begun = now.chance * (reward + gamma * v.after) + (1.0 - now.chance) * u.after
    correction = decayed_sum(begun - u.now, (1.0 - now.chance) * lam * (1.0 - last))
    return Advantages(advantage, plain.value, u.now + correction)


def clipped_loss(ratio: Rows, advantage: Rows, clip: Number, mask: Rows) -> Scalar:
    r"""$-\mathbb{E}\min(\varrho A,\ \text{clip}(\varrho, 1\pm\epsilon)A)$.

    The ratio is $\varrho = \pi(a \mid s)/\pi_{\text{old}}(a \mid s)$.
    """
    inside = jnp.clip(ratio, 1.0 - clip, 1.0 + clip)
    gain = jnp.minimum(ratio * advantage, inside * advantage)
    return -masked_mean(gain, mask)


def masked_mean(x: Rows, mask: Rows) -> Scalar:
    """Over the rows where `mask` is 1."""
    return (mask * x).sum() / jnp.maximum(mask.sum(), 1.0)


def standardised(x: Rows, mask: Rows) -> Rows:
    """With mean 0 and spread 1 over the rows where `mask` is 1."""
    centred = x - masked_mean(x, mask)
    return centred / (jnp.sqrt(masked_mean(centred**2, mask)) + 1e-8)
