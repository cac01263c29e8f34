r"""Generalised RL solved truthfully: $\min_\pi J_{\eta,\Omega}(\pi)$ over four classes of policies.

| class | how | exact |
|---|---|---|
| $\gamma$-optimal, the published heuristic | `policy_iteration` | not $\eta$-optimal (errata (a)) |
| stationary | `descend`, `best_stationary` | a stationary point; a local search |
| time-dependent | `time_optimal` | yes, by backward induction |
| sees whether $k$ has elapsed | `phase_optimal`, `phase_program` | yes |

Each class contains the one before, so their values fall.
"""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from etairl.eta import Eta
from etairl.regularisers import Regulariser
from etairl.simplex import project_simplex
from etairl.tabular.eta_criterion import Expansion, criterion, expand
from etairl.tabular.exact_measures import TOLERANCE, geometric_weights, truncated_law
from etairl.tabular.mdp import MDP, PairTable, PolicyTable, check_policy
from etairl.tabular.operators import NONE, policy_iteration, step_range
from etairl.types import InputError

_INTERIOR = 1e-3  # share of the uniform policy in a start that mirror steps could not leave
_FLOOR = 1e-200  # least probability after a mirror step: no action is lost for good


class Descent(NamedTuple):
    """Where a descent over stationary policies ended."""

    policy: Float[np.ndarray, "state action"]
    value: float
    slope: float
    r"""$\langle G, \pi\rangle - \sum_s\min_aG(s,a)$: 0 exactly where no direction descends"""
    iterations: int


class TimeOptimum(NamedTuple):
    """The best policy that knows the time."""

    value: float
    """a lower bound of every policy that sees state and time, at most `error` below the least"""
    error: float
    policies: Float[np.ndarray, "time state action"]
    """one row per step; afterwards the last one is repeated"""


class PlanningGap(NamedTuple):
    r"""How far planning with $\gamma$ is from $\eta$-optimal (errata (a))."""

    heuristic: float
    r"""$J_\eta$ of the $\gamma$-optimal policy"""
    stationary: float
    r"""$J_\eta$ of the best stationary policy found"""
    in_time: float
    """the least over all policies that see state and time"""
    bound: float
    r"""$\mathrm{span}(c)\,\lVert w-\gamma^{\,\cdot}\rVert_1$, above `heuristic - in_time`"""
    policy: Float[np.ndarray, "state action"]
    r"""the $\gamma$-optimal policy"""


def descend(
    mdp: MDP,
    eta: Eta,
    start: PolicyTable,
    regulariser: Regulariser = NONE,
    method: Literal["mirror", "projected"] = "mirror",
    tolerance: float = 1e-9,
    most: int = 1000,
) -> Descent:
    r"""Mirror or projected descent on $J_{\eta,\Omega}$ over stationary policies, from `start`.

    Mirror: $\pi\propto\pi\,e^{-\tau G/\mu}$; projected: $\pi=\Pi_\Delta(\pi-\tau G/\mu)$, with the
    exact gradient $G$ divided by the occupancy of the state and by the unit of the cost, so that
    $c\to sc$ (and $\Omega\to s\Omega$) changes nothing. The step $\tau$ doubles after a success and
    halves until the criterion falls. $J_\eta$ is not convex: the end is a stationary point, with a
    slope of at most `tolerance` in units of `step_range`. Where mirror steps could not leave
    `start`, because an action has probability 0, a thousandth of the uniform policy is mixed in.
    """
    if method not in ("mirror", "projected"):
        raise InputError(f"method must be 'mirror' or 'projected', got {method!r}")
    unit = step_range(mdp, regulariser) or 1.0
    policy = check_policy(mdp, start)
    current = expand(mdp, policy, eta, regulariser)
    if method == "mirror" and policy.min() < _FLOOR and _slope(policy, current) > tolerance * unit:
        policy = (1.0 - _INTERIOR) * policy + _INTERIOR / mdp.actions
        current = expand(mdp, policy, eta, regulariser)
    step, taken, idle = 1.0, 0, 0
    for taken in range(most + 1):
        if _slope(policy, current) <= tolerance * unit or taken == most or idle == 10:
            break
        direction = current.direct / (unit * np.maximum(current.visited, 1e-12)[:, None])
        while step > 1e-12:
            towards = step * direction
            mirrored = method == "mirror"
            moved = mirror_step(policy, towards) if mirrored else project_simplex(policy - towards)
            ahead = expand(mdp, moved, eta, regulariser)
            if _falls(current, ahead, moved - policy):
                break
            step *= 0.5
        else:
            break
        # Ten steps without a gain that rounding could show are enough.
        idle = idle + 1 if current.value - ahead.value <= 1e-14 * abs(current.value) else 0
        policy, current, step = moved, ahead, min(2.0 * step, 1e6)
    return Descent(policy, current.value, _slope(policy, current), taken)


def _slope(policy: PolicyTable, current: Expansion) -> float:
    return float((policy * current.direct).sum() - current.direct.min(axis=1).sum())


def _falls(current: Expansion, ahead: Expansion, move: PolicyTable) -> bool:
    # Near the optimum the criterion moves by less than its rounding, so the slopes decide too:
    # the approximate condition of Hager and Zhang (2005).
    before, after = float((current.direct * move).sum()), float((ahead.direct * move).sum())
    return ahead.value <= current.value + 1e-14 * abs(current.value) and after <= -0.4 * before


