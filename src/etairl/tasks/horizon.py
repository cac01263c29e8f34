"""How episodes end: wrappers that change it, and a guard against simulators that break."""

from dataclasses import replace

import numpy as np

from etairl.types import InputError, Step, Task


class AbsorbingTask:
    """Every episode has `horizon` steps: after an early end the state is absorbing.

    Observations get one more column: 0 in the world, 1 in the absorbing state, whose other columns
    are 0 and whose reward is 0. All copies start and stop together.
    """

    def __init__(self, task: Task):
        self._task = task
        self.envs, self.horizon = task.envs, task.horizon
        self.spec = replace(task.spec, obs_dim=task.spec.obs_dim + 1)
        self._time = 0
        self._alive = np.ones(task.envs, dtype=bool)

    def reset(self) -> np.ndarray:
        """Start all copies anew."""
        self._time = 0
        self._alive = np.ones(self.envs, dtype=bool)
        return self._marked(self._task.reset())

    def step(self, actions: np.ndarray) -> Step:
        """Act in the copies that are still in the world."""
        everyone = np.ones(self.envs, dtype=bool)
        if self._time == self.horizon:
            return Step(
                self.reset(), np.zeros(self.envs, np.float32), ~everyone, ~everyone, everyone
            )
        inner = self._task.step(actions)
        self._time += 1
        rewards = np.where(self._alive, inner.rewards, np.float32(0.0))
        self._alive = self._alive & ~inner.terminated
        last = np.full(self.envs, self._time == self.horizon)
        return Step(self._marked(inner.observations), rewards, ~everyone, last, ~everyone)

    def _marked(self, observations: np.ndarray) -> np.ndarray:
        marked = np.concatenate([observations, np.zeros((self.envs, 1), np.float32)], axis=1)
        marked[~self._alive] = 0.0
        marked[~self._alive, -1] = 1.0
        return marked


class GuardedTask:
    """Stops with a sentence when a simulator returns NaN or infinity."""

    def __init__(self, task: Task):
        self._task = task
        self.spec, self.envs, self.horizon = task.spec, task.envs, task.horizon

    def reset(self) -> np.ndarray:
        """Start all copies anew."""
        return self._task.reset()

    def step(self, actions: np.ndarray) -> Step:
        """Act, and look at what came back."""
        step = self._task.step(actions)
        # A sum is finite only if every term is, and far cheaper than looking at each.
        if not np.isfinite(step.observations.sum() + step.rewards.sum()):
            bad = ~(np.isfinite(step.observations).all(axis=1) & np.isfinite(step.rewards))
            if bad.any():
                raise InputError(
                    f"{self.spec.environment}: the simulator returned NaN or infinity in copy "
                    f"{int(np.argmax(bad))}; its action was {actions[np.argmax(bad)].tolist()}"
                )
        return step
