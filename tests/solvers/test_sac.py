from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy import stats

from etairl.buffers import EpisodeBuffer
from etairl.experience import Experience, ExpertBuffer
from etairl.networks import MLP, HostMLP, Normaliser, apply_pair, init_pair
from etairl.regularisers import (
    Entropy,
    KullbackLeibler,
    Tsallis,
    Unregularised,
    parse_regulariser,
)
from etairl.solvers.heads import REFERENCE_STD, CategoricalHead, GaussianHead, make_head
from etairl.solvers.policy import ActionScaling
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.solvers.sac_losses import actor_loss, critic_loss, soft_target, temperature_loss
from etairl.solvers.sac_state import SACDraw
from etairl.solvers.solver import Batch
from etairl.types import InputError, Spec, Trajectories

SPEC = Spec(3, 2, (-1.0, -2.0), (1.0, 4.0))
HEADS = {"continuous": GaussianHead(3, 2), "discrete": CategoricalHead(3, 4)}


def batch_of(rng, updates, n=32, spec=SPEC):
    return Batch(
        obs=rng.normal(size=(updates, n, spec.obs_dim)).astype(np.float32),
        act=rng.uniform(-1, 1, (updates, n, spec.act_dim)).astype(np.float32),
        cost=rng.normal(size=(updates, n)).astype(np.float32),
        next_obs=rng.normal(size=(updates, n, spec.obs_dim)).astype(np.float32),
        terminated=(rng.random((updates, n)) < 0.1).astype(np.float32),
    )


def doubled(network: MLP) -> MLP:
    """In double precision."""
    return jax.tree.map(lambda x: x.astype(float), network)


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_gradients_agree_with_finite_differences(head, rng):
    """Smooth activations, double precision: central differences are good to 1e-6."""
    with jax.enable_x64(True):
        key = jax.random.key(0)
        actor = doubled(MLP.init(key, (3, 8, head.shape.actor_outputs), "tanh"))
        critics = doubled(
            init_pair(key, (head.shape.critic_inputs, 8, head.shape.critic_outputs), "tanh")
        )
        obs = jnp.asarray(rng.normal(size=(5, 3)))
        discrete = isinstance(head, CategoricalHead)
        act = rng.integers(0, 4, (5, 1)) if discrete else rng.uniform(-1, 1, (5, 2))
        act = jnp.asarray(act, float)
        target = jnp.asarray(rng.normal(size=5))
        mask = jnp.asarray([1.0, 0.0, 1.0, 1.0, 0.0])
        temperature = jnp.asarray(0.3)
        options = {"order": 1, "modes": ("rev",), "atol": 1e-5, "rtol": 1e-5}
        mistake = jax.jit(lambda c: critic_loss(c, head, obs, act, target)[0])
        check_grads(mistake, (critics,), **options)
        other = doubled(MLP.init(jax.random.key(9), (3, 8, head.shape.actor_outputs), "tanh"))
        # The reference is narrow, so the loss bends: differences err by its third derivative.
        for reference, accuracy in ((None, 1e-5), (other, 1e-3)):
            against = (reference, temperature, obs, mask, key)
            loss = jax.jit(lambda a, x=against: actor_loss(a, head, critics, *x)[0])
            check_grads(loss, (actor,), **options | {"rtol": accuracy})
        cloning = jax.jit(lambda a: head.cloning_loss(a, obs, act))
        check_grads(cloning, (actor,), **options)
        check_grads(
            lambda x: temperature_loss(jnp.asarray(x), jnp.asarray(1.5), -1.0),
            (jnp.asarray(0.7),),
            **options,
        )
        # The entropy is a constant for the temperature: d/dx exp(x) (H - H*) = exp(x) (H - H*).
        slope = jax.grad(temperature_loss)(jnp.asarray(0.7), jnp.asarray(1.5), -1.0)
        assert float(slope) == pytest.approx(np.exp(0.7) * 2.5)


def test_log_probability_is_that_of_the_squashed_normal(rng):
    head = GaussianHead(3, 2)
    actor = MLP.init(jax.random.key(0), (3, 16, 4), "relu")
    obs = jnp.asarray(rng.normal(size=(50, 3)), jnp.float32)
    act, log_prob = head.sample(jax.random.key(1), actor, obs)
    mean, log_std = head.gaussian(actor, obs)
    x = np.arctanh(np.asarray(act, np.float64))
    normal = stats.norm.logpdf(x, np.asarray(mean, np.float64), np.exp(np.asarray(log_std)))
    expected = (normal - np.log1p(-(np.asarray(act, np.float64) ** 2))).sum(axis=1)
    assert np.asarray(log_prob) == pytest.approx(expected, abs=2e-3)


