"""w_n = sum_{k<=n} eta(k) gamma^(n-k): its closed forms, and the claims that rest on it alone."""

import numpy as np
import pytest

from etairl.eta import Dirac, Geometric, Poisson, Table, Uniform, ZeroModifiedGeometric, parse_eta
from etairl.types import InputError

LONG = 4000


def brute_weights(pmf, gamma, horizon):
    return [
        sum(pmf[k] * gamma ** (n - k) for k in range(n + 1) if pmf[k] > 0) for n in range(horizon)
    ]


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.99, 1.0])
@pytest.mark.parametrize(
    "spec",
    [
        "dirac:0",
        "dirac:3",
        "geometric:0.7",
        "poisson:4",
        "table:0.1,0.2,0.7",
        "zero-modified:0.9,0.5",
        "mixture:0.3*dirac:2+0.7*geometric:0.5",
    ],
)
def test_weights_are_the_double_sum(spec, gamma):
    eta = parse_eta(spec)
    pmf = np.exp(eta.log_pmf(40)).tolist()
    expected = brute_weights(pmf, gamma, 40)
    assert eta.weights(gamma, 40) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("spec", ["dirac:5", "geometric:0.9", "poisson:25", "zero-modified:0.995"])
def test_weights_sum_to_the_discounted_horizon(spec):
    assert parse_eta(spec).weights(0.99, LONG).sum() == pytest.approx(100.0, rel=1e-7)


def test_geometric_closed_form():
    n = np.arange(60)
    gamma, kappa = 0.9, 0.6
    closed = (1 - kappa) * (gamma ** (n + 1) - kappa ** (n + 1)) / (gamma - kappa)
    assert Geometric(kappa).weights(gamma, 60) == pytest.approx(closed, rel=1e-12)
    equal = (1 - gamma) * (n + 1) * gamma**n
    assert Geometric(gamma).weights(gamma, 60) == pytest.approx(equal, rel=1e-12)


def test_weights_at_gamma_one():
    n = np.arange(50)
    assert Geometric(0.8).weights(1.0, 50) == pytest.approx(1 - 0.8 ** (n + 1))
    assert Uniform().weights(1.0, 50) == pytest.approx((n + 1) / 50)
    assert Geometric(1.0).weights(1.0, 50) == pytest.approx((n + 1) / 50)


def test_ratios_of_uniform_weights_do_not_depend_on_the_horizon():
    short, long = Uniform().weights(0.9, 20), Uniform().weights(0.9, 80)[:20]
    assert short / short[0] == pytest.approx(long / long[0])


@pytest.mark.parametrize(("beta", "gamma"), [(0.995, 0.99), (0.9, 0.5), (0.5, 0.5), (0.7, 0.0)])
def test_zero_modified_geometric_is_discounting_by_beta(beta, gamma):
    weights = ZeroModifiedGeometric(beta, gamma).weights(gamma, 100)
    assert weights == pytest.approx((1 - beta) / (1 - gamma) * beta ** np.arange(100), rel=1e-9)


def test_plain_geometric_weights_are_not_geometric():
    weights = Geometric(0.5).weights(0.5, 4)
    ratios = weights[1:] / weights[:-1]
    assert ratios.max() - ratios.min() > 0.3


@pytest.mark.parametrize(
    ("eta", "go"),
    [
        (Dirac(0), 1.0),
        (Geometric(0.25), 0.75),
        (Geometric(0.5), 0.5),
        (Geometric(0.9), 0.1),
        (Poisson(2.0), 0.135335),
        (Dirac(1), 0.0),
    ],
    ids=str,
)
def test_gamma_optimal_is_not_eta_optimal(eta, go):
    """Go/stay chain with costs (0.4, 1, 0), gamma 0.5: stay is gamma-optimal, go is eta-better."""
    weights = eta.weights(0.5, 200)
    cost_of_staying = 0.4 * weights.sum()
    cost_of_going = weights[0]
    assert cost_of_staying == pytest.approx(0.8, abs=1e-9)
    assert cost_of_going == pytest.approx(go, abs=1e-6)


def visits(p, gamma=0.5, kappa=0.5):
    """Weighted time in the first state of the go/stay chain that stays with probability p."""
    return float(Geometric(kappa).weights(gamma, 400) @ p ** np.arange(400.0))


def test_occupancies_of_the_go_stay_chain():
    gamma = kappa = 0.5
    for p in (0.0, 0.3, 0.8, 0.95):
        closed = (1 - kappa) / ((1 - kappa * p) * (1 - gamma * p))
        assert visits(p) == pytest.approx(closed, rel=1e-12)
    occupancy = {p: (p * visits(p), (1 - p) * visits(p)) for p in (0.0, 1.0, 0.8)}
    assert occupancy[0.0] == pytest.approx((0.0, 0.5))
    assert occupancy[1.0] == pytest.approx((2.0, 0.0))
    # The midpoint (1, .25) asks for p = .8, whose own occupancy lies elsewhere: not convex.
    assert occupancy[0.8] == pytest.approx((1.1111, 0.2778), abs=5e-5)


def test_best_stationary_policy_is_stochastic():
    """Go/stay chain with costs (0.75, 0, 1), gamma = kappa = 0.5."""

    def cost(p):
        return 0.75 * p * visits(p) + (2.0 - visits(p))

    grid = np.linspace(0, 1, 3001)
    costs = [cost(p) for p in grid]
    assert cost(0.0) == pytest.approx(1.5)
    assert cost(1.0) == pytest.approx(1.5)
    assert grid[int(np.argmin(costs))] == pytest.approx(2 / 3, abs=5e-4)
    assert min(costs) == pytest.approx(1.4375, abs=1e-6)


def test_state_only_costs_on_three_states():
    """Stay at cost .4 for ever, or go: costs .4, 1, then 0."""
    for kappa, expected in ((0.5, 0.7), (0.25, 0.8625)):
        weights = Geometric(kappa).weights(0.5, 200)
        assert 0.4 * weights.sum() == pytest.approx(0.8)
        assert 0.4 * weights[0] + weights[1] == pytest.approx(expected)


def test_two_states_fail_with_a_dirac_at_two():
    """State 0 (free) leads to 1; state 1 (cost 1) is left with probability q; start in 1."""

    def cost(q):
        at_one, expected = 1.0, []
        for _ in range(200):
            expected.append(at_one)
            at_one = at_one * (1 - q) + (1 - at_one)
        return float(Dirac(2).weights(0.5, 200) @ expected)

    assert cost(1.0) == pytest.approx(1.333333, abs=1e-6)
    assert cost(0.828) == pytest.approx(1.313709, abs=1e-6)


@pytest.mark.parametrize("kappa", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("gamma", [0.5, 0.9])
def test_bound_on_the_cost_of_planning_with_gamma(kappa, gamma):
    difference = np.abs(Geometric(kappa).weights(gamma, LONG) - gamma ** np.arange(LONG)).sum()
    assert difference <= 2 * kappa / (1 - kappa * gamma) + 1e-12


def test_weights_are_positive_where_eta_starts_at_zero():
    assert (Poisson(3.0).weights(0.9, 50) > 0).all()
    assert (Dirac(1).weights(0.9, 5)[:1] == 0).all()
    assert (Table((0.0, 1.0)).weights(0.9, 5)[:1] == 0).all()


def test_a_discount_outside_its_range_is_refused():
    with pytest.raises(InputError, match=r"gamma must lie in \[0, 1\], got 1.5"):
        Dirac(0).weights(1.5, 10)
