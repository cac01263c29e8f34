from dataclasses import replace

import numpy as np
import pytest

from etairl.demos import limit_cycle
from etairl.solvers.cloning import CloningConfig, clone
from etairl.solvers.heads import GaussianHead, make_head
from etairl.solvers.policy import HeadPolicy
from etairl.types import InputError, Spec, Trajectories

QUICK = CloningConfig(hidden=(64, 64), updates=2000, rounds=10)


def test_a_smooth_demonstrator_is_cloned():
    demos = limit_cycle(np.random.default_rng(0), episodes=20)
    found = clone(demos.trajectories, demos.spec, QUICK)
    fresh = limit_cycle(np.random.default_rng(1), episodes=5).trajectories
    policy = HeadPolicy(found.actor, GaussianHead(4, 2), demos.spec)
    error = np.abs(policy(None, fresh.observations) - fresh.actions).mean()
    assert error < 0.02
    assert 0 < found.updates <= 2000


def test_discrete_actions_are_cloned(rng):
    obs = rng.normal(size=(2000, 2)).astype(np.float32)
    act = (obs[:, :1] > obs[:, 1:]).astype(np.int64)
    last = np.arange(2000) % 100 == 99
    t = Trajectories(obs, act, np.zeros_like(last), last, np.arange(21) * 100)
    spec = Spec(2, 1, discrete_actions=2)
    policy = HeadPolicy(clone(t, spec, QUICK).actor, make_head(spec), spec)
    assert (policy(None, obs) == act).mean() > 0.97


def test_same_seed_same_clone(demos):
    quick = CloningConfig(hidden=(8,), updates=20, rounds=2)
    a, b = (clone(demos.trajectories, demos.spec, quick, seed=3) for _ in range(2))
    assert a.loss == b.loss
    assert np.array_equal(a.actor.weights[0], b.actor.weights[0])


def test_one_episode_is_enough(demos):
    single = demos.trajectories.take(np.array([0]))
    assert np.isfinite(clone(single, demos.spec, CloningConfig(hidden=(8,), updates=20)).loss)
    with pytest.raises(InputError, match="updates must be at least rounds"):
        clone(single, demos.spec, CloningConfig(updates=5))


def test_observations_far_from_zero_are_no_harder():
    """The scaling, its mean too, is folded into the first layer."""
    demos = limit_cycle(np.random.default_rng(0), episodes=20)
    t = demos.trajectories
    shifted = replace(t, observations=t.observations * 3.0 + 100.0, final_observations=None)
    found = clone(shifted, demos.spec, QUICK)
    policy = HeadPolicy(found.actor, GaussianHead(4, 2), demos.spec)
    assert np.abs(policy(None, shifted.observations) - t.actions).mean() < 0.03


def test_held_out_episodes_decide_when_to_stop(rng):
    """Actions are noise: what fits them better and better does not carry over."""
    obs = rng.normal(size=(200, 3)).astype(np.float32)
    act = rng.uniform(-1, 1, (200, 1)).astype(np.float32)
    last = np.arange(200) % 10 == 9
    t = Trajectories(obs, act, np.zeros_like(last), last, np.arange(21) * 10)
    found = clone(t, Spec(3, 1, (-1.0,), (1.0,)), QUICK)
    assert found.updates <= 1000
    assert found.loss > 0.2  # noise has a variance of 1/3; on the fitted episodes it is near 0
