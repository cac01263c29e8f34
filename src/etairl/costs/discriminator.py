r"""The GAN cost: $c = \log D$, where $D$ tells the learner's pairs from the expert's.

With $\psi_{GAN}$ the cost player of the template solves
$\max_D \mathbb{E}^\eta_\pi[\log D] + \mathbb{E}^\eta_E[\log(1 - D)]$ (errata (i)): a classifier
trained on pairs drawn from $\mu^\eta$. MEGAN and GAIL differ in that draw alone.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray
from typing_extensions import override

from etairl.costs.adversarial import (
    DiscriminatorConfig,
    DiscriminatorState,
    LogitStatistics,
    adversarial_updates,
)
from etairl.costs.family import (
    ConfiguredCost,
    CostConfig,
    Inputs,
    LogProb,
    Points,
    View,
    standard_units,
)
from etairl.costs.losses import CostInfo, StandardisedInfo, logits
from etairl.experience import World
from etairl.hyper import traced
from etairl.networks import MLP, Rows
from etairl.types import check_choice

Form = Literal["log_d", "logit", "log_not_d"]
_BATCHES = 8
"""of the learner's pairs, from which the statistics of the logits are taken"""


@traced
@dataclass(frozen=True)
class GanConfig(CostConfig):
    """The cost of MEGAN and GAIL: what a discriminator sees, and what its answer costs."""

    kind: ClassVar[str] = "discriminator"
    inputs: Inputs = "state_action"
    """what the discriminator sees"""
    form: Form = "log_d"
    """the cost: log_d is log D (GAIL; a bonus for staying alive), logit is log D - log(1 - D)
    (AIRL; either sign), log_not_d is -log(1 - D) (a price for staying alive)"""
    mean_logit: float | None = None
    """give the learner's logits this mean and the spread 1 before the form is taken (by running
    statistics): its pairs then differ in cost however sure the discriminator is; none for logits
    as they are"""
    network: DiscriminatorConfig = field(default_factory=DiscriminatorConfig)

    @staticmethod
    def upgraded(data: dict[str, Any]) -> dict[str, Any]:
        """Settings of a file, also of versions up to 0.3."""
        return {"mean_logit": None} | data

    def __post_init__(self):
        check_choice("inputs", self.inputs, get_args(Inputs))
        check_choice("form", self.form, get_args(Form))

    @property
    @override
    def needs_next(self) -> bool:
        return self.inputs == "state_next_state"

    @property
    @override
    def needs_actions(self) -> bool:
        return self.inputs == "state_action"

    @override
    def make(self, world: World) -> "Discriminator":
        return Discriminator(self, View(world.spec, self.inputs, world.absorbing))


@traced
@dataclass(frozen=True)
class Discriminator(ConfiguredCost):
    """A cost family of the template: a network, its loss, its form."""

    config: GanConfig
    view: View

    @property
    def never_positive(self) -> bool:
        """Only log D is never above 0."""
        return self.config.form == "log_d"

    def init(self, key: PRNGKeyArray, expert: Points) -> DiscriminatorState:
        """A fresh network; inputs are standardised with the statistics of the demonstrations."""
        x, config = np.asarray(self.view(*expert)), self.config.network
        network = MLP.init(key, (x.shape[1], *config.hidden_d, 1), config.activation_d)
        state = DiscriminatorState.start(config, network, standard_units(x))
        if self.config.mean_logit is not None:
            state = state._replace(logits=LogitStatistics.start())
        return state

    def __call__(self, state: DiscriminatorState, obs: Array, act: Array, next_obs: Array) -> Rows:
        """The cost of each row."""
        h = self._logits(state, Points(obs, act, next_obs))
        if (mean := self.config.mean_logit) is not None and state.logits is not None:
            h = mean + state.logits(h)
        return cost_of_logits(self.config.form, h)

    def updates(
        self,
        key: PRNGKeyArray,
        state: DiscriminatorState,
        own: Points,
        expert: Points,
        log_prob: LogProb | None = None,
    ) -> tuple[DiscriminatorState, CostInfo | StandardisedInfo]:
        """Many updates in one compiled scan; info is averaged over them."""
        return self._scan(key, state, own, expert)

    @jax.jit
    def _scan(
        self, key: PRNGKeyArray, state: DiscriminatorState, own: Points, expert: Points
    ) -> tuple[DiscriminatorState, CostInfo | StandardisedInfo]:
        state, info = adversarial_updates(
            self.config.network, key, state, own, expert, self._inputs
        )
        if state.logits is None:
            return state, info
        newest = jax.tree.map(lambda rows: rows[-_BATCHES:].reshape(-1, rows.shape[-1]), own)
        seen = state.logits.seen(self._logits(state, newest))
        return state._replace(logits=seen), StandardisedInfo(*info, seen.mean, seen.spread)

    def stored(self, state: DiscriminatorState) -> DiscriminatorState:
        """All but the optimiser."""
        return state._replace(optimiser=())

    def _logits(self, state: DiscriminatorState, points: Points) -> Rows:
        network = self.config.network.normalised(state.network)
        return logits(network, self._inputs(state, points))

    def _inputs(self, state: DiscriminatorState, points: Points) -> Array:
        return (self.view(*points) - state.mean) / state.scale


def cost_of_logits(form: Form, h: Rows) -> Rows:
    r"""$\log D = -\text{softplus}(-h)$, $h$, or $-\log(1-D) = \text{softplus}(h)$.

    All three have the same sign of slope: what looks like the learner costs more. They differ in
    what staying alive is worth: `log_d` is below 0 (every further step is a gain), `log_not_d`
    above (every further step is a loss), `logit` either. Where episodes can end early, that alone
    can decide what is learned.
    """
    if form == "log_d":
        return -jax.nn.softplus(-h)
    return h if form == "logit" else jax.nn.softplus(h)
