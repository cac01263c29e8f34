r"""The definitions spelled out, to check the tabular code against something else.

Laws from their formula, time weights by the double sum, explicit powers of $P_\pi$: no recursion,
no solver, nothing from `etairl.eta` or `etairl.tabular.exact_measures`.
"""

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy.optimize import linprog

from etairl.tabular.mdp import MDP, PairTable, PolicyTable, StateVector

LawFormula = Callable[[int], float]
StepWeights = Float[np.ndarray, " horizon"]


def geometric(kappa: float) -> LawFormula:
    r"""$\eta(k) = (1-\kappa)\kappa^k$."""
    return lambda k: (1.0 - kappa) * kappa**k


def poisson(lam: float) -> LawFormula:
    r"""$\eta(k) = e^{-\lambda}\lambda^k/k!$."""
    return lambda k: math.exp(-lam + k * math.log(lam) - math.lgamma(k + 1))


def dirac(steps: int) -> LawFormula:
    r"""$\eta = \delta_k$."""
    return lambda k: float(k == steps)


def summed_weights(law: LawFormula, gamma: float, horizon: int) -> StepWeights:
    r"""$w_n = \sum_{t+k=n}\gamma^t\,\eta(k)$, term by term."""
    eta = [law(k) for k in range(horizon)]
    powers = [gamma**t for t in range(horizon)]
    return np.array(
        [math.fsum(powers[n - k] * eta[k] for k in range(n + 1)) for n in range(horizon)]
    )


def visited(mdp: MDP, policy: PolicyTable, weights: StepWeights) -> StateVector:
    r"""$\sum_n\text{weights}_n\,p_0P_\pi^n$, by explicit powers."""
    total, power = np.zeros(mdp.states), np.eye(mdp.states)
    for weight in weights:
        total += weight * (mdp.p0 @ power)
        power = power @ np.einsum("sa,san->sn", policy, mdp.kernel)
    return total


def cost_of(mdp: MDP, policy: PolicyTable, weights: StepWeights) -> float:
    r"""$\sum_n\text{weights}_n\,\mathbb{E}\,c(s_n, a_n)$."""
    return float(visited(mdp, policy, weights) @ (policy * mdp.c).sum(axis=1))


def least_excess_in_time(
    mdp: MDP,
    weights: StepWeights,
    expert: PairTable,
    features: Float[np.ndarray, "state action feature"],
) -> float:
    r"""$\min\max_i\langle\mu-\mu_E,f_i\rangle$ over $\mathcal{M}_{\text{time}}$: a linear program.

    Unknowns are the flows $x_n(s,a)$ of every step, $\sum_ax_0 = p_0$ and $\sum_ax_{n+1}(s') =
    \sum x_n(s,a)P(s'\mid s,a)$; then $\mu = \sum_nw_nx_n$.
    """
    steps, pairs = len(weights), mdp.c.size
    out = np.kron(np.eye(mdp.states), np.ones((1, mdp.actions)))
    forward = mdp.kernel.reshape(pairs, mdp.states).T
    flow = sp.kron(sp.eye_array(steps), out) - sp.kron(sp.eye_array(steps, k=-1), forward)
    start = np.concatenate([mdp.p0, np.zeros((steps - 1) * mdp.states)])
    flat = features.reshape(pairs, -1).T
    solved = linprog(
        np.append(np.zeros(steps * pairs), 1.0),
        A_ub=np.hstack([np.kron(weights, flat), -np.ones((len(flat), 1))]),
        b_ub=flat @ expert.reshape(-1),
        A_eq=sp.hstack([flow, sp.csr_array((len(start), 1))]),
        b_eq=start,
        bounds=[(0.0, None)] * (steps * pairs) + [(None, None)],
        method="highs",
    )
    return float(solved.fun)
