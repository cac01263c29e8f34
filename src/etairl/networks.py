r"""The networks of the deep solvers: plain MLPs, a squashed Gaussian actor, twin critics.

Weights are PyTrees of arrays. `act` runs an actor in NumPy: for the few dozen rows of a simulator
step, plain matrix products beat a call into a compiled function.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from etairl.types import Spec

Activation = Literal["relu", "tanh", "elu"]
_JAX = {"relu": jax.nn.relu, "tanh": jnp.tanh, "elu": jax.nn.elu}
_NUMPY = {
    "relu": lambda x: np.maximum(x, 0.0, out=x),
    "tanh": lambda x: np.tanh(x, out=x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
}

LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0


class MLP(eqx.Module):
    """Dense layers; the activation stands between them, not after the last."""

    weights: tuple[Float[Array, "in out"], ...]
    biases: tuple[Float[Array, " out"], ...]
    activation: Activation = eqx.field(static=True)

    @staticmethod
    def init(key: PRNGKeyArray, sizes: tuple[int, ...], activation: Activation) -> "MLP":
        r"""Weights and biases uniform in $\pm 1/\sqrt{\text{inputs}}$."""
        weights, biases = [], []
        for layer, (inputs, outputs) in enumerate(zip(sizes[:-1], sizes[1:], strict=True)):
            key_weight, key_bias = jax.random.split(jax.random.fold_in(key, layer))
            bound = 1.0 / np.sqrt(inputs)
            weights.append(jax.random.uniform(key_weight, (inputs, outputs), minval=-bound, maxval=bound))
            biases.append(jax.random.uniform(key_bias, (outputs,), minval=-bound, maxval=bound))
        return MLP(tuple(weights), tuple(biases), activation)

    def __call__(self, x: Float[Array, "batch in"]) -> Float[Array, "batch out"]:
        """All rows at once."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = _JAX[self.activation](x @ weight + bias)
        return x @ self.weights[-1] + self.biases[-1]


def twins(key: PRNGKeyArray, sizes: tuple[int, ...], activation: Activation) -> MLP:
    """Two networks in one: every weight has a leading axis of 2."""
    return jax.vmap(lambda k: MLP.init(k, sizes, activation))(jax.random.split(key))


def both(critics: MLP, x: Float[Array, "batch in"]) -> Float[Array, "2 batch out"]:
    """The values of both critics."""
    return jax.vmap(lambda critic: critic(x))(critics)


def gaussian(actor: MLP, obs: Float[Array, "batch obs"]) -> tuple[Array, Array]:
    """Mean and log standard deviation before squashing."""
    mean, raw = jnp.split(actor(obs), 2, axis=-1)
    span = LOG_STD_MAX - LOG_STD_MIN
    return mean, LOG_STD_MIN + 0.5 * span * (jnp.tanh(raw) + 1.0)


def sample_squashed(
    key: PRNGKeyArray, actor: MLP, obs: Float[Array, "batch obs"]
) -> tuple[Float[Array, "batch act"], Float[Array, " batch"]]:
    r"""$a = \tanh(m + \sigma\varepsilon)$ in $(-1, 1)$ and $\log\pi(a \mid s)$.

    $\log(1 - \tanh^2 x) = 2(\log 2 - x - \text{softplus}(-2x))$ stays finite for large $|x|$.
    """
    mean, log_std = gaussian(actor, obs)
    noise = jax.random.normal(key, mean.shape)
    x = mean + jnp.exp(log_std) * noise
    log_normal = -0.5 * noise**2 - log_std - 0.5 * jnp.log(2.0 * jnp.pi)
    log_slope = 2.0 * (jnp.log(2.0) - x - jax.nn.softplus(-2.0 * x))
    return jnp.tanh(x), (log_normal - log_slope).sum(axis=-1)


class SquashedPolicy:
    """A squashed Gaussian actor on the host: NumPy in, actions in the units of the task out."""

    def __init__(self, actor: MLP, spec: Spec):
        assert spec.action_low is not None
        assert spec.action_high is not None
        low, high = np.asarray(spec.action_low), np.asarray(spec.action_high)
        self._middle = ((low + high) / 2).astype(np.float32)
        self._half = ((high - low) / 2).astype(np.float32)
        self._weights = [np.asarray(w) for w in actor.weights]
        self._biases = [np.asarray(b) for b in actor.biases]
        self._activation = _NUMPY[actor.activation]

    def __call__(
        self, rng: np.random.Generator | None, observations: Float[np.ndarray, "batch obs"]
    ) -> Float[np.ndarray, "batch act"]:
        """Draw actions; without a random generator the squashed mean."""
        x = observations.astype(np.float32, copy=False)
        for weight, bias in zip(self._weights[:-1], self._biases[:-1], strict=True):
            x = x @ weight
            x += bias
            x = self._activation(x)
        mean, raw = np.split(x @ self._weights[-1] + self._biases[-1], 2, axis=1)
        if rng is not None:
            span = LOG_STD_MAX - LOG_STD_MIN
            std = np.exp(LOG_STD_MIN + 0.5 * span * (np.tanh(raw) + 1.0))
            mean = mean + std * rng.standard_normal(mean.shape, dtype=np.float32)
        return self._middle + self._half * np.tanh(mean)
