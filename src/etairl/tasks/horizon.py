"""How episodes end: wrappers that change it, and a guard against simulators that break."""

from dataclasses import replace

import numpy as np

from etairl.types import (
    DivergedError,
    InputError,
    RejoinableTask,
    Step,
    Task,
    Trajectories,
    offsets_of,
    ragged_rows,
)


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
        self.resets, self.replay = task.resets, task.replay

    def reset(self) -> np.ndarray:
        """Start a new episode in every copy."""
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
        if self._time < self.horizon and (inner.truncated & self._alive).any():
            raise InputError(
                f"{self.spec.environment} cuts episodes before {self.horizon} steps by itself, "
                "which is not an end to absorb; lower the horizon, or use the mode terminating"
            )
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
    """Stops with a sentence when a simulator, or a policy, gives NaN or infinity."""

    def __init__(self, task: RejoinableTask):
        self._task = task
        self.spec, self.envs, self.horizon = task.spec, task.envs, task.horizon
        self.resets, self.replay, self.rejoin = task.resets, task.replay, task.rejoin

    def reset(self) -> np.ndarray:
        """Start a new episode in every copy."""
        observations = self._task.reset()
        bad = ~np.isfinite(observations).all(axis=1)
        if bad.any():
            raise InputError(
                f"{self.spec.environment}: an episode of the simulator began with NaN or infinity, "
                f"in copy {int(np.argmax(bad))}"
            )
        return observations

    def step(self, actions: np.ndarray) -> Step:
        """Act, and check the result for NaN and infinity."""
        if not np.isfinite(actions.sum()):
            raise DivergedError(
                f"{self.spec.environment}: the policy gave NaN or infinity as an action: it "
                "diverged. Lower the learning rates, in a new run"
            )
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


def with_absorbing(t: Trajectories, horizon: int) -> Trajectories:
    """Recorded episodes as `AbsorbingTask` would have made them: marked, and padded after an end.

    An episode that was cut is not padded: nobody knows how it went on. Where it led to stays
    unknown, too, unless it was recorded.
    """
    ended = t.terminated[t.last_rows]
    final = None
    if t.final_observations is not None or ended.all():
        # Where every episode ended, all end in the absorbing state, whatever was recorded.
        final = np.zeros((len(t), t.obs_dim + 1), t.observations.dtype)
        if t.final_observations is not None:
            final[:, :-1] = t.final_observations
        final[ended] = 0.0
        final[ended, -1] = 1.0
    lengths = np.where(ended, np.maximum(horizon, t.lengths), t.lengths)
    offsets = offsets_of(lengths)
    recorded = ragged_rows(offsets[:-1], t.lengths)

    def padded(rows: np.ndarray) -> np.ndarray:
        longer = np.zeros((offsets[-1], *rows.shape[1:]), rows.dtype)
        longer[recorded] = rows
        return longer

    mark = np.ones((offsets[-1], 1), t.observations.dtype)
    mark[recorded] = 0.0
    truncated = np.zeros(offsets[-1], bool)
    truncated[offsets[1:] - 1] = True
    return Trajectories(
        observations=np.concatenate([padded(t.observations), mark], axis=1),
        actions=padded(t.actions),
        terminated=np.zeros_like(truncated),
        truncated=truncated,
        offsets=offsets,
        rewards=None if t.rewards is None else padded(t.rewards),
        final_observations=final,
        tasks=t.tasks,
    )


def without_absorbing(t: Trajectories) -> Trajectories:
    """Undo `with_absorbing`: episodes end where the world did, and the mark is gone."""
    alive = t.observations[:, -1] == 0.0
    lengths = np.add.reduceat(alive.astype(np.int64), t.offsets[:-1])
    rows = ragged_rows(t.offsets[:-1], lengths)
    last = np.cumsum(lengths) - 1
    ended = lengths < t.lengths
    final = t.final_observations
    if final is not None:
        ended = ended | (final[:, -1] == 1.0)
    terminated, truncated = (np.zeros(len(rows), bool) for _ in range(2))
    terminated[last[ended]] = True
    truncated[last[~ended]] = True
    return t.at_rows(
        rows,
        lengths,
        observations=t.observations[rows, :-1],
        terminated=terminated,
        truncated=truncated,
        # Where the world ended was masked: it is not known any more.
        final_observations=None if final is None or ended.any() else final[:, :-1],
    )
