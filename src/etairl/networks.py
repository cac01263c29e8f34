"""The networks of the deep solvers: plain MLPs, pairs of them, a normaliser of inputs."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from etairl.hyper import Number
from etairl.types import InputError, constant_columns

Scalar = Float[Array, ""]
Rows = Float[Array, " batch"]
Activation = Literal["relu", "tanh", "elu"]
Normalise = Literal["none", "running", "demonstrations"]
"""statistics with which a solver standardises observations: of all that were seen so far, or of the
demonstrations"""
LARGEST_INPUT = 10.0
"""how far from 0 standardised observations may be"""
INSIDE = 1.0 - 1e-3
"""actions at a bound have no density; they count as this far out"""
_JAX = {"relu": jax.nn.relu, "tanh": jnp.tanh, "elu": jax.nn.elu}
_NUMPY = {
    "relu": lambda x: np.maximum(x, 0.0, out=x),
    "tanh": lambda x: np.tanh(x, out=x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
}


def check_widths(name: str, widths: Sequence[int], activation: str, fewest: int = 1) -> None:
    """Refuse widths of hidden layers, or an activation, that no network can have."""
    if activation not in _JAX:
        raise InputError(f"the activation must be one of {', '.join(_JAX)}, got {activation!r}")
    if len(widths) < fewest or any(width < 1 for width in widths):
        many = "at least one layer" if fewest else "layers"
        raise InputError(f"{name} needs {many} of width >= 1, got {tuple(widths)}")


class MLP(eqx.Module):
    """Dense layers; the activation stands between them, not after the last."""

    weights: tuple[Float[Array, "..."], ...]
    biases: tuple[Float[Array, "..."], ...]
    activation: Activation = eqx.field(static=True)
    layer_norm: bool = eqx.field(static=True, default=False)
    """standardise each row before an activation"""

    @staticmethod
    def init(
        key: PRNGKeyArray, sizes: tuple[int, ...], activation: Activation, layer_norm: bool = False
    ) -> "MLP":
        r"""Weights and biases uniform in $\pm 1/\sqrt{\text{inputs}}$.

        Drawn on the host: nothing is compiled for a network that has new sizes.
        """
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        weights, biases = [], []
        for inputs, outputs in pairwise(sizes):
            bound = 1.0 / np.sqrt(inputs)
            weights.append(_uniform(rng, bound, (inputs, outputs)))
            biases.append(_uniform(rng, bound, (outputs,)))
        return MLP(tuple(weights), tuple(biases), activation, layer_norm)

    def __call__(self, x: Float[Array, "batch in"]) -> Float[Array, "batch out"]:
        """All rows at once."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = x @ weight + bias
            x = _JAX[self.activation](_standard_rows(x) if self.layer_norm else x)
        return x @ self.weights[-1] + self.biases[-1]


def _standard_rows(x: Float[Array, "batch width"]) -> Float[Array, "batch width"]:
    """Each row with mean 0 and spread 1."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


class HostMLP:
    """The same network in NumPy: for a few dozen rows it beats a call into compiled code.

    Of an actor, which has no layer norm.
    """

    def __init__(self, mlp: MLP):
        assert not mlp.layer_norm
        self._weights = [np.asarray(w) for w in mlp.weights]
        self._biases = [np.asarray(b) for b in mlp.biases]
        self._activation = _NUMPY[mlp.activation]

    def __call__(self, x: Float[np.ndarray, "batch in"]) -> Float[np.ndarray, "batch out"]:
        """All rows at once."""
        for weight, bias in zip(self._weights[:-1], self._biases[:-1], strict=True):
            x = x @ weight
            x += bias
            x = self._activation(x)
        return x @ self._weights[-1] + self._biases[-1]


def between(raw: Array, low: float, high: float) -> Array:
    """What networks say of a logarithm of a spread, within its limits."""
    return low + 0.5 * (high - low) * (jnp.tanh(raw) + 1.0)


def log_normal(noise: Array, log_std: Array) -> Array:
    """The log density of a normal law, so many standard deviations from its mean."""
    return -0.5 * noise**2 - log_std - 0.5 * jnp.log(2.0 * jnp.pi)


def log_chance(logits: Float[Array, "*rows actions"], act: Float[Array, "*rows one"]) -> Array:
    """The log probability of discrete actions, whose numbers are the only column."""
    index = act.astype(jnp.int32)
    return jnp.take_along_axis(jax.nn.log_softmax(logits), index, axis=-1)[..., 0]


def all_finite(tree: Any) -> bool:
    """Whether no number in a PyTree is NaN or infinite."""
    return all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(tree))


def orthogonal(
    key: PRNGKeyArray, sizes: tuple[int, ...], activation: Activation, last: float
) -> MLP:
    r"""Orthogonal weights, $\sqrt2$ long and `last` long in the last layer; biases are 0."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    weights = []
    for number, (inputs, outputs) in enumerate(pairwise(sizes), start=2):
        large, small = max(inputs, outputs), min(inputs, outputs)
        q, r = np.linalg.qr(rng.standard_normal((large, small)))
        q = q * np.sign(np.diag(r))  # uniform among all rotations
        gain = last if number == len(sizes) else np.sqrt(2.0)
        weights.append(jnp.asarray(gain * (q if inputs >= outputs else q.T), jnp.float32))
    biases = tuple(jnp.zeros(outputs) for outputs in sizes[1:])
    return MLP(tuple(weights), biases, activation)


