r"""How an actor turns network outputs into actions, and critics into values.

A head is all that differs between continuous and discrete soft actor-critic. Both give, per row:
$Q_i(s, a)$; and for the policy's own actions $\mathbb{E}\min_i Q_i(s, a)$ and $-\Omega(\pi)$, for
entropy $\mathbb{E}\log\pi(a \mid s)$, by one drawn action or by the sum over all of them.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from typing_extensions import override

from etairl.networks import INSIDE, MLP, HostMLP, apply_pair, between, log_chance, log_normal
from etairl.regularisers import Entropy, Regulariser
from etairl.types import Spec

LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0
REFERENCE_STD = 0.03
"""spread of a cloned policy before squashing: demonstrators are nearly deterministic"""


class Choice(NamedTuple):
    """What the policy does in each state, as the losses need it."""

    q: Float[Array, " batch"]
    """smaller of the two critics, averaged over the policy's actions"""
    penalty: Float[Array, " batch"]
    r"""$-\Omega(\pi)$ with weight 1: for entropy $\log\pi(a \mid s)$ averaged over them, or with a
    reference $\log\pi - \log\pi_{ref}$"""
    also: tuple[Float[Array, " batch"], ...] = ()
    """`q` of further critics, at the same actions"""
    each: Float[Array, "2 batch"] | None = None
    """both critics, averaged over the policy's actions"""


class Seen(NamedTuple):
    """Further critics, and the states as they see them."""

    critics: MLP
    obs: Float[Array, "batch seen"]


class HeadShape(NamedTuple):
    """Widths of the layers of actor and critics that depend on the actions."""

    actor_outputs: int
    critic_inputs: int
    critic_outputs: int
    target_entropy: float
    """what an adaptive temperature aims at by default"""


@runtime_checkable
class Head(Protocol):
    """The action space, as actor and critics see it."""

    @property
    def shape(self) -> HeadShape:
        """Widths of the networks, and the target entropy."""
        ...

    def q(
        self, critics: MLP, obs: Float[Array, "batch obs"], act: Float[Array, "batch act"]
    ) -> Float[Array, "2 batch"]:
        """Both critics at the given actions."""
        ...

    def choose(
        self,
        key: PRNGKeyArray,
        actor: MLP,
        critics: MLP,
        obs: Float[Array, "batch obs"],
        reference: MLP | None = None,
        omega: Regulariser = Entropy(),
        also: tuple[Seen, ...] = (),
        mask: Float[Array, " batch"] | None = None,
    ) -> Choice:
        """The policy's own actions and what the critics, and others, think of them.

        Where `mask` is 0, in the absorbing state, the only action is 0.
        """
        ...

    def log_prob(
        self, actor: MLP, obs: Float[Array, "batch obs"], act: Float[Array, "batch act"]
    ) -> Float[Array, " batch"]:
        r"""$\log\pi(a \mid s)$ of given actions."""
        ...

    def cloning_loss(
        self, actor: MLP, obs: Float[Array, "batch obs"], act: Float[Array, "batch act"]
    ) -> Float[Array, ""]:
        """How badly the actor imitates the given actions."""
        ...

    def act(
        self, actor: HostMLP, rng: np.random.Generator | None, obs: Float[np.ndarray, "batch obs"]
    ) -> Float[np.ndarray, "batch act"]:
        """Actions on the host, as the critics see them; without `rng` the most likely ones."""
        ...


