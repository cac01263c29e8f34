"""Five tiny problems whose answers are known by hand."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.hyper import traced
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.solvers.sac_state import SACDraw
from etairl.solvers.solver import Batch
from etairl.types import Spec

GAMMA = 0.9
CONTINUOUS = Spec(1, 1, (-1.0,), (1.0,))
DISCRETE = Spec(1, 1, discrete_actions=2)


def learn(spec: Spec, make_batch, updates: int = 1500, at_once: int = 0, **settings):
    """Feed transitions drawn by `make_batch(rng, n)`; nearly no entropy, so values are plain."""
    config = SACConfig(
        hidden=(32, 32),
        gamma_rl=GAMMA,
        temperature=1e-3,
        actor_lr=3e-3,
        critic_lr=3e-3,
        polyak=0.05,
        **settings,
    )
    solver = SAC(config, spec, play=OffPolicy(at_once=at_once))
    rng = np.random.default_rng(0)
    columns = make_batch(rng, updates * 64)
    batches = Batch(*(np.float32(c).reshape(updates, 64, *np.shape(c)[1:]) for c in columns))
    state, info = solver.updates(
        jax.random.key(1), solver.init(jax.random.key(0)), SACDraw([batches])
    )
    assert all(np.isfinite(float(x)) for x in info)
    return solver, state


def actions(rng, spec, n):
    if spec.discrete_actions:
        return rng.integers(spec.discrete_actions, size=(n, 1)).astype(float)
    return rng.uniform(-1, 1, (n, 1))


def value(solver, state, obs, act):
    q = solver.head.q(state.critics, jnp.float32([[obs]]), jnp.float32([[act]]))
    return float(q.mean())


@pytest.mark.parametrize("spec", [CONTINUOUS, DISCRETE], ids=["continuous", "discrete"])
class TestProbes:
    def test_one_step_of_constant_reward(self, spec):
        """Reward 1, then the end: Q = 1."""

        def batch(rng, n):
            return (
                np.zeros((n, 1)),
                actions(rng, spec, n),
                -np.ones(n),
                np.zeros((n, 1)),
                np.ones(n),
            )

        solver, state = learn(spec, batch)
        assert value(solver, state, 0.0, 0.0) == pytest.approx(1.0, abs=0.02)

    def test_constant_reward_for_ever(self, spec):
        """Reward 1 without end, cut by time limits only: Q = 1/(1 - gamma) = 10."""

        def batch(rng, n):
            return (
                np.zeros((n, 1)),
                actions(rng, spec, n),
                -np.ones(n),
                np.zeros((n, 1)),
                np.zeros(n),
            )

        solver, state = learn(spec, batch, updates=3000)
        assert value(solver, state, 0.0, 0.0) == pytest.approx(10.0, abs=0.2)

    def test_reward_after_two_steps(self, spec):
        """State 0 pays nothing and leads to 1, which pays 1 and ends: Q(0) = gamma, Q(1) = 1."""

        def batch(rng, n):
            obs = rng.integers(2, size=(n, 1)).astype(float)
            last = obs[:, 0]
            return obs, actions(rng, spec, n), -last, np.ones((n, 1)), last

        solver, state = learn(spec, batch)
        assert value(solver, state, 0.0, 0.0) == pytest.approx(GAMMA, abs=0.03)
        assert value(solver, state, 1.0, 0.0) == pytest.approx(1.0, abs=0.03)

    def test_reward_depends_on_the_observation(self, spec):
        """Observation +-1 pays itself: Q(s) = s."""

        def batch(rng, n):
            obs = rng.choice([-1.0, 1.0], size=(n, 1))
            return obs, actions(rng, spec, n), -obs[:, 0], obs, np.ones(n)

        solver, state = learn(spec, batch)
        for s in (-1.0, 1.0):
            assert value(solver, state, s, 0.0) == pytest.approx(s, abs=0.04)


@pytest.mark.parametrize("at_once", [0, 25])
def test_continuous_bandit(at_once):
    """Reward -(a - 0.5)^2: the policy goes to 0.5."""

    def batch(rng, n):
        act = rng.uniform(-1, 1, (n, 1))
        cost = (act[:, 0] - 0.5) ** 2
        return np.zeros((n, 1)), act, cost, np.zeros((n, 1)), np.ones(n)

    solver, state = learn(CONTINUOUS, batch, updates=3000, at_once=at_once)
    best = solver.policy(state)(None, np.zeros((1, 1), np.float32))
    assert best[0, 0] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("at_once", [0, 25])
def test_discrete_bandit_and_state(at_once):
    """The right action is 0 in state -1 and 1 in state 1."""

    def batch(rng, n):
        obs = rng.choice([-1.0, 1.0], size=(n, 1))
        act = rng.integers(2, size=(n, 1)).astype(float)
        right = (act > 0.5) == (obs > 0)
        return obs, act, -right[:, 0].astype(float), obs, np.ones(n)

    solver, state = learn(DISCRETE, batch, at_once=at_once)
    chosen = solver.policy(state)(None, np.float32([[-1.0], [1.0]]))
    assert chosen.tolist() == [[0], [1]]
    assert value(solver, state, 1.0, 1.0) == pytest.approx(1.0, abs=0.03)
    assert value(solver, state, 1.0, 0.0) == pytest.approx(0.0, abs=0.03)


def test_the_cost_is_relabelled_inside_the_scan():
    """Stored costs are nonsense; the function given to `updates` is what is learned."""

    def batch(rng, n):
        obs = rng.choice([-1.0, 1.0], size=(n, 1))
        return obs, rng.uniform(-1, 1, (n, 1)), np.full(n, 99.0), obs, np.ones(n)

    config = SACConfig(hidden=(32, 32), temperature=1e-3, critic_lr=3e-3)
    solver = SAC(config, CONTINUOUS)
    columns = batch(np.random.default_rng(0), 1500 * 64)
    batches = Batch(*(np.float32(c).reshape(1500, 64, *np.shape(c)[1:]) for c in columns))
    state = solver.init(jax.random.key(0))
    drawn = SACDraw([batches])
    state, _ = solver.updates(jax.random.key(1), state, drawn, ScaledCost(), jnp.float32(-3.0))
    for s in (-1.0, 1.0):
        assert value(solver, state, s, 0.0) == pytest.approx(3.0 * s, abs=0.15)


@traced
@dataclass(frozen=True)
class ScaledCost:
    def __call__(self, scale, obs, act, next_obs):
        return scale * obs[:, 0]


def test_the_adaptive_temperature_reaches_the_target_entropy():
    """Reward 0 everywhere: only the temperature moves the policy's entropy to its target.

    Entropy and temperature swing around it: what counts is the mean over 2,000 updates.
    """
    config = SACConfig(
        hidden=(32, 32), actor_lr=3e-3, temperature_lr=3e-2, target_entropy=0.3, gamma_rl=0.0
    )
    solver = SAC(config, CONTINUOUS)
    rng = np.random.default_rng(0)
    n, updates = 64, 2000
    # A cost that pulls to the middle, so that without temperature the policy would be narrow.
    act = rng.uniform(-1, 1, (updates, n, 1)).astype(np.float32)
    zeros = np.zeros((updates, n, 1), np.float32)
    batches = Batch(zeros, act, act[..., 0] ** 2, zeros, np.ones((updates, n), np.float32))
    state = solver.init(jax.random.key(0))
    for key in (1, 2):
        state, info = solver.updates(jax.random.key(key), state, SACDraw([batches]))
    assert float(info.entropy) == pytest.approx(0.3, abs=0.1)