def _uniform(rng: np.random.Generator, bound: float, shape: tuple[int, ...]) -> Array:
    return jnp.asarray((2.0 * rng.random(shape, np.float32) - 1.0) * np.float32(bound))


def init_pair(
    key: PRNGKeyArray, sizes: tuple[int, ...], activation: Activation, layer_norm: bool = False
) -> MLP:
    """Two networks in one: every weight has a leading axis of 2."""
    pair = [MLP.init(k, sizes, activation, layer_norm) for k in jax.random.split(key)]
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *pair)


def apply_pair(networks: MLP, x: Float[Array, "batch in"]) -> Float[Array, "2 batch out"]:
    """The outputs of both networks of a pair."""
    return jax.vmap(lambda network: network(x))(networks)


def start_optimiser(optimiser: optax.GradientTransformation, params: Any) -> Any:
    """The state of an optimiser before its first step, all zeros; nothing is compiled."""
    shapes = jax.eval_shape(optimiser.init, params)
    return jax.tree.map(lambda leaf: jnp.asarray(np.zeros(leaf.shape, leaf.dtype)), shapes)


def towards(rate: Number, slow: Any, fast: Any) -> Any:
    """A slow copy of networks, one step closer to the fast ones."""
    return jax.tree.map(lambda old, new: old + rate * (new - old), slow, fast)


class Normaliser(NamedTuple):
    r"""$x \mapsto \text{clip}((x - m)/s, \pm 10)$ with running statistics."""

    rows: Float[Array | np.ndarray, ""]
    """seen so far"""
    mean: Float[Array | np.ndarray, " dims"]
    variance: Float[Array | np.ndarray, " dims"]

    @staticmethod
    def identity(dims: int) -> "Normaliser":
        """Changes nothing but values beyond 10."""
        return Normaliser(jnp.zeros(()), jnp.zeros(dims), jnp.ones(dims))

    @staticmethod
    def of(x: Float[np.ndarray, "rows dims"]) -> "Normaliser":
        """With the statistics of these rows; a constant column keeps its unit."""
        x = np.asarray(x, np.float64)
        variance = np.where(constant_columns(x), 1.0, x.var(axis=0))
        parts = (len(x), x.mean(axis=0), variance)
        return Normaliser(*(jnp.asarray(part, jnp.float32) for part in parts))

    def seen(self, x: Float[np.ndarray, "rows dims"]) -> "Normaliser":
        """After more rows; the merged mean and variance of both parts."""
        old, new = float(self.rows), len(x)
        total = old + new
        mean = np.asarray(self.mean, np.float64)
        shift = x.mean(axis=0, dtype=np.float64) - mean
        spread = old * np.asarray(self.variance, np.float64) + new * x.var(axis=0, dtype=np.float64)
        variance = (spread + shift**2 * old * new / total) / total
        # Host arrays: this is called at every step of a simulator, the device wants them once.
        parts = (total, mean + shift * new / total, variance)
        return Normaliser(*(np.asarray(part, np.float32) for part in parts))

    def __call__(self, x: Float[Array, "batch dims"]) -> Float[Array, "batch dims"]:
        """On the device."""
        return jnp.clip(
            (x - self.mean) / jnp.sqrt(self.variance + 1e-8), -LARGEST_INPUT, LARGEST_INPUT
        )

    def on_host(self) -> Callable[[np.ndarray], np.ndarray]:
        """The same for rows on the host, as it is now."""
        mean, scale = np.asarray(self.mean), np.sqrt(np.asarray(self.variance) + 1e-8)
        return lambda x: np.clip((x - mean) / scale, -LARGEST_INPUT, LARGEST_INPUT)