def test_log_probability_stays_finite_far_out():
    head = GaussianHead(1, 1)
    actor = MLP((jnp.zeros((1, 2)),), (jnp.array([40.0, 0.0]),), "relu")
    act, log_prob = head.sample(jax.random.key(0), actor, jnp.zeros((4, 1)))
    assert np.isfinite(np.asarray(log_prob)).all()
    assert (np.asarray(act) == 1.0).all()


def test_only_termination_cuts_the_bootstrap():
    one = jnp.ones(2)
    y = soft_target(0.9, 2 * one, jnp.array([0.0, 1.0]), 10 * one, 3 * one, jnp.asarray(0.5))
    assert y == pytest.approx([-2 + 0.9 * (10 - 1.5), -2.0])


def test_a_scan_is_the_same_as_one_update_after_another(rng):
    solver = SAC(SACConfig(hidden=(16, 16)), SPEC)
    batches = jax.tree.map(jnp.asarray, batch_of(rng, 4))
    key = jax.random.key(3)
    together, _ = solver.updates(key, solver.init(jax.random.key(0)), SACDraw([batches]))
    one_by_one, update = solver.init(jax.random.key(0)), jax.jit(solver.update)
    for i, k in enumerate(jax.random.split(key, 4)):
        one_by_one, _ = update(one_by_one, jax.tree.map(lambda x, i=i: x[i], batches), k)
    for a, b in zip(jax.tree.leaves(together), jax.tree.leaves(one_by_one), strict=True):
        assert np.asarray(a) == pytest.approx(np.asarray(b), abs=1e-5)


def test_one_compilation_for_all_cycles(rng):
    solver = SAC(SACConfig(hidden=(16,)), SPEC)
    state = solver.init(jax.random.key(0))
    before = SAC._scan._cache_size()
    for cycle in range(3):
        state, _ = solver.updates(jax.random.key(cycle), state, SACDraw([batch_of(rng, 3)]))
    assert SAC._scan._cache_size() == before + 1


NUMBERS = {
    "gamma_rl": 0.5,
    "actor_lr": 1e-2,
    "critic_lr": 1e-4,
    "temperature_lr": 1e-3,
    "polyak": 0.5,
    "temperature": 0.7,
    "first_temperature": 0.2,
    "max_gradient_norm": 3.0,
}


def test_one_compilation_for_all_numbers(rng):
    """Whether a number is there is compiled, how large it is is not; and each of them counts."""
    drawn = SACDraw([batch_of(rng, 2)])
    start = SACConfig(hidden=(12,), temperature=0.1, max_gradient_norm=1.0)
    configs = [start, *(replace(start, **{name: value}) for name, value in NUMBERS.items())]
    plays = [OffPolicy(), OffPolicy(solver_updates=7, critic_cycles=3)]
    before, ends = SAC._scan._cache_size(), []
    for config in configs:
        solver = SAC(config, SPEC)
        state, _ = solver.updates(jax.random.key(1), solver.init(jax.random.key(0)), drawn)
        ends.append(b"".join(np.asarray(x).tobytes() for x in jax.tree.leaves(state)))
    assert SAC._scan._cache_size() == before + 1
    # A fixed temperature has no rate and no start; everything else makes another end.
    assert len(set(ends)) == len(configs) - 2
    for play in plays:  # its sizes are those of a draw, not of the solver
        solver = SAC(start, SPEC, play=play)
        solver.updates(jax.random.key(1), solver.init(jax.random.key(0)), drawn)
    adaptive = SAC(replace(start, temperature=None), SPEC)
    adaptive.updates(jax.random.key(1), adaptive.init(jax.random.key(0)), drawn)
    assert SAC._scan._cache_size() == before + 3


