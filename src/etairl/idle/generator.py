"""A generator of futures: its settings, the units it works in, and how it draws."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from etairl.hyper import traced
from etairl.measures import FutureSampler
from etairl.networks import MLP, Activation, check_widths
from etairl.types import FutureBatch, Trajectories, check_range, constant_columns
from etairl.types.task_space import Mend

States = Float[np.ndarray, "rows obs"]
StateActions = Float[np.ndarray, "rows obs_and_act"]


@traced
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
        check_range(self, "[1, inf)", "idle_noise", "idle_steps", "idle_batch")
        check_widths("hidden_idle", self.hidden_idle, self.activation_idle)
        check_range(self, "(0, inf)", "lr_idle")
        check_range(self, "[0, inf)", "idle_penalty")
        check_range(self, "[0, 1)", "idle_average")


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
    def of(states: States, futures: StateActions) -> "Units":
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
    return x.mean(axis=0), np.where(constant_columns(x), 0.0, x.std(axis=0))


@dataclass(frozen=True)
class Generator:
    r"""A sampler of $\mu^\eta$ that generates futures: $s \sim \rho$ from episodes, then $G(s)$."""

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
        pairs = np.asarray(drawn[:, :obs]), np.asarray(drawn[:, obs:])
        return pairs if self.mend is None else self.mend(*pairs)

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


def output(generator: MLP, units: Units, s: Array, noise: Array) -> Array:
    """Futures in standard units; 0 where all are the same, as true ones have it."""
    return generator(jnp.concatenate([s, noise], axis=1)) * (units.future_scale > 0.0)


@jax.jit
def _generate(network: MLP, units: Units, states: Array, noise: Array) -> Array:
    return units.plain(states, output(network, units, units.state(states), noise))
