"""One update, worked out by hand: which networks it asks, and what it leaves out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.networks import MLP, Normaliser, start_optimiser
from etairl.solvers.heads import CategoricalHead, GaussianHead
from etairl.solvers.policy import HeadPolicy
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.solvers.solver import Batch, ExpertPairs
from etairl.types import Spec

SPEC = Spec(3, 2, (-1.0, -2.0), (1.0, 4.0))
update = jax.jit(SAC.update)  # compiled: one operation after another takes ten times as long


def batch_of(rng, n=8):
    return Batch(
        obs=jnp.asarray(rng.normal(size=(n, 3)), jnp.float32),
        act=jnp.asarray(rng.uniform(-1, 1, (n, 2)), jnp.float32),
        cost=jnp.asarray(rng.normal(size=n), jnp.float32),
        next_obs=jnp.asarray(rng.normal(size=(n, 3)), jnp.float32),
        terminated=jnp.zeros(n),
    )


def constant(values) -> MLP:
    """Two networks that say the same whatever they see: `values` [2, outputs]."""
    values = jnp.asarray(values, jnp.float32)
    return MLP((jnp.zeros((2, 5, values.shape[1])),), (values,), "relu")


def test_the_target_asks_the_smaller_target_critic(rng):
    """Critics say 1 and 2, targets 30 and 20, no entropy: y = -c + 0.9 * 20."""
    solver = SAC(SACConfig(hidden=(4,), gamma_rl=0.9, temperature=1e-12), SPEC)
    state = solver.init(jax.random.key(0))
    critics, targets = constant([[1.0], [2.0]]), constant([[30.0], [20.0]])
    state = state._replace(
        critics=critics,
        targets=targets,
        critic_optimiser=start_optimiser(solver.optimiser(1.0), critics),
    )
    batch = batch_of(rng)
    _, info = update(solver, state, batch, jax.random.key(1))
    y = -np.asarray(batch.cost, np.float64) + 0.9 * 20.0
    expected = 0.5 * ((1.0 - y) ** 2).mean() + 0.5 * ((2.0 - y) ** 2).mean()
    assert float(info.critic_loss) == pytest.approx(expected, rel=1e-5)
    # The actor asks the critics, as they are after this update: still close to 1 and 2.
    assert float(info.actor_loss) == pytest.approx(-1.0, abs=1e-2)


@pytest.mark.parametrize("mark", [0.0, 1.0])
def test_no_entropy_is_counted_in_the_absorbing_state(rng, mark):
    """A large temperature: what counts of the entropy cannot be overlooked."""
    solver = SAC(SACConfig(hidden=(4,), gamma_rl=0.9, temperature=100.0), SPEC, absorbing=True)
    state = solver.init(jax.random.key(0))
    critics = constant([[1.0], [2.0]])
    state = state._replace(
        critics=critics,
        targets=critics,
        critic_optimiser=start_optimiser(solver.optimiser(1.0), critics),
    )
    batch = batch_of(rng)
    batch = batch._replace(next_obs=batch.next_obs.at[:, -1].set(mark))
    key = jax.random.key(1)
    _, info = update(solver, state, batch, key)
    key_target, _ = jax.random.split(key)
    log_prob = solver.head.choose(key_target, state.actor, critics, batch.next_obs, None).penalty
    entropy = 0.0 if mark else 100.0 * np.asarray(log_prob, np.float64)
    y = -np.asarray(batch.cost, np.float64) + 0.9 * (1.0 - entropy)
    expected = 0.5 * ((1.0 - y) ** 2).mean() + 0.5 * ((2.0 - y) ** 2).mean()
    assert float(info.critic_loss) == pytest.approx(expected, rel=1e-4)


def test_an_update_sees_normalised_observations(rng):
    """The same as an update without normalisation, on rows that were standardised before."""
    batch = batch_of(rng)
    normaliser = Normaliser.identity(3).seen(
        rng.normal([5.0, -2.0, 0.0], [3.0, 0.5, 1.0], (100, 3)).astype(np.float32)
    )
    inside, outside = (
        SAC(SACConfig(hidden=(8,), normalise=on), SPEC) for on in ("running", "none")
    )
    key = jax.random.key(1)
    state = inside.init(jax.random.key(0))
    found, _ = update(inside, state._replace(normaliser=normaliser), batch, key)
    ready = batch._replace(obs=normaliser(batch.obs), next_obs=normaliser(batch.next_obs))
    expected, _ = update(outside, state, ready, key)
    plain, _ = update(outside, state, batch, key)
    for name in ("critics", "actor"):
        a, b, c = (getattr(x, name).weights[0] for x in (found, expected, plain))
        assert np.array_equal(a, b)
        assert not np.array_equal(a, c)


def test_a_discrete_policy_is_judged_by_the_smaller_critic_of_each_action():
    head = CategoricalHead(5, 2)
    actor = MLP((jnp.zeros((5, 2)),), (jnp.log(jnp.array([0.25, 0.75])),), "relu")
    choice = head.choose(jax.random.key(0), actor, constant([[1, 2], [3, 0]]), jnp.zeros((1, 5)))
    assert float(choice.q[0]) == pytest.approx(0.25 * 1 + 0.75 * 0)


@pytest.mark.parametrize("normalise", ["none", "running"])
def test_actions_drawn_on_the_host_are_those_of_the_device(rng, normalise):
    """Mean and spread before squashing, over 20,000 draws in one state."""
    head, many = GaussianHead(3, 2), 20_000
    actor = MLP.init(jax.random.key(0), (3, 16, 4), "tanh")
    obs = np.repeat(rng.normal(2.0, 1.0, (1, 3)).astype(np.float32), many, axis=0)
    normaliser = Normaliser(jnp.float32(9), jnp.full(3, 1.5), jnp.full(3, 0.25))
    policy = HeadPolicy(actor, head, Spec(3, 2), normaliser if normalise != "none" else None)
    seen = normaliser(jnp.asarray(obs)) if normalise != "none" else jnp.asarray(obs)
    device = np.arctanh(np.asarray(head.sample(jax.random.key(1), actor, seen)[0], np.float64))
    host = np.arctanh(policy(rng, obs).astype(np.float64))
    # 5 standard errors of a mean, and of a spread, over so many draws.
    spread = device.std(axis=0)
    assert (np.abs(host.mean(axis=0) - device.mean(axis=0)) < 5 * spread * (2 / many) ** 0.5).all()
    assert (np.abs(host.std(axis=0) / spread - 1.0) < 5 / many**0.5).all()
    likely = np.tanh(np.asarray(head.gaussian(actor, seen[:1])[0]))
    assert policy(None, obs[:1]) == pytest.approx(likely, abs=1e-5)


@pytest.mark.parametrize("normalise", ["none", "running"])
def test_cloning_adds_its_gradient_to_that_of_the_actor(rng, normalise):
    r"""$\nabla(L + \lambda\ell) = \nabla L + \lambda\nabla\ell$, read off Adam's first moment.

    Single precision: errors of 1e-6 of the largest entry; 1e-4 is allowed.
    """
    config = SACConfig(hidden=(8,), normalise=normalise)
    plain, cloning = SAC(config, SPEC), SAC(config, SPEC, play=OffPolicy(cloning=3.0))
    batch = batch_of(rng)
    pairs = ExpertPairs(*batch_of(rng, n=7)[:2])
    state = plain.init(jax.random.key(0))
    state = plain.observe(state, rng.normal(2.0, 3.0, (50, SPEC.obs_dim)))
    seen = state.normaliser(pairs.obs) if normalise != "none" else pairs.obs
    wanted = jax.grad(plain.head.cloning_loss)(state.actor, seen, pairs.act)

    def moment(solver, batch):
        new, _ = update(solver, state, batch, jax.random.key(1))
        return new.actor_optimiser[0].mu

    without = moment(plain, batch)
    with_it = moment(cloning, batch._replace(expert=pairs))
    share = 1.0 - 0.9  # of the gradient in Adam's first moment after one step
    for a, b, c in zip(*map(jax.tree.leaves, (with_it, without, wanted)), strict=True):
        np.testing.assert_allclose((a - b) / share, 3.0 * c, atol=1e-4 * np.abs(c).max() + 1e-6)


def test_layer_norm_standardises_the_rows_of_hidden_layers(rng):
    """By hand in double precision; scaling the input's weights then changes nothing."""
    network = MLP.init(jax.random.key(0), (3, 8, 8, 1), "relu", layer_norm=True)
    x = rng.normal(size=(5, 3)).astype(np.float32)
    y = x.astype(np.float64)
    for weight, bias in zip(network.weights[:-1], network.biases[:-1], strict=True):
        y = y @ np.asarray(weight, np.float64) + np.asarray(bias, np.float64)
        y = (y - y.mean(axis=1, keepdims=True)) / np.sqrt(y.var(axis=1, keepdims=True) + 1e-5)
        y = np.maximum(y, 0.0)
    y = y @ np.asarray(network.weights[-1], np.float64) + np.asarray(network.biases[-1])
    assert np.asarray(network(jnp.asarray(x))) == pytest.approx(y, rel=1e-4, abs=1e-5)


