"""A known world with limbs that do not obey: what is learned of the sound one meets it there."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Num
from typing_extensions import override

from etairl.types import RejoinableTask, Step
from etairl.types.protocols import Observations, PastActions, PerCopy

LAME_ANT = "etairl/LameAnt-v0"


class Lame(NamedTuple):
    """Which world it is, and what does not move in it."""

    sound: str
    """the environment with limbs that obey"""
    still: tuple[int, ...]
    """columns of the actions that are 0 whatever is asked for"""


# The motors of Ant in order: hip and ankle of the legs 4 (back right), 1 (front left), 2 (front
# right) and 3 (back left).
LAMED = {LAME_ANT: Lame("Ant-v5", (2, 3, 4, 5))}


def sound(environment: str) -> str:
    """The environment that a lame one is made of; any other is itself."""
    return LAMED[environment].sound if environment in LAMED else environment


class LameTask(RejoinableTask):
    """Copies whose limbs do not obey; what no motor does costs nothing either."""

    def __init__(self, task: RejoinableTask, environment: str):
        self._task = task
        self.spec = replace(task.spec, environment=environment)
        self.envs, self.horizon = task.envs, task.horizon
        self.resets, self.replay, self.reset = task.resets, task.replay, task.reset
        self._moves = np.ones(task.spec.act_dim, np.float32)
        self._moves[list(LAMED[environment].still)] = 0.0

    @override
    def step(self, actions: Num[np.ndarray, "envs act"]) -> Step:
        return self._task.step(actions * self._moves)

    @override
    def rejoin(self, resets: PerCopy, actions: PastActions, ages: PerCopy) -> Observations:
        return self._task.rejoin(resets, actions * self._moves, ages)