def experience(rng, expert: bool = True, cycle: int = 0) -> Experience:
    """Two cycles of two episodes; every row says where it is, the expert's are negative."""
    buffer, sides = EpisodeBuffer(100, 3, 2), []
    for sign in (1.0, 1.0, -1.0):
        number = sign * (1.0 + 100.0 * len(buffer) + np.arange(20.0))
        last = np.arange(20) % 10 == 9
        sides.append(
            Trajectories(
                observations=np.repeat(number[:, None], 3, axis=1).astype(np.float32),
                actions=rng.uniform(-1, 1, (20, 2)).astype(np.float32),
                terminated=np.zeros(20, bool),
                truncated=last,
                offsets=np.array([0, 10, 20]),
                rewards=number.astype(np.float32),
            )
        )
        if sign > 0:
            buffer.extend(sides[-1], sides[-1].actions)
    theirs = ExpertBuffer.of(sides[-1], sides[-1].actions) if expert else None
    return Experience(buffer, buffer.newest(cycles=1), theirs, cycle)


def test_a_draw_is_of_the_replay_and_of_the_expert_where_it_is_cloned(rng):
    """The replay is what the game says, here the newer cycle; costs are minus the rewards."""
    play = OffPolicy(solver_updates=5, solver_batch=64, critic_cycles=2)
    for cloning in (0.0, 0.5):
        solver = SAC(SACConfig(hidden=(4,)), SPEC, play=replace(play, cloning=cloning))
        (batches,), critics_only, _ = solver.draw(rng, experience(rng, expert=cloning > 0.0))
        assert critics_only
        assert batches.obs.shape == (5, 64, 3)
        assert set(np.unique(batches.obs)) == set(range(101, 121))
        assert np.array_equal(batches.cost, -batches.obs[..., 0])
        assert batches.time is None
        assert (batches.expert is None) == (cloning == 0.0)
        if batches.expert is not None:
            assert batches.expert.act.shape == (5, 64, 2)
            assert (np.asarray(batches.expert.obs) < 0.0).all()
    timed = solver.draw(rng, experience(rng), timed=True).batches[0]
    assert np.array_equal(timed.time, (np.asarray(timed.obs[..., 0]) - 1) % 10)
    for cycle, alone in ((1, True), (2, False), (9, False)):
        assert solver.draw(rng, experience(rng, cycle=cycle)).critics_only is alone


def test_a_share_of_a_draw_is_the_experts_with_times_where_they_are_asked_for(rng):
    play = OffPolicy(solver_updates=5, solver_batch=64, expert_share=0.25)
    solver = SAC(SACConfig(hidden=(4,)), SPEC, play=play)
    assert solver.needs_next
    assert not SAC(SACConfig(), SPEC).needs_next
    (batches,), *_ = solver.draw(rng, experience(rng), timed=True)
    theirs = np.asarray(batches.obs[..., 0]) < 0.0
    assert (theirs.sum(axis=1) == 16).all()
    assert (theirs == theirs[0]).all()
    assert set(-np.asarray(batches.obs)[theirs].ravel()) == set(range(201, 221))
    moved = np.asarray(batches.next_obs - batches.obs)[..., 0]
    followed = np.abs(batches.obs[..., 0]) % 10 != 0  # what came after the last step is not known
    assert np.array_equal(moved[followed], np.where(theirs, -1, 1)[followed])
    assert np.array_equal(batches.time, (np.abs(batches.obs[..., 0]) - 1) % 10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"solver_updates": 0}, "solver_updates must be at least 1"),
        ({"solver_batch": 0}, "solver_batch must be at least 1"),
        ({"critic_cycles": -1}, "critic_cycles must be >= 0"),
        ({"at_once": -1}, "at_once must be >= 0"),
        ({"expert_share": 1.0}, "expert_share"),
        ({"expert_share": -0.1}, "expert_share"),
        ({"cloning": -0.5}, "cloning must be >= 0 and finite"),
        ({"cloning": float("nan")}, "cloning must be >= 0 and finite"),
    ],
)
def test_bad_ways_to_play_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        OffPolicy(**change)


def test_in_the_absorbing_state_there_is_no_policy_to_learn(rng):
    """Only absorbing rows: actor and temperature stand still, critics learn."""
    spec = Spec(4, 2, (-1.0, -1.0), (1.0, 1.0))
    solver = SAC(SACConfig(hidden=(16,)), spec, absorbing=True)
    batches = batch_of(rng, 3, spec=spec)
    absorbing = np.zeros_like(batches.obs)
    absorbing[..., -1] = 1.0
    batches = batches._replace(obs=absorbing, next_obs=absorbing)
    start = solver.init(jax.random.key(0))
    kept = jax.tree.map(np.array, (start.actor, start.critics, start.log_temperature))
    state, info = solver.updates(jax.random.key(1), start, SACDraw([batches]))
    for a, b in zip(jax.tree.leaves(state.actor), jax.tree.leaves(kept[0]), strict=True):
        assert np.array_equal(a, b)
    assert float(state.log_temperature) == float(kept[2])
    moved = zip(jax.tree.leaves(state.critics), jax.tree.leaves(kept[1]), strict=True)
    assert any(not np.array_equal(a, b) for a, b in moved)
    assert float(info.entropy) == 0.0


