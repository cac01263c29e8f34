r"""EAIRL's cost: AIRL's with the agent's own influence on its world, empowerment, as potential.

Beside the classifier three models learn from the learner's pairs: where an action leads, $T(s,a)$;
which action led there, $q(a \mid s, s')$; and how much of it can be told,
$\Phi(s) \approx \mathbb{E}_\pi[\beta\log q(a\mid s,T(s,a)) - \log\pi(a\mid s)]$, a lower bound of
the information that actions have about what follows. The logit of *learner* is

$$h = \log\pi(a \mid s) + c_f,\qquad c_f(s,a) = c(s,a) + \Phi(s) - \gamma\bar\Phi(T(s,a)),$$

with $\bar\Phi$ a slow copy of $\Phi$ (Qureshi, Boots and Yip 2019: $f=-c_f$, $r=-c$). The solver
pays $c_f + \lambda(\Phi(s) - \beta\log q)$: actions that can be told better than usual are worth
something. What one carries elsewhere is $c$.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, PRNGKeyArray
from typing_extensions import override

from etairl.costs.adversarial import (
    AgainstPolicy,
    AgainstPolicyConfig,
    DiscriminatorConfig,
    DiscriminatorState,
    adam_scan,
    adversarial_updates,
)
from etairl.costs.density import Density
from etairl.costs.family import Points, View, standard_units
from etairl.experience import World
from etairl.hyper import traced
from etairl.networks import MLP, Rows, Scalar, start_optimiser, towards
from etairl.types import check_range

_FOLLOWING = 0.01
"""of the slow copy, per update"""


class Offset(eqx.Module):
    """A logit with a part that is given: the last column, with slope 1."""

    network: MLP

    def __call__(self, x: Array) -> Array:
        """All rows at once."""
        return jax.lax.stop_gradient(x[:, -1:]) + self.network(x[:, :-1])


class Models(NamedTuple):
    """What is learned of the world and of the agent in it; in units of the demonstrations."""

    inverse: Density
    """$q$"""
    transition: MLP
    """$T$: by how much a state changes"""
    potential: MLP
    r"""$\Phi$"""


class EmpoweredState(NamedTuple):
    """The classifier, its models and their slow copy."""

    classifier: DiscriminatorState
    models: Models
    slow: MLP
    optimiser: optax.OptState


class EmpoweredInfo(NamedTuple):
    """Metrics of an update of the cost."""

    loss: Scalar
    gan_loss: Scalar
    accuracy_learner: Scalar
    accuracy_expert: Scalar
    inverse_loss: Scalar
    """-log q of the learner's actions"""
    transition_loss: Scalar
    """squared error of a column, in units of the demonstrations"""
    empowerment: Scalar
    r"""the mean of $\Phi$ on the learner's states"""


@traced
@dataclass(frozen=True)
class EmpoweredConfig(AgainstPolicyConfig):
    """The cost of EAIRL: a network of states and actions, and empowerment as potential."""

    kind: ClassVar[str] = "empowered"
    empowerment: float = 0.01
    r"""$\lambda$: what it is worth that an action can be told from where it leads; 0 for nothing"""
    told: float = 1.0
    r"""$\beta$: the weight of log q in the empowerment"""
    network: DiscriminatorConfig = field(default_factory=DiscriminatorConfig)

    def __post_init__(self):
        check_range(self, "[0, inf)", "empowerment", "told")

    @override
    def make(self, world: World) -> "EmpoweredCost":
        view = View(world.spec, "state_action", world.absorbing)
        return EmpoweredCost(self, view, world.gamma_rl)


