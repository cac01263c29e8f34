"""A cost that was learned before and does not change: to train a fresh policy on it."""

from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Array, PRNGKeyArray
from typing_extensions import override

from etairl.costs.family import Cost, FeatureValues, LogProb, Points
from etairl.hyper import traced
from etairl.networks import Rows


@traced
@dataclass(frozen=True)
class Frozen(Cost):
    """Another family's cost, kept as it is; its state comes from a finished run."""

    cost: Cost
    same_demos: bool = True
    """whether the demonstrations of today are those that it was learned from"""
    learns: ClassVar[bool] = False

    @property
    @override
    def needs_next(self) -> bool:
        return self.cost.needs_next

    @property
    @override
    def needs_actions(self) -> bool:
        return self.cost.needs_actions

    @property
    @override
    def never_positive(self) -> bool:
        return self.cost.never_positive

    def init(self, key: PRNGKeyArray, expert: Points) -> Any:
        """Of the right shapes, for the learned state to take its place."""
        return self.cost.stored(self.cost.init(key, expert))

    @override
    def __call__(self, state: Any, obs: Array, act: Array, next_obs: Array) -> Rows:
        return self.cost(state, obs, act, next_obs)

    def updates(
        self, key: PRNGKeyArray, state: Any, own: Points, expert: Points, log_prob: LogProb
    ) -> tuple[Any, None]:
        """Nothing changes."""
        return state, None

    @override
    def check(self, state: Any, fresh: Any) -> None:
        # Beside other demonstrations, units of today are not those of the cost.
        self.cost.check(state, fresh if self.same_demos else state)

    @override
    def check_points(self, state: Any, points: Points) -> None:
        self.cost.check_points(state, points)

    @override
    def warnings(self, state: Any, expert: Points) -> list[str]:
        return self.cost.warnings(state, expert)

    @override
    def features_of(self, state: Any, points: Points) -> FeatureValues | None:
        return self.cost.features_of(state, points)