def test_gradient_clipping_bounds_the_step(rng):
    huge = batch_of(rng, 1)._replace(cost=np.full((1, 32), 1e6, np.float32))
    for norm in (None, 1e-3):
        solver = SAC(SACConfig(hidden=(8,), max_gradient_norm=norm), SPEC)
        state, _ = solver.updates(
            jax.random.key(1), solver.init(jax.random.key(0)), SACDraw([huge])
        )
        first_moment = jax.tree.leaves(state.critic_optimiser)
        size = np.sqrt(sum(float((np.asarray(x) ** 2).sum()) for x in first_moment if x.ndim > 1))
        assert (size < 1e-2) == (norm is not None)


def test_the_host_actor_is_the_device_actor(rng):
    for activation in ("relu", "tanh", "elu"):
        mlp = MLP.init(jax.random.key(0), (3, 16, 16, 4), activation)
        x = rng.normal(size=(20, 3)).astype(np.float32)
        assert HostMLP(mlp)(x) == pytest.approx(np.asarray(mlp(jnp.asarray(x))), abs=1e-5)


def test_a_pair_is_two_networks(rng):
    pair = init_pair(jax.random.key(0), (3, 8, 1), "relu")
    x = jnp.asarray(rng.normal(size=(5, 3)), jnp.float32)
    values = apply_pair(pair, x)
    assert values.shape == (2, 5, 1)
    single = jax.tree.map(lambda w: w[1], pair)
    assert np.asarray(values[1]) == pytest.approx(np.asarray(single(x)), abs=1e-6)
    assert not np.allclose(values[0], values[1])


def test_running_statistics_are_those_of_all_rows(rng):
    x = rng.normal(3.0, 2.0, size=(1000, 4)).astype(np.float32)
    normaliser = Normaliser.identity(4)
    for part in np.split(x, [10, 500]):
        normaliser = normaliser.seen(part)
    assert np.asarray(normaliser.mean) == pytest.approx(x.mean(axis=0), abs=1e-4)
    assert np.asarray(normaliser.variance) == pytest.approx(x.var(axis=0), rel=1e-4)
    z = normaliser.on_host()(x)
    assert z == pytest.approx(np.asarray(normaliser(jnp.asarray(x))), abs=1e-4)
    assert z.std(axis=0) == pytest.approx(np.ones(4), abs=1e-3)


