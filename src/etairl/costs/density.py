r"""A density of actions given some rows, learned by a cost player: $\pi_w(a \mid x)$.

The policy's own lives in `solvers.heads`; what a cost family learns of actions is here.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from etairl.networks import INSIDE, MLP, Activation, Rows, between, log_chance, log_normal
from etairl.types import Spec

_WIDEST = 2.0
"""log of the largest spread, as of the policy"""
_DRAWS = 64


class Density(eqx.Module):
    r"""A squashed normal, $a = \tanh(m + \sigma\varepsilon)$, or a table of chances."""

    network: MLP
    actions: int | None = eqx.field(static=True)
    """how many, where they are discrete"""
    least_std: float = eqx.field(static=True, default=0.1)
    """no density is sharper: that of demonstrations without noise has no bound"""

    @staticmethod
    def init(
        key: PRNGKeyArray,
        inputs: int,
        spec: Spec,
        hidden: tuple[int, ...],
        activation: Activation,
        least_std: float = 0.1,
    ) -> "Density":
        """A fresh network from so many columns."""
        outputs = spec.discrete_actions or 2 * spec.act_dim
        network = MLP.init(key, (inputs, *hidden, outputs), activation)
        return Density(network, spec.discrete_actions, least_std)

    def log_prob(self, x: Float[Array, "rows dims"], act: Float[Array, "rows act"]) -> Rows:
        r"""$\log\pi_w(a \mid x)$ of actions as the solver sees them."""
        if self.actions is not None:
            return log_chance(self.network(x), act)
        mean, log_std = self._normal(x)
        act = jnp.clip(act, -INSIDE, INSIDE)
        noise = (jnp.arctanh(act) - mean) * jnp.exp(-log_std)
        return _log_squashed(noise, log_std, 1.0 - act**2)

    def mean(self, of: Callable[[Array], Array], x: Float[Array, "rows dims"]) -> Rows:
        r"""$\mathbb{E}_{a\sim\pi_w}f(\log\pi_w)$: a sum, or 64 draws, always the same."""
        if self.actions is not None:
            logs = jax.nn.log_softmax(self.network(x))
            return (jnp.exp(logs) * of(logs)).sum(axis=1)
        mean, log_std = self._normal(x)
        half = np.random.default_rng(0).standard_normal((_DRAWS // 2, 1, mean.shape[1]))
        noise = jnp.asarray(np.concatenate([half, -half]), jnp.float32)
        inside = jnp.clip(jnp.tanh(mean + jnp.exp(log_std) * noise), -INSIDE, INSIDE)
        return of(_log_squashed(noise, log_std, 1.0 - inside**2)).mean(axis=0)

    def _normal(self, x: Array) -> tuple[Array, Array]:
        mean, raw = jnp.split(self.network(x), 2, axis=-1)
        return mean, between(raw, np.log(self.least_std), _WIDEST)


def _log_squashed(noise: Array, log_std: Array, slope: Array) -> Array:
    return (log_normal(noise, log_std) - jnp.log(slope)).sum(axis=-1)
