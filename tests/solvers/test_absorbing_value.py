r"""The value of the absorbing state: $Q = -c/(1-\gamma)$, learned on its self-loop alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.eta import parse_eta
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import SACConfig
from etairl.solvers.sac_eta import SACEta
from etairl.solvers.sac_state import SACDraw
from etairl.solvers.solver import Batch
from etairl.types import Spec

SPECS = {"continuous": Spec(2, 1, (-1.0,), (1.0,)), "discrete": Spec(2, 1, discrete_actions=2)}
GAMMA, WORLD, GONE = 0.6, 0.5, -2.0
AFTER = -GONE / (1.0 - GAMMA)
"""the value of the absorbing state, where each step costs `GONE`"""
HORIZON = 6


def solver_for(spec: Spec) -> SAC:
    """A temperature of 5: entropy in the absorbing state would outweigh everything."""
    rates = {"critic_lr": 1e-2, "actor_lr": 1e-2, "polyak": 0.1}
    config = SACConfig(hidden=(16,), gamma_rl=GAMMA, temperature=5.0, **rates)
    return SAC(config, spec, absorbing=True)


def episodes(rng, spec: Spec, updates=800, n=32) -> Batch:
    """One step in the world, which costs `WORLD`, and then the self-loop; half of the rows each."""
    loop = rng.random((updates, n)) < 0.5
    gone = np.array([0.0, 1.0], np.float32)
    obs = np.where(loop[..., None], gone, np.array([1.0, 0.0], np.float32))
    drawn = (
        rng.integers(2, size=(updates, n))
        if spec.discrete_actions
        else rng.uniform(-1, 1, (updates, n))
    )
    return Batch(
        obs=jnp.asarray(obs),
        act=jnp.asarray(np.where(loop, 0.0, drawn)[..., None], jnp.float32),
        cost=jnp.asarray(np.where(loop, GONE, WORLD), jnp.float32),
        next_obs=jnp.broadcast_to(jnp.asarray(gone), obs.shape),
        terminated=jnp.zeros((updates, n)),
        time=jnp.asarray(loop, jnp.int32),
    )


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_the_fixed_point(rng, spec):
    r"""$Q(\text{gone}, 0) = -c/(1-\gamma)$, and $\gamma$ times that behind a step of the world."""
    solver = solver_for(spec)
    start = solver.init(jax.random.key(0))
    state, _ = solver.updates(jax.random.key(1), start, SACDraw([episodes(rng, spec)]))
    obs, act = jnp.array([[0.0, 1.0], [1.0, 0.0]]), jnp.zeros((2, 1))
    q = np.asarray(solver.head.q(state.critics, obs, act))
    assert q[:, 0] == pytest.approx(AFTER, abs=0.02)
    assert q[:, 1] == pytest.approx(-WORLD + GAMMA * AFTER, abs=0.1)


@pytest.mark.parametrize("eta", ["geometric:0.7", "poisson:2"])
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_waiting_in_the_absorbing_state_is_worth_the_same(rng, spec, eta):
    r"""$U_t(s,a) = h_tQ(s,a) + (1-h_t)Q(\text{gone}, 0)$: no row of a later time is needed."""
    solver = SACEta(solver_for(spec), parse_eta(eta), HORIZON)
    start = solver.init(jax.random.key(0))
    state, _ = solver.updates(jax.random.key(1), start, SACDraw([episodes(rng, spec)]))
    now = solver.clock.at(jnp.array([0, 1]))
    obs, act = jnp.array([[1.0, 0.0], [0.0, 1.0]]), jnp.zeros((2, 1))
    u = np.asarray(solver.plain.head.q(state.u_critics, now.beside(obs), act))
    chance = float(solver.clock.chance[0])
    expected = chance * (-WORLD + GAMMA * AFTER) + (1.0 - chance) * AFTER
    assert u[:, 0] == pytest.approx(expected, abs=0.1)
    assert u[:, 1] == pytest.approx(AFTER, abs=0.1)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_only_the_zero_action_is_possible_there(rng, spec):
    """Whatever the actor would do: what follows is judged at action 0. In the world it is not."""
    solver = solver_for(spec)
    head, actor = solver.head, solver.init(jax.random.key(0)).actor
    critics = jax.tree.map(lambda x: 3.0 * x, solver.init(jax.random.key(1)).critics)
    obs = jnp.asarray(rng.normal(size=(50, 2)), jnp.float32)
    mask = jnp.asarray(rng.random(50) < 0.5, jnp.float32)
    found, free = (
        head.choose(jax.random.key(2), actor, critics, obs, mask=m) for m in (mask, None)
    )
    still = np.asarray(head.q(critics, obs, jnp.zeros((50, 1))).min(axis=0))
    inside = np.asarray(mask) == 1.0
    assert np.asarray(found.q)[~inside] == pytest.approx(still[~inside], abs=1e-6)
    assert np.array_equal(np.asarray(found.q)[inside], np.asarray(free.q)[inside])
    assert np.abs(np.asarray(free.q) - still)[~inside].max() > 1e-3
