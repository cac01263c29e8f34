r"""RAIRL's cost: the one for which a learned density is the $\Omega$-optimal policy.

With $\Omega(\pi) = -\mathbb{E}_\pi\varphi(\log\pi)$ and $m = -\varphi-\varphi'$, the slope
$\partial\Omega/\partial\pi(a)$ at $\log\pi(a)$, the policy $\pi_w$ is optimal in every MDP for

$$c_w(s,a) = m(\log\pi_w(a\mid s)) + \mathbb{E}_{\pi_w}\varphi'(\log\pi_w)$$

(Jeon et al. 2021; `tabular.operators.optimality_cost`). The logit of *learner* compares it with the
policy that acted: $h = m(\log\pi_w) - m(\log\pi) + b(s)$. Means of $\varphi'$ depend on the state
alone: their difference, and that of how often either side is there, is what $b$ learns. The solver
pays $c_w + b$; at the match $b=0$ and $\pi_w=\pi_E$. What one carries elsewhere is $c_w$.
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
from etairl.costs.density import Density
from etairl.costs.family import Points, View, standard_units
from etairl.costs.losses import CostInfo
from etairl.experience import World
from etairl.hyper import traced
from etairl.networks import MLP, Rows
from etairl.regularisers import Entropy, Regulariser, Tsallis
from etairl.types import check_range


class RegularisedLogit(eqx.Module):
    r"""$h$ of rows $(s, a, \text{in the world}, \log\pi)$."""

    density: Density
    visits: MLP
    """$b$"""
    omega: Regulariser = eqx.field(static=True)

    def __call__(self, x: Float[Array, "batch dims"]) -> Float[Array, "batch 1"]:
        """All rows at once."""
        width = self.visits.weights[0].shape[0]
        # A gradient penalty is about b: a density of precise actions has steep slopes.
        fixed = jax.lax.stop_gradient(x)
        log_density = self.log_density(fixed[:, :width], fixed[:, width:-2], fixed[:, -2])
        steep = _slope(self.omega, log_density) - _slope(self.omega, fixed[:, -1])
        return self.visits(x[:, :width]) + steep[:, None]

    def log_density(self, obs: Array, act: Array, in_world: Rows) -> Rows:
        r"""$\log\pi_w$; 0 in the absorbing state, where there is nothing to decide."""
        return in_world * self.density.log_prob(obs, act)

    def cost(self, obs: Array, act: Array, in_world: Rows) -> Rows:
        """$c_w$."""
        typical = self.density.mean(lambda logs: _drawn(self.omega, logs)[1], obs)
        return in_world * (_slope(self.omega, self.log_density(obs, act, in_world)) + typical)


@traced
@dataclass(frozen=True)
class RegularisedConfig(AgainstPolicyConfig):
    """The cost of RAIRL: a density of actions, read through the regulariser."""

    kind: ClassVar[str] = "regularised"
    omegas: ClassVar[tuple[str, ...]] = (Entropy.name, Tsallis.name)
    least_std: float = 0.1
    """least spread of the density, before squashing; that of precise demonstrations has no bound"""
    network: DiscriminatorConfig = field(default_factory=DiscriminatorConfig)

    def __post_init__(self):
        check_range(self, "[0.01, 1]", "least_std")

    @override
    def make(self, world: World) -> "RegularisedCost":
        view = View(world.spec, "state_action", world.absorbing)
        return RegularisedCost(self, view, world.omega)


@traced
@dataclass(frozen=True)
class RegularisedCost(AgainstPolicy):
    """A cost family of the template: RAIRL's, of states and actions."""

    config: RegularisedConfig
    view: View
    omega: Regulariser
    visits: bool = True
    """off: the cost of the density alone"""

    def init(self, key: PRNGKeyArray, expert: Points) -> DiscriminatorState:
        """Two fresh networks; states are standardised with the demonstrations."""
        config, key_visits = self.config.network, jax.random.fold_in(key, 1)
        width, least = expert.obs.shape[1], float(self.config.least_std)
        shape = (width, self.view.spec, config.hidden_d, config.activation_d, least)
        density = Density.init(key, *shape)
        visits = MLP.init(key_visits, (width, *config.hidden_d, 1), config.activation_d)
        network = RegularisedLogit(density, visits, self.omega)
        return DiscriminatorState.start(config, network, standard_units(np.asarray(expert.obs)))

    def __call__(self, state: DiscriminatorState, obs: Array, act: Array, next_obs: Array) -> Rows:
        """$c_w + b$ of each row, without the policy's part of the logit."""
        network: RegularisedLogit = self.config.network.normalised(state.network)
        x = (obs - state.mean) / state.scale
        cost = network.cost(x, act, self.view.in_world(obs))
        return cost + network.visits(x)[:, 0] if self.visits else cost

    @override
    def scan(
        self, key: PRNGKeyArray, state: DiscriminatorState, own: Any, expert: Any
    ) -> tuple[DiscriminatorState, CostInfo]:
        def inputs(state: DiscriminatorState, batch: tuple[Points, Array]) -> Array:
            points, log_prob = batch
            x = (points.obs - state.mean) / state.scale
            last = jnp.stack([self.view.in_world(points.obs), log_prob], axis=-1)
            return jnp.concatenate([x, points.act, last], axis=-1)

        # Actions, the mark of the absorbing state and log pi get no noise.
        network, exact = self.config.network, own[0].act.shape[-1] + 2
        return adversarial_updates(network, key, state, own, expert, inputs, exact=exact)

    def portable(self) -> "RegularisedCost":
        """The cost of the density, for which it is the optimal policy."""
        return replace(self, visits=False)


def _drawn(omega: Regulariser, log_prob: Array) -> tuple[Array, Array]:
    r"""$\varphi$ and $\varphi'$."""
    return jax.jvp(omega.drawn, (log_prob,), (jnp.ones_like(log_prob),))


def _slope(omega: Regulariser, log_prob: Array) -> Array:
    r"""$m = -\varphi-\varphi'$, the derivative of $\Omega$ by the chance of an action."""
    value, slope = _drawn(omega, log_prob)
    return -value - slope