def test_the_critics_have_layer_norm_and_the_actor_has_not():
    state = SAC(SACConfig(hidden=(8,), layer_norm=True), SPEC).init(jax.random.key(0))
    assert state.critics.layer_norm
    assert state.targets.layer_norm
    assert not state.actor.layer_norm


def test_an_averaged_actor_follows_and_is_the_one_that_is_kept(rng):
    solver = SAC(SACConfig(hidden=(8,), actor_average=0.25), SPEC)
    state = solver.init(jax.random.key(0))
    start = jax.tree.map(np.array, jax.tree.leaves(state.actor))
    new, _ = update(solver, state, batch_of(rng), jax.random.key(1))
    assert new.average is not None
    for old, actor, average in zip(
        start, jax.tree.leaves(new.actor), jax.tree.leaves(new.average), strict=True
    ):
        assert np.asarray(average) == pytest.approx(
            old + 0.25 * (np.asarray(actor) - old), abs=1e-7
        )
    assert solver.settled(new).actor is new.average
    plain = SAC(SACConfig(hidden=(8,)), SPEC)
    state = plain.init(jax.random.key(0))
    assert state.average is None
    assert plain.settled(state) is state


def test_rates_fall_with_the_run():
    solver = SAC(SACConfig(hidden=(8,), last_learning_rate=0.5, critic_lr=1e-3), SPEC)
    assert solver.paced(0.0) is solver
    halfway = solver.paced(0.5).config
    assert (halfway.critic_lr, halfway.actor_lr) == pytest.approx((0.75e-3, 0.75 * 3e-4))
    assert solver.paced(1.0).config.temperature_lr == pytest.approx(1.5e-4)
