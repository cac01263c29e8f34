"""FetchReach with goals of ours: a gripper that is to be brought to a place.

The simulator has a goal of its own, which its dynamics do not depend on; it is replaced.
"""

import numpy as np
from jaxtyping import Float

from etairl.tasks.product import Goals
from etairl.types import InputError

GRIPPER = np.array([1.34183475, 0.74910103, 0.53472518])
"""where every episode starts"""
_TOLERANCE = 0.05
_NEAREST, _FARTHEST = 0.05, 0.10
_RANGE = 0.15
_REACH = 0.30
_GAIN = 10.0  # a unit of action moves the gripper by about 5 cm


def near_goals(rng: np.random.Generator, n: int) -> Float[np.ndarray, "n 3"]:
    """Uniform on the shell between 5 and 10 cm from the gripper: the paper's training tasks."""
    towards = rng.normal(size=(n, 3))
    towards /= np.linalg.norm(towards, axis=1, keepdims=True)
    radii = rng.uniform(_NEAREST**3, _FARTHEST**3, (n, 1)) ** (1 / 3)
    return GRIPPER + radii * towards


def all_goals(rng: np.random.Generator, n: int) -> Float[np.ndarray, "n 3"]:
    """Uniform on the cube of half side 15 cm around the gripper, as the simulator draws them."""
    return GRIPPER + rng.uniform(-_RANGE, _RANGE, (n, 3))


def check_goals(goals: Float[np.ndarray, "n 3"]) -> None:
    """Refuse goals that the arm is far from reaching."""
    far = np.linalg.norm(goals - GRIPPER, axis=1)
    if (far > _REACH).any():
        worst = int(np.argmax(far))
        raise InputError(
            f"the goal {goals[worst].round(3).tolist()} is {100 * far[worst]:.0f} cm from where "
            f"the gripper starts, {GRIPPER.round(3).tolist()}; the arm reaches about 25 cm"
        )


def fetch_goals(sparse: bool) -> Goals:
    """Of the simulator's columns (achieved goal, desired goal, observation) the observation."""
    return Goals(
        place=(0, 1, 2),
        tolerance=_TOLERANCE,
        laws={"training": near_goals, "full": all_goals},
        columns=slice(6, 16),
        sparse=sparse,
        possible=check_goals,
    )


class ReachPolicy:
    r"""Towards the goal, $a = 10 (\theta - x)$ per metre, clipped; the fingers stay as they are.

    With a random generator its actions get Gaussian noise.
    """

    def __init__(self, noise: float = 0.1):
        self._noise = noise

    def __call__(
        self, rng: np.random.Generator | None, observations: Float[np.ndarray, "batch obs"]
    ) -> Float[np.ndarray, "batch 4"]:
        """Actions between -1 and 1."""
        actions = np.zeros((len(observations), 4))
        actions[:, :3] = _GAIN * (observations[:, -3:] - observations[:, :3])
        actions = actions.clip(-1.0, 1.0)
        if rng is not None:
            actions = (actions + rng.normal(0.0, self._noise, actions.shape)).clip(-1.0, 1.0)
        return actions.astype(np.float32)
