r"""AIRL's cost: a state-only cost plus potential shaping, read against the policy's own density.

With $c_f(s, s') = c(s) + \gamma\Phi(s') - \Phi(s)$, the logit of *learner* is

$$h = \log\pi(a \mid s) + c_f(s, s'),$$

which is AIRL's $\log\pi - f$ with $f = -c_f$, $g = -c$ and $h_{\text{AIRL}} = -\Phi$ (Fu, Luo and
Levine 2018). The solver pays $c_f$: with temperature 1 it minimises
$\mathbb{E}[c_f + \log\pi] = \mathbb{E}[h]$, so $-\log\pi$ is counted once, by the entropy, and not
in the cost again. $c$ alone is what one carries elsewhere. Shaping is neutral for $\eta=\delta_0$
only: it adds $-\langle P^\eta_\pi, \Phi\rangle$ to the criterion (errata (a)).
"""

from dataclasses import dataclass, replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from etairl.costs.discriminator import (
    DiscriminatorConfig,
    DiscriminatorState,
    adversarial_updates,
    check_finite,
    start_optimiser,
)
from etairl.costs.family import LogProbs, Points, Rows, standard_units
from etairl.costs.losses import CostInfo, spectrally_normalised
from etairl.networks import MLP
from etairl.types import InputError


class ShapedLogit(eqx.Module):
    r"""$h$ of rows $(s, s', \log\pi)$, from the networks of $c$ and $\Phi$."""

    cost: MLP
    potential: MLP
    gamma: float = eqx.field(static=True)

    def __call__(self, x: Float[Array, "batch dims"]) -> Float[Array, "batch 1"]:
        """All rows at once."""
        obs, next_obs = jnp.split(x[:, :-1], 2, axis=-1)
        # A gradient penalty is about the cost; the slope in log pi is 1, whatever is learned.
        return jax.lax.stop_gradient(x[:, -1:]) + self.shaped(obs, next_obs)

    def shaped(self, obs: Array, next_obs: Array) -> Float[Array, "batch 1"]:
        r"""$c(s) + \gamma\Phi(s') - \Phi(s)$."""
        return self.cost(obs) + self.gamma * self.potential(next_obs) - self.potential(obs)


@dataclass(frozen=True)
class ShapedCost:
    """A cost family of the template: AIRL's, of states and next states."""

    config: DiscriminatorConfig
    gamma: float
    """of the solver: another one would not telescope"""
    shaping: bool = True
    """off: the state-only cost alone"""

    @property
    def needs_next(self) -> bool:
        """See `Cost`."""
        return self.shaping

    @property
    def needs_policy(self) -> bool:
        """See `Cost`."""
        return True

    def init(self, key: PRNGKeyArray, expert: Points) -> DiscriminatorState:
        """Two fresh networks; states are standardised with the demonstrations."""
        mean, scale = standard_units(np.asarray(expert.obs))
        sizes = (len(mean), *self.config.hidden_d, 1)
        cost, potential = (
            MLP.init(k, sizes, self.config.activation_d) for k in jax.random.split(key)
        )
        network = ShapedLogit(cost, potential, self.gamma)
        return DiscriminatorState(network, mean, scale, start_optimiser(self.config, network))

    def __call__(self, state: DiscriminatorState, obs: Array, act: Array, next_obs: Array) -> Rows:
        """The cost of each row, without the policy's part of the logit."""
        network: ShapedLogit = state.network
        if self.config.spectral_norm:
            network = spectrally_normalised(network)
        here, there = ((x - state.mean) / state.scale for x in (obs, next_obs))
        found = network.shaped(here, there) if self.shaping else network.cost(here)
        return found[:, 0]

    @partial(jax.jit, static_argnums=0)
    def updates(
        self,
        key: PRNGKeyArray,
        state: DiscriminatorState,
        own: Points,
        expert: Points,
        log_probs: LogProbs | None = None,
    ) -> tuple[DiscriminatorState, CostInfo]:
        """Many updates of the classifier in one compiled scan; info is averaged over them."""
        if log_probs is None:
            raise InputError("AIRL's cost needs the log-probabilities of the policy that acted")

        def inputs(state: DiscriminatorState, batch: tuple[Points, Array]) -> Array:
            points, log_prob = batch
            here, there = ((x - state.mean) / state.scale for x in (points.obs, points.next_obs))
            return jnp.concatenate([here, there, log_prob[:, None]], axis=-1)

        sides = (own, log_probs.own), (expert, log_probs.expert)
        return adversarial_updates(self.config, key, state, *sides, inputs, exact=1)  # log pi

    def stored(self, state: DiscriminatorState) -> DiscriminatorState:
        """See `Cost`."""
        return state._replace(optimiser=())

    def check(self, state: DiscriminatorState) -> None:
        """See `Cost`."""
        check_finite(state)

    def portable(self) -> "ShapedCost":
        """See `Cost`; without shaping."""
        return replace(self, shaping=False)
