"""EnvPool: native simulators, stepped by threads. What they do does not depend on the threads."""

import warnings
from typing import Any

import numpy as np
from jaxtyping import Int
from typing_extensions import override

from etairl.tasks.spaces import as_rows, read_spec
from etairl.tasks.stepping import SteppingTask
from etairl.types import InputError, Step

_NO_LIMIT = 2**31 - 1


def envpool_names() -> list[str]:
    """The environments that EnvPool offers here; none where it is not installed."""
    try:
        import envpool
    except ImportError:
        return []
    return list(envpool.list_all_envs())


def native_limit(environment: str) -> int | None:
    """Steps after which EnvPool cuts an episode; None without a limit."""
    import envpool

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Gymnasium on the precision of bounds
        limit = int(envpool.make_spec(environment).config.max_episode_steps)
    return limit if 0 < limit < _NO_LIMIT else None


class EnvPoolTask(SteppingTask):
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
            if not 0 < self.horizon < _NO_LIMIT:
                raise InputError(f"{environment} has no time limit of its own; give a horizon")
            try:
                self._pool: Any = envpool.make(
                    environment,
                    env_type="gymnasium",
                    num_envs=envs,
                    num_threads=min(threads, envs),
                    # At its own limit EnvPool calls an end of the world a truncation, so the time
                    # is kept here.
                    max_episode_steps=self.horizon + 1,
                    env_seed=seeds.astype(int).tolist(),
                    **options,
                )
            except (TypeError, ValueError, RuntimeError) as error:
                raise InputError(
                    f"{environment} cannot be made with {options}; are they of the right kind?"
                ) from error
            observation_space, action_space = self._pool.observation_space, self._pool.action_space
        self.spec = read_spec(environment, observation_space, action_space, by_alphabet=True)
        self._action_dtype = action_space.dtype
        self._ended = np.zeros(envs, dtype=bool)
        self._time = np.zeros(envs, dtype=np.int64)
        self.resets = np.zeros(envs, dtype=np.int64)

    @override
    def replay(self, resets: Int[np.ndarray, " envs"]) -> None:
        """Reset every copy as often as given: that is what its random numbers go into.

        A simulator that also draws numbers while it steps (wind in LunarLander) is not replayed.
        """
        while (self.resets < resets).any():
            behind = np.flatnonzero(self.resets < resets).astype(np.int32)
            self._pool.reset(behind)
            self.resets[behind] += 1

    @override
    def reset(self) -> np.ndarray:
        observations, _ = self._pool.reset()
        self._ended[:] = False
        self._time[:] = 0
        self.resets += 1
        return as_rows(observations, self.envs)

    @override
    def move(self, ids: np.ndarray, actions: np.ndarray) -> Step:
        fresh, over = self._ended[ids], self._time[ids] == self.horizon
        if over.any():
            observations = np.empty((len(ids), self.spec.obs_dim), np.float32)
            rewards = np.zeros(len(ids), np.float32)
            terminated, truncated = np.zeros(len(ids), bool), np.zeros(len(ids), bool)
            observations[over] = as_rows(self._pool.reset(ids[over])[0], int(over.sum()))
            on = ~over
            if on.any():
                observations[on], rewards[on], terminated[on], truncated[on] = self._act(
                    ids[on], actions[on]
                )
        else:
            observations, rewards, terminated, truncated = self._act(ids, actions)
        time = np.where(fresh, 0, self._time[ids] + 1)
        truncated = truncated | ((time == self.horizon) & ~terminated)
        self._time[ids], self._ended[ids] = time, terminated | truncated
        self.resets[ids] += fresh
        return Step(observations, rewards, terminated, truncated, fresh)

    def _act(self, ids: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, ...]:
        """EnvPool resets a copy whose world ended by itself, and ignores its action."""
        if self.spec.discrete_actions:
            actions = actions[:, 0]
        observations, rewards, terminated, truncated, _ = self._pool.step(
            np.ascontiguousarray(actions, dtype=self._action_dtype), ids
        )
        rows = as_rows(observations, len(ids))
        return rows, rewards.astype(np.float32), terminated, truncated
