r"""The losses of inverse soft Q-learning: least squares for the reward that a critic implies.

The reward of a critic is $r = Q(s,a) - \gamma V(s')$. With the penalty
$\psi(r) = \tfrac{1}{2R}\langle\mu_E+\mu_\pi, r^2\rangle$ the cost player of the game solves

$$\max_r\ \langle\mu_E-\mu_\pi, r\rangle - \psi(r)\qquad\Leftrightarrow\qquad
\min_r\ \tfrac12\mathbb{E}_E(r-R)^2 + \tfrac12\mathbb{E}_\pi(r+R)^2,$$

a regression of $Q$ on $\pm R+\gamma V(s')$. `backup` is $\gamma V(s')$, `bound` is $R$.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from etairl.hyper import Number
from etairl.networks import Rows, Scalar

Both = Float[Array, "2 batch"]
"""of the two critics"""


def next_value(v: Rows, side: Rows, terminated: Rows, most: Number) -> Rows:
    r"""$V(s')$ as a target: within $\pm R/(1-\gamma)$, which is `most`.

    No reward is beyond $\pm R$. An early end counts as a state that only its own side ever
    reaches, for ever: `side` is 1 for the expert and -1 for the learner.
    """
    return jnp.where(terminated > 0.0, side * most, jnp.clip(v, -most, most))


def expert_loss(q: Both, target: Rows) -> Scalar:
    r"""$\sum_i\tfrac12\mathbb{E}_E(Q_i(s,a)-y)^2$; $y$ is $R+\gamma V(s')$ or $R/(1-\gamma)$."""
    return _squares(q - target)


def replay_loss(q: Both, backup: Rows, bound: Number) -> Scalar:
    r"""$\sum_i\tfrac12\mathbb{E}_\pi(r_i+R)^2$ at the learner's own steps."""
    return _squares(q - (backup - bound))


def value_loss(v: Both, backup: Rows, bound: Number) -> Scalar:
    r"""$\sum_i\tfrac12\mathbb{E}(V_i(s)-\gamma V(s')+R)^2$: as if the policy had acted."""
    return _squares(v - (backup - bound))


def start_loss(
    v: Float[Array, "2 states"], q: Both, backup: Rows, bound: Number, gamma: Number
) -> Scalar:
    r"""$\sum_i R(1-\gamma)\,\mathbb{E}_{P^\eta}V_i(s) + \tfrac12\mathbb{E}_\pi r_i^2$.

    The first term is $R\,\mathbb{E}_\pi[r]$ and the entropy, telescoped.
    """
    return bound * (1.0 - gamma) * v.mean(axis=-1).sum() + _squares(q - backup)


def _squares(error: Both) -> Scalar:
    return 0.5 * (error**2).mean(axis=-1).sum()
