"""EnvPool: native simulators, stepped by threads. What they do does not depend on the threads."""

import warnings
from typing import Any

import numpy as np

from etairl.tasks.spaces import flatten, read_spec
from etairl.types import InputError, Step


def envpool_names() -> list[str]:
    """The environments that EnvPool offers here; none where it is not installed."""
    try:
        import envpool
    except ImportError:
        return []
    return list(envpool.list_all_envs())


class EnvPoolTask:
    """`envs` copies of one environment, in lockstep."""

    def __init__(
        self,
        environment: str,
        envs: int,
        horizon: int | None,
        seed: int,
        threads: int,
        options: dict[str, Any],
    ):
        import envpool

        # EnvPool would give copy i the seed s + i, and neighbouring seeds would share copies.
        seeds = np.random.SeedSequence(seed).generate_state(envs) >> 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Gymnasium on the precision of bounds
            known = envpool.make_spec(environment).config._asdict()
            for name in options:
                if name not in known:
                    raise InputError(f"{environment} has no option {name!r}")
            self.envs, self.horizon = envs, horizon or int(known["max_episode_steps"])
            self._pool: Any = envpool.make(
                environment,
                env_type="gymnasium",
                num_envs=envs,
                num_threads=min(threads, envs),
                max_episode_steps=self.horizon,
                env_seed=seeds.astype(int).tolist(),
                **options,
            )
            observation_space, action_space = self._pool.observation_space, self._pool.action_space
        self.spec = read_spec(environment, observation_space, action_space)
        self._action_dtype = action_space.dtype
        self._ended = np.zeros(envs, dtype=bool)
        self.resets = np.zeros(envs, dtype=np.int64)

    def replay(self, resets: np.ndarray) -> None:
        """Reset every copy as often as given: that is what its random numbers go into.

        A simulator that also draws numbers while it steps (wind in LunarLander) is not replayed.
        """
        while (self.resets < resets).any():
            behind = np.flatnonzero(self.resets < resets).astype(np.int32)
            self._pool.reset(behind)
            self.resets[behind] += 1

    def reset(self) -> np.ndarray:
        """Start all copies anew."""
        observations, _ = self._pool.reset()
        self._ended = np.zeros(self.envs, dtype=bool)
        self.resets += 1
        return flatten(observations, self.envs)

    def step(self, actions: np.ndarray) -> Step:
        """Act in all copies; EnvPool resets an ended copy by itself and ignores its action."""
        if self.spec.discrete_actions:
            actions = actions[:, 0]
        observations, rewards, terminated, truncated, _ = self._pool.step(
            np.ascontiguousarray(actions, dtype=self._action_dtype)
        )
        fresh, self._ended = self._ended, terminated | truncated
        self.resets += fresh
        rewards = rewards.astype(np.float32)
        return Step(flatten(observations, self.envs), rewards, terminated, truncated, fresh)
