"""A cost that was learned before and does not change: to train a fresh policy on it."""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Array, PRNGKeyArray

from etairl.costs.family import Cost, LogProbs, Points, Rows
from etairl.costs.linear import LinearCost


@dataclass(frozen=True)
class Frozen:
    """Another family's cost, kept as it is; its state comes from a finished run."""

    cost: Cost

    @property
    def needs_next(self) -> bool:
        """See `Cost`."""
        return self.cost.needs_next

    @property
    def needs_policy(self) -> bool:
        """See `Cost`; nothing is learned from it."""
        return False

    def init(self, key: PRNGKeyArray, expert: Points) -> Any:
        """Of the right shapes, for the learned state to take its place."""
        return self.cost.stored(self.cost.init(key, expert))

    def __call__(self, state: Any, obs: Array, act: Array, next_obs: Array) -> Rows:
        """See `Cost`."""
        return self.cost(state, obs, act, next_obs)

    def updates(
        self,
        key: PRNGKeyArray,
        state: Any,
        own: Points,
        expert: Points,
        log_probs: LogProbs | None = None,
    ) -> tuple[Any, None]:
        """Nothing happens, and there is nothing to say."""
        return state, None

    def stored(self, state: Any) -> Any:
        """See `Cost`."""
        return state

    def check(self, state: Any) -> None:
        """See `Cost`."""
        self.cost.check(state)

    def portable(self) -> "Frozen":
        """See `Cost`."""
        return self


def linear_in(cost: Cost) -> LinearCost | None:
    """The linear cost that this is, or that it keeps frozen."""
    inner = cost.cost if isinstance(cost, Frozen) else cost
    return inner if isinstance(inner, LinearCost) else None
