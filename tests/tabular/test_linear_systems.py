"""Linear systems: error bounds against exact fractions, and what is too close to singular."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from etairl.eta import Geometric
from etairl.tabular import linear_systems
from etairl.tabular.exact_measures import mu, rho
from etairl.tabular.generators import chain, random_mdp, random_policy
from etairl.tabular.linear_systems import solve
from etairl.tabular.mdp import MDP
from etairl.types import InputError


def exact(matrix, b):
    """Gauss and Jordan in fractions; the systems here need no pivoting."""
    rows = [[*row, value] for row, value in zip(matrix, b, strict=True)]
    for i in range(len(rows)):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(len(rows)):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def exact_mu(mdp, policy, kappa):
    """mu = (1 - kappa) p0 (I - kappa P)^-1 (I - gamma P)^-1, every number a fraction."""
    kernel, rows = mdp.kernel.tolist(), policy.tolist()
    states, actions = range(mdp.states), range(mdp.actions)
    step = [
        [sum(Fraction(rows[s][a]) * Fraction(kernel[s][a][n]) for a in actions) for n in states]
        for s in states
    ]
    left = [(1 - Fraction(kappa)) * Fraction(p) for p in mdp.p0.tolist()]
    for factor in (Fraction(kappa), Fraction(mdp.gamma)):
        left = exact([[(i == j) - factor * step[j][i] for j in states] for i in states], left)
    return [left[s] * Fraction(rows[s][a]) for s in states for a in actions]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("kappa", [0.0, 0.5])
@pytest.mark.parametrize("gamma", [0.9, 0.9999])
def test_the_claimed_error_of_a_measure_is_a_bound(gamma, kappa, sparse):
    """100 random MDPs in all, 4 states; the claim is also within reason, 1e-12 over 1 - gamma."""
    for number in range(13):
        rng = np.random.default_rng(number)
        mdp = random_mdp(rng, 4, 2, gamma)
        if sparse:
            mdp = MDP(mdp.rows, mdp.c, mdp.p0, gamma)
        policy = random_policy(rng, mdp)
        found, truth = mu(mdp, policy, Geometric(kappa)), exact_mu(mdp, policy, kappa)
        pairs = zip(found.values.ravel().tolist(), truth, strict=True)
        true = float(sum(abs(Fraction(x) - y) for x, y in pairs))
        assert true <= found.error <= 1e-12 / (1.0 - gamma) ** 2


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("apart", [1e-16, 1e-15, 1e-12, 1e-10])
def test_a_residual_of_zero_is_no_proof(apart, sparse):
    """P = 1/2 everywhere solves without any residual, and its mass is off by up to the whole."""
    kernel = np.full((2, 2, 2), 0.5)
    P = sp.csr_array(kernel.reshape(4, 2)) if sparse else kernel
    mdp = MDP(P, np.ones((2, 2)), np.array([1.0, 0.0]), 1.0 - apart)
    with pytest.raises(InputError, match="singular to working precision: the error may be"):
        mu(mdp, np.full((2, 2), 0.5), Geometric(0.5))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("apart", [1e-6, 1e-3])
def test_rows_that_nearly_sum_to_one_do_not_change_the_mass(apart, sparse):
    """Off by 9e-10, which a discount near 1 would multiply by a million."""
    kernel = np.full((2, 2, 2), 0.5) * (1.0 + 9e-10)
    P = sp.csr_array(kernel.reshape(4, 2)) if sparse else kernel
    p0, policy = np.array([1.0 - 9e-10, 0.0]), np.full((2, 2), 0.5) * (1.0 - 9e-10)
    mdp = MDP(P, np.ones((2, 2)), p0, 1.0 - apart)
    found, mass = rho(mdp, policy), float(1 / (1 - Fraction(1.0 - apart)))
    assert abs(found.values.sum() - mass) <= found.error < 1e-8 * mass
    again = mdp.with_cost(mdp.c)
    assert (again.kernel == mdp.kernel).all()
    assert (again.p0 == mdp.p0).all()


def test_systems_that_are_singular_to_working_precision():
    rng = np.random.default_rng(5)
    with pytest.raises(InputError, match=r"the system I - 1 P is singular"):
        solve(np.eye(2), np.ones(2), 1.0)
    mdp = random_mdp(rng, 3, 2, 1.0 - 1e-15)
    with pytest.raises(InputError, match="singular to working precision: the error may be"):
        mu(mdp, random_policy(rng, mdp), Geometric(0.5))


@pytest.mark.parametrize("transpose", [False, True])
def test_the_error_of_a_solve_bounds_a_wrong_solution(monkeypatch, transpose):
    """A solver that is off by 1e-9 must be found out by the residual, whichever way it came."""
    rng = np.random.default_rng(6)
    mdp = random_mdp(rng, 5, 2, 0.9)
    step, b = mdp.under(random_policy(rng, mdp)), rng.random(5)
    exact, _ = solve(step, b, 0.9, transpose)
    true_solve, off = np.linalg.solve, 1e-9 * rng.standard_normal(5)
    monkeypatch.setattr(linear_systems.np.linalg, "solve", lambda a, y: true_solve(a, y) + off)
    found, error = solve(step, b, 0.9, transpose)
    missing = np.linalg.norm(found - exact, 1 if transpose else np.inf)
    assert 1e-10 < missing <= error + 1e-13


def test_sparse_elimination_solves_what_the_iteration_gives_up(monkeypatch):
    corridor = chain(40, 0.95, slip=0.1)
    step = MDP(corridor.rows, corridor.c, corridor.p0, 0.95).under(np.full((40, 2), 0.5))
    b = np.random.default_rng(7).random(40)
    expected = np.linalg.solve(np.eye(40) - 0.95 * step.toarray(), b)
    monkeypatch.setattr(linear_systems, "_iterate", lambda matrix, b, discount: np.zeros(40))
    found, error = solve(step, b, 0.95)
    assert found == pytest.approx(expected, abs=1e-11)
    assert error < 1e-11
