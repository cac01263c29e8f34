r"""AIRL's cost: a state-only cost plus potential shaping, read against the policy's own density.

With $c_f(s, s') = c(s) + \gamma\Phi(s') - \Phi(s)$, the logit of *learner* is

$$h = \log\pi(a \mid s) + c_f(s, s'),$$

which is AIRL's $\log\pi - f$ with $f = -c_f$, $g = -c$ and $h_{\text{AIRL}} = -\Phi$ (Fu, Luo and
Levine 2018). The solver pays $c_f$: with temperature 1 it minimises
$\mathbb{E}[c_f + \log\pi] = \mathbb{E}[h]$, so $-\log\pi$ is counted once, by the entropy, and not
in the cost again. $c$ alone is what one carries elsewhere. Shaping is neutral for $\eta=\delta_0$
only: it adds $-\langle P^\eta_\pi, \Phi\rangle$ to the criterion (errata (a)).
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from typing_extensions import override

from etairl.costs.adversarial import (
    AgainstPolicy,
    AgainstPolicyConfig,
    DiscriminatorConfig,
    DiscriminatorState,
    adversarial_updates,
)
from etairl.costs.family import Points, standard_units
from etairl.costs.losses import CostInfo
from etairl.experience import World
from etairl.hyper import traced
from etairl.networks import MLP, Rows


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


@traced
@dataclass(frozen=True)
class ShapedConfig(AgainstPolicyConfig):
    """The cost of AIRL: two networks of states, read against the policy's density."""

    kind: ClassVar[str] = "shaped"
    network: DiscriminatorConfig = field(default_factory=DiscriminatorConfig)

    @property
    def needs_next(self) -> bool:
        """The potential does."""
        return True

    @override
    def make(self, world: World) -> "ShapedCost":
        return ShapedCost(self, world.gamma_rl)


@traced
@dataclass(frozen=True)
class ShapedCost(AgainstPolicy):
    """A cost family of the template: AIRL's, of states and next states."""

    config: ShapedConfig
    gamma: float
    """of the solver: another one would not telescope"""
    shaping: bool = True
    """off: the state-only cost alone"""

    @property
    def needs_next(self) -> bool:
        """The potential does."""
        return self.shaping

    @property
    @override
    def needs_actions(self) -> bool:
        return False

    def init(self, key: PRNGKeyArray, expert: Points) -> DiscriminatorState:
        """Two fresh networks; states are standardised with the demonstrations."""
        config = self.config.network
        sizes = (expert.obs.shape[1], *config.hidden_d, 1)
        cost, potential = (MLP.init(k, sizes, config.activation_d) for k in jax.random.split(key))
        network = ShapedLogit(cost, potential, self.gamma)
        return DiscriminatorState.start(config, network, standard_units(np.asarray(expert.obs)))

    def __call__(self, state: DiscriminatorState, obs: Array, act: Array, next_obs: Array) -> Rows:
        """The cost of each row, without the policy's part of the logit."""
        network: ShapedLogit = self.config.network.normalised(state.network)
        x, next_x = ((rows - state.mean) / state.scale for rows in (obs, next_obs))
        cost = network.shaped(x, next_x) if self.shaping else network.cost(x)
        return cost[:, 0]

    @override
    def scan(
        self, key: PRNGKeyArray, state: DiscriminatorState, own: Any, expert: Any
    ) -> tuple[DiscriminatorState, CostInfo]:
        def inputs(state: DiscriminatorState, batch: tuple[Points, Array]) -> Array:
            points, log_prob = batch
            x, next_x = ((x - state.mean) / state.scale for x in (points.obs, points.next_obs))
            return jnp.concatenate([x, next_x, log_prob[:, None]], axis=-1)

        network = self.config.network
        # log pi, the last column, gets no noise.
        return adversarial_updates(network, key, state, own, expert, inputs, exact=1)

    def portable(self) -> "ShapedCost":
        """The state-only cost, without shaping."""
        return replace(self, shaping=False)
