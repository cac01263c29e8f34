"""Collect trajectories of a policy on a task."""

from typing import Literal

import numpy as np

from etairl.types import Policy, Task, Trajectories, offsets_of

Rollout = Literal["episodes", "steps"]
"""what each copy of a task plays in a cycle: an episode to its end, or as many steps as the horizon
has, with a new episode where one ends early"""


def roll_out(
    kind: Rollout, rng: np.random.Generator, task: Task, policy: Policy, episodes: int
) -> Trajectories:
    """A cycle of a learner."""
    if kind == "steps":
        return collect_steps(rng, task, policy, task.horizon)
    return collect(rng, task, policy, episodes)


def rows_of_cycle(kind: Rollout, episodes: int, horizon: int) -> int:
    """The most that a buffer needs for one: every step of a cycle of steps may be an episode."""
    return episodes * (horizon + 1 if kind == "episodes" else 3 * horizon)


def collect(
    rng: np.random.Generator,
    task: Task,
    policy: Policy,
    episodes: int,
    stochastic: bool = True,
) -> Trajectories:
    """Collect whole episodes, one at a time in every copy of the task.

    Copies that end early wait for the others: taking whichever episodes end first would favour
    short ones.
    """
    parts = [_play(rng, task, policy, stochastic) for _ in range(-(-episodes // task.envs))]
    observations, actions, rewards, terminated, lengths, tasks = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    lengths = lengths[:episodes]
    step = np.arange(observations.shape[1])
    played = step[None, :-1] < lengths[:, None]
    last = step[None, :-1] == lengths[:, None] - 1
    ended = (last & terminated[:episodes, None])[played]
    return Trajectories(
        observations=observations[:episodes, :-1][played],
        actions=actions[:episodes][played],
        terminated=ended,
        truncated=last[played] & ~ended,
        offsets=offsets_of(lengths),
        rewards=rewards[:episodes][played],
        final_observations=observations[np.arange(episodes), lengths],
        tasks=tasks[:episodes] if task.multi else None,
    )


def collect_steps(rng: np.random.Generator, task: Task, policy: Policy, steps: int) -> Trajectories:
    """Every copy of the task plays `steps` steps, and begins anew where an episode has ended.

    The first episode of each copy comes first. Episodes that are not over at the end are cut:
    `truncated`, with the observation that they led to. A step that begins an episode is not a
    transition.
    """
    spec, shape = task.spec, (steps, task.envs)
    observations = np.zeros((steps + 1, task.envs, spec.obs_dim), np.float32)
    actions = np.zeros((*shape, spec.act_dim), np.int64 if spec.discrete_actions else np.float32)
    rewards = np.zeros(shape, np.float32)
    terminated, truncated, fresh = (np.zeros(shape, bool) for _ in range(3))
    observations[0] = task.reset()
    tasks = []
    for t in range(steps):
        if task.multi is not None:
            tasks.append(task.multi.tasks.copy())
        actions[t] = policy(rng, observations[t])
        step = task.step(actions[t])
        observations[t + 1], rewards[t], terminated[t], truncated[t], fresh[t] = step
    truncated[-1] |= ~(terminated[-1] | fresh[-1])
    copies, times = np.nonzero(~fresh.T)
    last = np.flatnonzero((terminated | truncated)[times, copies])
    lengths = np.diff(last, prepend=-1)
    played = Trajectories(
        observations=observations[times, copies],
        actions=actions[times, copies],
        terminated=terminated[times, copies],
        truncated=truncated[times, copies],
        offsets=offsets_of(lengths),
        rewards=rewards[times, copies],
        final_observations=observations[times[last] + 1, copies[last]],
        tasks=np.stack(tasks)[times[last], copies[last]] if tasks else None,
    )
    later = times[last - lengths + 1] > 0
    return played.take(np.argsort(later, kind="stable"))


def _play(
    rng: np.random.Generator, task: Task, policy: Policy, stochastic: bool
) -> tuple[np.ndarray, ...]:
    """One episode in every copy: arrays [copy, step, …], how each ended, its length and its task.

    The arrays are as long as the horizon; what lies behind the end of an episode is not used.
    """
    spec, shape = task.spec, (task.horizon, task.envs)
    observations = np.zeros((task.horizon + 1, task.envs, spec.obs_dim), np.float32)
    actions = np.zeros((*shape, spec.act_dim), np.int64 if spec.discrete_actions else np.float32)
    rewards = np.zeros(shape, np.float32)
    terminated, lengths = np.zeros(task.envs, bool), np.zeros(task.envs, np.int64)
    observations[0] = task.reset()
    # Copied now: a copy that ends early may get its next task before the others have ended.
    tasks = task.multi.tasks.copy() if task.multi else np.zeros((task.envs, 0))
    for t in range(task.horizon):
        actions[t] = policy(rng if stochastic else None, observations[t])
        step = task.step(actions[t])
        observations[t + 1], rewards[t] = step.observations, step.rewards
        now = (lengths == 0) & (step.terminated | step.truncated)
        lengths[now], terminated[now] = t + 1, step.terminated[now]
        if lengths.all():
            break
    swapped = (array.swapaxes(0, 1) for array in (observations, actions, rewards))
    return (*swapped, terminated, lengths, tasks)


class UniformPolicy:
    """Random actions: what an untrained learner does."""

    def __init__(self, task: Task):
        self.spec = task.spec

    def __call__(self, rng: np.random.Generator | None, observations: np.ndarray) -> np.ndarray:
        """Draw uniformly between the bounds."""
        assert rng is not None
        if self.spec.discrete_actions:
            return rng.integers(self.spec.discrete_actions, size=(len(observations), 1))
        assert self.spec.action_low is not None
        assert self.spec.action_high is not None
        size = (len(observations), self.spec.act_dim)
        return rng.uniform(self.spec.action_low, self.spec.action_high, size).astype(np.float32)
