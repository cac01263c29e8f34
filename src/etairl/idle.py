r"""Idle (Algorithm 5): a generator of futures, $G(\cdot \mid s) \approx P^\eta_E(\cdot \mid s)$.

$$\max_D\min_G\; \mathbb{E}[\log D(s_+, a_+ \mid s)] + \mathbb{E}[\log(1 - D(G(s) \mid s))]$$

with $s$ a state of an episode and $(s_+, a_+)$ the pair $k \sim \eta$ steps later in it. The roles
are those of errata (j), which the paper has swapped: $D$ is the probability of *true* (the opposite
label of MEGAN's discriminator), and $G$ maximises $\log D(G(s) \mid s)$, which does not saturate.
Given the state, the generator's output is a change: what an episode keeps is copied.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from etairl.costs.losses import gan_loss, gradient_penalty, logits
from etairl.measures import FutureSampler
from etairl.networks import MLP, Activation, checked_widths
from etairl.types import FutureBatch, InputError, Trajectories

States = Float[np.ndarray, "rows obs"]
Pairs = Float[np.ndarray, "rows obs_and_act"]
Mend = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""takes observations and actions, and returns the nearest that there can be"""
_ENOUGH = 20_000  # pairs to take means and spreads from


@dataclass(frozen=True)
class IdleConfig:
    """The two networks and how they are trained; sizes are the paper's."""

    hidden_idle: tuple[int, ...] = (64, 64, 64)
    """width of each hidden layer, of the generator and of its discriminator"""
    activation_idle: Activation = "relu"
    """between them"""
    idle_noise: int = 16
    """normal numbers that the generator makes one future of"""
    idle_steps: int = 10_000
    """updates of both networks"""
    idle_batch: int = 256
    """pairs in one of them"""
    lr_idle: float = 4e-3
    """learning rate of both; it falls to 0"""
    idle_penalty: float = 1.0
    """weight of the squared gradient of its discriminator; 0 for none, as in the paper"""
    idle_average: float = 0.999
    """decay of the running mean of the generator's weights, which is what is used"""

    def __post_init__(self):
        for name in ("idle_noise", "idle_steps", "idle_batch"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        widths = checked_widths("hidden_idle", self.hidden_idle, self.activation_idle)
        object.__setattr__(self, "hidden_idle", widths)
        if not 0.0 < self.lr_idle < np.inf:
            raise InputError(f"lr_idle must be > 0 and finite, got {self.lr_idle}")
        if not 0.0 <= self.idle_penalty < np.inf:
            raise InputError(f"idle_penalty must be >= 0 and finite, got {self.idle_penalty}")
        if not 0.0 <= self.idle_average < 1.0:
            raise InputError(f"idle_average must lie in [0, 1), got {self.idle_average}")


class Units(NamedTuple):
    """Coordinates in which states, and futures seen from them, have mean 0 and spread 1."""

    state_mean: Float[Array, " obs"]
    state_scale: Float[Array, " obs"]
    future_mean: Float[Array, " obs_and_act"]
    future_scale: Float[Array, " obs_and_act"]
    """0 where all futures are the same change: nothing is generated there"""
    lowest: Float[Array, " act"]
    """action that was seen, per column; generated ones stay within"""
    highest: Float[Array, " act"]

    @staticmethod
    def of(states: States, futures: Pairs) -> "Units":
        """From pairs of a state and its future."""
        changes = np.array(futures, np.float64)
        changes[:, : states.shape[1]] -= states
        state_mean, state_scale = _spread(np.asarray(states, np.float64))
        future_mean, future_scale = _spread(changes)
        scales = np.where(state_scale > 0.0, state_scale, 1.0)
        actions = futures[:, states.shape[1] :]
        limits = (actions.min(axis=0), actions.max(axis=0))
        parts = (state_mean, scales, future_mean, future_scale, *limits)
        return Units(*(jnp.asarray(part, jnp.float32) for part in parts))

    @staticmethod
    def blank(obs_dim: int, act_dim: int) -> "Units":
        """Of these sizes, to be filled."""
        obs, act, both = (jnp.zeros(n) for n in (obs_dim, act_dim, obs_dim + act_dim))
        return Units(obs, obs, both, both, act, act)

    def state(self, states: Array) -> Array:
        """Of plain states."""
        return (states - self.state_mean) / self.state_scale

    def future(self, states: Array, futures: Array) -> Array:
        """Of plain pairs; what never differs is 0."""
        change = futures.at[:, : states.shape[1]].add(-states)
        scale = jnp.where(self.future_scale > 0.0, self.future_scale, jnp.inf)
        return (change - self.future_mean) / scale

    def plain(self, states: Array, standard: Array) -> Array:
        """Back to pairs."""
        change, obs = self.future_mean + self.future_scale * standard, states.shape[1]
        actions = jnp.clip(change[:, obs:], self.lowest, self.highest)
        return jnp.concatenate([states + change[:, :obs], actions], axis=1)


def _spread(x: Float[np.ndarray, "rows dims"]) -> tuple[np.ndarray, np.ndarray]:
    mean, spread = x.mean(axis=0), x.std(axis=0)
    constant = spread <= 1e-6 * np.maximum(1.0, np.abs(x).max(axis=0))
    return mean, np.where(constant, 0.0, spread)


class IdleState(NamedTuple):
    """Both players, and what is used of the generator: its running mean."""

    generator: MLP
    discriminator: MLP
    averaged: MLP
    optimisers: tuple[optax.OptState, optax.OptState]
    units: Units

    @staticmethod
    def start(config: IdleConfig, key: PRNGKeyArray, units: Units) -> "IdleState":
        """Untrained players."""
        key_generator, key_discriminator = jax.random.split(key)
        obs, both = len(units.state_mean), len(units.future_mean)
        hidden, activation = config.hidden_idle, config.activation_idle
        generator = MLP.init(key_generator, (obs + config.idle_noise, *hidden, both), activation)
        discriminator = MLP.init(key_discriminator, (obs + both, *hidden, 1), activation)
        optimiser = _optimiser(config)
        started = tuple(optimiser.init(cast(Any, one)) for one in (generator, discriminator))
        averaged = jax.tree.map(jnp.copy, generator)
        return IdleState(generator, discriminator, averaged, (started[0], started[1]), units)


class IdleInfo(NamedTuple):
    """What updates have to say."""

    gan_loss: Float[Array, ""]
    """of the discriminator: 2 log 2 when it cannot tell generated from true"""
    accuracy_true: Float[Array, ""]
    accuracy_generated: Float[Array, ""]


class Progress(NamedTuple):
    """A round of updates."""

    steps: int
    info: IdleInfo
    generator: "Generator"


@dataclass(frozen=True)
class Generator:
    r"""A sampler of $\mu^\eta$ that invents futures: $s \sim \rho$ from episodes, then $G(s)$."""

    network: MLP
    units: Units
    sampler: FutureSampler
    """of recorded futures: says which states are drawn"""
    mend: Mend | None = None
    """makes possible what a network is not exact enough for"""

    def futures(
        self, rng: np.random.Generator, states: Float[np.ndarray, "n obs"]
    ) -> tuple[Float[np.ndarray, "n obs"], Float[np.ndarray, "n act"]]:
        """One future of each state."""
        inputs, obs = self.network.weights[0].shape[0], states.shape[1]
        noise = rng.standard_normal((len(states), inputs - obs), dtype=np.float32)
        drawn = _generate(self.network, self.units, jnp.asarray(states, jnp.float32), noise)
        found = np.asarray(drawn[:, :obs]), np.asarray(drawn[:, obs:])
        return found if self.mend is None else self.mend(*found)

    def starts(
        self, rng: np.random.Generator, offsets: Int[np.ndarray, " episodes_and_one"], n: int
    ) -> Int[np.ndarray, " {n}"]:
        """Rows of states, as those of recorded futures are drawn."""
        return self.sampler.pairs(rng, offsets, n)[0]

    def __call__(self, rng: np.random.Generator, trajectories: Trajectories, n: int) -> FutureBatch:
        """Draw `n` pairs; the rows are those of the states that they are futures of."""
        rows = self.starts(rng, trajectories.offsets, n)
        observations, actions = self.futures(rng, trajectories.observations[rows])
        return FutureBatch(observations, actions, rows)


def idle(
    config: IdleConfig,
    seed: int,
    trajectories: Trajectories,
    sampler: FutureSampler,
    rounds: int = 20,
    mend: Mend | None = None,
) -> Iterator[Progress]:
    """Algorithm 5; yields after every round of updates.

    Args:
        config: of the networks and their training.
        seed: of weights and draws.
        trajectories: episodes of one policy.
        sampler: draws a state and its future.
        rounds: in how many parts the updates come.
        mend: of the generator.
    """
    rng = np.random.default_rng([seed, 5])
    first = _draw(rng, trajectories, sampler, _ENOUGH)
    state = IdleState.start(config, jax.random.key(seed), Units.of(*first))
    taken = 0
    for number in range(1, rounds + 1):
        many = config.idle_steps * number // rounds - taken
        if many == 0:
            continue
        n = many * config.idle_batch
        drawn = (
            part.reshape(many, config.idle_batch, -1)
            for part in _draw(rng, trajectories, sampler, n)
        )
        key = jax.random.fold_in(jax.random.key(seed), number)
        state, info = _updates(config, key, state, jnp.int32(taken), *map(jnp.asarray, drawn))
        taken += many
        yield Progress(taken, info, Generator(state.averaged, state.units, sampler, mend))


def _draw(
    rng: np.random.Generator, t: Trajectories, sampler: FutureSampler, n: int
) -> tuple[States, Pairs]:
    """States, and the pairs that followed them (lines 3 and 4)."""
    starts, ends = sampler.pairs(rng, t.offsets, n)
    futures = np.concatenate([t.observations[ends], t.actions[ends]], axis=1, dtype=np.float32)
    return np.asarray(t.observations[starts], np.float32), futures


def _optimiser(config: IdleConfig) -> optax.GradientTransformation:
    # Little momentum, as usual in games; the rate falls so that the players come to rest.
    return optax.adam(optax.linear_schedule(config.lr_idle, 0.0, config.idle_steps), b1=0.5)


@partial(jax.jit, static_argnums=0)
def _updates(
    config: IdleConfig,
    key: PRNGKeyArray,
    state: IdleState,
    taken: Int[Array, ""],
    states: Float[Array, "updates batch obs"],
    futures: Float[Array, "updates batch obs_and_act"],
) -> tuple[IdleState, IdleInfo]:
    """Lines 5 to 7, many times, in one compiled scan; info is averaged."""
    loss = gan_loss
    if config.idle_penalty:
        loss = gradient_penalty(loss, config.idle_penalty, 0.0)
    optimiser = _optimiser(config)
    units = state.units

    def body(
        carry: IdleState, step: tuple[Array, Array, PRNGKeyArray, Array]
    ) -> tuple[IdleState, IdleInfo]:
        states, futures, key, taken = step
        key_d, key_g, key_loss = jax.random.split(key, 3)
        s, real = units.state(states), units.future(states, futures)
        made = _output(carry.generator, units, s, _noise(key_d, config, len(s)))
        sides = (jnp.concatenate([s, x], axis=1) for x in (real, made))
        slopes, info = jax.grad(loss, has_aux=True)(carry.discriminator, key_loss, *sides)
        change, rest_d = optimiser.update(slopes, carry.optimisers[1])
        discriminator = cast(MLP, optax.apply_updates(cast(Any, carry.discriminator), change))
        noise = _noise(key_g, config, len(s))
        slopes = jax.grad(generator_loss)(carry.generator, discriminator, units, s, noise)
        change, rest_g = optimiser.update(slopes, carry.optimisers[0])
        generator = cast(MLP, optax.apply_updates(cast(Any, carry.generator), change))
        # The mean forgets the start.
        decay = jnp.minimum(config.idle_average, (1.0 + taken) / (10.0 + taken))
        averaged = jax.tree.map(
            lambda old, new: decay * old + (1.0 - decay) * new, carry.averaged, generator
        )
        said = IdleInfo(info.gan_loss, info.accuracy_learner, info.accuracy_expert)
        return IdleState(generator, discriminator, averaged, (rest_g, rest_d), units), said

    keys, steps = jax.random.split(key, len(states)), taken + 1 + jnp.arange(len(states))
    state, infos = jax.lax.scan(body, state, (states, futures, keys, steps))
    return state, jax.tree.map(jnp.mean, infos)


def generator_loss(
    generator: MLP, discriminator: MLP, units: Units, s: Array, noise: Array
) -> Float[Array, ""]:
    r"""$-\mathbb{E}[\log D(G(s) \mid s)]$: what the generator minimises (line 7)."""
    made = _output(generator, units, s, noise)
    h = logits(discriminator, jnp.concatenate([s, made], axis=1))
    return jax.nn.softplus(-h).mean()


def _noise(key: PRNGKeyArray, config: IdleConfig, n: int) -> Array:
    return jax.random.normal(key, (n, config.idle_noise))


def _output(generator: MLP, units: Units, s: Array, noise: Array) -> Array:
    """Futures in standard units; 0 where all are the same, as true ones have it."""
    return generator(jnp.concatenate([s, noise], axis=1)) * (units.future_scale > 0.0)


@jax.jit
def _generate(network: MLP, units: Units, states: Array, noise: Array) -> Array:
    return units.plain(states, _output(network, units, units.state(states), noise))
