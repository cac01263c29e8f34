"""The clock against its definition, one update by hand, and what the solver leaves alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.eta import parse_eta
from etairl.networks import MLP
from etairl.solvers.clock import make_clock
from etairl.solvers.sac import SAC, Batch, SACConfig
from etairl.solvers.sac_eta import SACEta, sac_eta
from etairl.types import InputError, Spec

GAMMA, HORIZON = 0.8, 12
SPEC = Spec(2, 1, discrete_actions=2)
LAWS = (
    "geometric:0.7",
    "poisson:2",
    "uniform",
    "dirac:3",
    "table:0.2,0,0.3,0.5",
    "zero-modified:0.9,0.5",
    "mixture:0.5*dirac:0+0.5*poisson:3",
)


def solver_for(eta: str, **settings) -> SACEta:
    config = SACConfig(**{"hidden": (4,), "gamma_rl": GAMMA, "temperature": 0.1} | settings)
    return SACEta(SAC(config, SPEC), parse_eta(eta), HORIZON)


def batch_of(rng, n=64, **changes) -> Batch:
    batch = Batch(
        obs=jnp.asarray(rng.normal(size=(n, 2)), jnp.float32),
        act=jnp.asarray(rng.integers(2, size=(n, 1)), jnp.float32),
        cost=jnp.asarray(rng.normal(size=n), jnp.float32),
        next_obs=jnp.asarray(rng.normal(size=(n, 2)), jnp.float32),
        terminated=jnp.zeros(n),
        time=jnp.asarray(rng.integers(HORIZON, size=n), jnp.int32),
    )
    return batch._replace(**changes)


def constant(values, inputs) -> MLP:
    """Twins that say the same whatever they see: `values` [2, outputs]."""
    values = jnp.asarray(values, jnp.float32)
    return MLP((jnp.zeros((2, inputs, values.shape[1])),), (values,), "relu")


@pytest.mark.parametrize("eta", LAWS)
def test_the_clock_tells_what_has_begun_and_what_still_waits(eta):
    law, clock = parse_eta(eta), make_clock(parse_eta(eta), GAMMA, HORIZON)
    mass, weights = np.exp(law.log_pmf(HORIZON)), law.weights(GAMMA, HORIZON)
    unit = weights.mean()
    for t in range(HORIZON):
        waiting = 1.0 - mass[:t].sum()
        assert clock.waiting[t] * unit == pytest.approx(waiting, abs=1e-12)
        assert clock.running[t] * unit == pytest.approx(GAMMA * weights[t - 1] if t else 0.0)
        assert clock.weight[t] * unit == pytest.approx(weights[t])
        if waiting > 1e-12:
            assert clock.chance[t] == pytest.approx(mass[t] / waiting)
        else:
            assert clock.chance[t] == 1.0
    assert clock.weight[:HORIZON].mean() == pytest.approx(1.0)
    if eta.startswith("geometric"):
        assert clock.face.shape == (HORIZON + 1, 0)
        assert clock.chance == pytest.approx(0.3)
    else:
        assert clock.chance[-1] == 1.0, "at the horizon U is Q"
        assert np.ptp(clock.face) <= 1.0


@pytest.mark.parametrize("eta", LAWS)
def test_what_a_pair_still_costs_on_a_straight_road(eta):
    r"""$\gamma w_{t-1}Q + S_tU_t = \sum_{n \ge t}w_nc_n$ for given costs $c_0, c_1, …$, no choice.

    Costs end with the episode, so what a law has beyond it does not count.
    """
    rng = np.random.default_rng(0)
    costs, law = rng.normal(size=HORIZON), parse_eta(eta)
    clock, weights = make_clock(law, GAMMA, HORIZON), law.weights(GAMMA, HORIZON)
    q = u = 0.0
    for t in reversed(range(HORIZON)):
        q = costs[t] + GAMMA * q
        u = clock.chance[t] * q + (1.0 - clock.chance[t]) * u
        still = weights[t:] @ costs[t:]
        found = (clock.running[t] * q + clock.waiting[t] * u) * weights.mean()
        assert found == pytest.approx(still, abs=1e-12)


@pytest.mark.parametrize(("eta", "time"), [("geometric:0.7", 3), ("dirac:3", 2), ("dirac:3", 1)])
@pytest.mark.parametrize("terminated", [0.0, 1.0])
def test_the_target_of_the_second_critic_by_hand(rng, eta, time, terminated):
    """Q says 5, its rival 6; U says 20, its rival 30; no entropy to speak of.

    Geom(0.7): 0.3·5 + 0.7·20. Dirac(3) at time 2: the wait ends at 3 for certain, where U is Q, 5;
    at time 1: 20. An end leaves what Q pays now.
    """
    solver = solver_for(eta, temperature=1e-12, polyak=1e-9)
    faces = solver.clock.face.shape[1]
    q, u = constant([[5.0] * 2, [6.0] * 2], 2), constant([[20.0] * 2, [30.0] * 2], 2 + faces)
    state = solver.init(jax.random.key(0))._replace(
        critics=q,
        targets=q,
        critic_optimiser=solver.plain.start(1e-9, q),
        u_critics=u,
        u_targets=u,
        u_optimiser=solver.plain.start(1e-9, u),
    )
    batch = batch_of(rng, time=jnp.full(64, time), terminated=jnp.full(64, terminated))
    _, info = solver.update(state, batch, jax.random.key(1))
    ahead = {("geometric:0.7", 3): 20.0, ("dirac:3", 2): 5.0, ("dirac:3", 1): 20.0}[eta, time]
    chance = 0.3 if eta.startswith("geometric") else 0.0
    y = chance * 5.0 + (1.0 - chance) * (1.0 - terminated) * ahead
    assert float(info.u_loss) == pytest.approx(0.5 * ((20 - y) ** 2 + (30 - y) ** 2), rel=1e-4)


def test_the_actor_weighs_both_critics_by_time(rng):
    """All at one time t: the loss is minus the two values with their weights, without entropy."""
    solver = solver_for("geometric:0.7", temperature=1e-12, critic_lr=1e-9)
    q, u = constant([[5.0] * 2, [6.0] * 2], 2), constant([[20.0] * 2, [30.0] * 2], 2)
    state = solver.init(jax.random.key(0))._replace(
        critics=q,
        targets=q,
        critic_optimiser=solver.plain.start(1e-9, q),
        u_critics=u,
        u_targets=u,
        u_optimiser=solver.plain.start(1e-9, u),
    )
    weights = parse_eta("geometric:0.7").weights(GAMMA, HORIZON)
    for t in (0, 4):
        batch = batch_of(rng, time=jnp.full(64, t))
        _, info = solver.update(state, batch, jax.random.key(1))
        begun = GAMMA * weights[t - 1] if t else 0.0
        expected = -(begun * 5.0 + 0.7**t * 20.0) / weights.mean()
        assert float(info.actor_loss) == pytest.approx(expected, rel=1e-4)


def test_both_pairs_of_critics_begin_apart():
    state = solver_for("geometric:0.7").init(jax.random.key(0))
    assert not np.array_equal(state.critics.weights[0], state.u_critics.weights[0])


def test_critics_alone(rng):
    solver = solver_for("poisson:2", temperature=None)
    state = solver.init(jax.random.key(0))
    new, _ = solver.update(state, batch_of(rng), jax.random.key(1), critics_only=True)
    assert np.array_equal(new.actor.weights[0], state.actor.weights[0])
    assert float(new.log_temperature) == float(state.log_temperature)
    for name in ("critics", "u_critics", "targets", "u_targets"):
        a, b = (getattr(s, name).weights[0] for s in (new, state))
        assert not np.array_equal(a, b), name


def test_a_scan_is_single_updates(rng):
    solver = solver_for("poisson:2", temperature=None)
    one = batch_of(rng)
    both = jax.tree.map(lambda x: jnp.stack([x, x]), one)
    keys = jax.random.split(jax.random.key(1), 2)
    state = solver.init(jax.random.key(0))
    for key in keys:
        state, _ = solver.update(state, one, key)
    scanned, _ = solver.updates(solver.init(jax.random.key(0)), both, jax.random.key(1))
    for a, b in zip(jax.tree.leaves(scanned), jax.tree.leaves(state), strict=True):
        assert np.asarray(a) == pytest.approx(np.asarray(b), abs=1e-5)


def test_one_critic_where_one_is_enough():
    plain = SAC(SACConfig(gamma_rl=0.8), SPEC)
    assert sac_eta(plain, parse_eta("dirac:0"), HORIZON) == plain
    assert sac_eta(plain, parse_eta("table:1"), HORIZON) == plain
    found = sac_eta(plain, parse_eta("zero-modified:0.9,0.8"), HORIZON)
    assert isinstance(found, SAC)
    assert found.config.gamma_rl == 0.9
    assert isinstance(sac_eta(plain, parse_eta("zero-modified:0.9,0.7"), HORIZON), SACEta)


@pytest.mark.parametrize("eta", ["dirac:12", "poisson:40", "table:0,0,0,0,0,0,0,0,0,0,0,0,0,1"])
def test_a_law_that_lies_beyond_the_episode_is_refused(eta):
    with pytest.raises(InputError, match=r"puts no mass|beyond the horizon of 12 steps"):
        solver_for(eta)


def test_a_geometric_law_goes_on_beyond_it():
    assert solver_for("geometric:0.999").clock.chance[-1] == pytest.approx(0.001)
