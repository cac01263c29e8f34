r"""The loss of a discriminator, and what may be wrapped around it.

$D = \sigma(h)$ is the probability of *learner*: high where a pair looks like the learner's own. A
loss takes the network, a key and two batches of equal size; a wrapper takes a loss and returns one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from etairl.hyper import Number
from etairl.networks import Rows, Scalar

NetworkInputs = Float[Array, "batch dims"]
Network = Any
"""a PyTree of weights that maps rows to one column, such as an `MLP`"""


class CostInfo(NamedTuple):
    """Metrics of an update of the cost."""

    loss: Scalar
    """as minimised, with everything that is wrapped around it"""
    gan_loss: Scalar
    """without: 2 log 2 when the two sides cannot be told apart"""
    accuracy_learner: Scalar
    """share of the learner's pairs with D > 1/2"""
    accuracy_expert: Scalar
    """share of the expert's pairs with D < 1/2"""


class StandardisedInfo(NamedTuple):
    """Metrics of updates of a cost that standardises its logits: of `CostInfo`, and two more."""

    loss: Scalar
    gan_loss: Scalar
    accuracy_learner: Scalar
    accuracy_expert: Scalar
    logit_mean: Scalar
    """of the learner's pairs, which is subtracted"""
    logit_spread: Scalar
    """of the learner's pairs, which is divided by"""


Judged = tuple[Scalar, CostInfo]
Loss = Callable[[Network, PRNGKeyArray, NetworkInputs, NetworkInputs], Judged]


def logits(network: Network, x: NetworkInputs) -> Rows:
    """$h$, one per row."""
    return network(x)[:, 0]


def gan_loss(
    network: Network, key: PRNGKeyArray, own: NetworkInputs, expert: NetworkInputs
) -> Judged:
    r"""$\mathbb{E}_\pi[-\log D] + \mathbb{E}_E[-\log(1-D)]$, in log space (errata (i))."""
    h_own, h_expert = logits(network, own), logits(network, expert)
    loss = jax.nn.softplus(-h_own).mean() + jax.nn.softplus(h_expert).mean()
    return loss, CostInfo(loss, loss, (h_own > 0).mean(), (h_expert < 0).mean())


def label_smoothing(loss: Loss, amount: Number) -> Loss:
    r"""Labels $1-\varepsilon$ and $\varepsilon$; the loss is linear in them, so two losses mix."""

    def smoothed(network: Network, key: PRNGKeyArray, own: Array, expert: Array) -> Judged:
        right, info = loss(network, key, own, expert)
        wrong, _ = loss(network, key, expert, own)
        value = (1.0 - amount) * right + amount * wrong
        return value, info._replace(loss=value)

    return smoothed


def entropy_bonus(loss: Loss, weight: Number) -> Loss:
    r"""Subtracts $\lambda\,\mathbb{E}[H(D)]$ over both sides: certainty has its price."""

    def wrapped(network: Network, key: PRNGKeyArray, own: Array, expert: Array) -> Judged:
        value, info = loss(network, key, own, expert)
        h = logits(network, jnp.concatenate([own, expert]))
        entropy = jax.nn.softplus(h) - h * jax.nn.sigmoid(h)
        value = value - weight * entropy.mean()
        return value, info._replace(loss=value)

    return wrapped


def gradient_penalty(loss: Loss, weight: Number, target: Number) -> Loss:
    r"""Adds $\lambda\,\mathbb{E}(|\nabla_x h(\hat x)| - g)^2$ between random pairs of both sides.

    $\hat x$ lies uniformly on the segment from a pair of the learner to one of the expert.
    """

    def wrapped(network: Network, key: PRNGKeyArray, own: Array, expert: Array) -> Judged:
        key_loss, key_between = jax.random.split(key)
        value, info = loss(network, key_loss, own, expert)
        u = jax.random.uniform(key_between, (len(own), 1))
        between = u * own + (1.0 - u) * expert
        slopes = jax.grad(lambda x: logits(network, x).sum())(between)
        # The root has no slope at 0: the tiny term keeps its gradient finite.
        norms = jnp.sqrt((slopes**2).sum(axis=1) + 1e-12)
        value = value + weight * ((norms - target) ** 2).mean()
        return value, info._replace(loss=value)

    return wrapped


def weight_decay(loss: Loss, weight: Number) -> Loss:
    r"""Adds $\tfrac{\lambda}{2}\sum|W|^2$ over the weight matrices."""

    def wrapped(network: Network, key: PRNGKeyArray, own: Array, expert: Array) -> Judged:
        value, info = loss(network, key, own, expert)
        matrices = (leaf for leaf in jax.tree.leaves(network) if leaf.ndim == 2)
        size = jnp.asarray([(w**2).sum() for w in matrices]).sum()
        value = value + 0.5 * weight * size
        return value, info._replace(loss=value)

    return wrapped


def input_noise(loss: Loss, scale: Number, exact: int = 0) -> Loss:
    """Gaussian noise on both sides, in units of the demonstrations' spread.

    The last `exact` columns, which are no inputs of a network, get none.
    """

    def wrapped(network: Network, key: PRNGKeyArray, own: Array, expert: Array) -> Judged:
        key_loss, key_own, key_expert = jax.random.split(key, 3)
        scales = jnp.where(jnp.arange(own.shape[1]) < own.shape[1] - exact, scale, 0.0)
        own = own + scales * jax.random.normal(key_own, own.shape)
        expert = expert + scales * jax.random.normal(key_expert, expert.shape)
        return loss(network, key_loss, own, expert)

    return wrapped


def spectral_norm(loss: Loss) -> Loss:
    """The loss of the network with every weight matrix divided by its largest singular value."""

    def wrapped(network: Network, key: PRNGKeyArray, own: Array, expert: Array) -> Judged:
        return loss(spectrally_normalised(network), key, own, expert)

    return wrapped


def spectrally_normalised(network: Network) -> Network:
    r"""$W / \sigma_{\max}(W)$ in every layer: $h$ is then 1-Lipschitz in $x$.

    The top singular vector comes from 16 squarings of $W^\top W$, the power method $2^{16}$ times;
    it is taken as constant in the gradient, as usual.
    """
    return jax.tree.map(lambda w: w / _largest_singular_value(w) if w.ndim == 2 else w, network)


def _largest_singular_value(weight: Float[Array, "a b"]) -> Scalar:
    gram = weight.T @ weight if weight.shape[0] >= weight.shape[1] else weight @ weight.T
    power = jax.lax.stop_gradient(gram)
    for _ in range(16):
        power = power / (jnp.trace(power) + 1e-30)
        power = power @ power
    column = power[:, jnp.argmax(jnp.diag(power))]
    vector = column / (jnp.linalg.norm(column) + 1e-30)
    return jnp.sqrt(vector @ gram @ vector + 1e-12)
