"""The clock against its definition, one update by hand, and what the solver leaves alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.eta import parse_eta
from etairl.networks import MLP, start_optimiser
from etairl.regularisers import Entropy, KullbackLeibler, Tsallis, parse_regulariser
from etairl.solvers.clock import Clock, make_clock
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.solvers.sac_eta import SACEta, sac_eta
from etairl.solvers.sac_state import SACDraw
from etairl.solvers.solver import Batch, ExpertPairs
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


def update(solver: SACEta, state, batch: Batch, key, critics_only: bool = False):
    """Compiled: one operation after another takes ten times as long."""
    clock = Clock(*(jnp.asarray(part, jnp.float32) for part in solver.clock))
    return _update(solver, state, batch, key, clock, critics_only)


_update = jax.jit(SACEta.update, static_argnums=5)


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
    """Two networks that say the same whatever they see: `values` [2, outputs]."""
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
        assert clock.time_features.shape == (HORIZON + 1, 0)
        assert clock.chance == pytest.approx(0.3)
    else:
        assert clock.chance[-1] == 1.0, "at the horizon U is Q"
        assert np.ptp(clock.time_features) <= 1.0


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
    columns = solver.clock.time_features.shape[1]
    q, u = constant([[5.0] * 2, [6.0] * 2], 2), constant([[20.0] * 2, [30.0] * 2], 2 + columns)
    state = solver.init(jax.random.key(0))._replace(
        critics=q,
        targets=q,
        critic_optimiser=start_optimiser(solver.plain.optimiser(1.0), q),
        u_critics=u,
        u_targets=u,
        u_optimiser=start_optimiser(solver.plain.optimiser(1.0), u),
    )
    batch = batch_of(rng, time=jnp.full(64, time), terminated=jnp.full(64, terminated))
    _, info = update(solver, state, batch, jax.random.key(1))
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
        critic_optimiser=start_optimiser(solver.plain.optimiser(1.0), q),
        u_critics=u,
        u_targets=u,
        u_optimiser=start_optimiser(solver.plain.optimiser(1.0), u),
    )
    weights = parse_eta("geometric:0.7").weights(GAMMA, HORIZON)
    for t in (0, 4):
        batch = batch_of(rng, time=jnp.full(64, t))
        _, info = update(solver, state, batch, jax.random.key(1))
        begun = GAMMA * weights[t - 1] if t else 0.0
        expected = -(begun * 5.0 + 0.7**t * 20.0) / weights.mean()
        assert float(info.actor_loss) == pytest.approx(expected, rel=1e-4)


def said(networks: MLP, x: np.ndarray) -> np.ndarray:
    """What a network with one hidden layer says, or a pair, with a leading axis of 2."""
    (a, b), (c, d) = (
        [np.asarray(p, np.float64) for p in ps] for ps in (networks.weights, networks.biases)
    )
    return np.maximum(x @ a + c[..., None, :], 0.0) @ b + d[..., None, :]


CASES = {
    "entropy": {},
    "tsallis": {"omega": Tsallis(q=1.5)},
    "reference": {"omega": parse_regulariser("kl")},
    "absorbing": {"absorbing": True},
    "normalise": {"normalise": "running"},
    "poisson": {"eta": "poisson:2", "absorbing": True, "normalise": "running"},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_update_with_all_that_belongs_to_it_by_hand(rng, case):
    r"""The loss of $U$, the loss of the actor and the mean of $\Omega$, in NumPy, with sums.

    The temperature is 0.5: what $\Omega$ weighs, and where it counts, decides.
    """
    config = SACConfig(
        hidden=(4,), gamma_rl=GAMMA, temperature=0.5, normalise=case.get("normalise", "none")
    )
    absorbing, omega = case.get("absorbing", False), case.get("omega", Entropy())
    plain = SAC(config, SPEC, absorbing, omega)
    solver = SACEta(plain, parse_eta(case.get("eta", "geometric:0.7")), HORIZON)
    batch = batch_of(rng)
    batch = batch._replace(terminated=jnp.asarray(rng.random(64) < 0.2, jnp.float32))
    if absorbing:
        marks = jnp.asarray(rng.random((2, 64)) < 0.4, jnp.float32)
        obs, next_obs = (x.at[:, 1].set(m) for x, m in zip(batch[::3][:2], marks, strict=True))
        batch = batch._replace(obs=obs, next_obs=next_obs)
    # Networks that are far from each other, and statistics that are far from 0 and 1.
    state = jax.tree.map(lambda x: 2.0 * x, solver.init(jax.random.key(0)))
    others = solver.init(jax.random.key(2))
    state = state._replace(
        u_targets=others.u_targets,
        reference=others.actor if isinstance(omega, KullbackLeibler) else None,
        log_temperature=jnp.log(jnp.float32(0.5)),
        normaliser=solver.plain.init(jax.random.key(0)).normaliser.seen(
            rng.normal(2.0, 3.0, size=(50, 2)).astype(np.float32)
        ),
    )
    new, info = update(solver, state, batch, jax.random.key(1))

    obs, next_obs = (np.asarray(x, np.float64) for x in (batch.obs, batch.next_obs))
    mask, next_mask = (1.0 - x[:, 1] if absorbing else np.ones(64) for x in (obs, next_obs))
    if config.normalise != "none":
        mean, variance = state.normaliser.mean, state.normaliser.variance
        obs, next_obs = ((x - mean) / np.sqrt(variance + 1e-8) for x in (obs, next_obs))

    def chosen(x, inside, *critics):
        odds = np.exp(said(state.actor, x))
        policy = odds / odds.sum(axis=1, keepdims=True)
        known = omega
        if state.reference is not None:
            wanted = np.exp(said(state.reference, x))
            known = KullbackLeibler(1.0, wanted / wanted.sum(axis=1, keepdims=True))
        penalty = -known.value(policy)
        played = np.where(inside[:, None] == 1.0, policy, [1.0, 0.0])
        values = ((played * said(c, seen).min(axis=0)).sum(axis=1) for c, seen in critics)
        return penalty, *values

    clock, t = solver.clock, np.asarray(batch.time)
    seen, following = (
        np.concatenate([x, clock.time_features[time]], axis=1)
        for x, time in ((obs, t), (next_obs, t + 1))
    )
    further = (new.targets, next_obs), (state.u_targets, following)
    penalty, q, u = chosen(next_obs, next_mask, *further)
    ahead = np.where((clock.chance[t + 1] < 1.0) & (next_mask == 1.0), u, q)
    ahead -= clock.chance[t + 1] * 0.5 * next_mask * penalty
    rows, act = np.arange(64), np.asarray(batch.act)[:, 0].astype(int)
    y = clock.chance[t] * said(new.targets, obs)[:, rows, act].min(axis=0)
    y += (1.0 - clock.chance[t]) * (1.0 - np.asarray(batch.terminated)) * ahead
    errors = said(state.u_critics, seen)[:, rows, act] - y
    assert float(info.u_loss) == pytest.approx(0.5 * (errors**2).mean(axis=1).sum(), rel=1e-4)
    penalty, q, u = chosen(obs, mask, (new.critics, obs), (new.u_critics, seen))
    weight = clock.weight[t] * mask
    worth = mask * (clock.running[t] * q + clock.waiting[t] * u)
    loss = (0.5 * weight * penalty - worth).sum() / mask.sum()
    assert float(info.actor_loss) == pytest.approx(loss, rel=1e-4)
    assert float(info.entropy) == pytest.approx(-(weight @ penalty) / weight.sum(), rel=1e-4)


def test_the_actor_also_clones(rng):
    r"""Adam's first moment is a tenth of the gradient; $\lambda(\pi-e_{a_E})$ in the bias."""
    batch, before = batch_of(rng), {}
    for cloning in (0.0, 3.0):
        config = SACConfig(hidden=(4,), gamma_rl=GAMMA)
        solver = SACEta(
            SAC(config, SPEC, play=OffPolicy(cloning=cloning)), parse_eta("geometric:0.7"), HORIZON
        )
        state = solver.init(jax.random.key(0))
        pairs = ExpertPairs(batch.next_obs, batch.act) if cloning else None
        new, _ = update(solver, state, batch._replace(expert=pairs), jax.random.key(1))
        before[cloning] = 10.0 * np.asarray(new.actor_optimiser[0].mu.biases[-1])
    odds = np.exp(said(state.actor, np.asarray(batch.next_obs, np.float64)))
    policy = odds / odds.sum(axis=1, keepdims=True)
    wanted = np.eye(2)[np.asarray(batch.act)[:, 0].astype(int)]
    expected = 3.0 * (policy - wanted).mean(axis=0)
    assert before[3.0] - before[0.0] == pytest.approx(expected, abs=1e-5)
    assert np.abs(expected).max() > 0.01


def test_both_pairs_of_critics_begin_apart():
    state = solver_for("geometric:0.7").init(jax.random.key(0))
    assert not np.array_equal(state.critics.weights[0], state.u_critics.weights[0])


def test_critics_alone(rng):
    solver = solver_for("poisson:2", temperature=None)
    state = solver.init(jax.random.key(0))
    new, _ = update(solver, state, batch_of(rng), jax.random.key(1), critics_only=True)
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
        state, _ = update(solver, state, one, key)
    scanned, _ = solver.updates(jax.random.key(1), solver.init(jax.random.key(0)), SACDraw([both]))
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
