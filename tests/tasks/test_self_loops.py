"""Absorbing states: marks, one self-loop behind an early end, and the way back."""

from dataclasses import replace

import numpy as np
import pytest

from etairl.rollouts import UniformPolicy, collect
from etairl.solvers.policy import ActionScaling
from etairl.tasks import make_task, with_absorbing, with_self_loops, without_absorbing
from etairl.tasks.horizon import AbsorbingTask
from etairl.types import Spec, Trajectories


@pytest.mark.parametrize("name", ["Hopper-v5", "CartPole-v1"])
def test_one_self_loop_behind_an_early_end(name):
    """Row by row, beside the same seeds and actions in the plain world.

    The horizon is a length in the middle: some end before it, one with it, some do not end.
    """
    free = make_task(name, 6, horizon=200, seed=0)
    lengths = collect(np.random.default_rng(0), free, UniformPolicy(free), 6).lengths
    horizon = int(np.sort(lengths)[3])
    plain, task = (
        make_task(name, 6, horizon=horizon, seed=0, mode=mode)
        for mode in ("terminating", "absorbing")
    )
    t, played = (collect(np.random.default_rng(0), x, UniformPolicy(x), 6) for x in (plain, task))
    seen = with_self_loops(played, task)
    ended = t.terminated[t.last_rows]
    assert 0 < (ended & (t.lengths < horizon)).sum() < ended.sum() < 6
    gone = np.eye(task.spec.obs_dim)[-1]
    for i in range(6):
        row = int(seen.offsets[i])
        for step in range(*t.offsets[i : i + 2]):
            assert seen.observations[row].tolist() == [*t.observations[step], 0.0]
            assert seen.actions[row].tolist() == t.actions[step].tolist()
            assert seen.rewards[row] == t.rewards[step]
            row += 1
        if ended[i] and t.lengths[i] < horizon:
            assert seen.observations[row].tolist() == gone.tolist()
            assert seen.actions[row].tolist() == [0] * task.spec.act_dim
            assert seen.rewards[row] == 0.0
            row += 1
        assert row == seen.offsets[i + 1]
        final = gone if ended[i] else [*t.final_observations[i], 0.0]
        assert seen.final_observations[i].tolist() == list(final)
    assert not seen.terminated.any()
    assert seen.actions.dtype == t.actions.dtype
    recorded = with_absorbing(t, task)
    for field in ("observations", "actions", "rewards", "final_observations", "offsets"):
        assert np.array_equal(getattr(recorded, field), getattr(seen, field))
    assert with_absorbing(t, plain) is with_self_loops(t, plain) is t
    for back in (without_absorbing(seen), without_absorbing(played)):
        for field in ("observations", "actions", "rewards", "terminated", "truncated", "offsets"):
            assert np.array_equal(getattr(back, field), getattr(t, field))
        assert back.final_observations is None


def test_the_action_of_a_self_loop_is_the_zero_of_the_solver():
    """The middle of uneven bounds."""
    task = AbsorbingTask(make_task("Hopper-v5", 2, horizon=200))
    task.spec = replace(task.spec, action_low=(-1.0, 0.1, 2.0), action_high=(0.5, 0.4, 7.0))
    seen = with_self_loops(collect(np.random.default_rng(0), task, lambda _, x: x[:, :3], 2), task)
    loops = seen.observations[:, -1] == 1.0
    assert loops.sum() == 2
    assert seen.actions[loops][0] == pytest.approx([-0.25, 0.25, 4.5])
    assert (ActionScaling(task.spec).to_solver(seen.actions)[loops] == 0.0).all()


def test_a_cut_episode_has_no_self_loop(rng):
    plain = make_task("HalfCheetah-v5", 2, horizon=10, seed=2)
    t = collect(rng, plain, UniformPolicy(plain), 2)
    seen = with_absorbing(t, make_task("HalfCheetah-v5", 2, horizon=30, mode="absorbing"))
    assert (seen.lengths == 10).all()
    assert (seen.observations[:, -1] == 0.0).all()
    assert np.array_equal(without_absorbing(seen).final_observations, t.final_observations)


def recorded(finals):
    """Two episodes of three steps: the world ended the first, the second was cut."""
    terminated = np.array([0, 0, 1, 0, 0, 0], bool)
    truncated = np.array([0, 0, 0, 0, 0, 1], bool)
    observations = np.arange(1, 13, dtype=np.float32).reshape(6, 2)
    return Trajectories(
        observations,
        np.ones((6, 1), np.float32),
        terminated,
        truncated,
        np.array([0, 3, 6]),
        final_observations=finals,
    )


def test_where_a_cut_episode_led_to_is_not_invented():
    task = make_task("Hopper-v5", 1, horizon=5, mode="absorbing")
    task.spec = Spec(3, 1)
    assert with_absorbing(recorded(None), task).final_observations is None
    known = with_absorbing(recorded(np.full((2, 2), 7.0, np.float32)), task)
    assert known.lengths.tolist() == [4, 3]
    assert known.final_observations.tolist() == [[0, 0, 1], [7, 7, 0]]
    ended = with_absorbing(recorded(None).take(np.array([0])), task)
    assert ended.final_observations.tolist() == [[0, 0, 1]]
