r"""The cost that a soft critic implies: that of which it is the value."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray
from typing_extensions import override

from etairl.costs.family import Cost, LogProb, Points
from etairl.hyper import traced
from etairl.networks import MLP, Normaliser, Rows, Scalar
from etairl.solvers.sac import SAC

_DRAWS = 8
"""actions from which the value of a state is estimated"""


class ImpliedState(NamedTuple):
    """Of a solver, what its reward follows from."""

    actor: MLP
    critics: MLP
    normaliser: Normaliser
    log_temperature: Scalar


@traced
@dataclass(frozen=True)
class ImpliedCost(Cost):
    r"""$c(s,a,s') = \gamma V(s') - Q(s,a)$; it has no turn, and is read when a run ends."""

    solver: SAC
    """owns the networks"""
    learns: ClassVar[bool] = False

    @property
    @override
    def needs_next(self) -> bool:
        return True

    @property
    def never_positive(self) -> bool:
        """An early end counts as the worst step for ever, so it never pays."""
        return True

    def init(self, key: PRNGKeyArray, expert: Points) -> ImpliedState:
        """Of untrained networks."""
        solver = self.solver
        return self.learned(None, solver.begin(solver.init(key), expert))

    @override
    def learned(self, state: Any, solver: Any) -> ImpliedState:
        return ImpliedState(*(getattr(solver, name) for name in ImpliedState._fields))

    def __call__(self, state: ImpliedState, obs: Array, act: Array, next_obs: Array) -> Rows:
        """Values are means over the same few draws for every row; an early end is not seen."""
        solver, head = self.solver, self.solver.head
        mask = solver.in_world(next_obs)

        def value(key: PRNGKeyArray) -> Rows:
            def row(x: Array, mask: Array) -> Array:
                parts = (key, state.actor, state.critics, x[None], None, solver.omega)
                choice = head.choose(*parts, mask=mask[None])
                return choice.q[0] - jnp.exp(state.log_temperature) * mask * choice.penalty[0]

            return jax.vmap(row)(solver.seen(state, next_obs), mask)

        v = jax.vmap(value)(jax.random.split(jax.random.key(0), _DRAWS)).mean(axis=0)
        q = head.q(state.critics, solver.seen(state, obs), act).min(axis=0)
        return solver.config.gamma_rl * v - q

    def updates(
        self, key: PRNGKeyArray, state: Any, own: Points, expert: Points, log_prob: LogProb
    ) -> tuple[Any, None]:
        """Nothing changes: the solver learns."""
        return state, None
