r"""Soft actor-critic: the value-based solver of $RL_\Omega$, by default with entropy as $\Omega$.

Costs are minimised everywhere else; here, and only here, there is a reward, $-c$. One `scan` runs a
whole cycle of updates and relabels each batch with the current cost function inside it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from etairl.networks import MLP, Activation, HostMLP, Normaliser, twins
from etairl.regularisers import Entropy, Regulariser
from etairl.solvers.heads import Head, make_head
from etairl.types import InputError, Spec

Scalar = Float[Array, ""]
Rows = Float[Array, " batch"]
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
    expert: Pairs | None = None
    """what the actor also clones; None where nobody is to be cloned"""


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
        if not self.hidden or min(self.hidden) < 1:
            raise InputError(f"hidden needs at least one layer of width >= 1, got {self.hidden}")
        for name in (
            "actor_lr",
            "critic_lr",
            "temperature_lr",
            "temperature",
            "first_temperature",
            "max_gradient_norm",
        ):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < np.inf:
                raise InputError(f"{name} must be > 0 and finite, got {value}")
        if self.target_entropy is not None and not np.isfinite(self.target_entropy):
            raise InputError(f"target_entropy must be finite, got {self.target_entropy}")


class SACState(NamedTuple):
    """What the next update needs."""

    actor: MLP
    reference: MLP | None
    r"""a policy to stay close to: $\Omega$ is then minus the divergence from it, not the entropy"""
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


def critic_loss(
    critics: MLP, head: Head, obs: Array, act: Array, target: Rows
) -> tuple[Scalar, Scalar]:
    r"""$\sum_{i=1,2} \tfrac12\mathbb{E}(Q_i(s,a) - y)^2$; also returns the mean value."""
    q = head.q(critics, obs, act)
    return 0.5 * ((q - target) ** 2).mean(axis=-1).sum(), q.mean()


def soft_target(
    gamma_rl: float, cost: Rows, terminated: Rows, q: Rows, penalty: Rows, temperature: Scalar
) -> Rows:
    r"""$y = -c + \gamma(1-\text{terminated})(\min_i \bar Q_i(s',a') + \alpha\Omega(\pi(s')))$.

    `penalty` is $-\Omega$; for entropy $\log\pi(a' \mid s')$. Only termination cuts the bootstrap;
    a time limit does not.
    """
    reward = -cost
    return reward + gamma_rl * (1.0 - terminated) * (q - temperature * penalty)


def actor_loss(
    actor: MLP,
    head: Head,
    critics: MLP,
    reference: MLP | None,
    temperature: Scalar,
    obs: Array,
    here: Rows,
    key: Array,
    omega: Regulariser = Entropy(),
) -> tuple[Scalar, Scalar]:
    r"""$\mathbb{E}[-\alpha\Omega(\pi(s)) - \min_i Q_i(s,a)]$ where `here` is 1; mean $\Omega$.

    For entropy, $\log\pi(a \mid s)$ stands for $-\Omega$; with a reference
    $\log\pi - \log\pi_{ref}$.
    """
    choice = head.choose(key, actor, critics, obs, reference, omega)
    many = jnp.maximum(here.sum(), 1.0)
    loss = (here * (temperature * choice.penalty - choice.q)).sum() / many
    return loss, -(here * choice.penalty).sum() / many


def temperature_loss(log_temperature: Scalar, entropy: Scalar, target_entropy: float) -> Scalar:
    r"""$\alpha(\mathcal{H} - \mathcal{H}_{\text{target}})$: pushes the entropy to its target."""
    return jnp.exp(log_temperature) * jax.lax.stop_gradient(entropy - target_entropy)


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
            actor_optimiser=self._start(config.actor_lr, actor),
            critic_optimiser=self._start(config.critic_lr, critics),
            temperature_optimiser=self._start(config.temperature_lr, log_temperature),
        )

    def observe(self, state: SACState, observations: Float[np.ndarray, "rows obs"]) -> SACState:
        """Take new observations into the statistics of the normaliser, if there is one."""
        if not self.config.normalise:
            return state
        return state._replace(normaliser=state.normaliser.seen(observations))

    def policy(self, state: SACState) -> "HeadPolicy":
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
        here = self._in_world(obs)
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
        config, head = self.config, self.head
        key_target, key_actor = jax.random.split(key)
        obs, next_obs = batch.obs, batch.next_obs
        # Log-probabilities are computed everywhere and masked afterwards: no NaN can slip through.
        here, there = self._in_world(obs), self._in_world(next_obs)
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
        critics, critic_optimiser = self._step(
            config.critic_lr, grads, state.critic_optimiser, state.critics
        )
        expert = batch.expert
        if expert is not None and config.normalise:
            expert = expert._replace(obs=state.normaliser(expert.obs))

        def loss(actor: MLP) -> tuple[Scalar, Scalar]:
            value, omega = actor_loss(
                *(actor, head, critics, state.reference, temperature, obs, here, key_actor),
                self.omega,
            )
            if expert is not None:
                value += self.cloning * head.cloning_loss(actor, expert.obs, expert.act)
            return value, omega

        (loss_pi, entropy), grads = jax.value_and_grad(loss, has_aux=True)(state.actor)
        actor, actor_optimiser = state.actor, state.actor_optimiser
        if not critics_only:
            actor, actor_optimiser = self._step(config.actor_lr, grads, actor_optimiser, actor)
        log_temperature, temperature_optimiser = state.log_temperature, state.temperature_optimiser
        if config.temperature is None and not critics_only:
            goal = head.target_entropy if config.target_entropy is None else config.target_entropy
            slope = jax.grad(temperature_loss)(log_temperature, entropy, goal)
            if self.absorbing:
                slope = slope * (here.sum() > 0.0)  # without a row of the world: no entropy
            log_temperature, temperature_optimiser = self._step(
                config.temperature_lr, slope, temperature_optimiser, log_temperature
            )
        targets = jax.tree.map(
            lambda slow, fast: slow + config.polyak * (fast - slow), state.targets, critics
        )
        new = state._replace(
            actor=actor,
            critics=critics,
            targets=targets,
            log_temperature=log_temperature,
            actor_optimiser=actor_optimiser,
            critic_optimiser=critic_optimiser,
            temperature_optimiser=temperature_optimiser,
        )
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

        def body(carry: SACState, step: tuple[Batch, PRNGKeyArray]) -> tuple[SACState, SACInfo]:
            batch, key_update = step
            if cost is not None:
                today = cost(cost_state, batch.obs, batch.act, batch.next_obs)
                batch = batch._replace(cost=today)
            return self.update(carry, batch, key_update, critics_only)

        keys = jax.random.split(key, batches.cost.shape[0])
        state, infos = jax.lax.scan(body, state, (batches, keys))
        return state, jax.tree.map(jnp.mean, infos)

    def _in_world(self, obs: Array) -> Rows:
        return 1.0 - obs[:, -1] if self.absorbing else jnp.ones(len(obs))

    def _optimiser(self, rate: float) -> optax.GradientTransformation:
        clip, adam = self.config.max_gradient_norm, optax.adam(rate)
        return adam if clip is None else optax.chain(optax.clip_by_global_norm(clip), adam)

    def _start(self, rate: float, params: Any) -> Any:
        return self._optimiser(rate).init(params)

    def _step(self, rate: float, grads: Any, optimiser: Any, params: Any) -> tuple[Any, Any]:
        updates, optimiser = self._optimiser(rate).update(grads, optimiser)
        return optax.apply_updates(params, updates), optimiser


class HeadPolicy:
    """An actor on the host: observations in, actions in the units of the task out."""

    def __init__(self, actor: MLP, head: Head, spec: Spec, normaliser: Normaliser | None = None):
        self._actor, self._head = HostMLP(actor), head
        self._normalise = None if normaliser is None else normaliser.on_host()
        self._scaling = ActionScaling(spec)

    def __call__(
        self, rng: np.random.Generator | None, observations: Float[np.ndarray, "batch obs"]
    ) -> np.ndarray:
        """Draw actions; without a random generator the most likely ones."""
        x = observations.astype(np.float32, copy=False)
        if self._normalise is not None:
            x = self._normalise(x)
        return self._scaling.to_task(self._head.act(self._actor, rng, x))


class ActionScaling:
    """Between the units of a task and [-1, 1]; an index stays an index."""

    def __init__(self, spec: Spec):
        self._discrete = spec.discrete_actions is not None
        low = np.asarray(spec.action_low or (-1.0,) * spec.act_dim, np.float64)
        high = np.asarray(spec.action_high or (1.0,) * spec.act_dim, np.float64)
        self._middle = ((low + high) / 2).astype(np.float32)
        self._half = ((high - low) / 2).astype(np.float32)

    def to_task(self, actions: np.ndarray) -> np.ndarray:
        """From the solver to the simulator."""
        return actions.astype(np.int64) if self._discrete else self._middle + self._half * actions

    def to_solver(self, actions: np.ndarray) -> np.ndarray:
        """From the simulator, or from demonstrations, to the solver."""
        scaled = actions if self._discrete else (actions - self._middle) / self._half
        return scaled.astype(np.float32)
