"""A cost that was learned before and does not change: to train a fresh policy on it."""

from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Array, PRNGKeyArray

from etairl.costs.family import Cost, FeatureValues, LogProb, Points, Rows
from etairl.hyper import traced


@traced
@dataclass(frozen=True)
class Frozen:
    """Another family's cost, kept as it is; its state comes from a finished run."""

    cost: Cost
    learns: ClassVar[bool] = False

    @property
    def needs_next(self) -> bool:
        """As the cost itself."""
        return self.cost.needs_next

    @property
    def never_positive(self) -> bool:
        """As the cost itself."""
        return self.cost.never_positive

    def init(self, key: PRNGKeyArray, expert: Points) -> Any:
        """Of the right shapes, for the learned state to take its place."""
        return self.cost.stored(self.cost.init(key, expert))

    def __call__(self, state: Any, obs: Array, act: Array, next_obs: Array) -> Rows:
        """The cost of each row."""
        return self.cost(state, obs, act, next_obs)

    def updates(
        self, key: PRNGKeyArray, state: Any, own: Points, expert: Points, log_prob: LogProb
    ) -> tuple[Any, None]:
        """Nothing changes."""
        return state, None

    def stored(self, state: Any) -> Any:
        """All of it."""
        return state

    def check(self, state: Any, fresh: Any) -> None:
        """As the cost itself."""
        self.cost.check(state, fresh)

    def check_points(self, state: Any, points: Points) -> None:
        """As the cost itself."""
        self.cost.check_points(state, points)

    def warnings(self, state: Any, expert: Points) -> list[str]:
        """As the cost itself."""
        return self.cost.warnings(state, expert)

    def features_of(self, state: Any, points: Points) -> FeatureValues | None:
        """As the cost itself."""
        return self.cost.features_of(state, points)

    def portable(self) -> "Frozen":
        """The cost itself."""
        return self