@traced
@dataclass(frozen=True)
class EmpoweredCost(AgainstPolicy):
    """A cost family of the template: EAIRL's, of states and actions."""

    config: EmpoweredConfig
    view: View
    gamma: float
    potential: bool = True
    """off: the cost alone, without the models"""

    def init(self, key: PRNGKeyArray, expert: Points) -> EmpoweredState:
        """Fresh networks; states and actions are standardised with the demonstrations."""
        config, keys = self.config.network, jax.random.split(key, 4)
        x, states = np.asarray(self.view(*expert)), expert.obs.shape[1]
        wide, act = (x.shape[1], *config.hidden_d), config.activation_d
        inverse = Density.init(keys[0], 2 * states, self.view.spec, config.hidden_d, act)
        potential = MLP.init(keys[1], (states, *config.hidden_d, 1), act)
        models = Models(inverse, MLP.init(keys[2], (*wide, states), act), potential)
        cost = Offset(MLP.init(keys[3], (*wide, 1), act))
        classifier = DiscriminatorState.start(config, cost, standard_units(x))
        adam = start_optimiser(optax.adam(config.lr_d), models)
        return EmpoweredState(classifier, models, potential, adam)

    def __call__(self, state: EmpoweredState, obs: Array, act: Array, next_obs: Array) -> Rows:
        """The cost of each row, without the policy's part of the logit."""
        network: Offset = self.config.network.normalised(state.classifier.network)
        points = Points(obs, act, next_obs)
        x = self._units(state, points)
        cost = network.network(x)[:, 0]
        if not self.potential:
            return cost
        told, phi = self._told(state.models, x, points), self._phi(state.models.potential, x)
        return cost + self._shaping(state, x) + self.config.empowerment * (phi - told)

    @override
    def scan(
        self, key: PRNGKeyArray, state: EmpoweredState, own: Any, expert: Any
    ) -> tuple[EmpoweredState, EmpoweredInfo]:
        def followed(state: EmpoweredState) -> EmpoweredState:
            slow = towards(_FOLLOWING, state.slow, state.models.potential)
            return state._replace(slow=slow)

        rate = self.config.network.lr_d
        state, means = adam_scan(rate, self._loss, state, "models", own, followed)

        def inputs(_: DiscriminatorState, batch: tuple[Points, Array]) -> Array:
            points, log_prob = batch
            x = self._units(state, points)
            return jnp.concatenate([x, (log_prob + self._shaping(state, x))[:, None]], axis=-1)

        # log pi and the potential, the last column, get no noise.
        classifier, info = adversarial_updates(
            self.config.network, key, state.classifier, own, expert, inputs, exact=1
        )
        return state._replace(classifier=classifier), EmpoweredInfo(*info, *means)

    def _loss(
        self, models: Models, state: EmpoweredState, points: Points, log_prob: Rows
    ) -> tuple[Scalar, tuple[Scalar, Scalar, Scalar]]:
        """Of the models, on the learner's pairs."""
        x, states = self._units(state, points), points.obs.shape[-1]
        mean, scale = (part[:states] for part in state.classifier[1:3])
        after = (points.next_obs - mean) / scale
        seen = jnp.concatenate([x[:, :states], after], axis=-1)
        inverse = -(
            self.view.in_world(points.obs) * models.inverse.log_prob(seen, points.act)
        ).mean()
        transition = ((x[:, :states] + models.transition(x) - after) ** 2).mean()
        phi = self._phi(models.potential, x)
        told = jax.lax.stop_gradient(self._told(models, x, points)) - log_prob
        potential = ((phi - told) ** 2).mean()
        return inverse + transition + potential, (inverse, transition, phi.mean())

    def _told(self, models: Models, x: Array, points: Points) -> Rows:
        r"""$\beta\log q(a \mid s, T(s,a))$."""
        now = x[:, : points.obs.shape[-1]]
        both = jnp.concatenate([now, now + models.transition(x)], axis=-1)
        weight = self.config.told * self.view.in_world(points.obs)
        return weight * models.inverse.log_prob(both, points.act)

    def _shaping(self, state: EmpoweredState, x: Array) -> Rows:
        r"""$\Phi(s) - \gamma\bar\Phi(T(s,a))$."""
        after = x[:, : state.slow.weights[0].shape[0]] + state.models.transition(x)
        return self._phi(state.models.potential, x) - self.gamma * self._phi(state.slow, after)

    def _phi(self, potential: MLP, x: Array) -> Rows:
        return potential(x[:, : potential.weights[0].shape[0]])[:, 0]

    def _units(self, state: EmpoweredState, points: Points) -> Array:
        return (self.view(*points) - state.classifier.mean) / state.classifier.scale

    def stored(self, state: EmpoweredState) -> EmpoweredState:
        """All but the optimisers."""
        classifier = state.classifier._replace(optimiser=())
        return state._replace(classifier=classifier, optimiser=())

    def portable(self) -> "EmpoweredCost":
        """The cost alone, without potential and empowerment."""
        return replace(self, potential=False)
