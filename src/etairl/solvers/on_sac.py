"""Solvers on top of soft actor-critic: all that they leave to it."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

from etairl.costs.family import Points
from etairl.networks import MLP
from etairl.solvers.policy import HeadPolicy
from etairl.solvers.sac import SAC
from etairl.solvers.solver import AnyState, Solver


class OnSAC(Solver[AnyState]):
    """Its states have at least the fields of `SACState` that these functions look at."""

    plain: SAC

    @property
    @override
    def needs_clone(self) -> bool:
        return self.plain.needs_clone

    @property
    @override
    def needs_next(self) -> bool:
        return self.plain.needs_next

    @override
    def begin(self, state: Any, shown: Points) -> Any:
        return self.plain.begin(state, shown)

    @override
    def from_clone(self, state: Any, actor: MLP) -> Any:
        return self.plain.from_clone(state, actor)

    @override
    def observe(self, state: Any, observations: Float[np.ndarray, "rows obs"]) -> Any:
        return self.plain.observe(state, observations)

    @override
    def policy(self, state: Any) -> HeadPolicy:
        return self.plain.policy(state)

    @override
    def settled(self, state: Any) -> Any:
        return self.plain.settled(state)

    @override
    def slowed(self, share: float) -> Any:
        return cast(Any, replace)(self, plain=self.plain.slowed(share))

    def paced(self, progress: float) -> Any:
        """With the learning rates that this part of the run has."""
        return cast(Any, replace)(self, plain=self.plain.paced(progress))

    @override
    def log_prob(
        self, state: Any, obs: Float[Array, "*rows obs"], act: Float[Array, "*rows act"]
    ) -> Float[Array, "*rows"]:
        return self.plain.log_prob(state, obs, act)
