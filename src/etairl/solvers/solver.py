"""What the game asks of a solver, the policy player, and what solvers share.

A solver draws what it wants to learn from (`draw`), so the game need not know whether it is on- or
off-policy, looks at time indices or clones the expert. To add one, see CONTRIBUTING.md.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from etairl.buffers import Transitions
from etairl.costs.family import Cost, Points
from etairl.eta import Eta
from etairl.experience import Experience, World
from etairl.networks import MLP, Normaliser
from etairl.regularisers import Regulariser
from etairl.solvers.clock import has_clock
from etairl.types import Policy

CostFunction = Callable[[Any, Array, Array, Array], Array]
"""of a state and of observations, actions, next observations; in a compiled program it is a
PyTree: a family of costs, or `jax.tree_util.Partial(f)` of a function"""


class ExpertPairs(NamedTuple):
    """States and actions of the expert, as the head sees them."""

    obs: Float[Array, "*updates batch obs"]
    act: Float[Array, "*updates batch act"]


class Batch(NamedTuple):
    """Transitions, with actions as the head sees them; a leading axis counts updates in a scan."""

    obs: Float[Array, "*updates batch obs"]
    act: Float[Array, "*updates batch act"]
    cost: Float[Array, "*updates batch"]
    """the true cost, until the batch is relabelled with the learned one"""
    next_obs: Float[Array, "*updates batch obs"]
    terminated: Float[Array, "*updates batch"]
    time: Int[Array, "*updates batch"] | None = None
    """steps since the episode began, for solvers that ask for it"""
    expert: ExpertPairs | None = None
    """what the actor also clones; None where nobody is to be cloned"""

    @staticmethod
    def of(t: Transitions, time: Int[np.ndarray, "*shape"] | None = None) -> "Batch":
        """From a buffer that keeps actions as the head sees them, to the device."""
        return Batch(
            obs=jnp.asarray(t.observations),
            act=jnp.asarray(t.actions),
            cost=jnp.asarray(-t.rewards),
            next_obs=jnp.asarray(t.next_observations),
            terminated=jnp.asarray(t.terminated, jnp.float32),
            time=None if time is None else jnp.asarray(time, jnp.int32),
        )


@runtime_checkable
class SolverState(Protocol):
    """What the states of all solvers have: a `NamedTuple` with an actor and what it expects."""

    @property
    def actor(self) -> MLP:
        """The policy."""
        ...

    @property
    def normaliser(self) -> Normaliser:
        """Statistics of the inputs of the actor."""
        ...

    def _replace(self, **changes: Any) -> Any: ...


AnyState = TypeVar("AnyState", bound=SolverState)


@runtime_checkable
class Solver(Protocol[AnyState]):
    """Finds a policy for the current cost; its state holds the actor and its normaliser.

    A solver that inherits from this class need only say what is special about it.
    """

    @property
    def needs_clone(self) -> bool:
        """Whether it starts from, or stays close to, a clone of the expert."""
        return False

    @property
    def needs_next(self) -> bool:
        """Whether it learns from what followed the expert's actions."""
        return False

    def implied_cost(self) -> Cost | None:
        """The cost that its own state stands for, if it needs no cost player."""
        return None

    def init(self, key: PRNGKeyArray) -> AnyState:
        """Untrained networks."""
        ...

    def begin(self, state: AnyState, shown: Points) -> AnyState:
        """Take what the demonstrations are in units of: statistics, nothing of who did what."""
        return state

    def from_clone(self, state: AnyState, actor: MLP) -> AnyState:
        """The untrained state with a cloned actor where it is wanted."""
        return state

    def policy(self, state: AnyState) -> Policy:
        """The policy as it is now, on the host."""
        ...

    def settled(self, state: AnyState) -> AnyState:
        """The state whose actor is the one to keep: the averaged one, where there is one."""
        return state

    def slowed(self, share: float) -> "Solver[AnyState]":
        """The same with a share of its learning rates, if it has any."""
        return self

    def log_prob(
        self, state: AnyState, obs: Float[Array, "*rows obs"], act: Float[Array, "*rows act"]
    ) -> Float[Array, "*rows"]:
        r"""$\log\pi(a \mid s)$ of actions as the solver sees them."""
        ...

    def observe(self, state: AnyState, observations: Float[np.ndarray, "rows obs"]) -> AnyState:
        """Take new observations into the statistics of the inputs."""
        return state

    def draw(self, rng: np.random.Generator, data: Experience) -> Any:
        """What the updates of a cycle learn from."""
        ...

    def updates(
        self,
        key: PRNGKeyArray,
        state: AnyState,
        drawn: Any,
        cost: CostFunction | None = None,
        cost_state: Any = None,
    ) -> tuple[AnyState, Any]:
        """The updates of a cycle, on what was drawn; `cost(cost_state, obs, act, next_obs)`.

        Also returns a `NamedTuple` of metrics, averaged over the updates, or None if there were
        none. Without `cost` the true costs count.
        """
        ...


