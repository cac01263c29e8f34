r"""Geometric $\eta$ as an MDP with two phases, and policies that see the phase (errata (b), (f)).

In the *waiting* phase nothing is paid, and each step ends it with probability $1-\kappa$; in the
*running* phase the cost is paid with discount $\gamma$. A policy that ignores the phase has exactly
the value $J_\eta$. Policies that see it do better: their occupancies $\mathcal{M}_{\text{phase}}$
are a polytope that contains every $\mu_\pi$, a relaxation over which linear programs are exact.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy.optimize import linprog

from etairl.eta import Eta
from etairl.tabular.exact_measures import check_kappa, geometric_parameter, geometric_weights
from etairl.tabular.linear_systems import solve
from etairl.tabular.mdp import MDP, PairTable, PolicyTable, check_policy
from etairl.tabular.operators import policy_iteration
from etairl.types import InputError


class PhaseOptimum(NamedTuple):
    """The best controller that sees whether the lag has elapsed."""

    value: float
    waiting: Float[np.ndarray, "state action"]
    running: Float[np.ndarray, "state action"]


class Flow(NamedTuple):
    """A polytope of occupancies: measures `x >= 0` with `matrix @ x == rhs`.

    The last `size` entries of x are the occupancy, row by row.
    """

    matrix: Any
    rhs: np.ndarray
    size: int


def phase_optimal(mdp: MDP, kappa: float) -> PhaseOptimum:
    r"""$V_2 = v_*$, $V_1 = \min_a\mathbb{E}[\kappa V_1'+(1-\kappa)V_2']$.

    The value is $p_0\cdot[(1-\kappa)V_2+\kappa V_1]$.
    """
    check_kappa(kappa)
    running = policy_iteration(mdp)
    switch = (1.0 - kappa) * mdp.expect(running.v)
    waiting = policy_iteration(mdp.with_cost(switch).with_discount(kappa))
    value = mdp.p0 @ ((1.0 - kappa) * running.v + kappa * waiting.v)
    return PhaseOptimum(float(value), waiting.policy, running.policy)


def phase_mu(mdp: MDP, kappa: float, waiting: PolicyTable, running: PolicyTable) -> PairTable:
    r"""Occupancy of the running phase, $\mu = x_2$, of a controller that sees the phase.

    $x_1 = \kappa p_0+\kappa\,\mathrm{inflow}(x_1)$ and
    $x_2 = (1-\kappa)(p_0+\mathrm{inflow}(x_1))+\gamma\,\mathrm{inflow}(x_2)$. With one policy for
    both phases this is $\mu_\pi$.
    """
    check_kappa(kappa)
    waiting, running = check_policy(mdp, waiting), check_policy(mdp, running)
    before, _ = solve(mdp.under(waiting), kappa * mdp.p0, kappa, transpose=True)
    entering = (1.0 - kappa) * (mdp.p0 + mdp.inflow(before[:, None] * waiting))
    after, _ = solve(mdp.under(running), entering, mdp.gamma, transpose=True)
    return after[:, None] * running


def flow_polytope(mdp: MDP, eta: Eta) -> Flow:
    r"""The convex set of occupancies that linear programs can use for this $\eta$.

    Where the weights are geometric it is $\mathcal{D}$ itself, the classical flow polytope with
    discount $\beta$; for another $\mathrm{Geom}(\kappa)$ it is $\mathcal{M}_{\text{phase}}$, which
    is larger (errata (b)). Other laws have no finite phase.
    """
    pairs = mdp.c.size
    outflow = sp.kron(sp.eye_array(mdp.states), np.ones((1, mdp.actions)))
    kernel = mdp.rows.T
    if (beta := geometric_weights(eta, mdp.gamma)) is not None:
        start = (1.0 - beta) / (1.0 - mdp.gamma) * mdp.p0
        return Flow(sp.csr_array(outflow - beta * kernel), start, pairs)
    kappa = geometric_parameter(eta)
    if kappa is None:
        raise InputError(
            f"{eta} has no finite phase, so no linear program; use a geometric law, or the "
            "time-dependent class"
        )
    matrix = sp.block_array(
        [[outflow - kappa * kernel, None], [-(1.0 - kappa) * kernel, outflow - mdp.gamma * kernel]]
    )
    return Flow(sp.csr_array(matrix), np.concatenate([kappa * mdp.p0, (1 - kappa) * mdp.p0]), pairs)


def phase_program(mdp: MDP, eta: Eta) -> tuple[float, PairTable]:
    r"""$\min\langle\mu, c\rangle$ over `flow_polytope`, and a minimiser, by linear programming."""
    flow = flow_polytope(mdp, eta)
    # The solver's own tolerances are absolute, so costs are counted in units of the largest.
    unit = float(np.abs(mdp.c).max()) or 1.0
    cost = np.zeros(flow.matrix.shape[1])
    cost[-flow.size :] = mdp.c.reshape(-1) / unit
    solution = linprog(cost, A_eq=flow.matrix, b_eq=flow.rhs, method="highs")
    if solution.x is None:
        raise InputError(f"the linear program has no solution: {solution.message}")
    return unit * float(solution.fun), solution.x[-flow.size :].reshape(mdp.c.shape)
