"""Late branching: a long corridor, and at its end the fork that decides an episode.

A walker sees a sign all the way. Nothing depends on it until the corridor ends, after about 170 of
200 steps: there it must be on the sign's side, or it falls. Behind the fork it must come to a
halt: who walks on falls too, which episodes of twice the horizon show.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Num
from typing_extensions import override

from etairl.tasks.stepping import WorldTask
from etairl.types import InputError, Spec

FORK = "etairl/Fork-v0"
FORK_STEPS = 200
ForkStates = Float[np.ndarray, "n 3"]
"""place along the corridor, place across it, the sign (-1 or 1)"""


@dataclass(frozen=True)
class ForkWorld:
    """The corridor from 0 to `fork`, the room behind it, and the goal in it."""

    pace: float = 0.1
    """length of the longest step"""
    fork: float = 15.0
    post: float = 0.15
    """half width of what stands in the middle of the fork: who meets it falls"""
    goal: float = 17.0
    edge: float = 19.0
    """the end of the room: who passes it falls"""

    def draw(self, rng: np.random.Generator, n: int) -> ForkStates:
        """Starts: at the beginning of the corridor, somewhere across it, with either sign."""
        across, sign = rng.uniform(-0.5, 0.5, n), rng.choice((-1.0, 1.0), n)
        return np.stack([np.zeros(n), across, sign], axis=1)

    def move(
        self, states: ForkStates, actions: Num[np.ndarray, "n 2"]
    ) -> tuple[ForkStates, Bool[np.ndarray, " n"]]:
        """One step, and who fell in it. Walls stop a walker; so does the wall behind the fork."""
        if not np.isfinite(actions).all():
            raise InputError("an action of the fork is NaN or infinite")
        before, after = states, states.copy()
        after[:, :2] += self.pace * np.clip(actions.astype(np.float64), -1.0, 1.0)
        after[:, 0] = np.maximum(after[:, 0], 0.0)
        side = np.sign(before[:, 1])
        behind = before[:, 0] >= self.fork
        low = np.where(behind & (side > 0), self.post, -1.0)
        high = np.where(behind & (side < 0), -self.post, 1.0)
        after[:, 1] = np.clip(after[:, 1], low, high)
        after[:, 0] = np.where(behind, np.maximum(after[:, 0], self.fork), after[:, 0])
        passing = ~behind & (after[:, 0] >= self.fork)
        wrong = after[:, 1] * after[:, 2] < self.post
        return after, (passing & wrong) | (after[:, 0] > self.edge)

    def rewards(self, states: ForkStates) -> Float[np.ndarray, " n"]:
        """From 0 at the start to 1 at the goal, in the middle of the sign's side."""
        x, y = states[:, 0] - self.goal, states[:, 1] - 0.5 * states[:, 2]
        return np.clip(1.0 - np.sqrt(x * x + y * y) / self.goal, 0.0, 1.0)


class ForkTask(WorldTask):
    """`envs` walkers, all moved at once."""

    def __init__(self, envs: int, horizon: int | None, seed: int):
        self.world = ForkWorld()
        spec = Spec(3, 2, (-1.0, -1.0), (1.0, 1.0), None, FORK)
        self._set_up(spec, envs, horizon or FORK_STEPS, seed, columns=3)

    @override
    def walk(self, ids: np.ndarray, actions: np.ndarray) -> np.ndarray:
        self.states[ids], fell = self.world.move(self.states[ids], actions)
        return fell

    @override
    def rewards(self, ids: np.ndarray) -> np.ndarray:
        return self.world.rewards(self.states[ids])

    @override
    def observe(self, ids: np.ndarray) -> np.ndarray:
        return self.states[ids].astype(np.float32)


class ForkPolicy:
    """Keeps to the middle, turns to the sign's side shortly before the fork, halts at the goal.

    With a random generator its actions get Gaussian noise.
    """

    def __init__(self, noise: float = 0.3, turn: float = 1.5):
        self._noise, self._turn, self._world = noise, turn, ForkWorld()

    def __call__(
        self, rng: np.random.Generator | None, observations: Float[np.ndarray, "batch obs"]
    ) -> Float[np.ndarray, "batch 2"]:
        """Actions between -1 and 1."""
        world = self._world
        x, y, sign = observations[:, :3].T
        aim = np.where(x > world.fork - self._turn, 0.5 * sign, 0.0)
        ahead, across = (world.goal - x) / world.pace, (aim - y) / world.pace
        actions = np.stack([0.25 * ahead, 0.25 * across], axis=1)
        if rng is not None:
            actions = actions.clip(-1.0, 1.0) + rng.normal(0.0, self._noise, actions.shape)
        return actions.clip(-1.0, 1.0).astype(np.float32)
