"""What all solvers share whose actor is a network that sees normalised observations."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

from etairl.costs.family import Points, in_world
from etairl.networks import Normaliser, Rows
from etairl.solvers.heads import Head, make_head
from etairl.solvers.policy import HeadPolicy
from etairl.solvers.solver import AnyState, Solver
from etairl.types import Spec


class ActorSolver(Solver[AnyState]):
    """From an actor and its normaliser to a policy; its config says how to `normalise`.

    States are of any kind that has these two: solvers on top of another have more in theirs.
    """

    config: Any
    spec: Spec
    absorbing: bool

    @property
    def head(self) -> Head:
        """Continuous or discrete."""
        return make_head(self.spec)

    @override
    def begin(self, state: Any, shown: Points) -> Any:
        return self.in_units_of(state, shown)

    def in_units_of(self, state: Any, shown: Points) -> Any:
        """With the statistics of the demonstrations, where the settings ask for them."""
        if self.config.normalise != "demonstrations":
            return state
        return state._replace(normaliser=Normaliser.of(np.asarray(shown.obs)))

    @override
    def observe(self, state: Any, observations: Float[np.ndarray, "rows obs"]) -> Any:
        if self.config.normalise != "running":
            return state
        return state._replace(normaliser=state.normaliser.seen(observations))

    @override
    def policy(self, state: Any) -> HeadPolicy:
        return HeadPolicy(state.actor, self.head, self.spec, self._normaliser(state))

    @override
    def log_prob(
        self, state: Any, obs: Float[Array, "*rows obs"], act: Float[Array, "*rows act"]
    ) -> Float[Array, "*rows"]:
        r"""$\log\pi(a \mid s)$ of actions as the head sees them; 0 in the absorbing state."""
        return self._log_prob(state, obs, act)

    @jax.jit
    def _log_prob(self, state: Any, obs: Array, act: Array) -> Array:
        shape = obs.shape[:-1]
        obs, act = obs.reshape(-1, obs.shape[-1]), act.reshape(-1, act.shape[-1])
        mask = self.in_world(obs)
        obs = self.seen(state, obs)
        return (mask * self.head.log_prob(state.actor, obs, act)).reshape(shape)

    def seen(self, state: Any, obs: Float[Array, "batch obs"]) -> Float[Array, "batch obs"]:
        """Observations as the networks see them."""
        normaliser = self._normaliser(state)
        return obs if normaliser is None else normaliser(obs)

    def _normaliser(self, state: Any) -> Normaliser | None:
        return None if self.config.normalise == "none" else state.normaliser

    def in_world(self, obs: Float[Array, "batch obs"]) -> Rows:
        """1 where there is something to decide, 0 in the absorbing state."""
        return in_world(obs, self.absorbing)
