"""Replay memory of many copies of a task in lockstep; each observation is stored once."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from etairl.types import Step


class Transitions(NamedTuple):
    """What happened; what was learned about it is never stored."""

    observations: Float[np.ndarray, "*shape obs"]
    actions: Float[np.ndarray, "*shape act"]
    rewards: Float[np.ndarray, "*shape"]
    next_observations: Float[np.ndarray, "*shape obs"]
    terminated: Bool[np.ndarray, "*shape"]


class Replay:
    """Ring over time: row `k` holds what every copy saw and did at step `k`.

    The transition of step `k` in copy `e` is `observations[k, e]`, `actions[k, e]`,
    `observations[k + 1, e]`; it exists unless that step was a reset.
    """

    def __init__(self, capacity: int, envs: int, obs_dim: int, act_dim: int):
        self.rows = max(2, capacity // envs)
        self.observations = np.zeros((self.rows, envs, obs_dim), np.float32)
        self.actions = np.zeros((self.rows, envs, act_dim), np.float32)
        self.rewards = np.zeros((self.rows, envs), np.float32)
        self.terminated = np.zeros((self.rows, envs), bool)
        self.exists = np.zeros((self.rows, envs), bool)
        self.next, self.added = 0, 0

    def start(self, observations: Float[np.ndarray, "envs obs"]) -> None:
        """First observations, of the first or of a resumed run."""
        if self.added:
            # The row at `next` ends the last transitions; the new start takes the one after it.
            self.next = (self.next + 1) % self.rows
            self.added += 1
            self.exists[self.next] = False
        self.observations[self.next] = observations

    def add(self, actions: Float[np.ndarray, "envs act"], step: Step) -> None:
        """What followed the latest observations."""
        k = self.next
        self.actions[k], self.rewards[k] = actions, step.rewards
        self.terminated[k], self.exists[k] = step.terminated, ~step.fresh
        self.next = (k + 1) % self.rows
        self.added += 1
        self.observations[self.next] = step.observations
        self.exists[self.next] = False  # no action has followed it yet

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Transitions:
        """Transitions, uniformly with replacement."""
        n, envs = int(np.prod(shape)), self.exists.shape[1]
        rows = min(self.added, self.rows)
        chosen = np.empty(0, np.int64)
        while len(chosen) < n:
            tried = rng.integers(rows * envs, size=n - len(chosen) + 64)
            chosen = np.concatenate([chosen, tried[self.exists.reshape(-1)[tried]]])
        k, e = np.divmod(chosen[:n], envs)
        after = (k + 1) % self.rows
        parts = (
            self.observations[k, e],
            self.actions[k, e],
            self.rewards[k, e],
            self.observations[after, e],
            self.terminated[k, e],
        )
        return Transitions(*(part.reshape(*shape, *part.shape[1:]) for part in parts))
