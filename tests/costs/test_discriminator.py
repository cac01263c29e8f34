from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.discriminator import Discriminator, GanConfig, cost_of_logits
from etairl.costs.family import Points, View
from etairl.types import InputError, Spec

SPEC = Spec(3, 2, (-1.0, -1.0), (1.0, 1.0))


def make(spec=SPEC, absorbing=False, inputs="state_action", **network) -> Discriminator:
    config = GanConfig(inputs, network=DiscriminatorConfig(**network))
    return Discriminator(config, View(spec, inputs, absorbing))


def points(rng, n=64, shift=0.0, obs_dim=3, act_dim=2) -> Points:
    obs, following = rng.normal(size=(2, n, obs_dim)) + shift
    act = rng.uniform(-1, 1, size=(n, act_dim))
    return Points(*(jnp.asarray(x, jnp.float32) for x in (obs, act, following)))


def test_forms_of_the_cost():
    """D = sigma(h): log D, log D - log(1 - D), -log(1 - D)."""
    h = jnp.asarray([-3.0, -0.5, 0.0, 2.0])
    d = 1.0 / (1.0 + np.exp(-np.asarray(h, np.float64)))
    assert np.asarray(cost_of_logits("log_d", h)) == pytest.approx(np.log(d), rel=1e-5)
    assert np.asarray(cost_of_logits("logit", h)) == pytest.approx(
        np.log(d) - np.log(1 - d), abs=1e-5
    )
    assert np.asarray(cost_of_logits("log_not_d", h)) == pytest.approx(-np.log(1 - d), rel=1e-5)


def test_costs_stay_finite_where_d_is_certain():
    h = jnp.asarray([-1e4, 1e4])
    assert np.asarray(cost_of_logits("log_d", h)) == pytest.approx([-1e4, 0.0])
    assert np.asarray(cost_of_logits("log_not_d", h)) == pytest.approx([0.0, 1e4])


def test_logits_are_standardised_over_the_pairs_of_the_learner(rng):
    """A first round takes its own mean and spread; each later one a tenth of the way."""
    cost = replace(make(hidden_d=(8,), lr_d=1e-2), config=GanConfig(mean_logit=2.0))
    plain = replace(cost, config=GanConfig())
    expert, own = points(rng, 320), points(rng, 320, shift=1.0)
    split = jax.tree.map(lambda x: x.reshape(5, 64, -1), (own, expert))
    state = cost.init(jax.random.key(0), expert)
    expected = None
    for k in range(3):
        state, info = cost.updates(jax.random.key(k), state, *split)
        assert (info.logit_mean, info.logit_spread) == (state.logits.mean, state.logits.spread)
        raw = replace(plain, config=GanConfig(form="logit"))
        h = np.asarray(raw(state._replace(logits=None), *own), np.float64)
        now = np.array([h.mean(), h.std()])
        rate = 0.1 / (1 - 0.9 ** (k + 1))
        expected = now if expected is None else expected + rate * (now - expected)
        assert [state.logits.mean, state.logits.spread] == pytest.approx(expected, rel=1e-4)
        z = 2.0 + (h - expected[0]) / expected[1]
        assert np.asarray(cost(state, *own)) == pytest.approx(-np.logaddexp(0, -z), rel=1e-3)
    assert cost.stored(state).logits is not None


@pytest.mark.parametrize(
    ("inputs", "columns"), [("state_action", 5), ("state", 3), ("state_next_state", 6)]
)
def test_inputs(inputs, columns, rng):
    cost = make(inputs=inputs)
    seen = points(rng)
    state = cost.init(jax.random.key(0), seen)
    assert state.network.weights[0].shape[0] == columns
    one = np.asarray(cost(state, *seen))
    assert one.shape == (64,)
    changed = seen._replace(act=-seen.act)
    assert np.array_equal(one, np.asarray(cost(state, *changed))) == (inputs != "state_action")
    changed = seen._replace(next_obs=-seen.next_obs)
    assert np.array_equal(one, np.asarray(cost(state, *changed))) == (inputs != "state_next_state")


def test_inputs_are_standardised_with_the_demonstrations(rng):
    seen = points(rng)
    shifted = Points(seen.obs * 100.0 + 7.0, seen.act, seen.next_obs * 100.0 + 7.0)
    cost = make()
    one, two = (cost(cost.init(jax.random.key(0), p), *p) for p in (seen, shifted))
    assert np.asarray(one) == pytest.approx(np.asarray(two), abs=1e-4)


def test_a_constant_column_keeps_its_unit(rng):
    seen = points(rng)
    flat = seen._replace(obs=seen.obs.at[:, 1].set(4.0))
    state = make().init(jax.random.key(0), flat)
    assert float(state.scale[1]) == 1.0
    assert float(state.mean[1]) == pytest.approx(4.0)