@runtime_checkable
class SolverConfig(Protocol):
    """The settings of a solver: one dataclass each, by its `kind` in files and commands."""

    kind: ClassVar[str]
    weighs_time: ClassVar[bool] = False
    """whether it takes the weighting of eta into account"""

    @property
    def gamma_rl(self) -> float:
        """The discount of its Bellman updates."""
        ...

    @property
    def temperature(self) -> float | None:
        """The fixed weight of the regulariser; None if it adapts."""
        ...

    def make(self, world: World) -> Solver[Any]:
        """The solver of a run."""
        ...

    def code(self) -> list[str]:
        """Code of the user's own that the settings name, as `module:name`."""
        return []

    def check(self, omega: Regulariser) -> None:
        """Refuse a regulariser, or settings that contradict each other."""

    def warnings(self, eta: Eta, gamma_irl: float, horizon: int) -> list[str]:
        """What a user should know before a run begins."""
        return []


_MUCH_BEYOND = 0.05
"""share of a weighting beyond the horizon that is worth a warning"""


def time_warnings(
    kind: str, plain: str, eta: Eta, gamma_rl: float, gamma_irl: float, horizon: int
) -> list[str]:
    """Of a solver that weighs time: where it is plain, what it cannot learn, where players differ.

    Args:
        kind: the name of the solver.
        plain: that of the solver which does not weigh time.
        eta: the weighting.
        gamma_rl: the discount of both.
        gamma_irl: the discount of the cost player's draws.
        horizon: steps of an episode.
    """
    said, beta, beyond = [], eta.discount(gamma_rl), eta.tail(horizon) or 0.0
    if beta is not None:
        said.append(f"with eta {eta}, {kind} is {plain} with discount {beta:g}: one critic")
    elif has_clock(eta) and beyond > _MUCH_BEYOND:
        said.append(
            f"{beyond:.0%} of eta {eta} lie beyond the horizon of {horizon} steps: for {kind} "
            "they lie at its end"
        )
    if gamma_irl != gamma_rl:
        said.append(
            f"the cost weighs time with gamma_irl {gamma_irl:g}, {kind} with gamma_rl "
            f"{gamma_rl:g}: the players have different criteria unless these are equal"
        )
    return said


def fold_in(key: PRNGKeyArray, number: int) -> PRNGKeyArray:
    """The key of a scan among several; that of the first is the key itself."""
    return jax.random.fold_in(key, number) if number else key


def mean_info(infos: list[Any]) -> Any:
    """The mean of the metrics of scans of equal length; None without any."""
    if len(infos) < 2:
        return infos[0] if infos else None
    return jax.tree.map(lambda *parts: np.mean(parts), *infos)


def in_scans(
    scan: Callable[[Any, Any, PRNGKeyArray], tuple[Any, Any]],
    state: Any,
    drawn: Sequence[Any],
    key: PRNGKeyArray,
) -> tuple[Any, Any]:
    """One scan after the other, each on what was drawn for it; the last state and the mean info."""
    infos = []
    for number, part in enumerate(drawn):
        state, info = scan(state, part, fold_in(key, number))
        infos.append(info)
    return state, mean_info(infos)


def with_current_cost(batch: Batch, cost: CostFunction | None, cost_state: Any) -> Batch:
    """With the current cost, where there is one."""
    if cost is None:
        return batch
    return batch._replace(cost=cost(cost_state, batch.obs, batch.act, batch.next_obs))


def relabelled_scan(
    update: Callable[[Any, Batch, PRNGKeyArray], tuple[Any, Any]],
    state: Any,
    batches: Batch,
    key: PRNGKeyArray,
    cost: CostFunction | None,
    cost_state: Any,
) -> tuple[Any, Any]:
    """`update` on each of the batches, with the current cost; the last state and the mean info."""

    def relabelled(carry: Any, batch: Batch, key: PRNGKeyArray) -> tuple[Any, Any]:
        return update(carry, with_current_cost(batch, cost, cost_state), key)

    return scanned(relabelled, state, batches, key)


def scanned(
    update: Callable[[Any, Any, PRNGKeyArray], tuple[Any, Any]],
    state: Any,
    batches: Any,
    key: PRNGKeyArray,
) -> tuple[Any, Any]:
    """`update` on each of what a leading axis counts; the last state and the mean info."""
    keys = jax.random.split(key, len(jax.tree.leaves(batches)[0]))
    state, infos = jax.lax.scan(lambda carry, step: update(carry, *step), state, (batches, keys))
    return state, jax.tree.map(jnp.mean, infos)
