r"""Soft actor-critic: the value-based solver of $RL_\Omega$, by default with entropy as $\Omega$.

Costs are minimised everywhere else; here, and only here, there is a reward, $-c$. One `scan` runs a
whole cycle of updates and relabels each batch with the current cost function inside it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from etairl.buffers import Transitions
from etairl.networks import MLP, Activation, Normaliser, checked_widths, twins
from etairl.regularisers import Entropy, KullbackLeibler, Regulariser
from etairl.solvers.heads import Head, make_head
from etairl.solvers.losses import (
    Rows,
    Scalar,
    actor_loss,
    critic_loss,
    soft_target,
    temperature_loss,
)
from etairl.solvers.policy import HeadPolicy
from etairl.types import InputError, Spec

CostFunction = Callable[[Any, Array, Array, Array], Array]


class Pairs(NamedTuple):
    """States and actions of the expert, as the head sees them."""

    obs: Float[Array, "*updates batch obs"]
    act: Float[Array, "*updates batch act"]


class Batch(NamedTuple):
    """Transitions, with actions as the head sees them; a leading axis counts updates in a scan."""

    obs: Float[Array, "*updates batch obs"]
    act: Float[Array, "*updates batch act"]
    cost: Float[Array, "*updates batch"]
    next_obs: Float[Array, "*updates batch obs"]
    terminated: Float[Array, "*updates batch"]
    time: Int[Array, "*updates batch"] | None = None
    """steps since the episode began, for solvers that ask for it"""
    expert: Pairs | None = None
    """what the actor also clones; None where nobody is to be cloned"""

    @staticmethod
    def of(
        t: Transitions,
        cost: Float[np.ndarray, "*shape"],
        time: Int[np.ndarray, "*shape"] | None = None,
    ) -> "Batch":
        """From a memory that keeps actions as the head sees them, to the device."""
        return Batch(
            obs=jnp.asarray(t.observations),
            act=jnp.asarray(t.actions),
            cost=jnp.asarray(cost),
            next_obs=jnp.asarray(t.next_observations),
            terminated=jnp.asarray(t.terminated, jnp.float32),
            time=None if time is None else jnp.asarray(time, jnp.int32),
        )


@dataclass(frozen=True)
class SACConfig:
    """Hyper-parameters of soft actor-critic."""

    hidden: tuple[int, ...] = (256, 256)
    """width of each hidden layer, of actor and critics"""
    activation: Activation = "relu"
    """between the layers"""
    gamma_rl: float = 0.99
    """discount of the Bellman updates"""
    actor_lr: float = 3e-4
    """learning rate of the actor"""
    critic_lr: float = 3e-4
    """learning rate of the critics"""
    temperature_lr: float = 3e-4
    """learning rate of the temperature"""
    polyak: float = 0.005
    """how far the target critics move towards the critics in one update"""
    temperature: float | None = None
    """weight of the regulariser; None adapts it to the target entropy"""
    first_temperature: float = 1.0
    """where an adaptive temperature starts"""
    target_entropy: float | None = None
    """None is minus the number of action columns, or a third of the largest for discrete actions"""
    max_gradient_norm: float | None = None
    """clip gradients to this norm"""
    normalise: bool = False
    """standardise observations with running statistics"""

    def __post_init__(self):
        if not 0.0 <= self.gamma_rl < 1.0:
            raise InputError(f"gamma_rl must lie in [0, 1), got {self.gamma_rl}")
        if not 0.0 < self.polyak <= 1.0:
            raise InputError(f"polyak must lie in (0, 1], got {self.polyak}")
        widths = checked_widths("hidden", self.hidden, self.activation)
        object.__setattr__(self, "hidden", widths)
        rates = ("actor_lr", "critic_lr", "temperature_lr")
        for name in (*rates, "temperature", "first_temperature", "max_gradient_norm"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < np.inf:
                raise InputError(f"{name} must be > 0 and finite, got {value}")
        if self.target_entropy is not None and not np.isfinite(self.target_entropy):
            raise InputError(f"target_entropy must be finite, got {self.target_entropy}")


class SACState(NamedTuple):
    """What the next update needs."""

    actor: MLP
    reference: MLP | None
    r"""a policy to stay close to, for the regulariser `kl` and for no other"""
    critics: MLP
    targets: MLP
    log_temperature: Scalar
    normaliser: Normaliser
    actor_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    temperature_optimiser: optax.OptState


class SACInfo(NamedTuple):
    """What an update has to say."""

    critic_loss: Scalar
    actor_loss: Scalar
    temperature: Scalar
    entropy: Scalar
    r"""the mean of $\Omega$, whatever it is"""
    q: Scalar


@dataclass(frozen=True)
class SAC:
    """Soft actor-critic for a task of the given sizes."""

    config: SACConfig
    spec: Spec
    absorbing: bool = False
    """the last column of an observation marks the absorbing state: no policy is needed there"""
    omega: Regulariser = Entropy()
    """with weight 1: the temperature is its weight"""
    cloning: float = 0.0
    r"""weight $\lambda$ of the term $\lambda\,\ell(\pi; s_E, a_E)$ in the loss of the actor"""
    timed: ClassVar[bool] = False

    @property
    def clones(self) -> bool:
        """Whether a batch has to bring pairs of the expert."""
        return self.cloning > 0.0

    @property
    def head(self) -> Head:
        """Continuous or discrete."""
        return make_head(self.spec)

    def init(self, key: PRNGKeyArray) -> SACState:
        """Fresh networks and optimisers."""
        key_actor, key_critics = jax.random.split(key)
        head, config = self.head, self.config
        sizes = (self.spec.obs_dim, *config.hidden, head.actor_outputs)
        actor = MLP.init(key_actor, sizes, config.activation)
        sizes = (head.critic_inputs, *config.hidden, head.critic_outputs)
        critics = twins(key_critics, sizes, config.activation)
        start = config.first_temperature if config.temperature is None else config.temperature
        log_temperature = jnp.log(jnp.asarray(start, dtype=jnp.float32))
        return SACState(
            actor=actor,
            reference=None,
            critics=critics,
            targets=jax.tree.map(jnp.copy, critics),
            log_temperature=log_temperature,
            normaliser=Normaliser.identity(self.spec.obs_dim),
            actor_optimiser=self.start(config.actor_lr, actor),
            critic_optimiser=self.start(config.critic_lr, critics),
            temperature_optimiser=self.start(config.temperature_lr, log_temperature),
        )

    def observe(self, state: SACState, observations: Float[np.ndarray, "rows obs"]) -> SACState:
        """Take new observations into the statistics of the normaliser, if there is one."""
        if not self.config.normalise:
            return state
        return state._replace(normaliser=state.normaliser.seen(observations))

    def policy(self, state: SACState) -> HeadPolicy:
        """The policy as it is now, on the host."""
        normaliser = state.normaliser if self.config.normalise else None
        return HeadPolicy(state.actor, self.head, self.spec, normaliser)

    @partial(jax.jit, static_argnums=0)
    def log_prob(
        self, state: SACState, obs: Float[Array, "*rows obs"], act: Float[Array, "*rows act"]
    ) -> Float[Array, "*rows"]:
        r"""$\log\pi(a \mid s)$ of actions as the head sees them; 0 in the absorbing state."""
        shape = obs.shape[:-1]
        obs, act = obs.reshape(-1, obs.shape[-1]), act.reshape(-1, act.shape[-1])
        here = self.in_world(obs)
        if self.config.normalise:
            obs = state.normaliser(obs)
        return (here * self.head.log_prob(state.actor, obs, act)).reshape(shape)

    def update(
        self, state: SACState, batch: Batch, key: PRNGKeyArray, critics_only: bool = False
    ) -> tuple[SACState, SACInfo]:
        """One gradient step of the critics, the actor, the temperature and the targets.

        With `critics_only` actor and temperature stay: critics learn to judge an actor that came
        from elsewhere before they may change it.
        """
        if (state.reference is None) == isinstance(self.omega, KullbackLeibler):
            raise InputError("the regulariser kl and a reference policy go together")
        config, head = self.config, self.head
        key_target, key_actor = jax.random.split(key)
        obs, next_obs = batch.obs, batch.next_obs
        # Log-probabilities are computed everywhere and masked afterwards: no NaN can slip through.
        here, there = self.in_world(obs), self.in_world(next_obs)
        if config.normalise:
            obs, next_obs = state.normaliser(obs), state.normaliser(next_obs)
        temperature = jnp.exp(state.log_temperature)
        choice = head.choose(
            key_target, state.actor, state.targets, next_obs, state.reference, self.omega
        )
        target = soft_target(
            config.gamma_rl,
            batch.cost,
            batch.terminated,
            choice.q,
            there * choice.penalty,
            temperature,
        )
        (loss_q, q), grads = jax.value_and_grad(critic_loss, has_aux=True)(
            state.critics, head, obs, batch.act, jax.lax.stop_gradient(target)
        )
        critics, critic_optimiser = self.step(
            config.critic_lr, grads, state.critic_optimiser, state.critics
        )
        (loss_pi, entropy), grads = jax.value_and_grad(actor_loss, has_aux=True)(
            *(state.actor, head, critics, state.reference, temperature, obs, here, key_actor),
            self.omega,
        )
        if not critics_only:
            state = self.policy_step(state, grads, batch.expert, entropy, here)
        targets = jax.tree.map(
            lambda slow, fast: slow + config.polyak * (fast - slow), state.targets, critics
        )
        new = state._replace(critics=critics, targets=targets, critic_optimiser=critic_optimiser)
        return new, SACInfo(loss_q, loss_pi, temperature, entropy, q)

    @partial(jax.jit, static_argnums=(0, 4, 6), donate_argnums=1)
    def updates(
        self,
        state: SACState,
        batches: Batch,
        key: PRNGKeyArray,
        cost: CostFunction | None = None,
        cost_state: Any = None,
        critics_only: bool = False,
    ) -> tuple[SACState, SACInfo]:
        """Many updates in one compiled scan; info is averaged over them.

        `cost(cost_state, obs, act, next_obs)` relabels each batch with the current cost; None
        keeps the costs that came with it.
        """
        return relabelled_scan(
            partial(self.update, critics_only=critics_only), state, batches, key, cost, cost_state
        )

    def policy_step(
        self, state: Any, grads: MLP, expert: Pairs | None, entropy: Scalar, here: Rows
    ) -> Any:
        """The actor and its temperature one step on; all else as it was."""
        grads = self.towards_expert(grads, state, expert)
        actor, actor_optimiser = self.step(
            self.config.actor_lr, grads, state.actor_optimiser, state.actor
        )
        log_temperature, temperature_optimiser = self.temper(state, entropy, here)
        return state._replace(
            actor=actor,
            actor_optimiser=actor_optimiser,
            log_temperature=log_temperature,
            temperature_optimiser=temperature_optimiser,
        )

    def temper(self, state: Any, entropy: Scalar, here: Rows) -> tuple[Scalar, Any]:
        """One step of the temperature towards the target entropy, unless it is fixed."""
        config, log_temperature = self.config, state.log_temperature
        if config.temperature is not None:
            return log_temperature, state.temperature_optimiser
        goal = self.head.target_entropy if config.target_entropy is None else config.target_entropy
        slope = jax.grad(temperature_loss)(log_temperature, entropy, goal)
        if self.absorbing:
            slope = slope * (here.sum() > 0.0)  # without a row of the world: no entropy
        return self.step(config.temperature_lr, slope, state.temperature_optimiser, log_temperature)

    def towards_expert(self, grads: MLP, state: Any, expert: Pairs | None) -> MLP:
        r"""Add $\lambda\nabla\ell(\pi; s_E, a_E)$, the gradient of behaviour cloning."""
        if expert is None:
            return grads
        obs = state.normaliser(expert.obs) if self.config.normalise else expert.obs
        cloned = jax.grad(self.head.cloning_loss)(state.actor, obs, expert.act)
        return jax.tree.map(lambda own, theirs: own + self.cloning * theirs, grads, cloned)

    def in_world(self, obs: Float[Array, "batch obs"]) -> Rows:
        """1 where there is something to decide, 0 in the absorbing state."""
        return 1.0 - obs[:, -1] if self.absorbing else jnp.ones(len(obs))

    def start(self, rate: float, params: Any) -> Any:
        """A fresh optimiser."""
        return self._optimiser(rate).init(params)

    def step(self, rate: float, grads: Any, optimiser: Any, params: Any) -> tuple[Any, Any]:
        """New parameters, and their optimiser."""
        updates, optimiser = self._optimiser(rate).update(grads, optimiser)
        return optax.apply_updates(params, updates), optimiser

    def _optimiser(self, rate: float) -> optax.GradientTransformation:
        clip, adam = self.config.max_gradient_norm, optax.adam(rate)
        return adam if clip is None else optax.chain(optax.clip_by_global_norm(clip), adam)


def relabelled_scan(
    update: Callable[[Any, Batch, PRNGKeyArray], tuple[Any, Any]],
    state: Any,
    batches: Batch,
    key: PRNGKeyArray,
    cost: CostFunction | None,
    cost_state: Any,
) -> tuple[Any, Any]:
    """`update` on each of the batches, with today's costs; the last state and the mean info."""

    def body(carry: Any, step: tuple[Batch, PRNGKeyArray]) -> tuple[Any, Any]:
        batch, key_update = step
        if cost is not None:
            today = cost(cost_state, batch.obs, batch.act, batch.next_obs)
            batch = batch._replace(cost=today)
        return update(carry, batch, key_update)

    keys = jax.random.split(key, batches.cost.shape[0])
    state, infos = jax.lax.scan(body, state, (batches, keys))
    return state, jax.tree.map(jnp.mean, infos)
