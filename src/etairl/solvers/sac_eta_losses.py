r"""The losses of soft actor-critic for the $\eta$-criterion (`etairl.solvers.sac_eta`)."""

import jax.numpy as jnp
from jaxtyping import Array

from etairl.networks import MLP, Rows, Scalar
from etairl.regularisers import Entropy, Regulariser
from etairl.solvers.clock import Clock
from etairl.solvers.heads import Head, Seen


def u_target(chance: Rows, terminated: Rows, q: Rows, ahead: Rows) -> Rows:
    r"""$y_U = h_tQ(s,a) + (1-h_t)(1-\text{terminated})\,\bar U_{t+1}(s')$, the last as `ahead`."""
    return chance * q + (1.0 - chance) * (1.0 - terminated) * ahead


def eta_actor_loss(
    actor: MLP,
    head: Head,
    q: Seen,
    u: Seen,
    reference: MLP | None,
    temperature: Scalar,
    now: Clock,
    mask: Rows,
    key: Array,
    omega: Regulariser = Entropy(),
) -> tuple[Scalar, Scalar]:
    r"""$\mathbb{E}[-w_t\alpha\Omega(\pi(s)) - \gamma w_{t-1}Q - S_tU_t]$ where `mask` is 1.

    Also the mean of $\Omega$ with weights $w_t$. On fresh episodes of the policy the gradient is
    that of $J_\eta$, up to a factor.
    """
    choice = head.choose(key, actor, q.critics, q.obs, reference, omega, (u,))
    worth = now.running * choice.q + now.waiting * choice.also[0]
    regular = mask * now.weight * choice.penalty
    loss = (temperature * regular - mask * worth).sum() / jnp.maximum(mask.sum(), 1.0)
    return loss, -regular.sum() / jnp.maximum((mask * now.weight).sum(), 1e-12)
