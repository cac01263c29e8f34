"""Regularisers and penalties: closed forms against brute force, NumPy and JAX alike."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from etairl.penalties import GAN, Ball, Simplex
from etairl.regularisers import Entropy, KullbackLeibler, Tsallis, Unregularised
from etairl.simplex import project_simplex
from etairl.types import InputError

REFERENCE = np.array([0.2, 0.3, 0.5])
ALL = {
    "none": Unregularised(),
    "entropy": Entropy(0.7),
    "tsallis": Tsallis(0.7),
    "kl": KullbackLeibler(0.7, REFERENCE),
}


@pytest.mark.parametrize("regulariser", ALL.values(), ids=ALL)
def test_softmin_is_the_minimum_over_the_simplex(regulariser):
    rng = np.random.default_rng(0)
    for q in rng.standard_normal((10, 3)):
        policy = regulariser.argmin(q)
        assert policy.sum() == pytest.approx(1.0)
        assert (policy >= 0).all()
        attained = policy @ q - regulariser.value(policy)
        assert attained == pytest.approx(float(regulariser.softmin(q)), abs=1e-12)
        for other in rng.dirichlet(np.ones(3), size=50):
            assert other @ q - regulariser.value(other) >= attained - 1e-12


@pytest.mark.parametrize("regulariser", ALL.values(), ids=ALL)
def test_gradients_match_finite_differences(regulariser):
    policy, step = np.array([0.2, 0.3, 0.5]), 1e-6
    for a, unit in enumerate(np.eye(3)):
        ahead, behind = (float(regulariser.value(policy + s * unit)) for s in (step, -step))
        slope = (ahead - behind) / (2 * step)
        assert regulariser.gradient(policy)[a] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("regulariser", ALL.values(), ids=ALL)
def test_jax_computes_the_same(regulariser):
    q = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
    if isinstance(regulariser, KullbackLeibler):
        regulariser = KullbackLeibler(0.7, jnp.asarray(REFERENCE))
        other = KullbackLeibler(0.7, REFERENCE.astype(np.float32))
    else:
        other = regulariser
    assert jax.jit(regulariser.softmin)(jnp.asarray(q)) == pytest.approx(
        np.asarray(other.softmin(q)), abs=1e-6
    )
    policy = np.asarray(other.argmin(q))
    assert np.asarray(jax.jit(regulariser.argmin)(jnp.asarray(q))) == pytest.approx(
        policy, abs=1e-6
    )
    assert jax.jit(regulariser.value)(jnp.asarray(policy)) == pytest.approx(
        np.asarray(other.value(policy)), abs=1e-6
    )
    gradients = jax.jit(regulariser.gradient)(jnp.asarray(policy))
    assert bool(jnp.isfinite(gradients).all())


def test_bad_actions_get_nothing_from_tsallis_and_something_from_entropy():
    q = np.array([0.0, 0.1, 5.0])
    assert Tsallis(1.0).argmin(q)[2] == 0.0
    assert Entropy(1.0).argmin(q)[2] > 0.0
    assert Unregularised().argmin(np.array([1.0, 1.0])).tolist() == [1.0, 0.0]


def test_small_weights_do_not_overflow():
    q = np.array([0.0, 1.0, -1.0])
    assert Entropy(1e-4).softmin(q) == pytest.approx(-1.0)
    assert Entropy(1e-4).argmin(q) == pytest.approx([0.0, 0.0, 1.0])


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_weights_are_positive(weight):
    for kind in (Entropy, Tsallis, lambda w: KullbackLeibler(w, REFERENCE)):
        with pytest.raises(InputError, match=r"needs a positive weight.*use Unregularised\(\)"):
            kind(weight)


def test_a_reference_is_a_positive_policy():
    with pytest.raises(InputError, match="must be positive everywhere"):
        KullbackLeibler(1.0, np.array([0.0, 1.0]))
    with pytest.raises(InputError, match="must sum to 1"):
        KullbackLeibler(1.0, np.array([0.5, 0.6]))
    with pytest.raises(InputError, match="positive radius, got 0"):
        Ball(0.0)


def test_projection_on_the_simplex_is_the_nearest_point():
    rng = np.random.default_rng(2)
    for x in 2 * rng.standard_normal((10, 4)):
        found = minimize(
            lambda w, x=x: ((w - x) ** 2).sum(),
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14},
        ).x
        assert project_simplex(x) == pytest.approx(found, abs=1e-6)
        assert project_simplex(project_simplex(x)) == pytest.approx(project_simplex(x), abs=1e-15)
    assert project_simplex(np.array([[9.0, 0.0], [0.5, 0.5]])).tolist() == [[1.0, 0.0], [0.5, 0.5]]


def test_projection_on_the_ball():
    assert Ball(2.0).project(np.array([3.0, 4.0])) == pytest.approx([1.2, 1.6])
    inside = np.array([0.3, -0.4])
    assert Ball().project(inside).tolist() == inside.tolist()
    assert Ball().project(np.zeros(2)).tolist() == [0.0, 0.0]


def test_penalties_in_jax():
    delta = np.array([0.3, -0.1, 0.2], dtype=np.float32)
    for allowed in (Ball(), Simplex()):
        value, weights = jax.jit(allowed.maximum)(jnp.asarray(delta))
        expected = allowed.maximum(delta)
        assert float(value) == pytest.approx(float(expected[0]))
        assert np.asarray(weights) == pytest.approx(np.asarray(expected[1]), abs=1e-6)
        projected = jax.jit(allowed.project)(jnp.asarray(5 * delta))
        assert np.asarray(projected) == pytest.approx(allowed.project(5 * delta), abs=1e-6)
    own, expert = np.float32([0.5, 0.5, 0.0]), np.float32([0.2, 0.0, 0.8])
    value, cost = jax.jit(GAN().maximum)(jnp.asarray(own), jnp.asarray(expert))
    assert float(value) == pytest.approx(float(GAN().maximum(own, expert)[0]), abs=1e-6)
    assert np.asarray(cost) == pytest.approx(GAN().maximum(own, expert)[1], abs=1e-5)


def test_where_nobody_goes_d_is_one_half():
    d = GAN().discriminator(np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    assert d.tolist() == [0.5, 1.0]


def test_projection_of_large_entries():
    """Beside 1e16 a 1 is lost in double precision, beside 2e7 in single."""
    large = np.array([1e16, 1e16, -3.0])
    assert project_simplex(large) == pytest.approx([0.5, 0.5, 0.0])
    single = project_simplex(np.array([2e7, 0.0, 2e7], np.float32))
    assert single == pytest.approx([0.5, 0.0, 0.5])
