"""What the template asks of a solver, the policy player."""

from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from etairl.networks import MLP, Normaliser
from etairl.solvers.sac import Batch, CostFunction
from etairl.types import Policy


@runtime_checkable
class SolverState(Protocol):
    """What the states of all solvers have: a `NamedTuple` with an actor and what it expects."""

    @property
    def actor(self) -> MLP:
        """The policy."""
        ...

    @property
    def reference(self) -> MLP | None:
        """A policy to stay close to."""
        ...

    @property
    def normaliser(self) -> Normaliser:
        """Statistics of the inputs of the actor."""
        ...

    def _replace(self, **changes: Any) -> Any: ...


State = TypeVar("State", bound=SolverState)


@runtime_checkable
class Solver(Protocol[State]):
    """Finds a policy for the cost of the day; its state holds the actor and its normaliser."""

    timed: ClassVar[bool]
    """whether `updates` wants the time index of every transition"""

    @property
    def clones(self) -> bool:
        """Whether its batches have to bring pairs of the expert."""
        ...

    def init(self, key: PRNGKeyArray) -> State:
        """Untrained networks."""
        ...

    def observe(self, state: State, observations: Float[np.ndarray, "rows obs"]) -> State:
        """Take new observations into the statistics of the inputs."""
        ...

    def policy(self, state: State) -> Policy:
        """The policy as it is now, on the host."""
        ...

    def log_prob(
        self, state: State, obs: Float[Array, "*rows obs"], act: Float[Array, "*rows act"]
    ) -> Float[Array, "*rows"]:
        r"""$\log\pi(a \mid s)$ of actions as the solver sees them."""
        ...

    def updates(
        self,
        state: State,
        batches: Batch,
        key: PRNGKeyArray,
        cost: CostFunction | None = None,
        cost_state: Any = None,
        critics_only: bool = False,
    ) -> tuple[State, Any]:
        """Many updates in one compiled scan, each batch relabelled with the cost of the day.

        Also returns a `NamedTuple` of what there is to say, averaged over them.
        """
        ...
