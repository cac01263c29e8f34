r"""Bellman operators and value functions, plain and regularised (section 2.3 of the paper).

With $q = c + \gamma Pv$ and a state-wise concave regulariser $\Omega$,

$$T_{\pi,\Omega}v = \langle\pi, q\rangle - \Omega(\pi),\qquad
T_{*,\Omega}v = \min_\pi T_{\pi,\Omega}v = \mathrm{softmin}_\Omega(q).$$

The minimiser is the softmin policy of $\Omega$, not the greedy one (errata (m)).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from etairl.regularisers import Regulariser, Unregularised
from etairl.tabular.linear_systems import solve
from etairl.tabular.mdp import MDP, PairTable, PolicyTable, StateVector, check_policy
from etairl.types import InputError

NONE = Unregularised()


class Solution(NamedTuple):
    """A policy that is optimal for the discount of its MDP, and how wrong its value can be."""

    v: Float[np.ndarray, " state"]
    policy: Float[np.ndarray, "state action"]
    error: float
    r"""bound of $\lVert v - v_*\rVert_\infty$"""
    iterations: int


def action_values(mdp: MDP, v: StateVector) -> PairTable:
    r"""$q(s,a) = c(s,a) + \gamma\,\mathbb{E}[v(s')\mid s,a]$.

    At $v = v_{\pi,\Omega}$ this is $Q_{\pi,\Omega}$; the paper's `regularised_Q_def` lacks the
    $\gamma$ (errata (m)).
    """
    return mdp.c + mdp.gamma * mdp.expect(v)


def evaluate(mdp: MDP, policy: PolicyTable, regulariser: Regulariser = NONE) -> StateVector:
    r"""$v_{\pi,\Omega}$, the fixed point of $T_{\pi,\Omega}$, by one linear solve."""
    policy = check_policy(mdp, policy)
    paid = (policy * mdp.c).sum(axis=1) - regulariser.value(policy)
    return solve(mdp.under(policy), paid, mdp.gamma)[0]


def apply(
    mdp: MDP, policy: PolicyTable, v: StateVector, regulariser: Regulariser = NONE
) -> StateVector:
    r"""$T_{\pi,\Omega}v = \langle\pi, c+\gamma Pv\rangle - \Omega(\pi)$."""
    policy = check_policy(mdp, policy)
    return (policy * action_values(mdp, v)).sum(axis=1) - regulariser.value(policy)


def apply_optimal(mdp: MDP, v: StateVector, regulariser: Regulariser = NONE) -> StateVector:
    r"""$T_{*,\Omega}v = \min_\pi T_{\pi,\Omega}v$."""
    return regulariser.softmin(action_values(mdp, v))


def improve(mdp: MDP, v: StateVector, regulariser: Regulariser = NONE) -> PolicyTable:
    r"""The policy that attains $T_{*,\Omega}v$: a softmin, or greedy without regulariser."""
    return regulariser.argmin(action_values(mdp, v))


def optimality_cost(regulariser: Regulariser, policy: PolicyTable) -> PairTable:
    r"""The cost whose optimal policy is $\pi$, whatever the dynamics and the discount.

    $$c_\pi(s,a) = \partial_a\Omega(\pi) - \langle\pi, \partial\Omega(\pi)\rangle + \Omega(\pi)$$

    has the minimiser $\pi$ and the softmin 0, so every state is worth nothing (Jeon et al. 2021).
    """
    slope = regulariser.gradient(policy)
    return slope + (regulariser.value(policy) - (policy * slope).sum(axis=1))[:, None]


def step_range(mdp: MDP, regulariser: Regulariser = NONE) -> float:
    r"""What two steps can differ by: the span of the cost plus the range of $\Omega$.

    Divided by $1-\gamma$ it is the unit of values: tolerances are counted in it, so that
    $c\to sc$ (and $\Omega\to s\Omega$) changes nothing.
    """
    uniform = np.full(mdp.c.shape, 1.0 / mdp.actions)
    corners = [np.broadcast_to(row, mdp.c.shape) for row in np.eye(mdp.actions)]
    middle = regulariser.value(uniform)
    ranges = [np.abs(regulariser.value(corner) - middle).max() for corner in corners]
    return mdp.cost_span + float(max(ranges))


def value_iteration(
    mdp: MDP, regulariser: Regulariser = NONE, tolerance: float = 1e-10, most: int = 10**6
) -> Solution:
    r"""Iterate $T_{*,\Omega}$ until $v$ is as near to $v_*$ as `tolerance` asks, in every state.

    The bound is $\frac{\gamma}{1-\gamma}\lVert v_i-v_{i-1}\rVert_\infty$ (contraction), plus what
    rounding can hide, which `tolerance` does not count. Its unit is `step_range` over $1-\gamma$.
    """
    v, wanted = np.zeros(mdp.states), _wanted(mdp, regulariser, tolerance)
    for iteration in range(1, most + 1):
        before, v = v, apply_optimal(mdp, v, regulariser)
        error = mdp.gamma / (1.0 - mdp.gamma) * float(np.abs(v - before).max())
        rounding = _rounding(mdp, v)
        if error <= wanted + rounding:
            return Solution(v, improve(mdp, v, regulariser), error + rounding, iteration)
    raise InputError(
        f"value iteration has not reached {tolerance:g} in {most} steps; use policy_iteration"
    )


def policy_iteration(
    mdp: MDP, regulariser: Regulariser = NONE, tolerance: float = 1e-10, most: int = 1000
) -> Solution:
    r"""Evaluate and improve until $v_\pi$ is as near to $v_*$ as `tolerance` asks, in every state.

    The bound is $\frac{1}{1-\gamma}\lVert v_\pi-T_{*,\Omega}v_\pi\rVert_\infty$. Each step solves
    one linear system. The policy returned is improved once more: its value lies between $v_*$ and
    $v$, and a soft policy is then as exact as the values. The unit of `tolerance` is `step_range`
    over $1-\gamma$.
    """
    policy, best = np.full(mdp.c.shape, 1.0 / mdp.actions), np.inf
    wanted = _wanted(mdp, regulariser, tolerance)
    for iteration in range(1, most + 1):
        v = evaluate(mdp, policy, regulariser)
        gap = float(np.abs(v - apply_optimal(mdp, v, regulariser)).max()) / (1.0 - mdp.gamma)
        policy = improve(mdp, v, regulariser)
        # Rounding may keep the last digits moving: stop where nothing gets better any more.
        rounding = 1e-13 * float(np.abs(v).max()) / (1.0 - mdp.gamma)
        if gap <= wanted or (gap >= best and gap <= 1e3 * wanted + rounding):
            return Solution(v, policy, gap + _rounding(mdp, v), iteration)
        best = min(best, gap)
    raise InputError(f"policy iteration has not reached {tolerance:g} in {most} steps")


def _wanted(mdp: MDP, regulariser: Regulariser, tolerance: float) -> float:
    if not tolerance >= 0.0:
        raise InputError(f"a tolerance is a number of at least 0, got {tolerance}")
    return tolerance * step_range(mdp, regulariser) / (1.0 - mdp.gamma)


def _rounding(mdp: MDP, v: StateVector) -> float:
    r"""How far rounding of one application moves a fixed point: its size over $1-\gamma$."""
    size = float(np.abs(mdp.c).max() + np.abs(v).max())
    return (mdp.states + mdp.actions) * np.finfo(float).eps * size / (1.0 - mdp.gamma)
