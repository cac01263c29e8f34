"""The losses of soft actor-critic: small functions of networks and rows."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from etairl.hyper import Number
from etairl.networks import MLP, Rows, Scalar
from etairl.regularisers import Entropy, Regulariser
from etairl.solvers.heads import Head


def critic_loss(
    critics: MLP, head: Head, obs: Array, act: Array, target: Rows
) -> tuple[Scalar, Scalar]:
    r"""$\sum_{i=1,2} \tfrac12\mathbb{E}(Q_i(s,a) - y)^2$; also returns the mean value."""
    q = head.q(critics, obs, act)
    return 0.5 * ((q - target) ** 2).mean(axis=-1).sum(), q.mean()


def soft_target(
    gamma_rl: Number, cost: Rows, terminated: Rows, q: Rows, penalty: Rows, temperature: Scalar
) -> Rows:
    r"""$y = -c + \gamma(1-\text{terminated})(\min_i \bar Q_i(s',a') + \alpha\Omega(\pi(s')))$.

    `penalty` is $-\Omega$; for entropy $\log\pi(a' \mid s')$. Only termination cuts the bootstrap;
    a time limit does not.
    """
    reward = -cost
    return reward + gamma_rl * (1.0 - terminated) * (q - temperature * penalty)


def actor_loss(
    actor: MLP,
    head: Head,
    critics: MLP,
    reference: MLP | None,
    temperature: Scalar,
    obs: Array,
    mask: Rows,
    key: Array,
    omega: Regulariser = Entropy(),
) -> tuple[Scalar, Scalar]:
    r"""$\mathbb{E}[-\alpha\Omega(\pi(s)) - \min_i Q_i(s,a)]$ where `mask` is 1; mean $\Omega$.

    For entropy, $\log\pi(a \mid s)$ stands for $-\Omega$; with a reference
    $\log\pi - \log\pi_{ref}$.
    """
    choice = head.choose(key, actor, critics, obs, reference, omega)
    many = jnp.maximum(mask.sum(), 1.0)
    loss = (mask * (temperature * choice.penalty - choice.q)).sum() / many
    return loss, -(mask * choice.penalty).sum() / many


def temperature_loss(log_temperature: Scalar, entropy: Scalar, target_entropy: Number) -> Scalar:
    r"""$\alpha(\mathcal{H} - \mathcal{H}_{\text{target}})$: pushes the entropy to its target."""
    return jnp.exp(log_temperature) * jax.lax.stop_gradient(entropy - target_entropy)
