r"""The criterion $J_\eta$, its two critics, and its exact gradient (Appendix A, errata (f)).

$$J_{\eta,\Omega}(\pi) = \mathbb{E}\sum_n w_n\big(c_n - \Omega(\pi(\cdot\mid s_n))\big)
= \langle\mu_\pi, c\rangle - \sum_s\mu_\pi(s)\,\Omega(\pi(\cdot\mid s))$$

The gradient that the paper calls intractable is that of an ordinary score function: from
$w_n = \gamma w_{n-1}+\eta(n)$, what a pair at time $t$ still costs is
$\gamma w_{t-1}Q + U_t$ with $U_t = \eta(t)Q + \mathbb{E}\,U_{t+1}$; for $\mathrm{Geom}(\kappa)$,
$U_t = \kappa^tU$.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from etairl.eta import Eta
from etairl.regularisers import Regulariser
from etairl.tabular.exact_measures import check_kappa, geometric_parameter, mu, truncated_law
from etairl.tabular.linear_systems import solve
from etairl.tabular.mdp import MDP, PairTable, PolicyTable, StateVector, check_policy
from etairl.tabular.operators import NONE, evaluate


class Critics(NamedTuple):
    r"""What a pair costs from now on, and what it adds to the criterion of $\mathrm{Geom}(\kappa)$.

    $Q = c - \partial\Omega + \gamma\,\mathbb{E}v(s')$ and
    $U = (1-\kappa)Q + \kappa\,\mathbb{E}\bar U(s')$, with $\bar U = (1-\kappa)v + \kappa P_\pi\bar
    U$ and $J_\eta = p_0\cdot\bar U$. Without $\Omega$, $v = \mathbb{E}_\pi Q$ and
    $\bar U = \mathbb{E}_\pi U$.
    """

    q: Float[np.ndarray, "state action"]
    v: Float[np.ndarray, " state"]
    u: Float[np.ndarray, "state action"]
    u_bar: Float[np.ndarray, " state"]


def criterion(mdp: MDP, policy: PolicyTable, eta: Eta, regulariser: Regulariser = NONE) -> float:
    r"""The criterion $J_{\eta,\Omega}(\pi)$ of the module, by the exact measure $\mu_\pi$."""
    measure = mu(mdp, policy, eta)
    return float((measure.values * mdp.c).sum() - measure.states @ regulariser.value(policy))


def critics(
    mdp: MDP, policy: PolicyTable, kappa: float, regulariser: Regulariser = NONE
) -> Critics:
    r"""The two critics of $\mathrm{Geom}(\kappa)$, by two linear solves."""
    policy = check_policy(mdp, policy)
    check_kappa(kappa)
    v = evaluate(mdp, policy, regulariser)
    q = mdp.c - regulariser.gradient(policy) + mdp.gamma * mdp.expect(v)
    u_bar, _ = solve(mdp.under(policy), (1.0 - kappa) * v, kappa)
    return Critics(q, v, (1.0 - kappa) * q + kappa * mdp.expect(u_bar), u_bar)


class Expansion(NamedTuple):
    """The criterion to first order around a policy."""

    value: float
    direct: Float[np.ndarray, "state action"]
    r"""$\partial J/\partial\pi(a\mid s)$, every entry a variable of its own"""
    visited: Float[np.ndarray, " state"]
    r"""$\mu_\pi(s)$"""


def expand(mdp: MDP, policy: PolicyTable, eta: Eta, regulariser: Regulariser = NONE) -> Expansion:
    r"""Value and gradient of $J_{\eta,\Omega}$ at once; see `gradient`."""
    policy = check_policy(mdp, policy)
    kappa = geometric_parameter(eta)
    if kappa is None:
        return _expand_in_time(mdp, policy, eta, regulariser)
    q, _, u, u_bar = critics(mdp, policy, kappa, regulariser)
    step = mdp.under(policy)
    ahead, _ = solve(step, (1.0 - kappa) * mdp.p0, kappa, transpose=True)
    visited, _ = solve(step, ahead, mdp.gamma, transpose=True)
    direct = (visited - ahead)[:, None] * q + (ahead / (1.0 - kappa))[:, None] * u
    return Expansion(float(mdp.p0 @ u_bar), direct, visited)


def gradient(mdp: MDP, policy: PolicyTable, eta: Eta, regulariser: Regulariser = NONE) -> PairTable:
    r"""$\partial J_{\eta,\Omega}/\partial\pi(a\mid s)$, every entry a variable of its own.

    For $\mathrm{Geom}(\kappa)$, with the two critics (Proposition `P:policy_grad_th`, errata (f)),

    $$[\mu(s)-P^\eta(s)]\,Q(s,a) + \tfrac{1}{1-\kappa}P^\eta(s)\,U(s,a);$$

    for any other law $\sum_t\mathbb{P}(s_t=s)\,[\gamma w_{t-1}Q + U_t](s,a)$, where
    $\sum_t\gamma w_{t-1}\mathbb{P}(s_t=s)$ is again $\mu(s)-P^\eta(s)$. Along a path of policies
    only the part that sums to 0 over actions matters. With entropy the policy must be positive
    where the gradient is used.
    """
    return expand(mdp, policy, eta, regulariser).direct


def logit_gradient(
    mdp: MDP, policy: PolicyTable, eta: Eta, regulariser: Regulariser = NONE
) -> PairTable:
    r"""Gradient in the logits of a softmax policy: $\pi(a\mid s)\,[G(s,a)-\mathbb{E}_\pi G(s)]$."""
    direct = gradient(mdp, policy, eta, regulariser)
    return policy * (direct - (policy * direct).sum(axis=1, keepdims=True))


def visits(mdp: MDP, policy: PolicyTable, horizon: int) -> Float[np.ndarray, "{horizon} state"]:
    r"""$\mathbb{P}_\pi(s_n = s)$ for $n <$ `horizon`, one row per step."""
    step, states = mdp.under(policy), np.empty((horizon, mdp.states))
    states[0] = mdp.p0
    for n in range(1, horizon):
        states[n] = states[n - 1] @ step
    return states


def _expand_in_time(mdp: MDP, policy: PolicyTable, eta: Eta, regulariser: Regulariser) -> Expansion:
    law, _ = truncated_law(eta)
    v = evaluate(mdp, policy, regulariser)
    q = mdp.c - regulariser.gradient(policy) + mdp.gamma * mdp.expect(v)
    step, reached = mdp.under(policy), visits(mdp, policy, len(law))
    ahead = law @ reached
    visited, _ = solve(step, ahead, mdp.gamma, transpose=True)
    total = (visited - ahead)[:, None] * q
    u_bar: StateVector = np.zeros(mdp.states)
    for t in reversed(range(len(law))):
        total += reached[t][:, None] * (law[t] * q + mdp.expect(u_bar))
        u_bar = law[t] * v + step @ u_bar
    return Expansion(float(mdp.p0 @ u_bar), total, visited)
