"""The roles that other modules fill: tasks and policies."""

from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int, Num

from etairl.types.spec import Spec
from etairl.types.task_space import TaskSpace

HorizonMode = Literal["terminating", "fixed", "absorbing"]
"""terminating: as the environment does. fixed: early ends switched off. absorbing: early ends lead
to an absorbing state, which leads to itself."""


PerCopy = Int[np.ndarray, " envs"]
PastActions = Num[np.ndarray, "steps envs act"]
Observations = Float[np.ndarray, "envs obs"]


class Step(NamedTuple):
    """What all copies of a task did in one step."""

    observations: Observations
    rewards: Float[np.ndarray, " envs"]
    terminated: Bool[np.ndarray, " envs"]
    truncated: Bool[np.ndarray, " envs"]
    fresh: Bool[np.ndarray, " envs"]
    """the copy was reset instead of stepped: its row starts an episode and is not a transition"""


@runtime_checkable
class Task(Protocol):
    """Copies of one environment, stepped together. An ended copy is reset by the next step."""

    spec: Spec
    envs: int
    horizon: int
    resets: PerCopy
    """how often each copy was reset; with the seed this fixes where its next episode starts"""

    @property
    def absorbing(self) -> bool:
        """Whether early ends lead to an absorbing state, which the last column marks."""
        return False

    @property
    def multi(self) -> "MultiTask | None":
        """This task, if each of its copies has a task vector; None where there is a single task."""
        return None

    def replay(self, resets: PerCopy) -> None:
        """Bring a fresh task to where one with these `resets` was, so that a run can resume."""
        ...

    def reset(self) -> Observations:
        """Start a new episode in every copy."""
        ...

    def step(self, actions: Num[np.ndarray, "envs act"]) -> Step:
        """Act in all copies, with actions in the units of the environment."""
        ...


@runtime_checkable
class RejoinableTask(Task, Protocol):
    """A task that can resume in the middle of its episodes."""

    def rejoin(self, resets: PerCopy, actions: PastActions, ages: PerCopy) -> Observations:
        """Bring a fresh task to where one with these `resets` was, and act again since then.

        Args:
            resets: how often each copy was reset, the current episode included.
            actions: the latest actions; those of a copy of age `n` are the last `n` rows.
            ages: steps of each copy in its current episode.

        Returns:
            The latest observations.
        """
        ...


@runtime_checkable
class MultiTask(Task, Protocol):
    """A task whose copies have a task vector each, which their observations end with."""

    space: TaskSpace
    """which tasks there are"""
    tasks: Float[np.ndarray, "envs task"]
    """of the current episode of each copy"""

    @property
    def multi(self) -> "MultiTask":
        """This task."""
        return self

    def assign(self, tasks: Float[np.ndarray, "envs task"] | None) -> None:
        """Tasks of the episodes that start from now on, copy by copy; None draws them again."""
        ...

    def success(self, observations: Float[np.ndarray, "n obs"]) -> Bool[np.ndarray, " n"]:
        """In which of these observations, which hold their tasks, is the task solved?"""
        ...


@runtime_checkable
class Policy(Protocol):
    """Chooses actions, in the units of the environment, for a batch of observations."""

    def __call__(
        self, rng: np.random.Generator | None, observations: Float[np.ndarray, "batch obs"]
    ) -> Num[np.ndarray, "batch act"]:
        """Draw actions; without a random generator the most likely ones."""
        ...
