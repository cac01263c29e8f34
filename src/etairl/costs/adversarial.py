"""A classifier of learner and expert: its settings, and its updates in one compiled scan.

`discriminator` (MEGAN, GAIL) and `shaped` (AIRL) are costs that read such a classifier.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray
from typing_extensions import override

from etairl.costs.family import Cost, CostConfig, LogProb, Players, Points
from etairl.costs.losses import (
    CostInfo,
    Loss,
    Network,
    entropy_bonus,
    gan_loss,
    gradient_penalty,
    input_noise,
    label_smoothing,
    spectral_norm,
    spectrally_normalised,
    weight_decay,
)
from etairl.hyper import Number, enabled, traced
from etairl.networks import Activation, Scalar, check_widths, start_optimiser
from etairl.regularisers import Entropy
from etairl.types import InputError, check_range

_FOLLOWING = 0.1
_SMALLEST_SPREAD = 1e-3


@traced
@dataclass(frozen=True)
class DiscriminatorConfig:
    """The network that tells learner from expert, and how it is held back."""

    hidden_d: tuple[int, ...] = (64, 64)
    """width of each hidden layer of the discriminator"""
    activation_d: Activation = "tanh"
    """between its layers"""
    lr_d: float = 3e-4
    """learning rate of the discriminator"""
    gradient_penalty: float = 1.0
    """weight of (|gradient| - target)² between the two sides; 0 for none"""
    gradient_target: float = 1.0
    """the gradient norm that the penalty asks for"""
    spectral_norm: bool = False
    """divide every weight matrix by its largest singular value"""
    entropy_bonus: float = 0.0
    """weight of the entropy of D; 0 for none"""
    label_smoothing: float = 0.0
    """labels 1 - e and e instead of 1 and 0"""
    weight_decay: float = 0.0
    """weight of half the sum of squares of the weights"""
    input_noise: float = 0.0
    """standard deviation of noise on the inputs, in units of the demonstrations' spread"""

    def __post_init__(self):
        check_widths("hidden_d", self.hidden_d, self.activation_d, fewest=0)
        sizes = ("gradient_penalty", "gradient_target", "entropy_bonus", "weight_decay")
        check_range(self, "[0, inf)", *sizes, "input_noise")
        check_range(self, "[0, 0.5)", "label_smoothing")
        check_range(self, "(0, inf)", "lr_d")

    def normalised(self, network: Network) -> Network:
        """A network as it is used: its weights have norm 1 where the settings ask for that."""
        return spectrally_normalised(network) if self.spectral_norm else network


class LogitStatistics(NamedTuple):
    """Running mean and spread of the logits of the learner's pairs."""

    weight: Float[Array, ""]
    """of everything seen so far, from 0 to 1"""
    mean: Float[Array, ""]
    spread: Float[Array, ""]

    @staticmethod
    def start() -> "LogitStatistics":
        """Nothing seen: logits stay as they are."""
        return LogitStatistics(jnp.zeros(()), jnp.zeros(()), jnp.ones(()))

    def seen(self, h: Float[Array, " rows"]) -> "LogitStatistics":
        """A tenth of the way to these logits; the whole way to the first ones."""
        weight = self.weight + _FOLLOWING * (1.0 - self.weight)
        rate = _FOLLOWING / weight
        mean = self.mean + rate * (h.mean() - self.mean)
        spread = self.spread + rate * (h.std() - self.spread)
        return LogitStatistics(weight, mean, jnp.maximum(spread, _SMALLEST_SPREAD))

    def __call__(self, h: Array) -> Array:
        """Standardised logits."""
        return (h - self.mean) / self.spread


class DiscriminatorState(NamedTuple):
    """What the next update needs, and what a cost needs to be evaluated."""

    network: Any
    mean: Float[Array, " dims"]
    """of the demonstrations, per input column"""
    scale: Float[Array, " dims"]
    optimiser: optax.OptState
    logits: LogitStatistics | None = None
    """where a cost standardises its logits"""

    @staticmethod
    def start(config: DiscriminatorConfig, network: Any, units: Any) -> "DiscriminatorState":
        """Before the first update; `units` are mean and scale."""
        mean, scale = units
        optimiser = start_optimiser(optax.adam(config.lr_d), network)
        return DiscriminatorState(network, mean, scale, optimiser)


