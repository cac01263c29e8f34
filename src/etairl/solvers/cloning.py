"""Behaviour cloning: learn the demonstrator's actions. A baseline, or a warm start."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from etairl.hyper import traced
from etairl.networks import MLP, Activation, check_widths, start_optimiser
from etairl.solvers.heads import Head, make_head
from etairl.solvers.policy import ActionScaling
from etairl.types import InputError, Spec, Trajectories, check_range


@traced
@dataclass(frozen=True)
class CloningConfig:
    """Hyper-parameters of behaviour cloning."""

    hidden: tuple[int, ...] = (256, 256)
    activation: Activation = "relu"
    updates: int = 4_000
    batch: int = 256
    learning_rate: float = 3e-3
    """of the first update; it falls to 0 along a cosine"""
    weight_decay: float = 1e-4
    held_out: float = 0.1
    """share of the episodes that decides when to stop; by default none of fewer than ten"""
    rounds: int = 20
    """how often the held-out loss is looked at; the best round is kept"""

    def __post_init__(self):
        check_widths("hidden", self.hidden, self.activation)
        if not 1 <= self.rounds <= self.updates:
            raise InputError(f"updates must be at least rounds, got {self.updates}, {self.rounds}")
        check_range(self, "[0, 1)", "held_out")


class Clone(NamedTuple):
    """The cloned actor and how well it fits."""

    actor: MLP
    loss: float
    """on held-out episodes, where there are any"""
    updates: int
    """after which the best actor was found"""


def clone(trajectories: Trajectories, spec: Spec, config: CloningConfig, seed: int = 0) -> Clone:
    """Fit an actor to the actions of demonstrations.

    Inputs are standardised while fitting and the scaling is folded into the first layer, so that
    the actor takes plain observations and can start a soft actor-critic.
    """
    head = make_head(spec)
    obs = trajectories.observations.astype(np.float32)
    act = ActionScaling(spec).to_solver(trajectories.actions)
    mean, scale = obs.mean(axis=0), obs.std(axis=0)
    scale = np.where(scale > 1e-6, scale, np.float32(1.0))
    obs = (obs - mean) / scale
    rng = np.random.default_rng(seed)
    held = rng.permutation(len(trajectories))[: int(config.held_out * len(trajectories))]
    test = np.isin(trajectories.episode_numbers, held)
    judge = test if test.any() else ~test
    sizes = (spec.obs_dim, *config.hidden, head.shape.actor_outputs)
    actor = MLP.init(jax.random.key(seed), sizes, config.activation)
    state = start_optimiser(_optimiser(config), actor)
    train = np.flatnonzero(~test)
    each = config.updates // config.rounds
    best = Clone(actor, np.inf, 0)
    for number in range(1, config.rounds + 1):
        rows = train[rng.integers(len(train), size=(each, config.batch))]
        actor, state = _fit(head, config, actor, state, obs[rows], act[rows])
        loss = float(head.cloning_loss(actor, jnp.asarray(obs[judge]), jnp.asarray(act[judge])))
        if loss < best.loss:
            best = Clone(actor, loss, number * each)
    first = best.actor.weights[0] / scale[:, None]
    folded = MLP(
        (first, *best.actor.weights[1:]),
        (best.actor.biases[0] - mean @ first, *best.actor.biases[1:]),
        config.activation,
    )
    return best._replace(actor=folded)


def _optimiser(config: CloningConfig) -> optax.GradientTransformation:
    rate = optax.cosine_decay_schedule(config.learning_rate, config.updates)
    return optax.adamw(rate, weight_decay=config.weight_decay)


@partial(jax.jit, static_argnums=0)
def _fit(
    head: Head, config: CloningConfig, actor: MLP, state: Any, obs: Array, act: Array
) -> tuple[MLP, Any]:
    def body(carry: tuple[MLP, Any], batch: tuple[Array, Array]) -> tuple[tuple[MLP, Any], None]:
        actor, state = carry
        grads = jax.grad(head.cloning_loss)(actor, *batch)
        params: Any = actor
        updates, state = _optimiser(config).update(grads, state, params)
        actor = cast(MLP, optax.apply_updates(params, updates))
        return (actor, state), None

    (actor, state), _ = jax.lax.scan(body, (actor, state), (obs, act))
    return actor, state
