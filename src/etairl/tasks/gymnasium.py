"""Gymnasium: any registered environment, also a user's own."""

from typing import Any

import gymnasium
import numpy as np
from typing_extensions import override

import etairl.tasks.fork_env as _fork  # noqa: F401
import etairl.tasks.lame_env as _lame  # noqa: F401
import etairl.tasks.navigation_env as _navigation  # noqa: F401
from etairl.tasks.spaces import as_rows, read_spec
from etairl.tasks.stepping import SteppingTask
from etairl.types import InputError, Step


class GymnasiumTask(SteppingTask):
    """`envs` copies of one environment, one after the other in this process."""

    def __init__(
        self, environment: str, envs: int, horizon: int | None, seed: int, options: dict[str, Any]
    ):
        try:
            default = gymnasium.spec(environment).max_episode_steps
            if horizon is None and default is None:
                raise InputError("it has no time limit of its own; give a horizon")
            self.copies = [
                gymnasium.make(environment, max_episode_steps=horizon or default, **options)
                for _ in range(envs)
            ]
        except (InputError, gymnasium.error.Error) as error:
            raise InputError(f"{environment}: {error}") from None
        except Exception as error:  # whatever the constructor of a user's own environment raises
            raise InputError(
                f"{environment} cannot be made: {type(error).__name__}: {error}"
            ) from error
        first = self.copies[0]
        self.envs, self.horizon = envs, int(horizon or default or 0)
        self.spec = read_spec(environment, first.observation_space, first.action_space)
        self._seed = seed
        self._ended = np.zeros(envs, dtype=bool)
        self.resets = np.zeros(envs, dtype=np.int64)

    @override
    def replay(self, resets: np.ndarray) -> None:
        # Every episode has a seed of its own, so counting is enough.
        self.resets[:] = resets

    @override
    def reset(self) -> np.ndarray:
        self._ended[:] = False
        return np.stack([self._reset(i) for i in range(self.envs)])

    def _reset(self, i: int) -> np.ndarray:
        # Keyed by copy and episode: a resumed run meets the episodes of an unbroken one.
        words = np.random.SeedSequence([self._seed, i, int(self.resets[i])]).generate_state(1)
        self.resets[i] += 1
        return self._row(self._call(i, "reset", seed=int(words[0] >> 1))[0])

    @override
    def move(self, ids: np.ndarray, actions: np.ndarray) -> Step:
        observations = np.empty((len(ids), self.spec.obs_dim), np.float32)
        rewards = np.zeros(len(ids), np.float32)
        terminated, truncated = np.zeros(len(ids), bool), np.zeros(len(ids), bool)
        fresh, discrete = self._ended[ids], self.spec.discrete_actions
        shape, dtype = self.copies[0].action_space.shape, self.copies[0].action_space.dtype
        for k, i in enumerate(ids.tolist()):
            if fresh[k]:
                observations[k] = self._reset(i)
                continue
            action = int(actions[k, 0]) if discrete else actions[k].reshape(shape).astype(dtype)
            observation, reward, ended, cut, _ = self._call(i, "step", action)
            observations[k] = self._row(observation)
            rewards[k], terminated[k], truncated[k] = reward, ended, cut
        self._ended[ids] = terminated | truncated
        return Step(observations, rewards, terminated, truncated, fresh)

    def _row(self, observation: Any) -> np.ndarray:
        row = as_rows(observation, 1, self.copies[0].observation_space)[0]
        if len(row) != self.spec.obs_dim:
            raise InputError(
                f"{self.spec.environment}: an observation has {len(row)} numbers, but its space "
                f"has {self.spec.obs_dim}"
            )
        return row

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


def own_limit(environment: str) -> int | None:
    """Steps after which an environment is cut; None without a limit, and for an unknown one."""
    try:
        return gymnasium.spec(environment).max_episode_steps
    except gymnasium.error.Error:
        return None
