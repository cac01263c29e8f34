"""Cycles of steps: every copy plays as many, and begins anew where an episode has ended."""

import numpy as np
import pytest

from etairl.experience import SCAN, Experience
from etairl.rollouts import UniformPolicy, collect, collect_steps
from etairl.tasks import make_task, with_self_loops
from etairl.types import Spec, Step, Task


class Counting(Task):
    """Copy i ends after i + 2 steps; an observation says copy, episode and time."""

    def __init__(self, envs, horizon):
        self.spec, self.envs, self.horizon = Spec(3, 1, (-1.0,), (1.0,)), envs, horizon
        self.resets = np.zeros(envs, np.int64)
        self._time, self._ended = np.zeros(envs, int), np.zeros(envs, bool)

    def replay(self, resets):
        self.resets = resets.copy()

    def _seen(self):
        return np.stack([np.arange(self.envs), self.resets, self._time], axis=1).astype(np.float32)

    def reset(self):
        self.resets += 1
        self._time[:], self._ended[:] = 0, False
        return self._seen()

    def step(self, actions):
        fresh = self._ended.copy()
        self.resets += fresh
        self._time = np.where(fresh, 0, self._time + 1)
        ended = self._time == np.arange(self.envs) + 2
        cut = (self._time == self.horizon) & ~ended
        self._ended = ended | cut
        return Step(self._seen(), self._time.astype(np.float32), ended, cut, fresh)


def act(rng, observations):
    return observations[:, 2:] / 100.0


def test_every_step_is_where_it_belongs():
    played = collect_steps(np.random.default_rng(0), Counting(3, 10), act, 10)
    copies, episodes, times = played.observations.T
    # A copy that ends after n steps needs n + 1 for an episode, the last one for the reset.
    assert np.bincount(copies.astype(int)).tolist() == [7, 8, 8]
    first = played.offsets[:-1]
    assert np.array_equal(times[first], np.zeros(len(played)))
    assert np.array_equal(copies[first][:3], [0, 1, 2]), "the first of each copy come first"
    assert np.array_equal(episodes[first][:3], [1, 1, 1])
    assert (episodes[first][3:] > 1).all()
    for number in range(len(played)):
        rows = slice(played.offsets[number], played.offsets[number + 1])
        assert len(np.unique(played.observations[rows, :2], axis=0)) == 1
        assert np.array_equal(times[rows], np.arange(played.lengths[number]))
        assert np.array_equal(played.rewards[rows], times[rows] + 1)
        assert played.final_observations[number, 2] == played.lengths[number]
    assert played.actions[:, 0] == pytest.approx(times / 100.0)


def test_what_is_not_over_is_cut():
    played = collect_steps(np.random.default_rng(0), Counting(3, 10), act, 10)
    whole = played.terminated[played.last_rows]
    copies = played.observations[played.offsets[:-1], 0].astype(int)
    assert np.array_equal(whole, played.lengths == copies + 2)
    assert np.array_equal(played.truncated[played.last_rows], ~whole)
    # Copy 0 begins its last episode with step 10 of 10: there is nothing of it.
    assert sorted(played.lengths[copies == 0]) == [1, 2, 2, 2]
    assert sorted(played.lengths[copies == 1]) == [2, 3, 3]


def test_full_episodes_are_those_of_whole_episodes():
    """Where nothing ends early a cycle of steps is a cycle of episodes, bit for bit."""
    found = []
    for steps in (False, True):
        task = make_task("HalfCheetah-v5", 3, horizon=20, seed=4, threads=1)
        rng, policy = np.random.default_rng(1), UniformPolicy(task)
        for _ in range(2):
            played = (
                collect_steps(rng, task, policy, 20) if steps else collect(rng, task, policy, 3)
            )
        found.append(played)
    for name in ("observations", "actions", "rewards", "offsets", "truncated"):
        assert np.array_equal(*(getattr(t, name) for t in found))


@pytest.mark.parametrize("mode", ["terminating", "absorbing"])
def test_a_task_goes_on_where_another_was(mode):
    """What a cycle plays follows from the resets before it: runs resume between cycles."""

    def task():
        return make_task("Hopper-v5", 2, horizon=60, mode=mode, seed=4, threads=1)

    unbroken, rng = task(), np.random.default_rng(0)
    collect_steps(rng, unbroken, UniformPolicy(unbroken), 60)
    again = task()
    again.replay(unbroken.resets)
    a, b = (
        with_self_loops(collect_steps(np.random.default_rng(7), t, UniformPolicy(t), 60), t)
        for t in (unbroken, again)
    )
    assert len(a) > 2, "a random hopper falls within 60 steps"
    assert np.array_equal(a.observations, b.observations)
    assert np.array_equal(a.rewards, b.rewards)


def test_many_tasks_keep_the_task_of_each_episode():
    task = make_task("etairl/Navigation-v0", 3, horizon=5, seed=0)
    played = collect_steps(np.random.default_rng(0), task, UniformPolicy(task), 14)
    assert played.tasks is not None
    assert len(played) == 6 + 3
    dims = played.tasks.shape[1]
    assert np.array_equal(played.observations[played.offsets[:-1], -dims:], played.tasks)


def test_updates_by_transitions_are_made_up_for():
    """Whole scans only; over the cycles none is lost, however uneven they are."""
    rng = np.random.default_rng(0)
    before, made = 0, 0
    for _ in range(200):
        after = before + int(rng.integers(1, 400))
        data = Experience(None, None, None, 0, before, after)  # type: ignore[arg-type]
        scans = data.scans(7, 0.3)
        assert all(many == SCAN for many in scans)
        made += sum(scans)
        before = after
    assert 0 <= 0.3 * before - made < SCAN
    assert data.scans(7, None) == [7]
    assert data._replace(total=2 * before, before=before).progress == 0.5
    assert data.progress == 0.0, "of a run whose length is not known"
