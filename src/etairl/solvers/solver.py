"""What the template asks of a solver, the policy player."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from etairl.solvers.sac import Batch, CostFunction, SACInfo, SACState
from etairl.types import Policy


@runtime_checkable
class Solver(Protocol):
    """Finds a policy for the cost of the day; its state holds the actor and its normaliser."""

    @property
    def clones(self) -> bool:
        """Whether its batches have to bring pairs of the expert."""
        ...

    def init(self, key: PRNGKeyArray) -> SACState:
        """Untrained networks."""
        ...

    def observe(self, state: SACState, observations: Float[np.ndarray, "rows obs"]) -> SACState:
        """Take new observations into the statistics of the inputs."""
        ...

    def policy(self, state: SACState) -> Policy:
        """The policy as it is now, on the host."""
        ...

    def log_prob(
        self, state: SACState, obs: Float[Array, "*rows obs"], act: Float[Array, "*rows act"]
    ) -> Float[Array, "*rows"]:
        r"""$\log\pi(a \mid s)$ of actions as the solver sees them."""
        ...

    def updates(
        self,
        state: SACState,
        batches: Batch,
        key: PRNGKeyArray,
        cost: CostFunction | None = None,
        cost_state: Any = None,
        critics_only: bool = False,
    ) -> tuple[SACState, SACInfo]:
        """Many updates in one compiled scan, each batch relabelled with the cost of the day."""
        ...
