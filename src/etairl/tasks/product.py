r"""Multi-task: a task space $\Theta$ over any engine, as one MDP on $S \times \Theta$.

$$\bar P(s', \theta' \mid s, \theta, a) = P(s' \mid s, a)\, 1[\theta' = \theta], \qquad
\bar c(s, \theta, a) = c_\theta(s, a), \qquad \bar p_0(s, \theta) = p_0(s)\, F(\theta)$$
(appendix C). The dynamics do not know the task; the task is appended to the observation.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float, Num

from etairl.tasks.stepping import keyed_rows
from etairl.types import InputError, MultiTask, RejoinableTask, Step
from etairl.types.protocols import Observations, PastActions, PerCopy
from etairl.types.task_space import LawName, Mend, StateRows, TaskLaw, Tasks, TaskSpace


@dataclass(frozen=True)
class Goals:
    r"""Tasks of being at a place: $\theta$ is the place.

    With $d$ the distance from $\theta$ after the step, $c_\theta = d$, or, if `sparse`,
    $c_\theta = 1[d > \text{tolerance}]$. A task is solved within the tolerance.
    """

    place: tuple[int, ...]
    """columns of the state that say where one is"""
    tolerance: float
    laws: dict[LawName, TaskLaw]
    columns: slice = field(default_factory=lambda: slice(None))
    sparse: bool = False
    possible: Callable[[np.ndarray], None] | None = None
    """refuses places that cannot be"""
    mend: Mend | None = None
    """moves observations and actions, such as generated ones, to the nearest possible ones"""

    @property
    def dim(self) -> int:
        """Numbers of a place."""
        return len(self.place)

    def check(self, tasks: Tasks) -> None:
        """Refuse places that cannot be."""
        if self.possible is not None:
            self.possible(tasks)

    def distances(self, states: StateRows, tasks: Tasks) -> Float[np.ndarray, " n"]:
        """From the place of the task."""
        gaps = states[:, self.place].astype(np.float64) - tasks
        return np.sqrt((gaps**2).sum(axis=1))

    def costs(
        self, states: StateRows, actions: Num[np.ndarray, "n act"], reached: StateRows, tasks: Tasks
    ) -> Float[np.ndarray, " n"]:
        """Distance, or whether it is too large."""
        del states, actions
        far = self.distances(reached, tasks)
        return (far > self.tolerance).astype(np.float64) if self.sparse else far

    def success(self, states: StateRows, tasks: Tasks) -> Bool[np.ndarray, " n"]:
        """Within the tolerance of the place."""
        return self.distances(states, tasks) <= self.tolerance


class ProductTask(MultiTask, RejoinableTask):
    """An engine with a task in every copy, drawn from a law or assigned.

    Tasks are single precision, as observations are: `observations[:, -dim:]` are the tasks.
    """

    def __init__(
        self, task: RejoinableTask, space: TaskSpace, seed: int, law: LawName = "training"
    ):
        if law not in space.laws:
            known = ", ".join(space.laws)
            raise InputError(f"{task.spec.environment} has no law of tasks {law!r}, only {known}")
        self._task, self.space = task, space
        self.envs, self.horizon = task.envs, task.horizon
        self.resets, self.replay = task.resets, task.replay
        states = len(range(*space.columns.indices(task.spec.obs_dim)))
        self.spec = replace(task.spec, obs_dim=states + space.dim, observation_names=None)
        self.tasks = np.zeros((task.envs, space.dim), np.float32)
        self._states = np.zeros((task.envs, states), np.float32)
        self._assigned: np.ndarray | None = None
        self._law, self._seed = space.laws[law], seed

    def assign(self, tasks: Float[np.ndarray, "envs task"] | None) -> None:
        """Tasks of the episodes that start from now on, copy by copy; None draws them again."""
        if tasks is not None:
            tasks = check_tasks(self.space, tasks, self.spec.environment)
            if len(tasks) != self.envs:
                raise InputError(f"{len(tasks)} tasks for {self.envs} copies: give one for each")
        self._assigned = tasks

    def reset(self) -> np.ndarray:
        """Start a new episode in every copy, each with its task."""
        return self._entered(self._task.reset())

    def rejoin(self, resets: PerCopy, actions: PastActions, ages: PerCopy) -> Observations:
        """Resume in the middle of episodes, each with its task."""
        return self._entered(self._task.rejoin(resets, actions, ages))

    def step(self, actions: np.ndarray) -> Step:
        """Act in all copies; what it costs depends on the task, what happens does not."""
        inner = self._task.step(actions)
        self._choose(np.flatnonzero(inner.fresh))
        reached = inner.observations[:, self.space.columns]
        costs = self.space.costs(self._states, actions, reached, self.tasks)
        self._states = reached
        rewards = np.where(inner.fresh, 0.0, -costs).astype(np.float32)
        return inner._replace(observations=self._appended(), rewards=rewards)

    def success(self, observations: Float[np.ndarray, "n obs"]) -> Bool[np.ndarray, " n"]:
        """In which of these observations, which hold their tasks, is the task solved?"""
        dim = self.space.dim
        return self.space.success(observations[:, :-dim], observations[:, -dim:])

    def _entered(self, observations: np.ndarray) -> np.ndarray:
        self._choose(np.arange(self.envs))
        self._states = observations[:, self.space.columns]
        return self._appended()

    def _appended(self) -> np.ndarray:
        return np.concatenate([self._states, self.tasks], axis=1, dtype=np.float32)

    def _choose(self, ids: np.ndarray) -> None:
        """The tasks of episodes that have just begun."""
        if not len(ids):
            return
        if self._assigned is not None:
            self.tasks[ids] = self._assigned[ids]
            return
        self.tasks[ids] = keyed_rows(self._law, [self._seed, 1], self.resets - 1, ids)


def check_tasks(space: TaskSpace, tasks: np.ndarray, environment: str | None) -> Tasks:
    """Task vectors in single precision; refused where they are not tasks of the environment."""
    tasks = np.asarray(tasks, np.float32)
    if tasks.ndim != 2 or tasks.shape[1] != space.dim:
        given = tasks.shape[-1] if tasks.ndim == 2 else f"shape {tasks.shape}"
        raise InputError(
            f"a task of {environment} is a vector of {space.dim} numbers, but those given have "
            f"{given}; are they tasks of this environment?"
        )
    if not np.isfinite(tasks).all():
        raise InputError(f"a task of {environment} is NaN or infinite")
    space.check(tasks)
    return tasks