def test_discrete_actions_are_one_column_each(rng):
    spec = Spec(3, 1, discrete_actions=4)
    cost = make(spec)
    seen = points(rng, act_dim=1)._replace(
        act=jnp.asarray(rng.integers(4, size=(64, 1)), jnp.float32)
    )
    assert cost.init(jax.random.key(0), seen).network.weights[0].shape[0] == 3 + 4


def test_actions_mean_nothing_in_the_absorbing_state(rng):
    cost = make(absorbing=True)
    seen = points(rng)
    absorbed = seen._replace(obs=seen.obs.at[:, -1].set(1.0))
    state = cost.init(jax.random.key(0), absorbed)
    other = cost(state, absorbed.obs, -absorbed.act, absorbed.next_obs)
    assert np.array_equal(np.asarray(cost(state, *absorbed)), np.asarray(other))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"gradient_penalty": 0.0},
        {"spectral_norm": True, "gradient_penalty": 0.0},
        {"entropy_bonus": 0.01, "label_smoothing": 0.1, "weight_decay": 1e-3, "input_noise": 0.1},
    ],
)
def test_it_learns_to_tell_two_sides_apart(change, rng):
    """Two unit Gaussians 2 apart in three directions: the best possible accuracy is 0.958."""
    cost = make(lr_d=3e-3, **change)
    own, expert = points(rng, 256 * 200, 1.0), points(rng, 256 * 200, -1.0)
    state = cost.init(jax.random.key(0), expert)
    many = [jax.tree.map(lambda x: x.reshape(200, 256, -1), side) for side in (own, expert)]
    state, _ = cost.updates(jax.random.key(1), state, *many)
    fresh_own, fresh_expert = points(rng, 2000, 1.0), points(rng, 2000, -1.0)
    higher = (
        np.asarray(cost(state, *fresh_own)).mean() - np.asarray(cost(state, *fresh_expert)).mean()
    )
    assert higher > 0
    _, info = cost.updates(
        jax.random.key(2),
        state,
        *[jax.tree.map(lambda x: x[None], side) for side in (fresh_own, fresh_expert)],
    )
    # 4,000 fresh points: a standard error of 0.004 around at most 0.958.
    assert 0.92 < (float(info.accuracy_learner) + float(info.accuracy_expert)) / 2 < 0.975


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gradient_penalty": -1.0}, "gradient_penalty must be >= 0"),
        ({"label_smoothing": 0.5}, "label_smoothing must lie in"),
        ({"lr_d": 0.0}, "lr_d must be > 0"),
        ({"lr_d": float("inf")}, "lr_d must be > 0 and finite"),
        ({"gradient_target": float("nan")}, "gradient_target must be >= 0 and finite"),
        ({"activation_d": "sine"}, "activation must be one of relu, tanh, elu, got 'sine'"),
        ({"hidden_d": (0,)}, "hidden_d needs layers of width >= 1"),
    ],
)
def test_bad_settings(change, message, unchecked):
    with pytest.raises(InputError, match=message):
        DiscriminatorConfig(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"form": "sum"}, "form must be one of log_d, logit, log_not_d"),
        ({"inputs": "pixels"}, "inputs must be one of"),
    ],
)
def test_bad_choices(change, message, unchecked):
    with pytest.raises(InputError, match=message):
        GanConfig(**change)


NUMBERS = {
    "lr_d": 1e-2,
    "gradient_penalty": 7.0,
    "gradient_target": 0.3,
    "entropy_bonus": 0.5,
    "label_smoothing": 0.2,
    "weight_decay": 0.3,
    "input_noise": 0.9,
}


def test_one_compilation_for_all_numbers(rng):
    """Whether a term of the loss is there is compiled, how much it weighs is not; each counts."""
    own, expert = (
        jax.tree.map(lambda x: x.reshape(2, 32, -1), points(rng, shift=s)) for s in (0.5, -0.5)
    )
    start = {name: 0.1 for name in NUMBERS}
    before, ends = Discriminator._scan._cache_size(), []
    for change in ({}, *({name: value} for name, value in NUMBERS.items())):
        cost = make(hidden_d=(8,), **start | change)
        state = cost.init(jax.random.key(0), points(np.random.default_rng(5)))
        state, _ = cost.updates(jax.random.key(1), state, own, expert)
        ends.append(b"".join(np.asarray(x).tobytes() for x in jax.tree.leaves(state)))
    assert Discriminator._scan._cache_size() == before + 1
    assert len(set(ends)) == len(ends)
    cost = make(hidden_d=(8,), **start | {"entropy_bonus": 0.0})
    cost.updates(jax.random.key(1), cost.init(jax.random.key(0), points(rng)), own, expert)
    assert Discriminator._scan._cache_size() == before + 2


def test_a_network_with_nan_is_refused(rng):
    cost = make(hidden_d=(4,))
    state = cost.init(jax.random.key(0), points(rng))
    cost.check(state, state)
    with pytest.raises(InputError, match="not all finite"):
        cost.check(state._replace(mean=state.mean * jnp.nan), state)
