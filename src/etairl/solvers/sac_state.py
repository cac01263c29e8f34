"""What goes in and out of the updates of soft actor-critic."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import optax

from etairl.networks import MLP, Normaliser, Scalar


class SACState(NamedTuple):
    """What the next update needs."""

    actor: MLP
    reference: MLP | None
    r"""a policy to stay close to, for the regulariser `kl` and for no other"""
    average: MLP | None
    """the averaged actor, which is kept in the end; None if that is the actor itself"""
    critics: MLP
    targets: MLP
    log_temperature: Scalar
    normaliser: Normaliser
    actor_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    temperature_optimiser: optax.OptState


class SACInfo(NamedTuple):
    """Metrics of an update."""

    critic_loss: Scalar
    actor_loss: Scalar
    temperature: Scalar
    entropy: Scalar
    r"""the mean of $\Omega$, whatever it is"""
    q: Scalar


class EtaState(NamedTuple):
    r"""What the next update needs: that of soft actor-critic, and $U$."""

    actor: MLP
    reference: MLP | None
    average: MLP | None
    critics: MLP
    targets: MLP
    u_critics: MLP
    u_targets: MLP
    log_temperature: Scalar
    normaliser: Normaliser
    actor_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    u_optimiser: optax.OptState
    temperature_optimiser: optax.OptState

    @property
    def plain(self) -> SACState:
        """Without $U$."""
        return SACState(**{name: getattr(self, name) for name in SACState._fields})


class EtaInfo(NamedTuple):
    """Metrics of an update: as for soft actor-critic, and of $U$."""

    critic_loss: Scalar
    u_loss: Scalar
    actor_loss: Scalar
    temperature: Scalar
    entropy: Scalar
    r"""the mean of $\Omega$ with weights $w_t$"""
    q: Scalar
    u: Scalar


class SACDraw(NamedTuple):
    """What the updates of a cycle learn from."""

    batches: Sequence[Any]
    """for each scan, with a leading axis: a `Batch`, or what a solver on top of this one takes"""
    critics_only: bool = False
    """actor and temperature stay: critics first learn to judge an actor from elsewhere"""
    progress: float = 0.0
    """of the run, from 0 to 1"""
