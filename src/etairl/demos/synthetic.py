"""Demonstrations made without a simulator: a noisy walk round a limit cycle."""

import numpy as np

from etairl.demos.dataset import Demos
from etairl.types import Spec, Trajectories


def limit_cycle(
    rng: np.random.Generator,
    episodes: int = 20,
    length: int = 200,
    period: float = 25.0,
    noise: float = 0.02,
) -> Demos:
    r"""Episodes of a demonstrator that circles at radius 1, one turn in `period` steps.

    The observation is the position $z \in \mathbb{R}^2$ and the velocity of the last step; the
    action is the step taken, $a = R_{2\pi/\text{period}}\,\hat z - z$, cut to $[-1, 1]$, where
    $\hat z$ is $z$ pulled half-way to the circle. Reward is $-(|z| - 1)^2$. Known cycle, known
    optimum, no episode alike.
    """
    turn = 2 * np.pi / period
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    angle = rng.uniform(0, 2 * np.pi, episodes)
    radius = rng.uniform(0.5, 1.5, episodes)
    position = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    velocity = np.zeros((episodes, 2))
    observations = np.empty((episodes, length + 1, 4), np.float32)
    actions = np.empty((episodes, length, 2), np.float32)
    rewards = np.empty((episodes, length), np.float32)
    for t in range(length):
        observations[:, t] = np.concatenate([position, velocity], axis=1)
        size = np.linalg.norm(position, axis=1, keepdims=True)
        pulled = position * (0.5 + 0.5 / np.maximum(size, 0.1))
        actions[:, t] = np.clip(pulled @ rotation - position, -1, 1)
        rewards[:, t] = -((size[:, 0] - 1) ** 2)
        step = actions[:, t] + noise * rng.standard_normal((episodes, 2))
        position, velocity = position + step, step
    observations[:, length] = np.concatenate([position, velocity], axis=1)
    last = np.tile(np.arange(length) == length - 1, episodes)
    trajectories = Trajectories(
        observations=observations[:, :-1].reshape(-1, 4),
        actions=actions.reshape(-1, 2),
        terminated=np.zeros_like(last),
        truncated=last,
        offsets=np.arange(episodes + 1) * length,
        rewards=rewards.ravel(),
        final_observations=observations[:, -1],
    )
    spec = Spec(4, 2, (-1.0, -1.0), (1.0, 1.0), environment="limit-cycle")
    return Demos.of(trajectories, spec, "limit-cycle")
