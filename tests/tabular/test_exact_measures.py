"""Exact measures against brute force; truncation; what is singular or unvisited."""

import numpy as np
import pytest

from etairl.eta import (
    Dirac,
    Geometric,
    Mixture,
    Poisson,
    Table,
    Uniform,
    ZeroModifiedGeometric,
    parse_eta,
)
from etairl.tabular.exact_measures import (
    future,
    geometric_weights,
    mu,
    mu_in_time,
    policy_from_occupancy,
    rho,
    truncated_law,
    weighted,
    weights_beyond,
)
from etairl.tabular.generators import (
    chain,
    go_stay,
    go_stay_policy,
    random_mdp,
    random_policy,
    random_sparse_mdp,
)
from etairl.tabular.mdp import MDP
from etairl.types import InputError

ETAS = [
    Dirac(0),
    Dirac(3),
    Geometric(0.0),
    Geometric(0.9),
    Poisson(4.0),
    Table((0.2, 0.0, 0.8)),
    ZeroModifiedGeometric(0.9, 0.8),
    Mixture((Dirac(1), Geometric(0.5)), (0.4, 0.6)),
]


def brute(mdp, policy, weights):
    """Sum of explicit matrix powers; a thousand steps."""
    total, power = np.zeros(mdp.states), np.eye(mdp.states)
    for weight in weights:
        total += weight * (mdp.p0 @ power)
        power = power @ mdp.under(policy)
    return total[:, None] * policy


@pytest.mark.parametrize("eta", ETAS, ids=str)
def test_measures_are_their_definition(eta):
    rng = np.random.default_rng(0)
    mdp = random_mdp(rng, 4, 3, 0.8)
    policy = random_policy(rng, mdp)
    found = mu(mdp, policy, eta)
    expected = brute(mdp, policy, eta.weights(0.8, 1000))
    assert np.abs(found.values - expected).sum() < 1e-11
    assert found.error < 1e-11
    ahead = future(mdp, policy, eta)
    expected = brute(mdp, policy, np.exp(eta.log_pmf(1000)))
    assert np.abs(ahead.values - expected).sum() < 1e-11
    assert rho(mdp, policy).values == pytest.approx(mu(mdp, policy, Dirac(0)).values, abs=1e-12)


def test_zero_modified_weights_of_another_gamma_are_summed():
    eta = ZeroModifiedGeometric(0.9, 0.5)
    assert geometric_weights(eta, 0.5) == 0.9
    assert geometric_weights(eta, 0.8) is None
    assert geometric_weights(Geometric(0.4), 0.0) == 0.4
    rng = np.random.default_rng(1)
    mdp = random_mdp(rng, 3, 2, 0.8)
    policy = random_policy(rng, mdp)
    expected = brute(mdp, policy, eta.weights(0.8, 1000))
    assert np.abs(mu(mdp, policy, eta).values - expected).sum() < 1e-11


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6])
@pytest.mark.parametrize(
    "eta",
    [Poisson(30.0), Dirac(100), Mixture((Poisson(5.0), Geometric(0.95)), (0.5, 0.5))],
    ids=str,
)
def test_what_is_left_out_is_bounded(eta, tolerance):
    rng = np.random.default_rng(2)
    mdp = random_mdp(rng, 3, 2, 0.9)
    policy = random_policy(rng, mdp)
    for measure in (mu, future):
        rough, fine = (measure(mdp, policy, eta, t) for t in (tolerance, 1e-14))
        missing = np.abs(rough.values - fine.values).sum()
        assert missing <= rough.error + 1e-12
    weights = eta.weights(0.9, 50)
    assert weights.sum() + weights_beyond(eta, 0.9, weights) == pytest.approx(10.0, rel=1e-12)
    law, rest = truncated_law(eta, tolerance)
    assert eta.tail(len(law) - 1) > tolerance  # and no longer than it must be
    assert law.sum() + rest == pytest.approx(1.0, rel=1e-12)
    assert rest <= tolerance


@pytest.mark.parametrize("kappa", [0.0, 0.5, 0.99])
def test_sparse_solves_agree_with_dense_ones(kappa):
    rng = np.random.default_rng(3)
    for mdp in (random_sparse_mdp(rng, 60, 3, 3, 0.95), sparse_chain(60)):
        dense = MDP(mdp.kernel, mdp.c, mdp.p0, mdp.gamma)
        policy = random_policy(rng, mdp)
        found, expected = (mu(world, policy, Geometric(kappa)) for world in (mdp, dense))
        assert np.abs(found.values - expected.values).sum() < 1e-9
        assert found.error < 1e-7
        assert found.values.sum() == pytest.approx(20.0, rel=1e-10)


def sparse_chain(length):
    mdp = chain(length, 0.95, slip=0.1)
    return MDP(mdp.rows, mdp.c, mdp.p0, mdp.gamma)


def test_policies_in_time():
    rng = np.random.default_rng(4)
    mdp = random_mdp(rng, 3, 2, 0.8)
    policy = random_policy(rng, mdp)
    same = mu_in_time(mdp, np.stack([policy] * 3), Geometric(0.6))
    assert same.values == pytest.approx(mu(mdp, policy, Geometric(0.6)).values, abs=1e-11)
    assert weighted(mdp, policy, np.array([0.0, 2.0]))[:, 0] == pytest.approx(
        2.0 * (mdp.p0 @ mdp.under(policy)) * policy[:, 0]
    )