class AgainstPolicy(Cost):
    """A family whose classifier reads the cost against the density of the policy that acted."""

    @override
    def updates(
        self, key: PRNGKeyArray, state: Any, own: Points, expert: Points, log_prob: LogProb
    ) -> tuple[Any, Any]:
        sides = ((side, log_prob(side.obs, side.act)) for side in (own, expert))
        return self._compiled(key, state, *sides)

    @jax.jit
    def _compiled(self, key: PRNGKeyArray, state: Any, own: Any, expert: Any) -> tuple[Any, Any]:
        return self.scan(key, state, own, expert)

    @abstractmethod
    def scan(self, key: PRNGKeyArray, state: Any, own: Any, expert: Any) -> tuple[Any, Any]:
        """The updates, to be compiled; a side is its points and their log pi."""

    @override
    def stored(self, state: Any) -> Any:
        """All but the optimiser."""
        return state._replace(optimiser=())


class AgainstPolicyConfig(CostConfig):
    """Settings of such a family: log pi is counted once, by a regulariser with weight 1."""

    temperature: ClassVar[float | None] = 1.0
    omegas: ClassVar[tuple[str, ...]] = (Entropy.name,)

    @override
    def check(self, players: Players) -> None:
        name = players.algorithm
        if players.weighs_time:
            raise InputError(
                f"{name} goes with --solver sac or ppo: its cost is one of a single discount, and "
                "for a solver that weighs time another weighting than dirac:0 changes what is "
                "aimed at"
            )
        if players.omega.name not in self.omegas:
            wanted = " or ".join(self.omegas)
            raise InputError(f"{name} needs the regulariser {wanted}, got {players.omega.name}")
        if players.temperature != 1.0:
            raise InputError(
                f"the cost of {name} is read against log pi, so its temperature is 1, got "
                f"{players.temperature}; leave --temperature out"
            )


def adam_scan(
    rate: Number,
    loss: Callable[..., tuple[Scalar, Any]],
    state: Any,
    name: str,
    batches: Any,
    after: Callable[[Any], Any] = lambda state: state,
) -> tuple[Any, Any]:
    """One Adam step for each batch on what a state has under a name; the mean of the infos.

    Args:
        rate: the learning rate.
        loss: of what is learned, the state and the parts of a batch; a value, and its info.
        state: with an `optimiser`.
        name: of what is learned.
        batches: a leading axis counts them.
        after: what follows each step.
    """
    adam = optax.adam(cast(float, rate))

    def body(state: Any, batch: Any) -> tuple[Any, Any]:
        learned = getattr(state, name)
        grads, info = jax.grad(loss, has_aux=True)(learned, state, *batch)
        change, optimiser = adam.update(grads, state.optimiser)
        learned = optax.apply_updates(learned, change)
        return after(state._replace(**{name: learned, "optimiser": optimiser})), info

    state, infos = jax.lax.scan(body, state, batches)
    return state, jax.tree.map(jnp.mean, infos)


def adversarial_updates(
    config: DiscriminatorConfig,
    key: PRNGKeyArray,
    state: DiscriminatorState,
    own: Any,
    expert: Any,
    inputs: Callable[[DiscriminatorState, Any], Array],
    exact: int = 0,
) -> tuple[DiscriminatorState, CostInfo]:
    """One Adam step on the GAN loss per leading row of `own` and `expert`; the mean of the infos.

    `inputs(state, batch)` makes of a batch what the network takes; its last `exact` columns never
    get noise.
    """
    loss = make_loss(config, exact)

    def judged(
        network: Network, state: DiscriminatorState, own: Any, expert: Any, key: PRNGKeyArray
    ) -> tuple[Scalar, CostInfo]:
        return loss(network, key, inputs(state, own), inputs(state, expert))

    keys = jax.random.split(key, len(jax.tree.leaves(own)[0]))
    return adam_scan(config.lr_d, judged, state, "network", (own, expert, keys))


def make_loss(config: DiscriminatorConfig, exact: int = 0) -> Loss:
    """The GAN loss with what the configuration wraps around it."""
    loss: Loss = gan_loss
    if enabled(config.label_smoothing):
        loss = label_smoothing(loss, config.label_smoothing)
    if enabled(config.entropy_bonus):
        loss = entropy_bonus(loss, config.entropy_bonus)
    if enabled(config.gradient_penalty):
        loss = gradient_penalty(loss, config.gradient_penalty, config.gradient_target)
    if enabled(config.input_noise):
        loss = input_noise(loss, config.input_noise, exact)
    if config.spectral_norm:
        loss = spectral_norm(loss)
    if enabled(config.weight_decay):
        loss = weight_decay(loss, config.weight_decay)
    return loss
