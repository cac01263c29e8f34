"""The learned cost as the reward of a Gymnasium environment: any other library trains on it."""

from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from etairl.solvers.policy import ActionScaling
from etairl.tasks.horizon import marked
from etairl.tasks.spaces import as_rows, read_spec
from etairl.training.result import Result
from etairl.types import InputError


class CostWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose reward is minus the cost that a run has learned.

    What the environment itself pays is in `info["true_reward"]`. The wrapper goes outside of those
    that change observations or actions only where the demonstrations were recorded so, too.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], run: str | Path | Result, trust: bool = False):
        """Load the cost.

        Args:
            env: the environment of the run, or one with the same observations and actions.
            run: a finished run.
            trust: import code that the run names.
        """
        super().__init__(env)
        result = run if isinstance(run, Result) else Result(run, trust=trust)
        own, spec = read_spec("env", env.observation_space, env.action_space), result.spec
        for what, has, learned in (
            ("observations have", own.obs_dim, spec.obs_dim),
            ("actions have", own.act_dim, spec.act_dim),
            ("discrete actions:", own.discrete_actions, spec.discrete_actions),
        ):
            if has != learned:
                raise InputError(
                    f"{what} {has} here, but {learned} in {result.path} ({result.config.env}); is "
                    "this the environment of the run?"
                )
        self._scaling = ActionScaling(spec)
        self._marks = result.config.mode == "absorbing"
        cost, state = result.learned_cost
        # A function of one row, compiled once: an episode of 500 steps takes a tenth of a second.
        self._cost = jax.jit(lambda *columns: -cost(state, *columns)[0])
        self._before = np.empty((1, 0), np.float32)

    @override
    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**options)
        self._before = self._row(observation)
        return observation, info

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, paid, terminated, truncated, info = self.env.step(action)
        after = self._row(observation)
        action_row = self._scaling.to_solver(np.asarray(action, np.float32).reshape(1, -1))
        reward = self._cost(*map(jnp.asarray, (self._before, action_row, after)))
        self._before = after
        return observation, float(reward), terminated, truncated, info | {"true_reward": paid}

    def _row(self, observation: Any) -> np.ndarray:
        row = as_rows(observation, 1, self.env.observation_space)
        return marked(row) if self._marks else row
