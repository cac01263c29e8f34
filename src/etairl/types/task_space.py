"""What the tasks of a multi-task environment are."""

from collections.abc import Callable
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Num

StateRows = Float[np.ndarray, "n state"]
Tasks = Float[np.ndarray, "n task"]
TaskLaw = Callable[[np.random.Generator, int], Tasks]
"""$F$: draws so many tasks"""
Mend = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""takes observations and actions, and returns the nearest that there can be"""
LawName = Literal["training", "full"]


@runtime_checkable
class TaskSpace(Protocol):
    r"""$\Theta$: what a task is, what it costs, when it is solved, and which tasks there are."""

    @property
    def dim(self) -> int:
        """Numbers of a task vector."""
        ...

    @property
    def columns(self) -> slice:
        """Of the engine's observations those that are the state: no task of the engine's own."""
        ...

    @property
    def laws(self) -> dict[LawName, TaskLaw]:
        """training: what demonstrations show. full: every task."""
        ...

    def check(self, tasks: Tasks) -> None:
        """Refuse tasks that cannot be."""
        ...

    def costs(
        self, states: StateRows, actions: Num[np.ndarray, "n act"], reached: StateRows, tasks: Tasks
    ) -> Float[np.ndarray, " n"]:
        r"""$c_\theta(s, a)$, once it is known which states were reached."""
        ...

    def success(self, states: StateRows, tasks: Tasks) -> Bool[np.ndarray, " n"]:
        """Is the task solved in this state?"""
        ...
