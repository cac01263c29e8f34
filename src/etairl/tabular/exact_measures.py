r"""Exact $\rho_\pi$, $P^\eta_\pi$ and $\mu_\pi$ of a policy, averaged over the start law $p_0$.

$$\rho = \sum_n\gamma^n\,\mathbb{P}_\pi(s_n,a_n),\qquad P^\eta = \sum_n\eta(n)\,\mathbb{P}_\pi(s_n,
a_n),\qquad \mu = \sum_n w_n\,\mathbb{P}_\pi(s_n,a_n)$$

(sections 2.2 and 2.4 of the paper). On states $\mu = P^\eta(I-\gamma P_\pi)^{-1}$ (tower rule). A
geometric law has $P^\eta = (1-\kappa)\,p_0(I-\kappa P_\pi)^{-1}$; any other one is summed step by
step until what is left out of $\eta$ is below a tolerance. No power of $P_\pi$ is ever formed.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from etairl.eta import Eta, Geometric
from etairl.tabular.linear_systems import EPSILON, solve
from etairl.tabular.mdp import (
    MDP,
    PairTable,
    PoliciesInTime,
    PolicyTable,
    StateVector,
    check_factor,
    check_policies,
    check_policy,
)
from etairl.types import InputError

TimeWeights = Float[np.ndarray, " horizon"]
TOLERANCE = 1e-13
_LONGEST = 2**22  # steps of the recursion


class Measure(NamedTuple):
    """A measure on state-action pairs, and how wrong it can be."""

    values: Float[np.ndarray, "state action"]
    error: float
    """bound of the total absolute error: what was left out, the residual of the solve, and what
    rounding can hide, for the numbers of the MDP, the policy and the law of eta as they are"""

    @property
    def states(self) -> Float[np.ndarray, " state"]:
        """The measure of each state."""
        return self.values.sum(axis=1)


def rho(mdp: MDP, policy: PolicyTable) -> Measure:
    r"""Occupancy $\rho_\pi = \sum_n\gamma^n\,\mathbb{P}_\pi(s_n, a_n)$. Mass $1/(1-\gamma)$."""
    policy = check_policy(mdp, policy)
    states = solve(mdp.under(policy), mdp.p0, mdp.gamma, transpose=True, terms=mdp.actions)
    return _on_pairs(*states, policy)


def future(mdp: MDP, policy: PolicyTable, eta: Eta, tolerance: float = TOLERANCE) -> Measure:
    r"""Future law $P^\eta_\pi = \sum_n\eta(n)\,\mathbb{P}_\pi(s_n, a_n)$, with mass 1."""
    policy = check_policy(mdp, policy)
    return _on_pairs(*_future_states(mdp, mdp.under(policy), eta, tolerance), policy)


def mu(mdp: MDP, policy: PolicyTable, eta: Eta, tolerance: float = TOLERANCE) -> Measure:
    r"""$\eta$-weighted occupancy $\mu_\pi = \sum_n w_n\,\mathbb{P}_\pi(s_n, a_n)$.

    Its mass is $1/(1-\gamma)$, and $\langle\mu_\pi, c\rangle = J_\eta(\pi)$ (tower rule,
    Proposition `tower_rule`). A law without closed form may leave out the share `tolerance` of it.
    """
    policy = check_policy(mdp, policy)
    step = mdp.under(policy)
    if (beta := geometric_weights(eta, mdp.gamma)) is not None:
        start = (1.0 - beta) / (1.0 - mdp.gamma) * mdp.p0
        return _on_pairs(*solve(step, start, beta, transpose=True, terms=mdp.actions), policy)
    ahead, first = _future_states(mdp, step, eta, tolerance)
    states, second = solve(step, ahead, mdp.gamma, transpose=True, terms=mdp.actions)
    return _on_pairs(states, second + first / (1.0 - mdp.gamma), policy)


def _on_pairs(states: StateVector, error: float, policy: PolicyTable) -> Measure:
    values = states[:, None] * policy
    return Measure(values, error + EPSILON * float(values.sum()))


def _future_states(mdp: MDP, step: Any, eta: Eta, tolerance: float) -> tuple[StateVector, float]:
    kappa = geometric_parameter(eta)
    if kappa is not None:
        return solve(step, (1.0 - kappa) * mdp.p0, kappa, transpose=True, terms=mdp.actions)
    law, rest = truncated_law(eta, tolerance)
    return _sum_in_time(step, mdp.p0, law), rest + len(law) * _rounding(mdp)


def _rounding(mdp: MDP) -> float:
    """What one step of a law on states can lose, and its share in a sum over time."""
    return (mdp.states + mdp.actions + 3) * EPSILON


def weighted(mdp: MDP, policy: PolicyTable, weights: TimeWeights) -> PairTable:
    r"""$\sum_{n<N}\text{weights}_n\,\mathbb{P}_\pi(s_n, a_n)$, for any finite time weights.

    The cost is one product with $P_\pi$ per step.
    """
    policy, weights = check_policy(mdp, policy), check_weights(weights)
    return _sum_in_time(mdp.under(policy), mdp.p0, weights)[:, None] * policy


def check_weights(weights: TimeWeights) -> TimeWeights:
    """Time weights as float64: one per step, finite and not negative."""
    weights = np.asarray(weights, dtype=np.float64)
    if weights.ndim != 1 or not len(weights):
        raise InputError(f"weights must be a list of numbers, one per step, got {weights.shape}")
    bad = np.flatnonzero(~((weights >= 0.0) & np.isfinite(weights)))
    if len(bad):
        raise InputError(
            f"weights[{bad[0]}] is {weights[bad[0]]:.6g}: a time weight is finite and not negative"
        )
    return weights


def _sum_in_time(step: Any, states: StateVector, weights: TimeWeights) -> StateVector:
    total: StateVector = np.zeros(len(states))
    for weight in weights:
        total += weight * states
        states = states @ step
    return total


def mu_in_time(mdp: MDP, policies: PoliciesInTime, eta: Eta) -> Measure:
    r"""$\mu$ of a policy that knows the time; after its last step it repeats that step.

    Beyond both the last step and the law of $\eta$, at $N$, the weights are
    $w_{N+j} = \gamma^{j+1}w_{N-1}$: one solve with $\gamma$.
    """
    policies = check_policies(mdp, policies)
    law, rest = truncated_law(eta)
    weights = eta.weights(mdp.gamma, max(len(law), len(policies)))
    states, total = mdp.p0, np.zeros(mdp.c.shape)
    for n, weight in enumerate(weights):
        pairs = states[:, None] * policies[min(n, len(policies) - 1)]
        total += weight * pairs
        states = mdp.inflow(pairs)
    last = policies[-1]
    start = mdp.gamma * weights[-1] * states
    after, error = solve(mdp.under(last), start, mdp.gamma, transpose=True, terms=mdp.actions)
    values = total + after[:, None] * last
    error += (rest + len(weights) * _rounding(mdp)) / (1.0 - mdp.gamma)
    return Measure(values, error + EPSILON * float(values.sum()))


def policy_from_occupancy(
    measure: PairTable, unvisited: Literal["error", "uniform", "nan"] = "error"
) -> PolicyTable:
    r"""The policy $\pi(a\mid s) = \mu(s,a)/\mu(s)$ read from a measure (`policy_occupancy`).

    It is the policy of the measure wherever $\mu(s) > 0$ and the time weights are positive; a
    mixture of measures also has such a ratio, but need not be the measure of it (errata (d)).

    A state that no policy can reach leaves its row free for every measure;
    `MDP.require_reachable` refuses such worlds. `unvisited` says what to do in states of measure 0.
    """
    measure = _finite_measure(measure)
    if unvisited not in ("error", "uniform", "nan"):
        raise InputError(f"unvisited must be 'error', 'uniform' or 'nan', got {unvisited!r}")
    states = measure.sum(axis=1, keepdims=True)
    empty = states[:, 0] == 0.0
    if unvisited == "error" and empty.any():
        raise InputError(
            f"state {int(np.argmax(empty))} has measure 0 ({int(empty.sum())} of {len(measure)} "
            "states), so its policy is free; pass unvisited='uniform' or 'nan' to say what it is"
        )
    filler = np.nan if unvisited == "nan" else 1.0 / measure.shape[1]
    return np.where(empty[:, None], filler, measure / np.where(states > 0.0, states, 1.0))


def _finite_measure(measure: PairTable) -> PairTable:
    measure = np.asarray(measure, dtype=np.float64)
    if measure.ndim != 2 or not measure.size:
        raise InputError(f"a measure needs shape [state, action], got {measure.shape}")
    bad = np.argwhere(~((measure >= 0.0) & np.isfinite(measure)))
    if len(bad):
        value = measure[tuple(bad[0])]
        reason = "is not negative" if value < 0.0 else "is finite"
        raise InputError(f"measure{bad[0].tolist()} is {value:.6g}: a measure {reason}")
    return measure


def measure_entropy(measure: PairTable) -> float:
    r"""$\bar H(\mu) = -\sum\mu(s,a)\log\frac{\mu(s,a)}{\mu(s)}$ (Proposition `P:convex_entropy`).

    Concave in the measure. For $\mu_\pi$ it is the $\eta$-weighted entropy of $\pi$; for a mixture
    it is the entropy of nothing in particular (errata (c)).
    """
    states = np.broadcast_to(measure.sum(axis=1, keepdims=True), measure.shape)
    used = measure > 0.0
    return float(-(measure[used] * np.log(measure[used] / states[used])).sum())


def geometric_parameter(eta: Eta) -> float | None:
    r"""$\kappa$ if the law is $\mathrm{Geom}(\kappa)$ with $\kappa < 1$, else None.

    Every spelling of $\delta_0$ counts: `dirac:0`, `geometric:0`, `table:1`.
    """
    if isinstance(eta, Geometric) and eta.kappa < 1.0:
        return eta.kappa
    return 0.0 if _tail(eta, 1) == 0.0 else None


def check_kappa(kappa: float) -> float:
    r"""Return $\kappa$ if $\mathrm{Geom}(\kappa)$ is a law without a horizon."""
    return check_factor("kappa", kappa, "Geom(1) is not a law without a horizon")


def geometric_weights(eta: Eta, gamma: float) -> float | None:
    r"""$\beta$ if $w_n = \frac{1-\beta}{1-\gamma}\beta^n$, where all classical theorems hold.

    `Eta.discount`, for what is a law without a horizon; all else is refused.
    """
    _tail(eta, 1)
    return eta.discount(gamma)


def weights_beyond(eta: Eta, gamma: float, weights: TimeWeights) -> float:
    r"""$\sum_{n\ge N}w_n = (\gamma w_{N-1} + \eta(k\ge N))/(1-\gamma)$, after $w_0, …, w_{N-1}$."""
    return (gamma * float(weights[-1]) + _tail(eta, len(weights))) / (1.0 - gamma)


def truncated_law(eta: Eta, tolerance: float = TOLERANCE) -> tuple[TimeWeights, float]:
    r"""$\eta(0), \dots, \eta(N-1)$, and $\eta(k\ge N)$, at most `tolerance`; the shortest such."""
    if not tolerance >= 0.0:
        raise InputError(f"a tolerance is a number of at least 0, got {tolerance}")
    short, horizon = 0, 1
    while _tail(eta, horizon) > tolerance:
        if horizon >= _LONGEST:
            raise InputError(f"{eta} needs more than {_LONGEST:,} steps; use a shorter weighting")
        short, horizon = horizon, 2 * horizon
    while horizon - short > 1:
        middle = (short + horizon) // 2
        enough = _tail(eta, middle) <= tolerance
        short, horizon = (short, middle) if enough else (middle, horizon)
    return np.exp(eta.log_pmf(horizon)), _tail(eta, horizon)


def _tail(eta: Eta, horizon: int) -> float:
    if not isinstance(eta, Eta):
        raise InputError(
            f"eta must be a weighting such as Geometric(0.5), got {eta!r}; parse_eta reads words"
        )
    tail = eta.tail(horizon)
    if tail is None:
        raise InputError(
            f"{eta} is not a law without a horizon, so the system I - P would be singular; "
            "use geometric:0.999 instead"
        )
    return tail
