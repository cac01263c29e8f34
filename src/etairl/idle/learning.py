r"""Idle (Algorithm 5): a generator of futures, $G(\cdot \mid s) \approx P^\eta_E(\cdot \mid s)$.

$$\max_D\min_G\; \mathbb{E}[\log D(s_+, a_+ \mid s)] + \mathbb{E}[\log(1 - D(G(s) \mid s))]$$

with $s$ a state of an episode and $(s_+, a_+)$ the pair $k \sim \eta$ steps later in it. The roles
are those of errata (j), which the paper has swapped: $D$ is the probability of *true* (the opposite
label of MEGAN's discriminator), and $G$ maximises $\log D(G(s) \mid s)$, which does not saturate.
Given the state, the generator's output is a change: what an episode keeps is copied.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from etairl.costs.losses import gan_loss, gradient_penalty, logits
from etairl.hyper import enabled
from etairl.idle.generator import Generator, IdleConfig, StateActions, States, Units, output
from etairl.measures import FutureSampler
from etairl.networks import MLP, start_optimiser
from etairl.types import Trajectories
from etairl.types.task_space import Mend

_ENOUGH = 20_000  # pairs to take means and spreads from


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
        started = tuple(start_optimiser(optimiser, one) for one in (generator, discriminator))
        averaged = jax.tree.map(jnp.copy, generator)
        return IdleState(generator, discriminator, averaged, (started[0], started[1]), units)


class IdleInfo(NamedTuple):
    """Metrics of updates."""

    gan_loss: Float[Array, ""]
    """of the discriminator: 2 log 2 when it cannot tell generated from true"""
    accuracy_true: Float[Array, ""]
    accuracy_generated: Float[Array, ""]


class IdleProgress(NamedTuple):
    """A round of updates."""

    steps: int
    info: IdleInfo
    generator: "Generator"


def idle(
    config: IdleConfig,
    seed: int,
    trajectories: Trajectories,
    sampler: FutureSampler,
    rounds: int = 20,
    mend: Mend | None = None,
) -> Iterator[IdleProgress]:
    """Algorithm 5 on episodes of one policy; yields after each of so many rounds of updates."""
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
        yield IdleProgress(taken, info, Generator(state.averaged, state.units, sampler, mend))


def _draw(
    rng: np.random.Generator, t: Trajectories, sampler: FutureSampler, n: int
) -> tuple[States, StateActions]:
    """States, and the pairs that followed them (lines 3 and 4)."""
    starts, ends = sampler.pairs(rng, t.offsets, n)
    futures = np.concatenate([t.observations[ends], t.actions[ends]], axis=1, dtype=np.float32)
    return np.asarray(t.observations[starts], np.float32), futures


def _optimiser(config: IdleConfig) -> optax.GradientTransformation:
    # Little momentum, as usual in games; the rate falls so that the players come to rest.
    return optax.adam(optax.linear_schedule(config.lr_idle, 0.0, config.idle_steps), b1=0.5)


@jax.jit
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
    if enabled(config.idle_penalty):
        loss = gradient_penalty(loss, config.idle_penalty, 0.0)
    optimiser = _optimiser(config)
    units = state.units

    def body(
        carry: IdleState, step: tuple[Array, Array, PRNGKeyArray, Array]
    ) -> tuple[IdleState, IdleInfo]:
        states, futures, key, taken = step
        key_d, key_g, key_loss = jax.random.split(key, 3)
        s, real = units.state(states), units.future(states, futures)
        made = output(carry.generator, units, s, _noise(key_d, config, len(s)))
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
    made = output(generator, units, s, noise)
    h = logits(discriminator, jnp.concatenate([s, made], axis=1))
    return jax.nn.softplus(-h).mean()


def _noise(key: PRNGKeyArray, config: IdleConfig, n: int) -> Array:
    return jax.random.normal(key, (n, config.idle_noise))
