"""What engines share whose copies can be moved one by one."""

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Float, Int, Num

from etairl.types import Step


class SteppingTask(ABC):
    """Copies of an environment; an engine says how some of them are moved."""

    envs: int

    @abstractmethod
    def replay(self, resets: Int[np.ndarray, " envs"]) -> None:
        """See `Task`."""

    @abstractmethod
    def reset(self) -> Float[np.ndarray, "envs obs"]:
        """See `Task`."""

    @abstractmethod
    def move(self, ids: Int[np.ndarray, " n"], actions: Num[np.ndarray, "n act"]) -> Step:
        """Act in these copies; an ended one is reset instead."""

    def step(self, actions: Num[np.ndarray, "envs act"]) -> Step:
        """Act in all copies; an ended one is reset instead."""
        return self.move(np.arange(self.envs, dtype=np.int32), actions)

    def rejoin(
        self,
        resets: Int[np.ndarray, " envs"],
        actions: Num[np.ndarray, "steps envs act"],
        ages: Int[np.ndarray, " envs"],
    ) -> Float[np.ndarray, "envs obs"]:
        """See `RejoinableTask`."""
        self.replay(resets - 1)
        observations = self.reset()
        for left, row in zip(range(len(actions), 0, -1), actions, strict=True):
            ids = np.flatnonzero(ages >= left).astype(np.int32)
            observations[ids] = self.move(ids, row[ids]).observations
        return observations
