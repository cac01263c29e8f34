"""What goes in and out of the updates of proximal policy optimisation."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import optax
from jaxtyping import Array, Int

from etairl.networks import MLP, Normaliser, Rows, Scalar
from etairl.solvers.ppo_losses import Advantages


class Networks(NamedTuple):
    """What gradients change; where a part of them learns by itself, the others are None."""

    actor: MLP | None
    critic: MLP | None
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


class Minibatch(NamedTuple):
    """Rows of a cycle, and what is to be learned from them."""

    obs: Array
    act: Array
    log_prob: Rows
    """of these actions before the updates"""
    targets: Advantages
    mask: Rows
    """0 in rows that only fill up; and where there was nothing to decide"""


class Lesson(NamedTuple):
    """What the updates of a cycle learn."""

    rows: Minibatch
    orders: Int[Array, "epochs minibatches rows"]
    scale: Scalar
    """of the returns from now on"""
    info: dict[str, Scalar]


Learned = tuple[Networks, optax.OptState, dict[str, Scalar]]
"""networks after their updates, their optimiser, and metrics"""


def parts_of(state: PPOState) -> Iterator[tuple[Networks, optax.OptState]]:
    """The actor, then the critics, with their parts of the optimiser: they learn apart."""

    def actor(x: Any) -> Any:
        return x._replace(critic=None, u_critic=None) if isinstance(x, Networks) else x

    def critics(x: Any) -> Any:
        return x._replace(actor=None) if isinstance(x, Networks) else x

    for part in (actor, critics):
        yield jax.tree.map(part, (state.networks, state.optimiser), is_leaf=_whole)


def rejoined(state: PPOState, lesson: Lesson, acted: Learned, judged: Learned) -> Any:
    """The state after the updates of both parts, and the metrics."""

    def both(own: Any, theirs: Any) -> Any:
        return theirs._replace(actor=own.actor) if isinstance(own, Networks) else own

    networks, optimiser = jax.tree.map(both, acted[:2], judged[:2], is_leaf=_whole)
    new = state._replace(**networks._asdict(), scale=lesson.scale, optimiser=optimiser)
    return new, PPOInfo(**acted[2], **judged[2], **lesson.info)


def _whole(x: Any) -> bool:
    return isinstance(x, Networks)