def test_unvisited_states_are_explicit():
    measure = np.array([[1.0, 3.0], [0.0, 0.0]])
    with pytest.raises(InputError, match=r"state 1 has measure 0 \(1 of 2 states\), so its policy"):
        policy_from_occupancy(measure)
    assert policy_from_occupancy(measure, "uniform").tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert np.isnan(policy_from_occupancy(measure, "nan")[1]).all()


@pytest.mark.usefixtures("unchecked")
def test_measures_that_are_none_are_refused():
    for value, message in ((-1.0, "is -1: a measure is not"), (np.inf, "is inf: a measure is fin")):
        with pytest.raises(InputError, match=rf"measure\[0, 1\] {message}"):
            policy_from_occupancy(np.array([[1.0, value]]))
    with pytest.raises(InputError, match=r"measure\[1, 0\] is nan: a measure is finite"):
        policy_from_occupancy(np.array([[1.0, 1.0], [np.nan, 1.0]]))
    with pytest.raises(InputError, match=r"a measure needs shape \[state, action\], got \(2,\)"):
        policy_from_occupancy(np.ones(2))
    assert policy_from_occupancy([[1, 3], [2, 2]]).tolist() == [[0.25, 0.75], [0.5, 0.5]]


@pytest.mark.parametrize("eta", [Uniform(), Geometric(1.0)], ids=str)
def test_laws_without_a_horizon_are_singular(eta):
    mdp = go_stay(0.0, 0.0, 0.0)
    for measure in (mu, future):
        with pytest.raises(InputError, match="not a law without a horizon, so the system I - P"):
            measure(mdp, go_stay_policy(0.5), eta)


def test_a_law_that_looks_too_far_is_refused():
    mdp = go_stay(0.0, 0.0, 0.0)
    with pytest.raises(InputError, match="needs more than 4,194,304 steps"):
        mu(mdp, go_stay_policy(0.5), parse_eta("dirac:9000000"))


@pytest.mark.parametrize("eta", [Poisson(4.0), Dirac(3), Table((0.2, 0.0, 0.8))], ids=str)
def test_patience_costs_no_more_steps(eta):
    """Near gamma = 1 the law of eta is as short as ever: its steps are counted, not the discount's.

    Against explicit powers for 200 steps, then the limit of a chain that forgets its start.
    """
    rng = np.random.default_rng(8)
    mdp = random_mdp(rng, 3, 2, 0.99999)
    policy = random_policy(rng, mdp)
    found = mu(mdp, policy, eta)
    assert found.error < 1e-9 * found.values.sum()
    weights = eta.weights(mdp.gamma, 200)
    still = np.linalg.matrix_power(mdp.under(policy), 200)[0]
    beyond = weights_beyond(eta, mdp.gamma, weights) * still
    expected = brute(mdp, policy, weights) + beyond[:, None] * policy
    assert found.values == pytest.approx(expected, rel=1e-9)
    in_time = mu_in_time(mdp, np.stack([policy] * 3), eta)
    assert in_time.values == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("spec", ["dirac:0", "geometric:0", "table:1", "mixture:1*dirac:0"])
def test_every_spelling_of_the_dirac_mass_at_zero_is_classical(spec):
    assert geometric_weights(parse_eta(spec), 0.7) == 0.7


@pytest.mark.usefixtures("unchecked")
def test_measures_of_no_policy_or_no_law_are_refused():
    mdp = go_stay(0.0, 0.0, 0.0)
    stay = go_stay_policy(1.0)
    with pytest.raises(InputError, match=r"eta must be a weighting .* got 'geometric:0.5'; parse_"):
        mu(mdp, stay, "geometric:0.5")
    with pytest.raises(InputError, match=r"policy\[0\] sums to 2"):
        weighted(mdp, np.ones((2, 2)), np.ones(3))
    with pytest.raises(InputError, match=r"policy\[1, 0\] sums to 2"):
        mu_in_time(mdp, np.stack([stay, np.ones((2, 2)), stay]), Geometric(0.5))
    bad = np.array([[1.0, 0.0], [-1.0, 2.0]])
    with pytest.raises(InputError, match=r"policy\[2, 1, 0\] is -1"):
        mu_in_time(mdp, np.stack([stay, stay, bad]), Geometric(0.5))
    with pytest.raises(InputError, match=r"shape \(steps, 2, 2\) with at least one step, got \(0,"):
        mu_in_time(mdp, np.zeros((0, 2, 2)), Geometric(0.5))
    with pytest.raises(InputError, match="policy must hold real numbers, got <U7"):
        mu(mdp, "uniform", Geometric(0.5))
    for weights, message in (
        ([1.0, -1.0], r"weights\[1\] is -1: a time weight is finite and not negative"),
        ([np.nan], r"weights\[0\] is nan"),
        ([[1.0]], r"one per step, got \(1, 1\)"),
    ):
        with pytest.raises(InputError, match=message):
            weighted(mdp, stay, weights)


@pytest.mark.parametrize("tolerance", [np.nan, -1.0])
def test_tolerances_that_are_none_are_refused(tolerance):
    with pytest.raises(InputError, match="a tolerance is a number of at least 0, got"):
        mu(go_stay(0.0, 0.0, 0.0), go_stay_policy(1.0), Poisson(3.0), tolerance)