@dataclass(frozen=True)
class GaussianHead(Head):
    r"""Continuous actions in $[-1, 1]^d$: $a = \tanh(m(s) + \sigma(s)\varepsilon)$."""

    obs_dim: int
    act_dim: int

    @property
    def shape(self) -> HeadShape:
        """Mean and spread; state and action; the value; minus the dimensions, the usual default."""
        return HeadShape(2 * self.act_dim, self.obs_dim + self.act_dim, 1, -float(self.act_dim))

    @override
    def q(self, critics: MLP, obs: Array, act: Array) -> Array:
        return apply_pair(critics, jnp.concatenate([obs, act], axis=-1))[..., 0]

    def choose(
        self,
        key: PRNGKeyArray,
        actor: MLP,
        critics: MLP,
        obs: Array,
        reference: MLP | None = None,
        omega: Regulariser = Entropy(),
        also: tuple[Seen, ...] = (),
        mask: Array | None = None,
    ) -> Choice:
        """One drawn action."""
        act, log_prob = self.sample(key, actor, obs, reference)
        if mask is not None:
            act = mask[:, None] * act
        others = tuple(self.q(*seen, act).min(axis=0) for seen in also)
        q = self.q(critics, obs, act)
        return Choice(q.min(axis=0), omega.drawn(log_prob), others, q)

    def log_prob(self, actor: MLP, obs: Array, act: Array) -> Array:
        """The density of the squashed normal, at a bound just inside of it."""
        mean, log_std = self.gaussian(actor, obs)
        act = jnp.clip(act, -INSIDE, INSIDE)
        noise = (jnp.arctanh(act) - mean) * jnp.exp(-log_std)
        return (log_normal(noise, log_std) - jnp.log1p(-(act**2))).sum(axis=-1)

    def sample(
        self, key: PRNGKeyArray, actor: MLP, obs: Array, reference: MLP | None = None
    ) -> tuple[Array, Array]:
        r"""A drawn action and $\log\pi(a \mid s)$, or $\log\pi - \log\pi_{ref}$.

        $\log(1 - \tanh^2 x) = 2(\log 2 - x - \text{softplus}(-2x))$ stays finite for large $|x|$;
        in the ratio it cancels. A reference is its mean action with a spread of `REFERENCE_STD`.
        """
        mean, log_std = self.gaussian(actor, obs)
        noise = jax.random.normal(key, mean.shape)
        x = mean + jnp.exp(log_std) * noise
        if reference is None:
            base = 2.0 * (jnp.log(2.0) - x - jax.nn.softplus(-2.0 * x))
        else:
            away = (x - self.gaussian(reference, obs)[0]) / REFERENCE_STD
            base = log_normal(away, jnp.log(REFERENCE_STD))
        return jnp.tanh(x), (log_normal(noise, log_std) - base).sum(axis=-1)

    def gaussian(self, actor: MLP, obs: Array) -> tuple[Array, Array]:
        """Mean and log standard deviation before squashing."""
        mean, raw = jnp.split(actor(obs), 2, axis=-1)
        return mean, between(raw, LOG_STD_MIN, LOG_STD_MAX)

    def cloning_loss(self, actor: MLP, obs: Array, act: Array) -> Array:
        r"""$\mathbb{E}|\tanh m(s) - a|^2$, and a pull of $\sigma$ towards `REFERENCE_STD`."""
        mean, log_std = self.gaussian(actor, obs)
        error = ((jnp.tanh(mean) - act) ** 2).sum(axis=-1).mean()
        return error + 0.01 * ((log_std - jnp.log(REFERENCE_STD)) ** 2).mean()

    @override
    def act(self, actor: HostMLP, rng: np.random.Generator | None, obs: np.ndarray) -> np.ndarray:
        mean, raw = np.split(actor(obs), 2, axis=1)
        if rng is not None:
            log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (np.tanh(raw) + 1.0)
            mean = mean + np.exp(log_std) * rng.standard_normal(mean.shape, dtype=np.float32)
        return np.tanh(mean)


@dataclass(frozen=True)
class CategoricalHead(Head):
    """One of `actions` actions, an index in one column; expectations are exact sums."""

    obs_dim: int
    actions: int

    @property
    def shape(self) -> HeadShape:
        """A logit per action; the state; a value per action; a third of the largest entropy."""
        third = float(np.log(self.actions)) / 3.0
        return HeadShape(self.actions, self.obs_dim, self.actions, third)

    @override
    def q(self, critics: MLP, obs: Array, act: Array) -> Array:
        index = act.astype(jnp.int32)[None]
        return jnp.take_along_axis(apply_pair(critics, obs), index, axis=-1)[..., 0]

    def choose(
        self,
        key: PRNGKeyArray,
        actor: MLP,
        critics: MLP,
        obs: Array,
        reference: MLP | None = None,
        omega: Regulariser = Entropy(),
        also: tuple[Seen, ...] = (),
        mask: Array | None = None,
    ) -> Choice:
        """Summed over all actions."""
        log_probs = jax.nn.log_softmax(actor(obs))
        probs = jnp.exp(log_probs)
        q = apply_pair(critics, obs)
        base = 0.0 if reference is None else jax.nn.log_softmax(reference(obs))
        penalties = omega.drawn(log_probs - base)
        played = probs
        if mask is not None:
            played = jnp.where(mask[:, None] > 0.0, probs, jax.nn.one_hot(0, self.actions))
        others = tuple((played * apply_pair(*seen).min(axis=0)).sum(axis=-1) for seen in also)
        least, penalty = (played * q.min(axis=0)).sum(axis=-1), (probs * penalties).sum(axis=-1)
        return Choice(least, penalty, others, (played * q).sum(axis=-1))

    @override
    def log_prob(self, actor: MLP, obs: Array, act: Array) -> Array:
        return log_chance(actor(obs), act)

    def cloning_loss(self, actor: MLP, obs: Array, act: Array) -> Array:
        r"""$-\mathbb{E}\log\pi(a \mid s)$."""
        return -self.log_prob(actor, obs, act).mean()

    def act(self, actor: HostMLP, rng: np.random.Generator | None, obs: np.ndarray) -> np.ndarray:
        """Drawn with Gumbel noise."""
        logits = actor(obs)
        if rng is not None:
            logits = logits + rng.gumbel(size=logits.shape)
        return logits.argmax(axis=1)[:, None].astype(np.float32)


def make_head(spec: Spec) -> Head:
    """The head that fits the actions of a task."""
    if spec.discrete_actions is not None:
        return CategoricalHead(spec.obs_dim, spec.discrete_actions)
    return GaussianHead(spec.obs_dim, spec.act_dim)
