r"""The GAN cost: $c = \log D$, where $D$ tells the learner's pairs from the expert's.

With $\psi_{GAN}$ the cost player of the template solves
$\max_D \mathbb{E}^\eta_\pi[\log D] + \mathbb{E}^\eta_E[\log(1 - D)]$ (errata (i)): the classifier
below, trained on pairs drawn from $\mu^\eta$. MEGAN and GAIL differ in that draw alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, cast, get_args

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from etairl.costs.family import Inputs, LogProbs, Points, Rows, View, standard_units
from etairl.costs.losses import (
    CostInfo,
    Loss,
    Network,
    entropy_bonus,
    gan_loss,
    gradient_penalty,
    input_noise,
    label_smoothing,
    logits,
    spectral_norm,
    spectrally_normalised,
    weight_decay,
)
from etairl.networks import MLP, Activation, checked_widths
from etairl.types import InputError, Spec

Form = Literal["log_d", "logit", "log_not_d"]


@dataclass(frozen=True)
class DiscriminatorConfig:
    """The network that tells learner from expert, and how it is held back."""

    hidden_d: tuple[int, ...] = (64, 64)
    """width of each hidden layer of the discriminator"""
    activation_d: Activation = "tanh"
    """between its layers"""
    inputs: Inputs = "state_action"
    """what the discriminator sees"""
    form: Form = "log_d"
    """the cost: log_d is log D (GAIL; a bonus for staying alive), logit is log D - log(1 - D)
    (AIRL; either sign), log_not_d is -log(1 - D) (a price for staying alive)"""
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
        for name, value, allowed in (
            ("inputs", self.inputs, get_args(Inputs)),
            ("form", self.form, get_args(Form)),
        ):
            if value not in allowed:
                raise InputError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
        widths = checked_widths("hidden_d", self.hidden_d, self.activation_d, fewest=0)
        object.__setattr__(self, "hidden_d", widths)
        sizes = ("gradient_penalty", "gradient_target", "entropy_bonus", "weight_decay")
        for name in (*sizes, "input_noise"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise InputError(f"{name} must be >= 0 and finite, got {getattr(self, name)}")
        if not 0.0 <= self.label_smoothing < 0.5:
            raise InputError(f"label_smoothing must lie in [0, 0.5), got {self.label_smoothing}")
        if not 0.0 < self.lr_d < np.inf:
            raise InputError(f"lr_d must be > 0 and finite, got {self.lr_d}")


class DiscriminatorState(NamedTuple):
    """What the next update needs, and what a cost needs to be evaluated."""

    network: Any
    mean: Float[Array, " dims"]
    """of the demonstrations, per input column"""
    scale: Float[Array, " dims"]
    optimiser: optax.OptState


@dataclass(frozen=True)
class Discriminator:
    """A cost family of the template: a network, its loss, its form."""

    config: DiscriminatorConfig
    spec: Spec
    absorbing: bool = False
    """the last observation column marks an absorbing state, where actions mean nothing"""

    @property
    def needs_next(self) -> bool:
        """See `Cost`."""
        return self.config.inputs == "state_next_state"

    @property
    def needs_policy(self) -> bool:
        """See `Cost`."""
        return False

    def init(self, key: PRNGKeyArray, expert: Points) -> DiscriminatorState:
        """A fresh network; inputs are standardised with the statistics of the demonstrations."""
        x = np.asarray(self._view(*expert))
        mean, scale = standard_units(x)
        sizes = (x.shape[1], *self.config.hidden_d, 1)
        network = MLP.init(key, sizes, self.config.activation_d)
        return DiscriminatorState(network, mean, scale, start_optimiser(self.config, network))

    def __call__(self, state: DiscriminatorState, obs: Array, act: Array, next_obs: Array) -> Rows:
        """The cost of each row."""
        network = state.network
        if self.config.spectral_norm:
            network = spectrally_normalised(network)
        return cost_of_logits(
            self.config.form, logits(network, self._x(state, Points(obs, act, next_obs)))
        )

    @partial(jax.jit, static_argnums=0)
    def updates(
        self,
        key: PRNGKeyArray,
        state: DiscriminatorState,
        own: Points,
        expert: Points,
        log_probs: LogProbs | None = None,
    ) -> tuple[DiscriminatorState, CostInfo]:
        """Many updates in one compiled scan; info is averaged over them."""
        return adversarial_updates(self.config, key, state, own, expert, self._x)

    def stored(self, state: DiscriminatorState) -> DiscriminatorState:
        """See `Cost`."""
        return state._replace(optimiser=())

    def check(self, state: DiscriminatorState) -> None:
        """See `Cost`; every network is one of this family, if its weights are numbers."""
        check_finite(state)

    def portable(self) -> "Discriminator":
        """See `Cost`."""
        return self

    @property
    def _view(self) -> View:
        return View(self.spec, self.config.inputs, self.absorbing)

    def _x(self, state: DiscriminatorState, points: Points) -> Array:
        return (self._view(*points) - state.mean) / state.scale


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

    def body(
        carry: DiscriminatorState, step: tuple[Any, Any, PRNGKeyArray]
    ) -> tuple[DiscriminatorState, CostInfo]:
        own, expert, key = step
        x, y = inputs(carry, own), inputs(carry, expert)
        grads, info = jax.grad(loss, has_aux=True)(carry.network, key, x, y)
        change, optimiser = _optimiser(config).update(grads, carry.optimiser)
        network = cast(Network, optax.apply_updates(cast(Any, carry.network), change))
        return carry._replace(network=network, optimiser=optimiser), info

    keys = jax.random.split(key, len(jax.tree.leaves(own)[0]))
    state, infos = jax.lax.scan(body, state, (own, expert, keys))
    return state, jax.tree.map(jnp.mean, infos)


def start_optimiser(config: DiscriminatorConfig, network: Any) -> optax.OptState:
    """Adam, before its first step."""
    return _optimiser(config).init(network)


def check_finite(state: Any) -> None:
    """Refuse NaN and infinity."""
    if not all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(state)):
        raise InputError("the weights of the cost are not all finite numbers")


def _optimiser(config: DiscriminatorConfig) -> optax.GradientTransformation:
    return optax.adam(config.lr_d)


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


def make_loss(config: DiscriminatorConfig, exact: int = 0) -> Loss:
    """The GAN loss with what the configuration wraps around it."""
    loss: Loss = gan_loss
    if config.label_smoothing:
        loss = label_smoothing(loss, config.label_smoothing)
    if config.entropy_bonus:
        loss = entropy_bonus(loss, config.entropy_bonus)
    if config.gradient_penalty:
        loss = gradient_penalty(loss, config.gradient_penalty, config.gradient_target)
    if config.input_noise:
        loss = input_noise(loss, config.input_noise, exact)
    if config.spectral_norm:
        loss = spectral_norm(loss)
    if config.weight_decay:
        loss = weight_decay(loss, config.weight_decay)
    return loss
