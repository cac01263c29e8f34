r"""Proximal policy optimisation: the on-policy solver, plain or for the $\eta$-criterion.

It learns from the episodes of the newest cycle only, all epochs in one compiled scan. With a
weighting, the advantages are those of $J_\eta$ (`ppo_losses.eta_advantages`), for which a second
critic learns $\bar U$. As in `etairl.solvers.sac` there is a reward here, $-c$, and nowhere else.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray
from typing_extensions import override

from etairl.costs.family import Points
from etairl.eta import Eta
from etairl.experience import Experience
from etairl.hyper import enabled, traced
from etairl.networks import MLP, Normaliser, Rows, Scalar, orthogonal, start_optimiser
from etairl.regularisers import Entropy, Regulariser
from etairl.solvers.actor_solver import ActorSolver
from etairl.solvers.clock import Clock, make_clock
from etairl.solvers.draws import NewestRows, newest_rows
from etairl.solvers.heads import LOG_STD_MAX, LOG_STD_MIN
from etairl.solvers.ppo_config import PPOConfig
from etairl.solvers.ppo_losses import (
    Advantages,
    Values,
    advantages,
    clipped_loss,
    eta_advantages,
    masked_mean,
    standardised,
)
from etairl.solvers.ppo_state import (
    Learned,
    Lesson,
    Minibatch,
    Networks,
    PPOInfo,
    PPOState,
    parts_of,
    rejoined,
)
from etairl.solvers.solver import Batch, CostFunction
from etairl.solvers.two_cores import at_once
from etairl.types import Spec

_FIRST_STD = 0.1, 1.0
"""a first policy tries something, and does not push to the bounds all the time"""
_SLOW = 0.9
"""how much of the scale of the returns stays from one cycle to the next"""


@traced
@dataclass(frozen=True)
class PPO(ActorSolver[PPOState]):
    """Proximal policy optimisation for a task of the given sizes."""

    config: PPOConfig
    spec: Spec
    absorbing: bool = False
    """the last column of an observation marks the absorbing state, whose only action is 0"""
    omega: Regulariser = Entropy()
    """with weight 1: the temperature is its weight"""
    eta: Eta | None = None
    """the weighting that the advantages follow; None for plain discounting"""
    horizon: int = 0
    """of an episode, with a weighting"""

    @property
    def clock(self) -> Clock | None:
        """What the time decides; None without a weighting."""
        if self.eta is None:
            return None
        return make_clock(self.eta, float(self.config.gamma_rl), self.horizon)

    def init(self, key: PRNGKeyArray) -> PPOState:
        """Fresh networks: orthogonal, and an actor that does not look at the state yet."""
        config, outputs = self.config, self.head.shape.actor_outputs
        keys = jax.random.split(key, 3)
        sizes = (self.spec.obs_dim, *config.hidden)
        make = partial(orthogonal, activation=config.activation)
        actor = make(keys[0], (*sizes, outputs), last=0.01)
        if self.spec.discrete_actions is None:
            first = np.full(self.spec.act_dim, config.first_std or 1.0)
            actor = _with_first_actions(actor, np.zeros_like(first), first)
        critic = make(keys[1], (*sizes, 1), last=1.0)
        u_critic = None
        if (clock := self.clock) is not None:
            seen = sizes[0] + clock.time_features.shape[1]
            u_critic = make(keys[2], (seen, *config.hidden, 1), last=1.0)
        networks = actor, critic, u_critic
        optimiser = start_optimiser(self._optimiser(), Networks(*networks))
        normaliser = Normaliser.identity(self.spec.obs_dim)
        return PPOState(*networks, normaliser, jnp.ones(()), optimiser)

    @override
    def begin(self, state: PPOState, shown: Points) -> PPOState:
        """With the statistics of the demonstrations, and of their actions, where asked for."""
        state = self.in_units_of(state, shown)
        if self.config.first_std is None and self.spec.discrete_actions is None:
            act = np.asarray(shown.act)[np.asarray(self.in_world(shown.obs)) > 0.0]
            state = state._replace(actor=_as_shown(state.actor, act))
        return state

    @override
    def draw(self, rng: np.random.Generator, data: Experience) -> NewestRows:
        """Every step of the newest cycle, once."""
        return newest_rows(data, self.config.minibatch)

    @override
    def updates(
        self,
        key: PRNGKeyArray,
        state: PPOState,
        drawn: NewestRows,
        cost: CostFunction | None = None,
        cost_state: Any = None,
    ) -> tuple[PPOState, PPOInfo]:
        config, progress = self.config, drawn.progress
        paced = self.slowed(1.0 - progress * (1.0 - config.last_learning_rate))
        left = (1.0 - progress * (1.0 - config.last_temperature)) * config.temperature
        cooled = replace(paced, config=replace(paced.config, temperature=left))
        lesson = cooled._lesson(key, state, drawn, cost, cost_state, self.clock)
        # Until the next cycle actor and critics learn without each other: here, on two cores.
        actor, critics = (partial(cooled._learn, *part, lesson) for part in parts_of(state))
        return rejoined(state, lesson, *at_once(actor, critics))

    @override
    def slowed(self, share: float) -> "PPO":
        rate = share * self.config.learning_rate
        return replace(self, config=replace(self.config, learning_rate=rate))

    @jax.jit
    def _lesson(
        self,
        key: PRNGKeyArray,
        state: PPOState,
        drawn: NewestRows,
        cost: CostFunction | None,
        cost_state: Any,
        clock: Clock | None,
    ) -> Lesson:
        """What is to be learned from a cycle."""
        config, batch = self.config, drawn.batch
        if cost is not None:
            paid = cost(cost_state, batch.obs, batch.act, batch.next_obs)
            batch = batch._replace(cost=paid)
        # In the absorbing state there is nothing to decide, but it has a value.
        decides = drawn.mask * self.in_world(batch.obs)
        obs = self.seen(state, batch.obs)
        old = self.head.log_prob(state.actor, obs, batch.act)
        targets = self.advantages(state, batch, drawn.last, old * decides, clock)
        now = self._critic(state.critic, obs)
        rows = Minibatch(
            self._timed(obs, batch, clock),
            batch.act,
            old,
            targets._replace(advantage=standardised(targets.advantage, decides)),
            jnp.stack([drawn.mask, decides], axis=-1),
        )
        each = (len(obs) // config.minibatch, config.minibatch)
        orders = jax.vmap(lambda k: jax.random.permutation(k, len(obs)).reshape(each))(
            jax.random.split(key, config.epochs)
        )
        unexplained = masked_mean((targets.value - now) ** 2, drawn.mask)
        centred = targets.value - masked_mean(targets.value, drawn.mask)
        variance = masked_mean(centred**2, drawn.mask)
        info = {
            "entropy": -masked_mean(old, decides),
            "explained": 1.0 - unexplained / (variance + 1e-8),
            "learning_rate": jnp.asarray(config.learning_rate),
        }
        scale = state.scale * (_SLOW + (1.0 - _SLOW) * jnp.maximum(jnp.sqrt(variance), 1e-3))
        return Lesson(rows, orders, scale, info)

    @jax.jit
    def _learn(self, networks: Networks, optimiser: Any, lesson: Lesson) -> Learned:
        """All updates of some of the networks; `None` stands for the others."""

        def step(carry: tuple[Networks, Any], order: Array) -> tuple[tuple[Networks, Any], Any]:
            networks, optimiser = carry
            picked = jax.tree.map(lambda x: x[order], lesson.rows)
            grads, info = jax.grad(self._loss, has_aux=True)(networks, picked)
            clipped = cast(Any, self._clipped(grads))
            change, optimiser = self._optimiser().update(clipped, optimiser)
            return (
                cast(Networks, optax.apply_updates(cast(Any, networks), change)),
                optimiser,
            ), info

        each, size = lesson.orders.shape[1:]
        flat = lesson.orders.reshape(-1, size)
        (networks, optimiser), infos = jax.lax.scan(step, (networks, optimiser), flat)
        last = {name: x[-each:] if name == "divergence" else x for name, x in infos.items()}
        return networks, optimiser, {name: x.mean() for name, x in last.items()}

    def advantages(
        self, state: PPOState, batch: Batch, last: Rows, log_prob: Rows, clock: Clock | None
    ) -> Advantages:
        """Of the actions that were taken; `log_prob` is 0 where there was nothing to decide."""
        config = self.config
        reward = -batch.cost
        if enabled(config.temperature):
            reward = reward - config.temperature * self.omega.drawn(log_prob)
        reward = reward / state.scale
        obs, next_obs = self.seen(state, batch.obs), self.seen(state, batch.next_obs)
        goes_on = 1.0 - batch.terminated
        v_after = self._critic(state.critic, next_obs)
        v = Values(self._critic(state.critic, obs), goes_on * v_after)
        if clock is None:
            return advantages(config.gamma_rl, config.gae_lambda, reward, v, last)
        assert batch.time is not None
        assert state.u_critic is not None
        now, after = clock.at(batch.time), clock.at(batch.time + 1)
        u_after = self._critic(state.u_critic, after.beside(next_obs))
        # Where the wait ends for certain, and in the absorbing state, U is what is paid from there.
        waits = (after.chance < 1.0) & (self.in_world(batch.next_obs) > 0.0)
        u = Values(
            self._critic(state.u_critic, now.beside(obs)),
            goes_on * jnp.where(waits, u_after, v_after),
        )
        return eta_advantages(config.gamma_rl, config.gae_lambda, reward, v, u, now, after, last)

    def _loss(self, networks: Networks, rows: Minibatch) -> tuple[Scalar, dict[str, Scalar]]:
        loss, info = jnp.zeros(()), {}
        if networks.actor is not None:
            loss, info = self._actor_loss(networks.actor, rows)
        if networks.critic is not None:
            critic = self._critic_loss(networks.critic, networks.u_critic, rows)
            loss, info = loss + self.config.critic_weight * critic, info | {"critic_loss": critic}
        return loss, info

    def _actor_loss(self, actor: MLP, rows: Minibatch) -> tuple[Scalar, dict[str, Scalar]]:
        config, decides = self.config, rows.mask[:, 1]
        obs = rows.obs[:, : self.spec.obs_dim]
        log_ratio = self.head.log_prob(actor, obs, rows.act) - rows.log_prob
        ratio = jnp.exp(log_ratio)
        loss = clipped_loss(ratio, rows.targets.advantage, config.clip, decides)
        return loss, {
            "actor_loss": loss,
            "clipped": masked_mean((jnp.abs(ratio - 1.0) > config.clip).astype(float), decides),
            "divergence": -masked_mean(log_ratio, decides),
        }

    def _critic_loss(self, critic: MLP, u_critic: MLP | None, rows: Minibatch) -> Scalar:
        targets, obs = rows.targets, rows.obs[:, : self.spec.obs_dim]
        error = (self._critic(critic, obs) - targets.value) ** 2
        if u_critic is not None and targets.waiting is not None:
            error += (self._critic(u_critic, rows.obs) - targets.waiting) ** 2
        return 0.5 * masked_mean(error, rows.mask[:, 0])

    def _critic(self, critic: MLP, obs: Array) -> Rows:
        return critic(obs)[:, 0]

    def _timed(self, obs: Array, batch: Batch, clock: Clock | None) -> Array:
        if clock is None or batch.time is None:
            return obs
        return clock.at(batch.time).beside(obs)

    def _clipped(self, grads: Networks) -> Networks:
        """Each network by itself: a critic that is far off must not slow down the actor."""
        most = self.config.max_gradient_norm
        if most is None:
            return grads

        def clip(grad: Any) -> Any:
            share = jnp.minimum(1.0, most / (optax.tree.norm(grad) + 1e-12))
            return jax.tree.map(lambda g: share * g, grad)

        return Networks(*map(clip, grads))

    def _optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.config.learning_rate, eps=1e-5)


def _with_first_actions(actor: MLP, mean: np.ndarray, std: np.ndarray) -> MLP:
    """The actor with this mean and spread, before squashing, where its last layer says nothing."""
    share = (np.log(std) - LOG_STD_MIN) / (LOG_STD_MAX - LOG_STD_MIN)
    spread = np.arctanh(2.0 * np.clip(share, 1e-3, 1.0 - 1e-3) - 1.0)
    bias = jnp.asarray(np.concatenate([mean, spread]), jnp.float32)
    return MLP(actor.weights, (*actor.biases[:-1], bias), actor.activation)


def _as_shown(actor: MLP, act: Float[np.ndarray, "rows act"]) -> MLP:
    """With mean and spread of the demonstrated actions; as it is where no actions were recorded."""
    if act.shape[1] == 0:
        return actor
    mean = np.arctanh(np.clip(act.mean(axis=0), -0.9, 0.9))
    return _with_first_actions(actor, mean, np.clip(act.std(axis=0), *_FIRST_STD))
