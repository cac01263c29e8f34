r"""What the template asks of a family of costs, and what a cost sees of a transition.

A family is the cost player's choice of $c$ and $\psi$. It holds frozen settings; what changes is a
state, a `NamedTuple` of arrays that goes in and comes out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from typing_extensions import override

from etairl.experience import World
from etairl.networks import Rows, all_finite
from etairl.regularisers import Regulariser
from etairl.types import InputError, Spec, constant_columns

Inputs = Literal["state_action", "state", "state_next_state"]


class Points(NamedTuple):
    """Transitions as a cost sees them; a leading axis counts updates in a scan."""

    obs: Float[Array, "*updates batch obs"]
    act: Float[Array, "*updates batch act"]
    next_obs: Float[Array, "*updates batch obs"]


LogProb = Callable[[Array, Array], Float[Array, "*rows"]]
r"""$\log\pi(a \mid s)$ of the policy that acted, as a function of observations and actions"""


def in_world(obs: Array, absorbing: bool) -> Float[Array, "*rows"]:
    """1 where there is something to decide; 0 in the absorbing state, marked by the last column."""
    return 1.0 - obs[..., -1] if absorbing else jnp.ones(obs.shape[:-1])


class FeatureValues(NamedTuple):
    """Of a cost that is linear in features: what it is made of."""

    names: tuple[str, ...]
    weights: Float[np.ndarray, " features"]
    values: Float[np.ndarray, "rows features"]


@runtime_checkable
class Cost(Protocol):
    """A family of costs: where the cost player begins, what a pair costs, how it learns.

    A family that inherits from this class need only say what is special about it.
    """

    learns: ClassVar[bool] = True
    """whether the cost player has a turn; a frozen cost has none"""

    @property
    def needs_next(self) -> bool:
        """Whether the cost looks at the next state."""
        return False

    @property
    def needs_actions(self) -> bool:
        """Whether the cost looks at actions."""
        return True

    @property
    def never_positive(self) -> bool:
        """Whether every step is a gain, so that an early end never pays."""
        return False

    def init(self, key: PRNGKeyArray, expert: Points) -> Any:
        """A fresh state, with what it needs to know of all demonstrations."""
        ...

    def __call__(
        self,
        state: Any,
        obs: Float[Array, "batch obs"],
        act: Float[Array, "batch act"],
        next_obs: Float[Array, "batch obs"],
    ) -> Rows:
        """The cost of each row, as the solver pays it."""
        ...

    def updates(
        self, key: PRNGKeyArray, state: Any, own: Points, expert: Points, log_prob: LogProb
    ) -> tuple[Any, Any]:
        """The cost player's turn: a new state, and a `NamedTuple` of metrics."""
        ...

    def learned(self, state: Any, solver: Any) -> Any:
        """The state at the end of a run; of a cost that a solver implies, from that of the solver.

        Args:
            state: the cost player's.
            solver: the policy player's.
        """
        return state

    def stored(self, state: Any) -> Any:
        """The part of a state that a finished run keeps: enough to evaluate the cost."""
        return state

    def check(self, state: Any, fresh: Any) -> None:
        """Refuse a state from a file that is not of this family, or not of these demonstrations.

        `fresh` is what `init` makes of the demonstrations today.
        """
        check_all_finite(state)

    def check_points(self, state: Any, points: Points) -> None:
        """Refuse pairs of the learner where the cost is not a number, with the reason."""

    def warnings(self, state: Any, expert: Points) -> list[str]:
        """What a user should know of this cost on these demonstrations."""
        return []

    def features_of(self, state: Any, points: Points) -> FeatureValues | None:
        """What a linear cost is made of; None of others."""
        return None

    def portable(self) -> "Cost":
        """The cost to show and to carry to another policy or world, on the same states."""
        return self


class ConfiguredCost(Cost):
    """A family whose settings, its `config`, say what it looks at."""

    config: Any

    @property
    @override
    def needs_next(self) -> bool:
        return self.config.needs_next

    @property
    @override
    def needs_actions(self) -> bool:
        return self.config.needs_actions


def check_all_finite(state: Any) -> None:
    """Refuse NaN and infinity."""
    if not all_finite(state):
        raise InputError("the weights of the cost are not all finite numbers")


class Players(NamedTuple):
    """What a cost family may ask of the rest of a run before it takes part."""

    omega: Regulariser
    temperature: float | None
    weighs_time: bool
    """whether the solver takes the weighting of eta into account"""
    algorithm: str = "this cost"
    """what messages call it"""


@runtime_checkable
class CostConfig(Protocol):
    """The settings of a family of costs: one dataclass each, by its `kind` in files."""

    kind: ClassVar[str]
    temperature: ClassVar[float | None] = None
    """the only temperature with which costs and entropy fit together; None for any"""

    @property
    def needs_next(self) -> bool:
        """Whether the cost looks at the next state."""
        return False

    @property
    def needs_actions(self) -> bool:
        """Whether the cost looks at the expert's actions."""
        return True

    def make(self, world: World) -> Cost:
        """The cost of a run."""
        ...

    def code(self) -> list[str]:
        """Code of the user's own that the settings name, as `module:name`."""
        return []

    def check(self, players: Players) -> None:
        """Refuse what this family cannot be played with."""


@dataclass(frozen=True)
class View:
    """The columns of a transition that a cost looks at."""

    spec: Spec
    inputs: Inputs = "state_action"
    absorbing: bool = False
    """the last observation column marks an absorbing state, where actions mean nothing"""

    def __call__(self, obs: Array, act: Array, next_obs: Array) -> Float[Array, "*rows dims"]:
        """As they are: actions scaled to [-1, 1], or one column for each discrete one."""
        if self.inputs == "state":
            return obs
        if self.inputs == "state_next_state":
            return jnp.concatenate([obs, next_obs], axis=-1)
        if self.spec.discrete_actions is not None:
            act = jax.nn.one_hot(act[..., 0].astype(jnp.int32), self.spec.discrete_actions)
        return jnp.concatenate([obs, self.act_in_world(obs, act)], axis=-1)

    def act_in_world(self, obs: Array, act: Array) -> Array:
        """The actions, 0 in the absorbing state: there they mean nothing."""
        return act * in_world(obs, True)[..., None] if self.absorbing else act

    def in_world(self, obs: Array) -> Rows:
        """1, but 0 in the absorbing state."""
        return in_world(obs, self.absorbing)

    @property
    def names(self) -> tuple[str, ...]:
        """One per column, as far as they have names.

        Else s0, s1, …, absorbing; a0, a1, …; next_s0, … for next states.
        """
        states = self.spec.observation_names or tuple(f"s{i}" for i in range(self.spec.obs_dim))
        states = (*states[:-1], "absorbing") if self.absorbing else states
        if self.inputs == "state":
            return states
        if self.inputs == "state_next_state":
            return states + tuple(f"next_{name}" for name in states)
        many = self.spec.discrete_actions or self.spec.act_dim
        acts = None if self.spec.discrete_actions else self.spec.action_names
        return states + (acts or tuple(f"a{i}" for i in range(many)))


def standard_units(x: Float[np.ndarray, "rows dims"]) -> tuple[Float[Array, " dims"], ...]:
    """Mean and scale of each column, in which the demonstrations have mean 0 and spread 1.

    A constant column keeps its own unit: a learner that leaves the constant stays visible.
    """
    x = np.asarray(x, np.float64)
    mean, spread = x.mean(axis=0), x.std(axis=0)
    scale = np.where(constant_columns(x), 1.0, spread)
    return jnp.asarray(mean, jnp.float32), jnp.asarray(scale, jnp.float32)
