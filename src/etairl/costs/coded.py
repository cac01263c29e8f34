r"""s-GAIL's cost: a discriminator for many tasks, also where nobody says which one is shown.

Where tasks are given they are part of the state, and the cost is GAIL's. Where they are not, the
learner's observations end with a code $z$, drawn at random in every episode (`tasks.codes`). The
discriminator does not see it; a posterior $q(z \mid s,a)$ learns to tell the code from what the
learner does, and the learner pays for what does not give its code away:

$$c(s,a,z) = \log D(s,a) - \lambda\,(\log q(z \mid s,a) + \log K)$$

(as InfoGAIL; Li, Song and Ermon 2017). Over the pairs of a trajectory,
$\log q(z\mid\tau) \propto \sum_t\log q(z\mid s_t,a_t)$ says which of the learner's tasks it shows.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray
from typing_extensions import override

from etairl.costs.adversarial import DiscriminatorState, adam_scan
from etairl.costs.discriminator import Discriminator, GanConfig
from etairl.costs.family import ConfiguredCost, CostConfig, LogProb, Points, View
from etairl.experience import World
from etairl.hyper import traced
from etairl.networks import MLP, Rows, Scalar, start_optimiser
from etairl.tasks.codes import are_codes
from etairl.types import InputError, check_range


class CodedState(NamedTuple):
    """The discriminator, and the posterior of the codes."""

    pairs: DiscriminatorState
    posterior: MLP
    optimiser: optax.OptState


class CodedInfo(NamedTuple):
    """Metrics of an update of the cost."""

    loss: Scalar
    gan_loss: Scalar
    accuracy_learner: Scalar
    accuracy_expert: Scalar
    code_loss: Scalar
    """-log q of the learner's codes; log K where they cannot be told, 0 without codes"""


@traced
@dataclass(frozen=True)
class CodedConfig(CostConfig):
    """The cost of s-GAIL: a discriminator, and a posterior of the codes."""

    kind: ClassVar[str] = "coded"
    codes: int = 0
    """the last so many columns of an observation are a code that the demonstrations do not know;
    0 where the tasks are given"""
    code_weight: float = 1.0
    """what it costs, per nat, that the code cannot be told"""
    pairs: GanConfig = field(default_factory=GanConfig)

    def __post_init__(self):
        check_range(self, "[0, inf)", "codes", "code_weight")
        if self.codes == 1:
            raise InputError("a single code says nothing; take --codes 2 or more, or 0")

    @property
    @override
    def needs_next(self) -> bool:
        return self.pairs.needs_next

    @property
    @override
    def needs_actions(self) -> bool:
        return self.pairs.needs_actions

    @override
    def make(self, world: World) -> "CodedCost":
        if self.codes and world.spec.obs_dim <= self.codes:
            raise InputError(f"{self.codes} codes leave no column of the observation for a state")
        left, names = world.spec.obs_dim - self.codes, world.spec.observation_names
        # The code is the last columns.
        spec = replace(world.spec, obs_dim=left, observation_names=names and names[:left])
        view = View(spec, self.pairs.inputs, world.absorbing)
        return CodedCost(self, Discriminator(self.pairs, view))


@traced
@dataclass(frozen=True)
class CodedCost(ConfiguredCost):
    """A cost family of the template: s-GAIL's."""

    config: CodedConfig
    pairs: Discriminator

    @property
    @override
    def never_positive(self) -> bool:
        return self.pairs.never_positive and not self.config.codes

    def init(self, key: PRNGKeyArray, expert: Points) -> CodedState:
        """Fresh networks; refused where the observations do not end with codes."""
        network, (plain, codes) = self.config.pairs.network, self._split(expert)
        if self.config.codes and not are_codes(np.asarray(codes)):
            raise InputError(
                f"the last {self.config.codes} columns of the demonstrations are no codes: not a "
                "single 1 each. etairl.tasks.codes.without_tasks puts them there; --codes 0 is for "
                "tasks that are given"
            )
        first = self.pairs.init(key, plain)
        sizes = (len(first.mean), *network.hidden_d, max(self.config.codes, 1))
        posterior = MLP.init(jax.random.fold_in(key, 1), sizes, network.activation_d)
        return CodedState(first, posterior, start_optimiser(optax.adam(network.lr_d), posterior))

    def __call__(self, state: CodedState, obs: Array, act: Array, next_obs: Array) -> Rows:
        """The cost of each row."""
        plain, codes = self._split(Points(obs, act, next_obs))
        cost = self.pairs(state.pairs, *plain)
        if not self.config.codes:
            return cost
        told = (codes * self.log_posterior(state, plain)).sum(axis=-1)
        return cost - self.config.code_weight * (told + np.log(self.config.codes))

    def log_posterior(self, state: CodedState, plain: Points) -> Float[Array, "*rows codes"]:
        r"""$\log q(z \mid s, a)$ of rows without their code; summed over a trajectory, its own."""
        x = (self.pairs.view(*plain) - state.pairs.mean) / state.pairs.scale
        return jax.nn.log_softmax(state.posterior(x))

    def updates(
        self, key: PRNGKeyArray, state: CodedState, own: Points, expert: Points, log_prob: LogProb
    ) -> tuple[CodedState, CodedInfo]:
        """The discriminator on pairs without codes, then the posterior on the learner's."""
        (plain, codes), (theirs, _) = self._split(own), self._split(expert)
        pairs, info = self.pairs.updates(key, state.pairs, plain, theirs)
        state, loss = self._posterior(state._replace(pairs=pairs), plain, codes)
        return state, CodedInfo(*info[:4], loss)

    @jax.jit
    def _posterior(self, state: CodedState, own: Points, codes: Array) -> tuple[CodedState, Scalar]:
        def loss(posterior: MLP, state: CodedState, points: Points, code: Array) -> Any:
            told = self.log_posterior(state._replace(posterior=posterior), points)
            value = -(code * told).sum(axis=-1).mean()
            return value, value

        rate = self.config.pairs.network.lr_d
        return adam_scan(rate, loss, state, "posterior", (own, codes))

    def _split(self, points: Points) -> tuple[Points, Array]:
        """Rows without their codes, and the codes."""
        known = points.obs.shape[-1] - self.config.codes
        plain = Points(points.obs[..., :known], points.act, points.next_obs[..., :known])
        return plain, points.obs[..., known:]

    def stored(self, state: CodedState) -> CodedState:
        """All but the optimisers."""
        return state._replace(pairs=self.pairs.stored(state.pairs), optimiser=())
