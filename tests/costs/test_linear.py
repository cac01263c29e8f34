"""EMMA's and WIEM's cost player: the closed forms, the slow ways there, and the sets."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.costs.family import Points, View
from etairl.costs.linear import LinearConfig, LinearCost
from etairl.decoding import decode, encode
from etairl.penalties import Ball, Simplex
from etairl.types import InputError, Spec

SPEC = Spec(2, 1, (-1.0,), (1.0,))


def fresh_key() -> jax.Array:
    """Not while the tests are collected: that would start JAX."""
    return jax.random.key(0)


def side(rng, shift, updates=4, n=256) -> Points:
    obs = rng.normal(size=(updates, n, 2)) + np.asarray(shift)
    act = rng.uniform(-1, 1, size=(updates, n, 1))
    return Points(*(jnp.asarray(x, jnp.float32) for x in (obs, act, obs)))


def flat(points: Points) -> Points:
    return Points(*(x.reshape(-1, x.shape[-1]) for x in points))


def make(allowed, **change) -> LinearCost:
    weights = "ball" if isinstance(allowed, Ball) else "simplex"
    config = LinearConfig(weights, features="identity", **change)
    return LinearCost(config, View(SPEC), allowed)


def difference(cost, state, own, expert) -> np.ndarray:
    means = [
        np.asarray(cost.features(state, *flat(s)), np.float64).mean(axis=0) for s in (own, expert)
    ]
    return means[0] - means[1]


@pytest.mark.parametrize("allowed", [Ball(), Simplex()], ids=["emma", "wiem"])
def test_the_closed_step_goes_a_share_of_the_way_to_the_best_weights(allowed, rng):
    cost = make(allowed, cost_rate=0.25)
    own, expert = side(rng, (0.6, -0.8)), side(rng, (0.0, 0.0))
    start = cost.init(fresh_key(), flat(expert))
    delta = difference(cost, start, own, expert)
    state, info = cost.updates(fresh_key(), start, own, expert)
    if isinstance(allowed, Ball):
        best, gap = delta / np.linalg.norm(delta), np.linalg.norm(delta)
    else:
        best, gap = np.eye(6)[np.argmax(delta)], delta.max()
        assert np.argmax(delta) == 4  # minus s1: the learner has less of it
    old = np.asarray(start.weights)
    assert np.asarray(state.weights) == pytest.approx(old + 0.25 * (best - old), abs=1e-5)
    assert float(info.gap) == pytest.approx(gap, abs=1e-5)
    assert float(info.paid) == pytest.approx(float(np.asarray(state.weights) @ delta), abs=1e-5)
    assert cost.names(state) == (
        ("s0", "s1", "a0", "-s0", "-s1", "-a0") if cost.signed else ("s0", "s1", "a0")
    )


@pytest.mark.parametrize("mean", [0.0, 2.0])
@pytest.mark.parametrize("allowed", [Ball(), Simplex()], ids=["emma", "wiem"])
def test_standardised_costs_move_neither_with_the_weights_nor_with_the_learner(allowed, mean, rng):
    """Mean and spread of what the newest pairs cost, whatever the weights; the order is theirs."""
    cost, plain = make(allowed, mean_cost=mean), make(allowed)
    expert = side(rng, (0.0, 0.0))
    state, other = cost.init(fresh_key(), flat(expert)), plain.init(fresh_key(), flat(expert))
    assert other.paid is None
    for shift in ((0.6, -0.8), (3.0, 5.0)):
        own = side(rng, shift)
        state, _ = cost.updates(fresh_key(), state, own, expert)
        other, _ = plain.updates(fresh_key(), other, own, expert)
        assert np.array_equal(state.weights, other.weights)
        paid = np.asarray(cost(state, *flat(own)), np.float64)
        assert (paid.mean(), paid.std()) == pytest.approx((mean, 1.0), abs=1e-3)
        as_is = np.asarray(plain(other, *flat(own)), np.float64)
        assert abs(as_is.mean()) + abs(as_is.std() - 1.0) > 0.05
        assert np.corrcoef(paid, as_is)[0, 1] == pytest.approx(1.0)
    cost.check(state)
    with pytest.raises(InputError, match="units of the features are not all above 0"):
        cost.check(state._replace(paid=state.paid._replace(spread=jnp.zeros(()))))


def test_settings_of_older_files_do_not_standardise():
    written = encode(LinearConfig())
    assert written.pop("mean_cost") is None
    assert decode(LinearConfig, written, "an old file") == LinearConfig()


@pytest.mark.parametrize("step", ["closed", "ascent", "surrogate"])
@pytest.mark.parametrize("allowed", [Ball(), Simplex()], ids=["emma", "wiem"])
def test_every_step_finds_the_best_weights_and_stays_in_the_set(allowed, step, rng):
    """One fixed difference; the surrogate on the ball closes the angle like 1/sqrt(n) only."""
    cost = make(allowed, cost_step=step, cost_rate=0.3)
    own, expert = side(rng, (0.6, -0.8), updates=100), side(rng, (0.0, 0.0), updates=100)
    own, expert = (Points(*(jnp.broadcast_to(x[:1], x.shape) for x in s)) for s in (own, expert))
    state = cost.init(fresh_key(), flat(expert))
    for _ in range(30):
        state, info = cost.updates(fresh_key(), state, own, expert)
        cost.check(state)
    # 3,000 steps of rate 0.3 and |delta| = 1: an angle of 1/sqrt(2 * 0.3 * 3000) = 0.024.
    assert float(info.paid) == pytest.approx(float(info.gap), rel=1e-3)


def test_noise_is_the_gap_of_two_equal_sides(rng):
    """Of 200 pairs of equal sides the mean squared gap is the squared noise, within 5 errors."""
    cost = make(Ball())
    state = cost.init(fresh_key(), flat(side(rng, (0, 0))))
    found = [
        cost.updates(fresh_key(), state, side(rng, (0, 0)), side(rng, (0, 0)))[1]
        for _ in range(200)
    ]
    ratio = np.mean([float(i.gap) ** 2 for i in found]) / np.mean(
        [float(i.noise) ** 2 for i in found]
    )
    # A squared gap of 3 features is chi-squared with 3 degrees: relative spread sqrt(2/3).
    assert ratio == pytest.approx(1.0, abs=5 * np.sqrt(2 / 3 / 200))


def test_noise_on_a_simplex_is_that_of_the_worst_of_all_features(rng):
    """The largest of 2·3 gaps by chance is 1.3 errors on average; sqrt(2 log 6) = 1.9 bounds it."""
    cost = make(Simplex())
    state = cost.init(fresh_key(), flat(side(rng, (0, 0))))
    found = [
        cost.updates(fresh_key(), state, side(rng, (0, 0)), side(rng, (0, 0)))[1] for _ in range(60)
    ]
    ratio = np.mean([float(i.gap / i.noise) for i in found])
    assert 0.5 < ratio < 0.9
    assert float(found[0].noise) == pytest.approx(
        np.sqrt(2 * np.log(6)) * np.sqrt(2 / 1024), rel=0.2
    )


def test_equal_sides_keep_the_weights(rng):
    for allowed in (Ball(), Simplex()):
        cost = make(allowed, cost_rate=1.0)
        own = side(rng, (1.0, 0.0))
        state = cost.init(fresh_key(), flat(own))
        state, _ = cost.updates(fresh_key(), state, side(rng, (2.0, 1.0)), own)
        again, info = cost.updates(fresh_key(), state, own, own)
        assert np.asarray(again.weights) == pytest.approx(np.asarray(state.weights), abs=1e-6)
        assert float(info.gap) == 0.0


def test_the_cost_is_the_weighted_sum(rng):
    cost = make(Simplex(), both_signs=False)
    seen = flat(side(rng, (0, 0)))
    state = cost.init(fresh_key(), seen)
    assert np.asarray(state.weights) == pytest.approx(np.full(3, 1 / 3))
    state = state._replace(weights=jnp.asarray([0.2, 0.3, 0.5]))
    expected = np.asarray(cost.features(state, *seen)) @ [0.2, 0.3, 0.5]
    assert np.asarray(cost(state, *seen)) == pytest.approx(expected, abs=1e-5)


def test_weights_of_another_set_are_refused(rng):
    cost = make(Simplex())
    state = cost.init(fresh_key(), flat(side(rng, (0, 0))))
    with pytest.raises(InputError, match="must lie on the simplex"):
        cost.check(state._replace(weights=jnp.full(6, 0.5)))
    with pytest.raises(InputError, match="not all finite"):
        cost.check(state._replace(weights=jnp.full(6, jnp.nan)))
    flat_units = state.features._replace(scale=jnp.zeros(3))
    with pytest.raises(InputError, match="units of the features are not all above 0"):
        cost.check(state._replace(features=flat_units))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost_step": "leap"}, "cost_step must be one of closed, ascent, surrogate"),
        ({"cost_rate": 0.0}, "cost_rate must be > 0"),
        ({"cost_rate": 1.5}, "share of the way"),
        ({"features": "fourier:0"}, "empty basis"),
        ({"radius": 0.0}, "a ball of costs needs a positive radius, got 0"),
    ],
)
def test_bad_settings(change, message, unchecked):
    with pytest.raises(InputError, match=message):
        LinearConfig(**change)