def test_actions_are_scaled_to_the_bounds(rng):
    scaling = ActionScaling(SPEC)
    inside = rng.uniform(-1, 1, (10, 2)).astype(np.float32)
    outside = scaling.to_task(inside)
    assert (outside >= [-1.0, -2.0]).all()
    assert scaling.to_task(np.float32([[1.0, 1.0]])).tolist() == [[1.0, 4.0]]
    assert scaling.to_solver(outside) == pytest.approx(inside, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gamma_rl": 1.0}, "gamma_rl must lie in"),
        ({"polyak": 0.0}, "polyak must lie in"),
        ({"hidden": ()}, "at least one layer"),
        ({"temperature": 0.0}, "temperature must be > 0"),
        ({"first_temperature": float("nan")}, "first_temperature must be > 0"),
        ({"actor_lr": 0.0}, "actor_lr must be > 0"),
        ({"critic_lr": float("nan")}, "critic_lr must be > 0"),
        ({"temperature_lr": float("inf")}, "temperature_lr must be > 0 and finite"),
        ({"max_gradient_norm": -1.0}, "max_gradient_norm must be > 0"),
        ({"target_entropy": float("nan")}, "target_entropy must be finite"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        SACConfig(**change)


def test_with_a_reference_the_divergence_takes_the_place_of_the_entropy(rng):
    """Kullback-Leibler divergence of two Gaussians in closed form; squashing does not change it."""
    head = make_head(Spec(3, 2, (-1.0,) * 2, (1.0,) * 2))
    actor, reference = (MLP.init(jax.random.key(k), (3, 16, 4), "tanh") for k in (0, 1))
    obs = jnp.asarray(rng.normal(size=(5, 3)), jnp.float32)
    many = 20_000
    _, ratio = head.sample(jax.random.key(2), actor, jnp.repeat(obs, many, axis=0), reference)
    found = np.asarray(ratio, np.float64).reshape(5, many)
    mean, log_std = (np.asarray(x, np.float64) for x in head.gaussian(actor, obs))
    away = mean - np.asarray(head.gaussian(reference, obs)[0], np.float64)
    expected = (
        np.log(REFERENCE_STD) - log_std + (np.exp(2 * log_std) + away**2) / (2 * REFERENCE_STD**2)
    ).sum(axis=1) - 1.0
    error = found.std(axis=1) / np.sqrt(many)
    assert (np.abs(found.mean(axis=1) - expected) < 4.5 * error).all()


def test_divergence_of_discrete_policies_is_an_exact_sum(rng):
    head = make_head(Spec(3, 1, discrete_actions=4))
    actor, reference = (MLP.init(jax.random.key(k), (3, 16, 4), "tanh") for k in (0, 1))
    critics = init_pair(jax.random.key(2), (3, 16, 4), "tanh")
    obs = jnp.asarray(rng.normal(size=(5, 3)), jnp.float32)
    p, q = (np.asarray(jax.nn.softmax(net(obs)), np.float64) for net in (actor, reference))
    found = head.choose(jax.random.key(0), actor, critics, obs, reference).penalty
    assert np.asarray(found) == pytest.approx((p * np.log(p / q)).sum(axis=1), rel=1e-4)
    own = head.choose(jax.random.key(0), actor, critics, obs, actor).penalty
    assert np.asarray(own) == pytest.approx(np.zeros(5), abs=1e-6)


def test_kl_and_a_reference_go_together(rng):
    for omega, with_reference in ((Entropy(), True), (parse_regulariser("kl"), False)):
        solver = SAC(SACConfig(hidden=(4,)), Spec(3, 1, discrete_actions=2), omega=omega)
        state = solver.init(jax.random.key(0))
        if with_reference:
            state = state._replace(reference=state.actor)
        rows = jnp.zeros((2, 3))
        batch = Batch(rows, jnp.zeros((2, 1)), jnp.zeros(2), rows, jnp.zeros(2))
        with pytest.raises(InputError, match="kl and a reference policy go together"):
            solver.update(state, batch, jax.random.key(1))


def test_critics_alone_leave_the_actor_and_the_temperature(rng):
    spec = Spec(3, 2, (-1.0,) * 2, (1.0,) * 2)
    solver = SAC(SACConfig(hidden=(8,)), spec)
    batches = batch_of(rng, 4, spec=spec)
    before = jax.tree.map(np.array, solver.init(jax.random.key(0)))
    state, _ = solver.updates(
        jax.random.key(1), solver.init(jax.random.key(0)), SACDraw([batches], critics_only=True)
    )
    for name in ("actor", "log_temperature", "actor_optimiser"):
        old, new = (jax.tree.leaves(getattr(x, name)) for x in (before, state))
        assert all(np.array_equal(a, np.asarray(b)) for a, b in zip(old, new, strict=True))
    assert not np.array_equal(before.critics.weights[0], np.asarray(state.critics.weights[0]))


OMEGAS = [Entropy(), Tsallis(), Tsallis(q=1.5), Unregularised()]


@pytest.mark.parametrize("omega", OMEGAS, ids=str)
def test_discrete_penalties_are_the_regularisers_of_the_tabular_code(omega, rng):
    head = make_head(Spec(3, 1, discrete_actions=4))
    actor = MLP.init(jax.random.key(0), (3, 16, 4), "tanh")
    critics = init_pair(jax.random.key(2), (3, 16, 4), "tanh")
    obs = jnp.asarray(rng.normal(size=(5, 3)), jnp.float32)
    probs = np.asarray(jax.nn.softmax(actor(obs)), np.float64)
    found = head.choose(jax.random.key(0), actor, critics, obs, None, omega).penalty
    assert -np.asarray(found) == pytest.approx(np.asarray(omega.value(probs)), abs=1e-5)
    other = MLP.init(jax.random.key(1), (3, 16, 4), "tanh")
    reference = np.asarray(jax.nn.softmax(other(obs)), np.float64)
    drawn = parse_regulariser("kl")
    found = head.choose(jax.random.key(0), actor, critics, obs, other, drawn).penalty
    kl = KullbackLeibler(1.0, reference / reference.sum(axis=1, keepdims=True))
    assert -np.asarray(found) == pytest.approx(kl.value(probs), abs=1e-5)


@pytest.mark.parametrize("omega", OMEGAS, ids=str)
def test_continuous_penalties_are_unbiased(omega):
    """Of a density on [-1, 1]: the mean of 200,000 draws against an integral, 4.5 errors."""
    head = make_head(Spec(1, 1, (-1.0,), (1.0,)))
    actor = MLP((jnp.zeros((1, 2)),), (jnp.array([0.3, 0.2]),), "tanh")
    critics = init_pair(jax.random.key(2), (2, 4, 1), "tanh")
    obs = jnp.zeros((200_000, 1))
    drawn = head.choose(jax.random.key(0), actor, critics, obs, None, omega).penalty
    drawn = np.asarray(drawn, np.float64)
    grid = np.linspace(-0.9985, 0.9985, 200_001)
    logs = head.log_prob(actor, jnp.zeros((len(grid), 1)), jnp.asarray(grid[:, None], jnp.float32))
    logs = np.asarray(logs, np.float64)
    mass = np.exp(logs)
    assert np.trapezoid(mass, grid) == pytest.approx(1.0, abs=0.01)
    expected = np.trapezoid(mass * np.asarray(omega.drawn(logs)), grid)
    # The tails beyond the grid hold up to 1 % of the mass.
    error = 4.5 * drawn.std() / np.sqrt(len(drawn)) + 0.03 * abs(expected)
    assert drawn.mean() == pytest.approx(expected, abs=error)


def test_log_probabilities_of_given_actions(rng):
    """Those of the drawn ones, by another way; at a bound they are finite."""
    head = GaussianHead(3, 2)
    actor = MLP.init(jax.random.key(0), (3, 16, 4), "relu")
    obs = jnp.asarray(rng.normal(size=(50, 3)), jnp.float32)
    act, expected = head.sample(jax.random.key(1), actor, obs)
    inside = (np.abs(np.asarray(act)) < 0.998).all(axis=1)
    found = np.asarray(head.log_prob(actor, obs, act))
    assert inside.sum() > 20
    assert found[inside] == pytest.approx(np.asarray(expected)[inside], abs=5e-3)
    assert np.isfinite(np.asarray(head.log_prob(actor, obs, jnp.ones((50, 2))))).all()
    solver = SAC(SACConfig(hidden=(16,), normalise="running"), SPEC)
    state = solver.init(jax.random.key(0))
    shaped = solver.log_prob(state, obs.reshape(5, 10, 3), act.reshape(5, 10, 2))
    assert shaped.shape == (5, 10)
    marked = SAC(SACConfig(hidden=(16,)), SPEC, absorbing=True)
    gone = obs.at[:, -1].set(1.0)
    assert not np.asarray(marked.log_prob(marked.init(jax.random.key(0)), gone, act)).any()


def test_without_a_regulariser_the_policy_becomes_greedy(rng):
    """A bandit of two actions with costs 0 and 1: entropy mixes them, none does not."""
    spec = Spec(1, 1, discrete_actions=2)
    act = rng.integers(2, size=(600, 64, 1)).astype(np.float32)
    zero = np.zeros((600, 64, 1), np.float32)
    ended = np.ones((600, 64), np.float32)
    batches = Batch(obs=zero, act=act, cost=act[..., 0], next_obs=zero, terminated=ended)
    chances = {}
    for omega in (Entropy(), Tsallis(), Unregularised()):
        config = SACConfig(hidden=(16,), temperature=1.0, actor_lr=1e-2, critic_lr=1e-2)
        solver = SAC(config, spec, False, omega)
        state, _ = solver.updates(
            jax.random.key(1), solver.init(jax.random.key(0)), SACDraw([batches])
        )
        logs = np.asarray(solver.head.log_prob(state.actor, jnp.zeros((1, 1)), jnp.zeros((1, 1))))
        chances[type(omega).__name__] = float(np.exp(logs[0]))
    q = np.array([0.0, 1.0])
    assert chances["Entropy"] == pytest.approx(Entropy(1.0).argmin(q)[0], abs=0.02)
    assert chances["Tsallis"] > 0.97  # exactly 1 in the limit: 1 - 1/2 (1 - 0)
    assert chances["Unregularised"] > 0.97
