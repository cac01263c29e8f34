"""What all engines share whose copies can be moved one by one."""

from abc import abstractmethod
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Num
from typing_extensions import override

from etairl.types import RejoinableTask, Spec, Step
from etairl.types.protocols import Observations, PastActions, PerCopy
from etairl.types.task_space import TaskLaw


class SteppingTask(RejoinableTask):
    """Copies of an environment; an engine says how some of them are moved."""

    @abstractmethod
    def move(self, ids: Int[np.ndarray, " n"], actions: Num[np.ndarray, "n act"]) -> Step:
        """Act in these copies; an ended one is reset instead."""

    @override
    def step(self, actions: Num[np.ndarray, "envs act"]) -> Step:
        return self.move(np.arange(self.envs, dtype=np.int32), actions)

    @override
    def rejoin(self, resets: PerCopy, actions: PastActions, ages: PerCopy) -> Observations:
        self.replay(resets - 1)
        observations = self.reset()
        for left, row in zip(range(len(actions), 0, -1), actions, strict=True):
            ids = np.flatnonzero(ages >= left).astype(np.int32)
            observations[ids] = self.move(ids, row[ids]).observations
        return observations


class WorldTask(SteppingTask):
    """A world of ours, whose copies are all moved at once; every episode has a start of its own."""

    world: Any
    """draws the states that episodes start in"""

    def _set_up(self, spec: Spec, envs: int, horizon: int, seed: int, columns: int) -> None:
        self.spec, self.envs, self.horizon = spec, envs, horizon
        self.states = np.zeros((envs, columns))
        self._seed = seed
        self._time, self.resets = np.zeros((2, envs), np.int64)
        self._ended = np.zeros(envs, bool)

    @abstractmethod
    def walk(self, ids: np.ndarray, actions: np.ndarray) -> Bool[np.ndarray, " n"]:
        """Change the states of these copies; which of them the world has ended."""

    @abstractmethod
    def observe(self, ids: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n obs"]:
        """What is seen in these copies."""

    def rewards(self, ids: np.ndarray) -> Float[np.ndarray, " n"]:
        """What the states of these copies are worth."""
        return np.zeros(len(ids))

    @override
    def move(self, ids: np.ndarray, actions: np.ndarray) -> Step:
        fresh, ended = self._ended[ids], np.zeros(len(ids), bool)
        walking = ids[~fresh]
        if len(walking):
            ended[~fresh] = self.walk(walking, actions[~fresh])
            self._time[walking] += 1
        if fresh.any():
            self._begin(ids[fresh])
        late = (self._time[ids] == self.horizon) & ~ended
        self._ended[ids] = ended | late
        rewards = np.where(fresh | ended, 0.0, self.rewards(ids)).astype(np.float32)
        return Step(self.observe(ids), rewards, ended, late, fresh)

    @override
    def replay(self, resets: PerCopy) -> None:
        self.resets[:] = resets  # counting is enough

    @override
    def reset(self) -> Observations:
        everyone = np.arange(self.envs)
        self._begin(everyone)
        return self.observe(everyone)

    def _begin(self, ids: np.ndarray) -> None:
        self.states[ids] = keyed_rows(self.world.draw, [self._seed, 0], self.resets, ids)
        self._time[ids], self._ended[ids] = 0, False
        self.resets[ids] += 1


def keyed_rows(
    draw: TaskLaw, key: list[int], numbers: Int[np.ndarray, " envs"], ids: Int[np.ndarray, " some"]
) -> Float[np.ndarray, "some task"]:
    """A row for each copy of `ids`, which follows from the key, the copy and its number.

    All copies with the same number (of an episode) share one draw of as many rows as there are
    copies: usually that is all of them.
    """
    different, which = np.unique(numbers[ids], return_inverse=True)
    tables = [draw(np.random.default_rng([*key, int(n)]), len(numbers)) for n in different]
    return np.stack(tables)[which, ids]
