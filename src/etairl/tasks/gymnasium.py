"""Gymnasium: any registered environment, also a user's own."""

from typing import Any

import gymnasium
import numpy as np

from etairl.tasks.spaces import flatten, read_spec
from etairl.types import InputError, Step


class GymnasiumTask:
    """`envs` copies of one environment, one after the other in this process."""

    def __init__(
        self,
        environment: str,
        envs: int,
        horizon: int | None,
        seed: int,
        options: dict[str, Any],
    ):
        try:
            default = gymnasium.spec(environment).max_episode_steps
            if horizon is None and default is None:
                raise InputError(f"{environment} has no time limit of its own; give a horizon")
            self.copies = [
                gymnasium.make(environment, max_episode_steps=horizon or default, **options)
                for _ in range(envs)
            ]
        except gymnasium.error.Error as error:
            raise InputError(f"{environment}: {error}") from None
        except (TypeError, ImportError, ValueError) as error:
            raise InputError(f"{environment} cannot be made: {error}") from None
        first = self.copies[0]
        self.envs, self.horizon = envs, int(horizon or default or 0)
        self.spec = read_spec(environment, first.observation_space, first.action_space)
        self._seed = seed
        self._ended = np.zeros(envs, dtype=bool)
        self.resets = np.zeros(envs, dtype=np.int64)

    def replay(self, resets: np.ndarray) -> None:
        """Every episode has a seed of its own, so counting is enough."""
        self.resets[:] = resets

    def reset(self) -> np.ndarray:
        """Start all copies anew."""
        self._ended[:] = False
        return np.concatenate([self._reset(i) for i in range(self.envs)])

    def _reset(self, i: int) -> np.ndarray:
        # Keyed by copy and episode: a run that goes on meets the episodes of an unbroken one.
        words = np.random.SeedSequence([self._seed, i, int(self.resets[i])]).generate_state(1)
        self.resets[i] += 1
        return flatten(self._call(i, "reset", seed=int(words[0] >> 1))[0], 1)

    def step(self, actions: np.ndarray) -> Step:
        """Act in all copies; an ended one is reset instead."""
        observations = np.empty((self.envs, self.spec.obs_dim), np.float32)
        rewards = np.zeros(self.envs, np.float32)
        terminated, truncated = np.zeros(self.envs, bool), np.zeros(self.envs, bool)
        fresh = self._ended.copy()
        for i in range(self.envs):
            if fresh[i]:
                observations[i] = self._reset(i)[0]
                continue
            action = int(actions[i, 0]) if self.spec.discrete_actions else self._shaped(actions[i])
            observation, reward, ended, cut, _ = self._call(i, "step", action)
            observations[i] = flatten(observation, 1)[0]
            rewards[i], terminated[i], truncated[i] = reward, ended, cut
        self._ended = terminated | truncated
        return Step(observations, rewards, terminated, truncated, fresh)

    def _shaped(self, action: np.ndarray) -> np.ndarray:
        space = self.copies[0].action_space
        return action.reshape(space.shape).astype(space.dtype)

    def _call(self, i: int, method: str, *arguments: Any, **options: Any) -> Any:
        try:
            return getattr(self.copies[i], method)(*arguments, **options)
        except Exception as error:
            raise InputError(
                f"{self.spec.environment} failed in {method}: {type(error).__name__}: {error}"
            ) from error


def gymnasium_names() -> list[str]:
    """The environments that are registered with Gymnasium."""
    return list(gymnasium.registry)
