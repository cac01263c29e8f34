r"""Inverse soft Q-learning: the game without a cost player (Garg et al. 2021).

A soft critic and its reward are one: $r = Q(s,a) - \gamma V(s')$. So the cost player's problem is
one of $Q$, and the policy player's answer to it is the soft policy of $Q$. With a penalty of the
kind $\chi^2$ it is a regression with bounded targets (Al-Hafez et al. 2023). Everything but the
loss of the critics is that of soft actor-critic.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from typing_extensions import override

from etairl.buffers import EpisodeBuffer, Episodes
from etairl.experience import Experience, IndexSampler
from etairl.hyper import enabled, traced
from etairl.networks import MLP, Rows, Scalar
from etairl.solvers.implied_cost import ImpliedCost
from etairl.solvers.iq_config import IQConfig
from etairl.solvers.iq_losses import (
    expert_loss,
    next_value,
    replay_loss,
    start_loss,
    value_loss,
)
from etairl.solvers.on_sac import OnSAC
from etairl.solvers.sac import SAC
from etairl.solvers.sac_state import SACDraw, SACState
from etairl.solvers.solver import Batch, ExpertPairs, in_scans, scanned


class Sides(NamedTuple):
    """Transitions of learner and expert; a leading axis counts updates in a scan."""

    own: Batch
    expert: Batch
    start: Float[Array, "*updates batch obs"] | None
    r"""states of the expert drawn from $P^\eta$, where they stand for the learner's rewards"""


class IQInfo(NamedTuple):
    """Metrics of an update."""

    critic_loss: Scalar
    actor_loss: Scalar
    temperature: Scalar
    entropy: Scalar
    q: Scalar
    own_reward: Scalar
    """the mean implied reward of the learner's steps"""
    expert_reward: Scalar
    """and of the expert's"""


@traced
@dataclass(frozen=True)
class IQ(OnSAC[SACState]):
    """Soft actor-critic whose critics learn from both sides, and pay no cost."""

    plain: SAC
    """owns the networks, and learns the policy"""
    config: IQConfig
    sampler: IndexSampler
    """of time indices, for both sides"""

    @override
    def implied_cost(self) -> ImpliedCost:
        return ImpliedCost(self.plain)

    def init(self, key: PRNGKeyArray) -> SACState:
        """Fresh networks and optimisers."""
        return self.plain.init(key)

    def draw(self, rng: np.random.Generator, data: Experience) -> SACDraw:
        """Transitions of either side, by the sampler of the run."""
        assert data.expert is not None
        play, scans = self.plain.play, []
        expert, first = data.expert, self.sampler.from_start()
        for many in data.scans(play.solver_updates, play.updates_per_step):
            shape = (many, play.solver_batch)
            start = None
            if self.config.policy_term == "start":
                start = _draw(rng, first, expert.buffer, expert.episodes, shape).obs
            scans.append(
                Sides(
                    _draw(rng, self.sampler, data.buffer, data.replay, shape),
                    _draw(rng, self.sampler, expert.buffer, expert.episodes, shape),
                    start,
                )
            )
        return SACDraw(scans, data.cycle < play.critic_cycles, data.progress)

    def update(
        self, state: SACState, sides: Sides, key: PRNGKeyArray, critics_only: bool = False
    ) -> tuple[SACState, IQInfo]:
        """One gradient step of the critics, the actor, the temperature and the targets."""
        plain, config, head = self.plain, self.plain.config, self.plain.head
        key_target, key_value, key_actor = jax.random.split(key, 3)
        both: Batch = jax.tree.map(lambda *x: jnp.concatenate(x), sides.own, sides.expert)
        own = jnp.arange(len(both.obs)) < len(sides.own.obs)
        mask, next_mask = plain.in_world(both.obs), plain.in_world(both.next_obs)
        obs, next_obs = plain.seen(state, both.obs), plain.seen(state, both.next_obs)
        temperature = jnp.exp(state.log_temperature)
        ahead = plain.chosen(key_target, state, state.targets, next_obs, next_mask)
        value = ahead.q - temperature * ahead.penalty
        most = self.config.reward_bound / (1.0 - config.gamma_rl)
        side = jnp.where(own, -1.0, 1.0)
        backup = config.gamma_rl * next_value(value, side, both.terminated, most)
        backup = jax.lax.stop_gradient(backup)

        def values(critics: MLP, obs: Array, mask: Rows) -> Float[Array, "2 batch"]:
            choice = plain.chosen(key_value, state, critics, obs, mask)
            assert choice.each is not None
            return choice.each - temperature * choice.penalty

        def loss(critics: MLP) -> tuple[Scalar, Float[Array, "2 batch"]]:
            q = head.q(critics, obs, both.act)
            many, bound = len(sides.own.obs), self.config.reward_bound
            fixed = self.config.expert_target == "fixed"
            target = jnp.full_like(backup, most) if fixed else bound + backup
            total = expert_loss(q[:, many:], target[many:])
            if self.config.policy_term == "replay":
                return total + replay_loss(q[:, :many], backup[:many], bound), q
            if self.config.policy_term == "value":
                return total + value_loss(values(critics, obs, mask), backup, bound), q
            assert sides.start is not None
            first = plain.seen(state, sides.start)
            v = values(critics, first, plain.in_world(sides.start))
            gamma = config.gamma_rl
            return total + start_loss(v, q[:, :many], backup[:many], bound, gamma), q

        (loss_q, q), grads = jax.value_and_grad(loss, has_aux=True)(state.critics)
        shown = ExpertPairs(sides.expert.obs, sides.expert.act)
        acting = both._replace(expert=shown if enabled(plain.play.cloning) else None)
        new, (loss_pi, entropy) = plain.actor_step(
            plain.critics_moved(state, grads), acting, key_actor, critics_only
        )
        reward = q.mean(axis=0) - backup
        paid = (jnp.where(own, reward, 0.0).mean(), jnp.where(own, 0.0, reward).mean())
        info = (loss_q, loss_pi, temperature, entropy, q.mean(), *(2.0 * part for part in paid))
        return new, IQInfo(*info)

    def updates(
        self,
        key: PRNGKeyArray,
        state: SACState,
        drawn: SACDraw,
        cost: Any = None,
        cost_state: Any = None,
    ) -> tuple[SACState, IQInfo | None]:
        """All updates in compiled scans; no cost is asked. Info is averaged over them."""
        solver = self.paced(drawn.progress)

        def scan(state: SACState, sides: Sides, key: PRNGKeyArray) -> tuple[SACState, IQInfo]:
            return solver._scan(state, sides, key, drawn.critics_only)

        return in_scans(scan, state, drawn.batches, key)

    @partial(jax.jit, static_argnums=4, donate_argnums=1)
    def _scan(
        self, state: SACState, scan: Sides, key: PRNGKeyArray, critics_only: bool
    ) -> tuple[SACState, IQInfo]:
        return scanned(partial(self.update, critics_only=critics_only), state, scan, key)


def _draw(
    rng: np.random.Generator,
    sampler: IndexSampler,
    buffer: EpisodeBuffer,
    episodes: Episodes,
    shape: tuple[int, int],
) -> Batch:
    steps = sampler.rows(rng, episodes.offsets, shape[0] * shape[1])
    return Batch.of(buffer.transitions(episodes.rows(steps), shape))
