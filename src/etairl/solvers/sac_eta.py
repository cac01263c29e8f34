r"""Soft actor-critic for the $\eta$-criterion as it is: two critics, $Q$ and $U$ (errata (f)).

$$J_\eta(\pi) = \mathbb{E}\sum_n w_n\big(c_n - \alpha\Omega(\pi(s_n))\big),\qquad
w_n = \gamma w_{n-1} + \eta(n)$$

What a pair at time $t$ still costs is $\gamma w_{t-1}Q + S_tU_t$: the part of the weight that has
begun to run, and the part $S_t = \eta(k \ge t)$ that still waits. With the chance
$h_t = \eta(t)/S_t$ that the wait ends now,

$$U_t(s,a) = h_tQ(s,a) + (1-h_t)\,\mathbb{E}\,\bar U_{t+1}(s'),\qquad
\bar U_t(s) = \mathbb{E}_{a\sim\pi}U_t(s,a) - h_t\alpha\Omega(\pi(s)).$$

For $\mathrm{Geom}(\kappa)$ the chance is $1-\kappa$ at all times, and $U$ needs no clock. Both
critics are of rewards, $-c$, as in `etairl.solvers.sac`.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from etairl.eta import Eta
from etairl.experience import Experience
from etairl.hyper import traced
from etairl.networks import Rows, init_pair, start_optimiser, towards
from etairl.solvers.clock import Clock, make_clock
from etairl.solvers.heads import Seen
from etairl.solvers.on_sac import OnSAC
from etairl.solvers.sac import SAC
from etairl.solvers.sac_eta_losses import eta_actor_loss, u_target
from etairl.solvers.sac_losses import critic_loss
from etairl.solvers.sac_state import EtaInfo, EtaState, SACDraw, SACState
from etairl.solvers.solver import (
    Batch,
    CostFunction,
    in_scans,
    relabelled_scan,
)


@traced
@dataclass(frozen=True)
class SACEta(OnSAC[EtaState]):
    """Soft actor-critic with two critics, for episodes of at most `horizon` steps."""

    plain: SAC
    """owns the settings, and learns $Q$"""
    eta: Eta
    horizon: int

    def __post_init__(self):
        _ = self.clock  # refuses a law that has too little mass on an episode

    @property
    def clock(self) -> Clock:
        """What each time index decides."""
        return make_clock(self.eta, self.plain.config.gamma_rl, self.horizon)

    def init(self, key: PRNGKeyArray) -> EtaState:
        """Fresh networks and optimisers."""
        key_plain, key_u = jax.random.split(key)
        config, head = self.plain.config, self.plain.head
        inputs = head.shape.critic_inputs + self.clock.time_features.shape[1]
        sizes = (inputs, *config.hidden, head.shape.critic_outputs)
        critics = init_pair(key_u, sizes, config.activation, config.layer_norm)
        return EtaState(
            **self.plain.init(key_plain)._asdict(),
            u_critics=critics,
            u_targets=jax.tree.map(jnp.copy, critics),
            u_optimiser=start_optimiser(self.plain.optimiser(1.0), critics),
        )

    def draw(self, rng: np.random.Generator, data: Experience) -> SACDraw:
        """As for soft actor-critic, with time indices."""
        return self.plain.draw(rng, data, timed=True)

    def update(
        self,
        state: EtaState,
        batch: Batch,
        key: PRNGKeyArray,
        clock: Clock | None = None,
        critics_only: bool = False,
    ) -> tuple[EtaState, EtaInfo]:
        """One gradient step of both pairs of critics, the actor, the temperature and the targets.

        `batch.time` holds the time index of each row, `clock` what it decides. With `critics_only`
        actor and temperature stay.
        """
        assert batch.time is not None
        clock = self.clock if clock is None else clock
        plain, config, head = self.plain, self.plain.config, self.plain.head
        key_q, key_u, key_actor = jax.random.split(key, 3)
        judged, info = plain.update(
            state.plain, batch._replace(expert=None), key_q, critics_only=True
        )
        mask, obs = plain.in_world(batch.obs), plain.seen(state, batch.obs)
        now = clock.at(batch.time)
        timed = now.beside(obs)
        q_here = head.q(judged.targets, obs, batch.act).min(axis=0)
        u_ahead = self._ahead(key_u, state, judged, batch, clock.at(batch.time + 1))
        target = u_target(now.chance, batch.terminated, q_here, u_ahead)
        (loss_u, u), grads = jax.value_and_grad(critic_loss, has_aux=True)(
            state.u_critics, head, timed, batch.act, jax.lax.stop_gradient(target)
        )
        u_critics, u_optimiser = plain.step(
            config.critic_lr, grads, state.u_optimiser, state.u_critics
        )
        (loss_pi, entropy), grads = jax.value_and_grad(eta_actor_loss, has_aux=True)(
            state.actor,
            head,
            Seen(judged.critics, obs),
            Seen(u_critics, timed),
            state.reference,
            info.temperature,
            now,
            mask,
            key_actor,
            plain.omega,
        )
        if not critics_only:
            state = plain.policy_step(state, grads, batch.expert, entropy, mask)
        new = state._replace(
            critics=judged.critics,
            targets=judged.targets,
            u_critics=u_critics,
            u_targets=towards(config.polyak, state.u_targets, u_critics),
            critic_optimiser=judged.critic_optimiser,
            u_optimiser=u_optimiser,
        )
        return new, EtaInfo(info.critic_loss, loss_u, loss_pi, info.temperature, entropy, info.q, u)

    def _ahead(
        self, key: PRNGKeyArray, state: EtaState, judged: SACState, batch: Batch, after: Clock
    ) -> Rows:
        """What U's targets say of the next observations."""
        plain = self.plain
        mask, obs = plain.in_world(batch.next_obs), plain.seen(state, batch.next_obs)
        also = (Seen(state.u_targets, after.beside(obs)),)
        choice = plain.chosen(key, judged, judged.targets, obs, mask, also)
        # Where the wait ends for certain U is Q; at the horizon nothing else is known of it. In the
        # absorbing state nothing changes while one waits: there, too, U is Q.
        waits = (after.chance < 1.0) & (mask > 0.0)
        u = jnp.where(waits, choice.also[0], choice.q)
        return u - after.chance * jnp.exp(state.log_temperature) * choice.penalty

    def updates(
        self,
        key: PRNGKeyArray,
        state: EtaState,
        drawn: SACDraw,
        cost: CostFunction | None = None,
        cost_state: Any = None,
    ) -> tuple[EtaState, EtaInfo | None]:
        """All updates in compiled scans; info is averaged over them."""
        solver, rest = self.paced(drawn.progress), (self.clock, drawn.critics_only)

        def scan(state: EtaState, batches: Batch, key: PRNGKeyArray) -> tuple[EtaState, EtaInfo]:
            return solver._scan(state, batches, key, cost, cost_state, *rest)

        return in_scans(scan, state, drawn.batches, key)

    @partial(jax.jit, static_argnums=7, donate_argnums=1)
    def _scan(
        self,
        state: EtaState,
        batches: Batch,
        key: PRNGKeyArray,
        cost: CostFunction | None,
        cost_state: Any,
        clock: Clock,
        critics_only: bool,
    ) -> tuple[EtaState, EtaInfo]:
        update = partial(self.update, clock=clock, critics_only=critics_only)
        return relabelled_scan(update, state, batches, key, cost, cost_state)


def sac_eta(plain: SAC, eta: Eta, horizon: int) -> SAC | SACEta:
    r"""The solver of $J_\eta$ for a law: one critic where that is exact, else two.

    Where $w_n \propto \beta^n$ the criterion is ordinary RL with discount $\beta$: for $\delta_0$
    the given solver, for the zero-modified geometric law made for `gamma_rl` the same with $\beta$.
    """
    beta = eta.discount(plain.config.gamma_rl)
    if beta is None:
        return SACEta(plain, eta, horizon)
    return replace(plain, config=replace(plain.config, gamma_rl=beta))
