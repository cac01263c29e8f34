"""Errata (a): with a regulariser, planning with gamma is not eta-optimal either."""

import pytest
from scipy.optimize import minimize_scalar

from etairl.eta import Dirac, Geometric
from etairl.regularisers import Entropy
from etairl.tabular.eta_criterion import criterion
from etairl.tabular.exact_measures import rho
from etairl.tabular.generators import go_stay, go_stay_policy
from etairl.tabular.operators import policy_iteration

HALF = Geometric(0.5)


def regularised(reading, alpha, p, eta=HALF):
    """The regularised criterion on the go/stay chain under the three readings of Omega."""
    mdp, policy = go_stay(0.4, 1.0, 0.0), go_stay_policy(p)
    if reading == "B":
        return criterion(mdp, policy, eta, Entropy(alpha))
    bonus = Entropy(alpha).value(policy)
    if reading == "A":
        return criterion(mdp, policy, eta) - rho(mdp, policy).states @ bonus
    return criterion(mdp, policy, eta) - bonus.sum()


def least(reading, alpha, eta=HALF):
    found = minimize_scalar(
        lambda p: regularised(reading, alpha, float(p), eta),
        bounds=(1e-9, 1 - 1e-9),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(found.x), float(found.fun)


def soft_stay(alpha):
    return float(policy_iteration(go_stay(0.4, 1.0, 0.0), Entropy(alpha)).policy[0, 0])


@pytest.mark.parametrize(
    ("reading", "alpha", "p_soft", "p", "gap"),
    [
        ("A", 0.1, 0.818615, 0.09569, 0.206835),
        ("B", 0.1, 0.818615, 0.00964, 0.226448),
        ("A", 0.5, 0.567793, 0.38887, 0.043119),
        ("B", 0.5, 0.567793, 0.30597, 0.051433),
    ],
)
def test_regularised_versions_fail_too(reading, alpha, p_soft, p, gap):
    soft = soft_stay(alpha)
    assert soft == pytest.approx(p_soft, abs=5e-7)
    best, value = least(reading, alpha)
    assert best == pytest.approx(p, abs=1e-5)
    assert regularised(reading, alpha, soft) - value == pytest.approx(gap, abs=1e-6)


@pytest.mark.parametrize("reading", ["A", "B"])
@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_regularised_versions_hold_for_the_dirac(reading, alpha):
    best, value = least(reading, alpha, Dirac(0))
    assert best == pytest.approx(soft_stay(alpha), abs=1e-6)
    assert regularised(reading, alpha, soft_stay(alpha), Dirac(0)) == pytest.approx(
        value, abs=1e-12
    )


def test_one_undiscounted_entropy_fails_even_for_the_dirac():
    best, value = least("C", 0.1, Dirac(0))
    assert best == pytest.approx(0.97888, abs=1e-5)
    gap = regularised("C", 0.1, soft_stay(0.1), Dirac(0)) - value
    assert gap == pytest.approx(0.016029, abs=1e-6)
