r"""Soft actor-critic: the value-based solver of $RL_\Omega$, by default with entropy as $\Omega$.

Costs are minimised everywhere else; here, and only here, there is a reward, $-c$. One `scan` runs a
whole cycle of updates and relabels each batch with the current cost function inside it. Numbers of
the settings are traced: one compiled program serves all of them.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, PRNGKeyArray
from typing_extensions import override

from etairl.experience import Experience
from etairl.hyper import Number, enabled, traced
from etairl.networks import MLP, Normaliser, Rows, Scalar, init_pair, start_optimiser, towards
from etairl.regularisers import Entropy, Regulariser
from etairl.solvers.actor_solver import ActorSolver
from etairl.solvers.draws import expert_pairs, replay_batches
from etairl.solvers.heads import Choice, Seen
from etairl.solvers.sac_at_once import scan_at_once
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.solvers.sac_losses import actor_loss, critic_loss, soft_target, temperature_loss
from etairl.solvers.sac_state import SACDraw, SACInfo, SACState
from etairl.solvers.solver import (
    Batch,
    CostFunction,
    ExpertPairs,
    in_scans,
    relabelled_scan,
)
from etairl.types import InputError, Spec


@traced
@dataclass(frozen=True)
class SAC(ActorSolver[SACState]):
    """Soft actor-critic for a task of the given sizes."""

    config: SACConfig
    spec: Spec
    absorbing: bool = False
    """the last column of an observation marks the absorbing state, whose only action is 0"""
    omega: Regulariser = Entropy()
    """with weight 1: the temperature is its weight"""
    play: OffPolicy = OffPolicy()

    @property
    def needs_clone(self) -> bool:
        """For a warm start, or as what the policy stays close to."""
        return self.play.warm_start or self.omega.relative

    @property
    def needs_next(self) -> bool:
        """For a share of the expert's transitions."""
        return enabled(self.play.expert_share)

    def init(self, key: PRNGKeyArray) -> SACState:
        """Fresh networks and optimisers."""
        key_actor, key_critics = jax.random.split(key)
        head, config = self.head, self.config
        sizes = (self.spec.obs_dim, *config.hidden, head.shape.actor_outputs)
        actor = MLP.init(key_actor, sizes, config.activation)
        sizes = (head.shape.critic_inputs, *config.hidden, head.shape.critic_outputs)
        critics = init_pair(key_critics, sizes, config.activation, config.layer_norm)
        start = config.first_temperature if config.temperature is None else config.temperature
        log_temperature = jnp.asarray(np.log(np.float32(start)))
        return SACState(
            actor=actor,
            reference=None,
            average=jax.tree.map(jnp.copy, actor) if enabled(config.actor_average) else None,
            critics=critics,
            targets=jax.tree.map(jnp.copy, critics),
            log_temperature=log_temperature,
            normaliser=Normaliser.identity(self.spec.obs_dim),
            actor_optimiser=start_optimiser(self.optimiser(1.0), actor),
            critic_optimiser=start_optimiser(self.optimiser(1.0), critics),
            temperature_optimiser=start_optimiser(self.optimiser(1.0), log_temperature),
        )

    def from_clone(self, state: Any, actor: MLP) -> Any:
        """Start from a cloned actor, stay close to it, or both, as the settings say."""
        if self.absorbing:
            # The mark of the absorbing state is one more input, which says nothing about actions.
            first = jnp.concatenate([actor.weights[0], jnp.zeros((1, actor.weights[0].shape[1]))])
            actor = MLP((first, *actor.weights[1:]), actor.biases, actor.activation)
        if self.play.warm_start:
            average = state.average and jax.tree.map(jnp.copy, actor)
            state = state._replace(actor=actor, average=average)
        if self.omega.relative:
            state = state._replace(reference=jax.tree.map(jnp.copy, actor))
        return state

    def draw(self, rng: np.random.Generator, data: Experience, timed: bool = False) -> SACDraw:
        """Transitions of the replay, and pairs of the expert where it is cloned."""
        play, scans = self.play, []
        for many in data.scans(play.solver_updates, play.updates_per_step):
            shape = (many, play.solver_batch)
            batches = replay_batches(rng, data, shape, timed, play.expert_share)
            if enabled(play.cloning):
                batches = batches._replace(expert=expert_pairs(rng, data, shape))
            scans.append(batches)
        return SACDraw(scans, data.cycle < play.critic_cycles, data.progress)

    def settled(self, state: Any) -> Any:
        """With the averaged actor, if there is one."""
        return state if state.average is None else state._replace(actor=state.average)

    def update(
        self, state: SACState, batch: Batch, key: PRNGKeyArray, critics_only: bool = False
    ) -> tuple[SACState, SACInfo]:
        """One gradient step of the critics, the actor, the temperature and the targets.

        With `critics_only` actor and temperature stay: critics learn to judge an actor that came
        from elsewhere before they may change it.
        """
        key_target, key_actor = jax.random.split(key)
        judged, (loss_q, q) = self.critics_step(state, batch, key_target)
        new, (loss_pi, entropy) = self.actor_step(judged, batch, key_actor, critics_only)
        temperature = jnp.exp(state.log_temperature)
        return new, SACInfo(loss_q, loss_pi, temperature, entropy, q)

    def critics_step(
        self, state: SACState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[SACState, tuple[Scalar, Scalar]]:
        """One gradient step of the critics, and of their targets; their loss and mean value."""
        if (state.reference is None) == self.omega.relative:
            raise InputError("the regulariser kl and a reference policy go together")
        config, head = self.config, self.head
        # Log-probabilities are computed everywhere and masked afterwards: no NaN can slip through.
        next_mask = self.in_world(batch.next_obs)
        obs, next_obs = self.seen(state, batch.obs), self.seen(state, batch.next_obs)
        choice = self.chosen(key, state, state.targets, next_obs, next_mask)
        target = soft_target(
            config.gamma_rl,
            batch.cost,
            batch.terminated,
            choice.q,
            choice.penalty,
            jnp.exp(state.log_temperature),
        )
        info, grads = jax.value_and_grad(critic_loss, has_aux=True)(
            state.critics, head, obs, batch.act, jax.lax.stop_gradient(target)
        )
        return self.critics_moved(state, grads), info

    def chosen(
        self,
        key: PRNGKeyArray,
        state: SACState,
        critics: MLP,
        obs: Array,
        mask: Rows,
        also: tuple[Seen, ...] = (),
    ) -> Choice:
        """The policy's own actions, which cost it nothing in the absorbing state."""
        known = state.actor, critics, obs, state.reference, self.omega
        choice = self.head.choose(key, *known, also, mask)
        return choice._replace(penalty=mask * choice.penalty)

    def critics_moved(self, state: SACState, grads: MLP) -> SACState:
        """The critics one step on, by these gradients, and their targets after them."""
        critics, optimiser = self.step(
            self.config.critic_lr, grads, state.critic_optimiser, state.critics
        )
        targets = towards(self.config.polyak, state.targets, critics)
        return state._replace(critics=critics, targets=targets, critic_optimiser=optimiser)

    def actor_step(
        self, state: SACState, batch: Batch, key: PRNGKeyArray, stays: bool = False
    ) -> tuple[SACState, tuple[Scalar, Scalar]]:
        """One step of the actor and its temperature, unless both stay; its loss and entropy."""
        mask, obs = self.in_world(batch.obs), self.seen(state, batch.obs)
        (loss, entropy), grads = jax.value_and_grad(actor_loss, has_aux=True)(
            *(state.actor, self.head, state.critics, state.reference),
            *(jnp.exp(state.log_temperature), obs, mask, key, self.omega),
        )
        if not stays:
            state = self.policy_step(state, grads, batch.expert, entropy, mask)
        return state, (loss, entropy)

    def updates(
        self,
        key: PRNGKeyArray,
        state: SACState,
        drawn: SACDraw,
        cost: CostFunction | None = None,
        cost_state: Any = None,
    ) -> tuple[SACState, SACInfo | None]:
        """All updates in compiled scans; info is averaged over them."""
        solver = self.paced(drawn.progress)

        def scan(state: SACState, batches: Batch, key: PRNGKeyArray) -> tuple[SACState, SACInfo]:
            if solver.play.at_once and not drawn.critics_only:
                return scan_at_once(solver, state, batches, key, cost, cost_state)
            return solver._scan(state, batches, key, cost, cost_state, drawn.critics_only)

        return in_scans(scan, state, drawn.batches, key)

    def paced(self, progress: float) -> "SAC":
        """With the learning rates that this part of the run has."""
        left = 1.0 - progress * (1.0 - self.config.last_learning_rate)
        return self if left == 1.0 else self.slowed(left)

    @override
    def slowed(self, share: float) -> "SAC":
        return replace(self, config=self.config.slowed(share))

    @partial(jax.jit, static_argnums=6, donate_argnums=1)
    def _scan(
        self,
        state: SACState,
        batches: Batch,
        key: PRNGKeyArray,
        cost: CostFunction | None,
        cost_state: Any,
        critics_only: bool,
    ) -> tuple[SACState, SACInfo]:
        update = partial(self.update, critics_only=critics_only)
        return relabelled_scan(update, state, batches, key, cost, cost_state)

    def policy_step(
        self, state: Any, grads: MLP, expert: ExpertPairs | None, entropy: Scalar, mask: Rows
    ) -> Any:
        """The actor and its temperature one step on; all else as it was."""
        grads = self.towards_expert(grads, state, expert)
        actor, actor_optimiser = self.step(
            self.config.actor_lr, grads, state.actor_optimiser, state.actor
        )
        log_temperature, temperature_optimiser = self.update_temperature(state, entropy, mask)
        average = state.average
        if average is not None:
            average = towards(self.config.actor_average, average, actor)
        return state._replace(
            actor=actor,
            average=average,
            actor_optimiser=actor_optimiser,
            log_temperature=log_temperature,
            temperature_optimiser=temperature_optimiser,
        )

    def update_temperature(self, state: Any, entropy: Scalar, mask: Rows) -> tuple[Scalar, Any]:
        """One step of the temperature towards the target entropy, unless it is fixed."""
        config, log_temperature = self.config, state.log_temperature
        if config.temperature is not None:
            return log_temperature, state.temperature_optimiser
        goal = config.target_entropy
        goal = self.head.shape.target_entropy if goal is None else goal
        slope = jax.grad(temperature_loss)(log_temperature, entropy, goal)
        if self.absorbing:
            slope = slope * (mask.sum() > 0.0)  # without a row of the world: no entropy
        return self.step(config.temperature_lr, slope, state.temperature_optimiser, log_temperature)

    def towards_expert(self, grads: MLP, state: Any, expert: ExpertPairs | None) -> MLP:
        r"""Add $\lambda\nabla\ell(\pi; s_E, a_E)$, the gradient of behaviour cloning."""
        if expert is None:
            return grads
        obs = self.seen(state, expert.obs)
        cloned = jax.grad(self.head.cloning_loss)(state.actor, obs, expert.act)
        return jax.tree.map(lambda own, theirs: own + self.play.cloning * theirs, grads, cloned)

    def step(self, rate: Number, grads: Any, optimiser: Any, params: Any) -> tuple[Any, Any]:
        """New parameters, and their optimiser."""
        updates, optimiser = self.optimiser(rate).update(grads, optimiser)
        return optax.apply_updates(params, updates), optimiser

    def optimiser(self, rate: Number) -> optax.GradientTransformation:
        """Adam, behind a clip of the gradients where the settings ask for one."""
        clip, adam = self.config.max_gradient_norm, optax.adam(rate)
        return adam if clip is None else optax.chain(optax.clip_by_global_norm(clip), adam)
