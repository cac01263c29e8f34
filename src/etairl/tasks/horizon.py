"""How episodes end: wrappers that change it, and a guard against simulators that break."""

from dataclasses import replace

import numpy as np
from typing_extensions import override

from etairl.types import (
    DivergedError,
    InputError,
    RejoinableTask,
    Step,
    Task,
    Trajectories,
    last_steps,
    offsets_of,
    ragged_rows,
)


class AbsorbingTask(Task):
    """A world whose early ends lead to an absorbing state.

    Observations get one more column: 0 in the world, 1 in the absorbing state, whose other columns
    are 0. Nothing is played there: `with_self_loops` adds the one transition that there is.
    """

    def __init__(self, task: Task):
        self._task = task
        self.envs, self.horizon = task.envs, task.horizon
        names = task.spec.observation_names
        names = None if names is None else (*names, "absorbing")
        self.spec = replace(task.spec, obs_dim=task.spec.obs_dim + 1, observation_names=names)
        self.resets, self.replay = task.resets, task.replay

    @property
    @override
    def absorbing(self) -> bool:
        return True

    @override
    def reset(self) -> np.ndarray:
        return marked(self._task.reset())

    @override
    def step(self, actions: np.ndarray) -> Step:
        step = self._task.step(actions)
        return step._replace(observations=marked(step.observations, step.terminated))


def marked(observations: np.ndarray, absorbed: np.ndarray | None = None) -> np.ndarray:
    """With the mark as the last column, and nothing else in rows where the world has ended."""
    absorbed = np.zeros(len(observations), bool) if absorbed is None else absorbed
    rows = np.concatenate([observations, absorbed[:, None]], axis=1, dtype=observations.dtype)
    rows[absorbed, :-1] = 0.0
    return rows


class GuardedTask(RejoinableTask):
    """Stops with a sentence when a simulator, or a policy, gives NaN or infinity."""

    def __init__(self, task: RejoinableTask):
        self._task = task
        self.spec, self.envs, self.horizon = task.spec, task.envs, task.horizon
        self.resets, self.replay, self.rejoin = task.resets, task.replay, task.rejoin

    @override
    def reset(self) -> np.ndarray:
        observations = self._task.reset()
        bad = ~np.isfinite(observations).all(axis=1)
        if bad.any():
            raise InputError(
                f"{self.spec.environment}: an episode of the simulator began with NaN or infinity, "
                f"in copy {int(np.argmax(bad))}"
            )
        return observations

    @override
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


def with_absorbing(t: Trajectories, task: Task) -> Trajectories:
    """Recorded episodes as a player of the task sees them: in an absorbing one marked, with loops.

    Where an episode that was cut led to stays unknown unless it was recorded.
    """
    if not task.absorbing:
        return t
    ended, final = t.terminated[t.last_rows], t.final_observations
    if final is None and ended.all():
        final = np.zeros((len(t), t.obs_dim), t.observations.dtype)
    following = t.next_observations
    if following is not None:
        following = marked(following, t.terminated & (t.spans == 1))
    with_marks = replace(
        t,
        observations=marked(t.observations),
        final_observations=None if final is None else marked(final, ended),
        next_observations=following,
    )
    return with_self_loops(with_marks, task)


def with_self_loops(t: Trajectories, task: Task) -> Trajectories:
    """Episodes played in an absorbing task, with one row more behind each early end.

    It is the self-loop of the absorbing state: action 0 there, reward 0, and no end. From it the
    value of having ended is learned; it does not count as a transition. An episode that was cut, or
    ended with its last step, has none. Episodes of other tasks stay as they are.
    """
    if not task.absorbing:
        return t
    early = t.terminated[t.last_rows] & (t.durations < task.horizon)
    behind, offsets = t.offsets[1:][early], offsets_of(t.lengths + early)
    truncated = last_steps(offsets)
    absorbed = np.append(np.zeros(t.obs_dim - 1), 1.0)
    return replace(
        t,
        observations=np.insert(t.observations, behind, absorbed, axis=0),
        actions=np.insert(t.actions, behind, task.spec.zero_action[: t.act_dim], axis=0),
        terminated=np.zeros_like(truncated),
        truncated=truncated,
        offsets=offsets,
        rewards=None if t.rewards is None else np.insert(t.rewards, behind, 0.0),
        spans=None if t.spans is None else np.insert(t.spans, behind, 1),
        next_observations=None
        if t.next_observations is None
        else np.insert(t.next_observations, behind, absorbed, axis=0),
    )


def without_absorbing(t: Trajectories) -> Trajectories:
    """Episodes of an absorbing task as the world knows them: without loops and without marks."""
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
