r"""Soft actor-critic: the value-based solver of $RL_\Omega$ with entropy $\Omega$.

Costs are minimised everywhere else; here, and only here, the reward is $-c$. One `scan` runs a whole
cycle of updates, and relabels each batch with the current cost function inside it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from etairl.networks import MLP, Activation, both, sample_squashed, twins
from etairl.types import InputError

Scalar = Float[Array, ""]


class Batch(NamedTuple):
    """Transitions; actions are scaled to [-1, 1]."""

    obs: Float[Array, "*updates batch obs"]
    act: Float[Array, "*updates batch act"]
    cost: Float[Array, "*updates batch"]
    next_obs: Float[Array, "*updates batch obs"]
    terminated: Float[Array, "*updates batch"]


@dataclass(frozen=True)
class SACConfig:
    """Hyper-parameters of soft actor-critic."""

    hidden: tuple[int, ...] = (256, 256)
    """width of each hidden layer, of actor and critics"""
    activation: Activation = "relu"
    gamma_rl: float = 0.99
    """discount of the Bellman updates"""
    actor_lr: float = 3e-4
    critic_lr: float = 3e-4
    temperature_lr: float = 3e-4
    polyak: float = 0.005
    """how far the target critics move towards the critics in one update"""
    temperature: float | None = None
    """weight of the entropy; None adapts it to the target entropy"""
    target_entropy: float | None = None
    """None is minus the number of action columns"""
    max_gradient_norm: float | None = None
    """clip gradients to this norm; None does not"""

    def __post_init__(self):
        if not 0.0 <= self.gamma_rl < 1.0:
            raise InputError(f"gamma_rl must lie in [0, 1), got {self.gamma_rl}")
        if not 0.0 < self.polyak <= 1.0:
            raise InputError(f"polyak must lie in (0, 1], got {self.polyak}")
        if not self.hidden or min(self.hidden) < 1:
            raise InputError(f"hidden needs at least one layer of width >= 1, got {self.hidden}")


class SACState(NamedTuple):
    """What the next update needs."""

    actor: MLP
    critics: MLP
    targets: MLP
    log_temperature: Scalar
    actor_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    temperature_optimiser: optax.OptState


class SACInfo(NamedTuple):
    """What an update has to say."""

    critic_loss: Scalar
    actor_loss: Scalar
    temperature: Scalar
    entropy: Scalar
    q: Scalar


def critic_loss(
    critics: MLP, obs: Array, act: Array, target: Float[Array, " batch"]
) -> tuple[Scalar, Scalar]:
    r"""$\sum_{i=1,2} \tfrac12\mathbb{E}(Q_i(s,a) - y)^2$; also returns the mean value."""
    q = both(critics, jnp.concatenate([obs, act], axis=-1))[..., 0]
    return 0.5 * ((q - target) ** 2).mean(axis=-1).sum(), q.mean()


def soft_target(
    config: SACConfig, state: SACState, batch: Batch, key: PRNGKeyArray
) -> Float[Array, " batch"]:
    r"""$y = -c + \gamma (1 - \text{terminated})(\min_i \bar Q_i(s', a') - \alpha \log\pi(a' \mid s'))$."""
    next_act, log_prob = sample_squashed(key, state.actor, batch.next_obs)
    inputs = jnp.concatenate([batch.next_obs, next_act], axis=-1)
    next_q = both(state.targets, inputs)[..., 0].min(axis=0)
    next_value = next_q - jnp.exp(state.log_temperature) * log_prob
    reward = -batch.cost
    # Only termination cuts the bootstrap; a time limit does not.
    return reward + config.gamma_rl * (1.0 - batch.terminated) * next_value


def actor_loss(
    actor: MLP, critics: MLP, temperature: Scalar, obs: Array, key: PRNGKeyArray
) -> tuple[Scalar, Scalar]:
    r"""$\mathbb{E}[\alpha\log\pi(a \mid s) - \min_i Q_i(s, a)]$; also returns the entropy."""
    act, log_prob = sample_squashed(key, actor, obs)
    q = both(critics, jnp.concatenate([obs, act], axis=-1))[..., 0].min(axis=0)
    return (temperature * log_prob - q).mean(), -log_prob.mean()


def temperature_loss(log_temperature: Scalar, entropy: Scalar, target_entropy: float) -> Scalar:
    r"""$\alpha(\mathcal{H} - \mathcal{H}_{\text{target}})$: pushes the entropy to its target."""
    return jnp.exp(log_temperature) * jax.lax.stop_gradient(entropy - target_entropy)


@dataclass(frozen=True)
class SAC:
    """Soft actor-critic for actions in [-1, 1]^act_dim."""

    config: SACConfig
    obs_dim: int
    act_dim: int

    @property
    def target_entropy(self) -> float:
        """The entropy that an adaptive temperature aims at."""
        given = self.config.target_entropy
        return -float(self.act_dim) if given is None else given

    def optimiser(self, rate: float) -> optax.GradientTransformation:
        """Adam, after clipping where that is asked for."""
        clip = self.config.max_gradient_norm
        adam = optax.adam(rate)
        return adam if clip is None else optax.chain(optax.clip_by_global_norm(clip), adam)

    def init(self, key: PRNGKeyArray) -> SACState:
        """Fresh networks and optimisers."""
        key_actor, key_critics = jax.random.split(key)
        hidden, activation = self.config.hidden, self.config.activation
        actor = MLP.init(key_actor, (self.obs_dim, *hidden, 2 * self.act_dim), activation)
        critics = twins(key_critics, (self.obs_dim + self.act_dim, *hidden, 1), activation)
        start = 1.0 if self.config.temperature is None else self.config.temperature
        log_temperature = jnp.log(jnp.asarray(start, dtype=jnp.float32))
        return SACState(
            actor=actor,
            critics=critics,
            targets=jax.tree.map(jnp.copy, critics),
            log_temperature=log_temperature,
            actor_optimiser=self.optimiser(self.config.actor_lr).init(actor),
            critic_optimiser=self.optimiser(self.config.critic_lr).init(critics),
            temperature_optimiser=self.optimiser(self.config.temperature_lr).init(log_temperature),
        )

    def update(self, state: SACState, batch: Batch, key: PRNGKeyArray) -> tuple[SACState, SACInfo]:
        """One gradient step of the critics, the actor, the temperature and the targets."""
        config = self.config
        key_target, key_actor = jax.random.split(key)
        target = jax.lax.stop_gradient(soft_target(config, state, batch, key_target))
        (loss_q, q), grads = jax.value_and_grad(critic_loss, has_aux=True)(
            state.critics, batch.obs, batch.act, target
        )
        critics, critic_optimiser = self._step(
            config.critic_lr, grads, state.critic_optimiser, state.critics
        )
        temperature = jnp.exp(state.log_temperature)
        (loss_pi, entropy), grads = jax.value_and_grad(actor_loss, has_aux=True)(
            state.actor, critics, temperature, batch.obs, key_actor
        )
        actor, actor_optimiser = self._step(
            config.actor_lr, grads, state.actor_optimiser, state.actor
        )
        log_temperature, temperature_optimiser = state.log_temperature, state.temperature_optimiser
        if config.temperature is None:
            slope = jax.grad(temperature_loss)(log_temperature, entropy, self.target_entropy)
            log_temperature, temperature_optimiser = self._step(
                config.temperature_lr, slope, temperature_optimiser, log_temperature
            )
        targets = jax.tree.map(
            lambda slow, fast: slow + config.polyak * (fast - slow), state.targets, critics
        )
        info = SACInfo(loss_q, loss_pi, temperature, entropy, q)
        new = SACState(
            actor, critics, targets, log_temperature,
            actor_optimiser, critic_optimiser, temperature_optimiser,
        )
        return new, info

    def _step(self, rate: float, grads: object, optimiser: object, params: object) -> tuple:
        updates, optimiser = self.optimiser(rate).update(grads, optimiser)
        return optax.apply_updates(params, updates), optimiser

    @partial(jax.jit, static_argnums=(0, 4), donate_argnums=1)
    def updates(
        self,
        state: SACState,
        batches: Batch,
        key: PRNGKeyArray,
        cost: Callable[[Array, Array, Array], Array] | None = None,
    ) -> tuple[SACState, SACInfo]:
        """Many updates in one compiled scan; info is averaged over them.

        `cost(obs, act, next_obs)` relabels each batch; None keeps the costs that came with it.
        """

        def body(carry: SACState, step: tuple[Batch, PRNGKeyArray]) -> tuple[SACState, SACInfo]:
            batch, key_update = step
            if cost is not None:
                batch = batch._replace(cost=cost(batch.obs, batch.act, batch.next_obs))
            return self.update(carry, batch, key_update)

        keys = jax.random.split(key, batches.cost.shape[0])
        state, infos = jax.lax.scan(body, state, (batches, keys))
        return state, jax.tree.map(jnp.mean, infos)
