"""What goes in and out of the updates of proximal policy optimisation."""

from typing import NamedTuple

import optax
from jaxtyping import Array, Float

from etairl.networks import MLP, Normaliser, Scalar
from etairl.solvers.solver import Batch


class Networks(NamedTuple):
    """What gradients change."""

    actor: MLP
    critic: MLP
    r"""of $v$"""
    u_critic: MLP | None
    r"""of $\bar U$; None without a weighting"""


class PPOState(NamedTuple):
    """What the next update needs."""

    actor: MLP
    critic: MLP
    u_critic: MLP | None
    normaliser: Normaliser
    scale: Scalar
    """in whose units the critics say what is to come: the running spread of the returns"""
    optimiser: optax.OptState

    @property
    def networks(self) -> Networks:
        """What gradients change."""
        return Networks(self.actor, self.critic, self.u_critic)


class PPOInfo(NamedTuple):
    """Metrics of the updates of a cycle."""

    actor_loss: Scalar
    critic_loss: Scalar
    entropy: Scalar
    r"""the mean of $-\log\pi(a \mid s)$ before the updates"""
    clipped: Scalar
    """share of the actions whose probability has left the clip"""
    divergence: Scalar
    r"""$\mathbb{E}[\log\pi_{\text{old}} - \log\pi]$ in the last epoch"""
    explained: Scalar
    """share of the variance of the returns that the critic foresaw"""
    learning_rate: Scalar


class PPODraw(NamedTuple):
    """The steps of the newest cycle, episode by episode, filled up to whole minibatches."""

    batch: Batch
    last: Float[Array, " rows"]
    """1 where an episode ends"""
    mask: Float[Array, " rows"]
    """0 in rows that only fill up"""
    progress: float = 0.0
    """of the run, from 0 to 1"""