def best_stationary(
    mdp: MDP, eta: Eta, regulariser: Regulariser = NONE, starts: int = 4
) -> Descent:
    r"""The best stationary policy that descents from several starts find.

    Starts: the $\gamma$-optimal policy, the uniform one and random ones. Where the weights are
    geometric with factor $\beta$ the answer is exact: the $\beta$-optimal policy (errata (a)).
    """
    if (beta := geometric_weights(eta, mdp.gamma)) is not None:
        policy = policy_iteration(mdp.with_discount(beta), regulariser).policy
        return Descent(policy, criterion(mdp, policy, eta, regulariser), 0.0, 0)
    rng = np.random.default_rng(0)
    uniform = np.full(mdp.c.shape, 1.0 / mdp.actions)
    planned = policy_iteration(mdp, regulariser).policy
    guesses = [uniform, (1.0 - _INTERIOR) * planned + _INTERIOR * uniform]
    guesses += [rng.dirichlet(np.ones(mdp.actions), size=mdp.states) for _ in range(starts)]
    ends = [descend(mdp, eta, guess, regulariser) for guess in guesses]
    at_planned = expand(mdp, planned, eta, regulariser)
    ends.append(Descent(planned, at_planned.value, _slope(planned, at_planned), 0))
    return min(ends, key=lambda descent: descent.value)


def time_optimal(
    mdp: MDP, eta: Eta, regulariser: Regulariser = NONE, tolerance: float = TOLERANCE
) -> TimeOptimum:
    r"""The best policy that knows the time, by backward induction.

    $$V_n = \min_\pi w_n(\langle\pi, c\rangle-\Omega(\pi)) + \mathbb{E}V_{n+1}$$

    Once $\eta$ has no mass left, at $N$, the weights are $w_{N+j} = \gamma^{j+1}w_{N-1}$: the rest
    is ordinary planning, $V_N = \gamma w_{N-1}v_{*,\Omega}$. Exact over all policies that see the
    state and the time, but for what $\eta$ leaves beyond $N$, at most `tolerance`: it counts as
    the cheapest step there is, which makes the value low by at most `error`.
    """
    law, beyond = truncated_law(eta, tolerance)
    weights, rest = eta.weights(mdp.gamma, len(law)), beyond / (1.0 - mdp.gamma)
    after, scale = policy_iteration(mdp, regulariser, tolerance=1e-13), mdp.gamma * weights[-1]
    cheapest = float(regulariser.softmin(mdp.c).min())  # the least that one step can cost
    paid = ((after.policy * mdp.c).sum(axis=1) - regulariser.value(after.policy)).max()
    policies = np.empty((len(weights) + 1, *mdp.c.shape))
    policies[-1], v = after.policy, scale * (after.v - after.error) + rest * cheapest
    for n in reversed(range(len(weights))):
        ahead = mdp.expect(v)
        if weights[n] > 0.0:
            # w softmin(c + E V / w): the regulariser is weighted as the cost is.
            q = mdp.c + ahead / weights[n]
            policies[n], v = regulariser.argmin(q), weights[n] * regulariser.softmin(q)
        else:
            policies[n], v = NONE.argmin(ahead), NONE.softmin(ahead)
    error = rest * (paid - cheapest) + scale * after.error
    return TimeOptimum(float(mdp.p0 @ v), float(error), policies)


def planning_gap(mdp: MDP, eta: Eta, starts: int = 4) -> PlanningGap:
    r"""What the $\gamma$-optimal policy costs beside the $\eta$-optimal ones, and the bound of (a).

    $$J_\eta(\pi^*)-\inf J_\eta \le \mathrm{span}(c)\,\lVert w-\gamma^{\,\cdot}\rVert_1
    \;\Big(\le 2\,\mathrm{span}(c)\,\tfrac{\kappa}{1-\kappa\gamma}\text{ for
    }\mathrm{Geom}(\kappa)\Big)$$
    """
    policy = policy_iteration(mdp).policy
    return PlanningGap(
        heuristic=criterion(mdp, policy, eta),
        stationary=best_stationary(mdp, eta, starts=starts).value,
        in_time=time_optimal(mdp, eta).value,
        bound=mdp.cost_span * weight_distance(eta, mdp.gamma),
        policy=policy,
    )


def weight_distance(eta: Eta, gamma: float) -> float:
    r"""$\lVert w-\gamma^{\,\cdot}\rVert_1$, rounded up by what $\eta$ leaves out.

    After the law of $\eta$ the difference shrinks by $\gamma$ per step, a geometric series.
    """
    law, rest = truncated_law(eta)
    apart = np.abs(eta.weights(gamma, len(law)) - gamma ** np.arange(len(law)))
    return float(apart.sum() + (gamma * apart[-1] + rest) / (1.0 - gamma))


def mirror_step(policy: PolicyTable, direction: PairTable) -> PolicyTable:
    r"""$\pi\propto\pi\,e^{-\text{direction}}$, for directions of any size; no action gets lost."""
    # Only actions that are taken may set the shift: a better one of tiny probability would make
    # all others underflow.
    taken = np.where(policy > _FLOOR, direction, np.inf)
    moved = policy * np.exp(np.minimum(taken.min(axis=1, keepdims=True) - direction, 600.0))
    return np.maximum(moved / moved.sum(axis=1, keepdims=True), _FLOOR)
