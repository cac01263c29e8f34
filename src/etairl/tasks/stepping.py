"""What all engines share whose copies can be moved one by one."""

from abc import abstractmethod

import numpy as np
from jaxtyping import Float, Int, Num
from typing_extensions import override

from etairl.types import RejoinableTask, Step
from etairl.types.protocols import Observations, PastActions, PerCopy


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

    @abstractmethod
    def begin(self, ids: Int[np.ndarray, " n"]) -> None:
        """Start a new episode in these copies."""

    @abstractmethod
    def observe(self, ids: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n obs"]:
        """What is seen in these copies."""

    @override
    def replay(self, resets: PerCopy) -> None:
        self.resets[:] = resets  # counting is enough

    @override
    def reset(self) -> Observations:
        everyone = np.arange(self.envs)
        self.begin(everyone)
        return self.observe(everyone)
