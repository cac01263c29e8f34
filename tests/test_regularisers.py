"""Regularisers and penalties: closed forms against brute force, NumPy and JAX alike."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from etairl.penalties import GAN, Ball, Simplex
from etairl.regularisers import (
    Entropy,
    KullbackLeibler,
    Tsallis,
    Unregularised,
    parse_regulariser,
)
from etairl.simplex import project_simplex
from etairl.types import InputError

REFERENCE = np.array([0.2, 0.3, 0.5])
ALL = {
    "none": Unregularised(),
    "entropy": Entropy(0.7),
    "tsallis": Tsallis(0.7),
    "tsallis 1.5": Tsallis(0.7, 1.5),
    "tsallis 3": Tsallis(0.7, 3.0),
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
    policy = np.asarray(other.argmin(q))
    softmin, argmin = jax.jit(lambda q: (regulariser.softmin(q), regulariser.argmin(q)))(q)
    assert np.asarray(softmin) == pytest.approx(np.asarray(other.softmin(q)), abs=1e-6)
    assert np.asarray(argmin) == pytest.approx(policy, abs=1e-6)
    value, gradients = jax.jit(lambda p: (regulariser.value(p), regulariser.gradient(p)))(policy)
    assert np.asarray(value) == pytest.approx(np.asarray(other.value(policy)), abs=1e-6)
    assert bool(jnp.isfinite(gradients).all())


@pytest.mark.parametrize("regulariser", ALL.values(), ids=ALL)
def test_the_mean_of_the_drawn_form_is_the_regulariser(regulariser):
    """What a solver adds up over its actions is minus Omega of the tabular code."""
    policy = np.array([0.2, 0.3, 0.5])
    logs = np.log(policy) - (np.log(REFERENCE) if regulariser is ALL["kl"] else 0.0)
    mean = (policy * regulariser.drawn(logs)).sum()
    assert -mean == pytest.approx(float(regulariser.value(policy)), abs=1e-15)


def test_tsallis_near_1_is_the_entropy():
    q, policy = np.array([0.3, -0.2, 1.0]), np.array([0.2, 0.3, 0.5])
    near = Tsallis(0.7, 1.0001)
    assert float(near.value(policy)) == pytest.approx(float(Entropy(0.7).value(policy)), abs=2e-4)
    assert near.argmin(q) == pytest.approx(Entropy(0.7).argmin(q), abs=1e-3)


def test_tsallis_of_a_density_stays_finite():
    assert np.isfinite(Tsallis(1.0, 3.0).drawn(np.array([-1e4, 1e4]))).all()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("entropy", Entropy()),
        ("none", Unregularised()),
        ("tsallis", Tsallis()),
        ("tsallis:1.5", Tsallis(q=1.5)),
    ],
)
def test_regularisers_by_name(text, found):
    assert parse_regulariser(text) == found


def test_kl_by_name_leaves_the_reference_to_the_solver():
    """Equal each time, or every solver made of it would be compiled anew."""
    kl = parse_regulariser("kl")
    assert isinstance(kl, KullbackLeibler)
    assert kl == parse_regulariser("kl")
    assert kl.drawn(np.array([0.5, -2.0])).tolist() == [0.5, -2.0]
    for sums_over_actions in (kl.value, kl.gradient, kl.softmin, kl.argmin):
        with pytest.raises(InputError, match="without a reference knows drawn actions only"):
            sums_over_actions(REFERENCE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tsalis:2", "unknown regulariser 'tsalis:2'; choose entropy"),
        ("tsallis:two", "'two' is not a number"),
        ("tsallis:1", "tsallis needs q > 1, got 1; the limit at 1 is the entropy"),
        ("entropy:2", "unknown regulariser"),
    ],
)
def test_unknown_regularisers(text, message):
    with pytest.raises(InputError, match=message):
        parse_regulariser(text)


def test_ascent_stays_in_the_set_and_finds_the_maximum():
    """Errata (h): plain projected ascent is there in < 60 steps; MW grows by e^(rate gap)."""
    delta = np.array([0.3, -0.1, 0.2])
    w = np.array([-0.3, 0.4, 0.0])
    for _ in range(60):
        w = Ball().ascend(w, delta, 2.0)
    assert w == pytest.approx(delta / np.linalg.norm(delta), abs=1e-6)
    p = Simplex().ascend(np.array([0.2, 0.3, 0.5]), delta, 2.0)
    grown = np.array([0.2, 0.3, 0.5]) * np.exp(2.0 * delta)
    assert p == pytest.approx(grown / grown.sum(), abs=1e-15)
    assert Simplex().ascend(np.array([0.0, 1.0]), np.array([1e6, 0.0]), 1.0).tolist() == [1.0, 0.0]


def test_multiplicative_weights_follow_a_gap_that_turns_round():
    """500 steps of rate 0.1 take e^-150 from the others: nothing, in single precision."""
    w = np.full(300, 1 / 300, np.float32)
    for worst in (0, 1):
        delta = np.zeros(300, np.float32)
        delta[worst] = 3.0
        for _ in range(500):
            w = Simplex().ascend(w, delta, 0.1)
        assert w.dtype == np.float32
        assert w[worst] > 0.999
        Simplex().check(w)


@pytest.mark.parametrize(
    ("allowed", "inside", "outside", "message"),
    [
        (Ball(), [0.6, 0.8], [1.2, 1.6], "norm of the weights is 2, .* ball of radius 1"),
        (Simplex(), [0.25, 0.75], [0.5, 0.7], "sum to 1.2"),
        (Simplex(), [1.0, 0.0], [1.2, -0.2], "smallest is -0.2"),
        (Ball(), [0.0, 0.0], [np.nan, 0.0], "norm of the weights is nan"),
    ],
)
def test_weights_outside_their_set_are_refused(allowed, inside, outside, message):
    allowed.check(np.array(inside))
    with pytest.raises(InputError, match=message):
        allowed.check(np.array(outside))


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
