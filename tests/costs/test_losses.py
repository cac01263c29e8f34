"""The discriminator's loss and its wrappers, against sums written out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.costs.discriminator import cost_of_logits
from etairl.costs.losses import (
    entropy_bonus,
    gan_loss,
    gradient_penalty,
    input_noise,
    label_smoothing,
    logits,
    spectral_norm,
    spectrally_normalised,
    weight_decay,
)
from etairl.networks import MLP
from etairl.penalties import GAN, jensen_shannon


def fresh_key() -> jax.Array:
    """Not while the tests are collected: that would start JAX."""
    return jax.random.key(3)


@pytest.fixture
def network() -> MLP:
    return MLP.init(jax.random.key(0), (4, 8, 8, 1), "tanh")


@pytest.fixture
def sides(rng) -> tuple[jax.Array, jax.Array]:
    own, expert = rng.normal(size=(2, 32, 4)) + np.array([[[0.5]], [[-0.5]]])
    return jnp.asarray(own, jnp.float32), jnp.asarray(expert, jnp.float32)


def by_hand(network, own, expert) -> float:
    d = lambda x: 1.0 / (1.0 + np.exp(-np.asarray(logits(network, x), np.float64)))  # noqa: E731
    return float(-np.log(d(own)).mean() - np.log(1.0 - d(expert)).mean())


def test_gan_loss(network, sides):
    loss, info = gan_loss(network, fresh_key(), *sides)
    assert float(loss) == pytest.approx(by_hand(network, *sides), rel=1e-5)
    h_own, h_expert = (np.asarray(logits(network, x)) for x in sides)
    assert float(info.accuracy_learner) == pytest.approx((h_own > 0).mean())
    assert float(info.accuracy_expert) == pytest.approx((h_expert < 0).mean())


def test_the_optimum_is_twice_the_jensen_shannon_divergence_less_log_4():
    """Errata (i): mu, mu_E on three points; D* = mu/(mu + mu_E) = (5/6, 1/2, 1/4)."""
    own, expert = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    points = jnp.eye(3)
    rows = lambda law: points[np.repeat(np.arange(3), np.round(law * 10).astype(int))]  # noqa: E731
    network = MLP.init(jax.random.key(0), (3, 1), "relu")
    value = jax.jit(
        jax.value_and_grad(lambda n: gan_loss(n, fresh_key(), rows(own), rows(expert))[0])
    )
    for _ in range(4000):
        loss, grads = value(network)
        network = jax.tree.map(lambda w, g: w - 1.0 * g, network, grads)
    exact, cost = GAN().maximum(own, expert)
    assert -float(loss) == pytest.approx(float(exact), abs=1e-5)
    assert float(exact) == pytest.approx(2 * float(jensen_shannon(own, expert)) - np.log(4))
    found = cost_of_logits("log_d", logits(network, points))
    assert np.asarray(found) == pytest.approx(np.asarray(cost), abs=2e-3)
    assert -float(loss) == pytest.approx(-1.136093, abs=1e-5)
    d = jax.nn.sigmoid(logits(network, points))
    assert np.asarray(d) == pytest.approx([5 / 6, 1 / 2, 1 / 4], abs=1e-3)


def test_label_smoothing_is_cross_entropy_with_soft_labels(network, sides):
    loss, _ = label_smoothing(gan_loss, 0.1)(network, fresh_key(), *sides)
    expected = 0.0
    for x, label in ((sides[0], 0.9), (sides[1], 0.1)):
        d = 1.0 / (1.0 + np.exp(-np.asarray(logits(network, x), np.float64)))
        expected -= (label * np.log(d) + (1 - label) * np.log(1 - d)).mean()
    assert float(loss) == pytest.approx(expected, rel=1e-5)


def test_entropy_bonus(network, sides):
    loss, _ = entropy_bonus(gan_loss, 0.3)(network, fresh_key(), *sides)
    d = 1.0 / (1.0 + np.exp(-np.asarray(logits(network, jnp.concatenate(sides)), np.float64)))
    entropy = -(d * np.log(d) + (1 - d) * np.log(1 - d)).mean()
    assert float(loss) == pytest.approx(by_hand(network, *sides) - 0.3 * entropy, rel=1e-5)


@pytest.mark.parametrize("target", [0.0, 1.0])
def test_gradient_penalty_of_a_plane_is_known(target, sides):
    """h(x) = w.x has the gradient w everywhere, between the sides too."""
    network = MLP.init(jax.random.key(1), (4, 1), "relu")
    loss, info = gradient_penalty(gan_loss, 2.0, target)(network, fresh_key(), *sides)
    norm = float(np.linalg.norm(np.asarray(network.weights[0])))
    expected = by_hand(network, *sides) + 2.0 * (norm - target) ** 2
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert float(info.gan_loss) == pytest.approx(by_hand(network, *sides), rel=1e-5)


def test_the_gradient_is_penalised_between_the_sides():
    r"""Of $h = |x|^2/2$, with slope $x$: $\int_0^1 |ua + (1-u)b|^2 du = (|a|^2 + ab + |b|^2)/3$.

    At the learner's points it would be 9, at the expert's 1. The square has a spread of 2.7, so
    20,000 points are good to 0.02; five times that is allowed.
    """
    own, expert = (jnp.tile(jnp.asarray(x), (20_000, 1)) for x in ([3.0, 0.0], [0.0, 1.0]))
    parabola = lambda x: 0.5 * (x**2).sum(axis=1, keepdims=True)  # noqa: E731
    value, info = gradient_penalty(gan_loss, 2.0, 0.0)(parabola, fresh_key(), own, expert)
    assert float(value - info.gan_loss) == pytest.approx(2.0 * 10.0 / 3.0, abs=0.2)


def test_noise_has_its_size_on_both_sides():
    """20,000 draws: their spread is good to 1/sqrt(40,000) = 0.5 %; five times that is allowed."""
    seen = []

    def spy(network, key, own, expert):
        seen.extend((np.asarray(own), np.asarray(expert)))
        return gan_loss(network, key, own, expert)

    still = jnp.zeros((20_000, 1))
    input_noise(spy, 0.3)(lambda x: x, fresh_key(), still, still)
    for side in seen:
        assert side.std() == pytest.approx(0.3, rel=0.025)
    assert abs(np.corrcoef(seen[0][:, 0], seen[1][:, 0])[0, 1]) < 5.0 / 20_000**0.5


def test_gradient_penalty_has_a_finite_slope_where_the_gradient_is_zero(sides):
    flat = jax.tree.map(jnp.zeros_like, MLP.init(jax.random.key(1), (4, 8, 1), "relu"))
    penalised = gradient_penalty(gan_loss, 1.0, 1.0)
    grads = jax.grad(lambda n: penalised(n, fresh_key(), *sides)[0])(flat)
    assert all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(grads))


def test_weight_decay(network, sides):
    loss, _ = weight_decay(gan_loss, 0.7)(network, fresh_key(), *sides)
    size = sum(float((np.asarray(w, np.float64) ** 2).sum()) for w in network.weights)
    assert float(loss) == pytest.approx(by_hand(network, *sides) + 0.35 * size, rel=1e-5)


def test_input_noise_of_no_size_changes_nothing_and_of_some_size_does(network, sides):
    plain, _ = gan_loss(network, fresh_key(), *sides)
    assert float(input_noise(gan_loss, 0.0)(network, fresh_key(), *sides)[0]) == pytest.approx(
        float(plain)
    )
    noisy = [
        float(input_noise(gan_loss, 0.5)(network, jax.random.key(k), *sides)[0]) for k in range(3)
    ]
    assert len(set(noisy)) == 3


@pytest.mark.parametrize("shape", [(4, 8, 8, 1), (30, 64, 1), (3, 1)])
def test_spectral_norms_are_one(shape):
    network = MLP.init(jax.random.key(5), shape, "tanh")
    for before, after in zip(network.weights, spectrally_normalised(network).weights, strict=True):
        largest = np.linalg.svd(np.asarray(before, np.float64), compute_uv=False)[0]
        expected = np.asarray(before, np.float64) / largest
        assert np.asarray(after) == pytest.approx(expected, abs=2e-4)


def test_spectral_norm_makes_a_slow_function(rng, network):
    steep = jax.tree.map(lambda w: 10.0 * w, network)
    x, y = (jnp.asarray(rng.normal(size=(200, 4)), jnp.float32) for _ in range(2))
    tame = spectrally_normalised(steep)
    rise = np.abs(np.asarray(logits(tame, x) - logits(tame, y)))
    assert (rise <= np.linalg.norm(np.asarray(x - y), axis=1) * 1.001).all()


WRAPPERS = {
    "label_smoothing": lambda loss: label_smoothing(loss, 0.1),
    "entropy_bonus": lambda loss: entropy_bonus(loss, 0.3),
    "gradient_penalty": lambda loss: gradient_penalty(loss, 1.0, 1.0),
    "weight_decay": lambda loss: weight_decay(loss, 0.1),
    "input_noise": lambda loss: input_noise(loss, 0.1),
    "spectral_norm": spectral_norm,
}


@pytest.mark.parametrize("names", [(name,) for name in WRAPPERS] + [tuple(WRAPPERS)])
def test_gradients_against_finite_differences(names, network, sides):
    """Central differences of step 1e-2 in single precision: errors of about 1e-3 are rounding.

    The spectral norm takes its singular vectors as constant; at the first order that is exact.
    """
    loss = gan_loss
    for name in names:
        loss = WRAPPERS[name](loss)

    def value(n):
        return loss(n, fresh_key(), *sides)[0]

    grads = jax.grad(value)(network)
    direction = jax.tree.map(
        lambda w: jax.random.normal(jax.random.key(w.size), w.shape) / np.sqrt(w.size), network
    )
    step = 1e-2
    ahead = value(jax.tree.map(lambda w, d: w + step * d, network, direction))
    behind = value(jax.tree.map(lambda w, d: w - step * d, network, direction))
    slope = sum(
        float((g * d).sum())
        for g, d in zip(jax.tree.leaves(grads), jax.tree.leaves(direction), strict=True)
    )
    assert float(ahead - behind) / (2 * step) == pytest.approx(slope, abs=3e-3, rel=1e-2)
