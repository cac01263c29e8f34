"""Errata (a): when planning with gamma is eta-optimal, and when not; every number printed there."""

import numpy as np
import pytest
from small_mdps import all_deterministic, forced_return, start_matters, three_state_detour

from etairl.eta import Dirac, Geometric, Poisson, ZeroModifiedGeometric
from etairl.replication.claims.planning import decomposition_error
from etairl.tabular.eta_criterion import criterion
from etairl.tabular.exact_measures import future, mu, mu_in_time, rho
from etairl.tabular.generators import (
    chain,
    go_stay,
    go_stay_policy,
    random_mdp,
    random_policy,
)
from etairl.tabular.mdp import MDP, deterministic
from etairl.tabular.operators import action_values, evaluate, policy_iteration
from etairl.tabular.phase import phase_optimal, phase_program
from etairl.tabular.rl import best_stationary, planning_gap, time_optimal, weight_distance

HALF = Geometric(0.5)
STAY, GO = go_stay_policy(1.0), go_stay_policy(0.0)


@pytest.mark.parametrize("gamma", [0.3, 0.5, 0.9])
@pytest.mark.parametrize("kappa", [0.0, 0.5, 0.8])
def test_occupancies_of_the_go_stay_chain(gamma, kappa):
    for p in (0.0, 0.3, 0.8, 1.0):
        measure = mu(go_stay(0.0, 0.0, 0.0, gamma), go_stay_policy(p), Geometric(kappa)).values
        visits = (1 - kappa) / ((1 - kappa * p) * (1 - gamma * p))
        assert measure[0] == pytest.approx([p * visits, (1 - p) * visits], abs=1e-13)
        assert measure[1].sum() == pytest.approx(1 / (1 - gamma) - visits, abs=1e-12)


@pytest.mark.parametrize(
    ("eta", "going"),
    [
        (Dirac(0), 1.0),
        (Geometric(0.25), 0.75),
        (HALF, 0.5),
        (Geometric(0.9), 0.1),
        (Poisson(2.0), 0.135335),
        (Dirac(1), 0.0),
    ],
    ids=str,
)
def test_table_of_stay_and_go(eta, going):
    mdp = go_stay(0.4, 1.0, 0.0)
    assert policy_iteration(mdp).policy[0].tolist() == [1.0, 0.0]  # classical: stay
    assert criterion(mdp, STAY, eta) == pytest.approx(0.8, abs=1e-12)
    assert criterion(mdp, GO, eta) == pytest.approx(going, abs=5e-7)


def test_gap_of_the_planner_on_the_chain():
    gap = planning_gap(go_stay(0.4, 1.0, 0.0), HALF)
    assert gap.heuristic - gap.stationary == pytest.approx(0.3, abs=1e-9)
    assert gap.heuristic - gap.in_time <= gap.bound


@pytest.mark.parametrize("eta", [Geometric(0.1), Poisson(0.3), Dirac(1), Geometric(0.95)], ids=str)
def test_every_other_eta_has_a_counterexample(eta):
    """A cost of staying between eta(0) (1 - gamma) and 1 - gamma separates stay and go."""
    start = float(np.exp(eta.log_pmf(1)[0]))
    mdp = go_stay(0.5 * (start + 1.0) / 2.0, 1.0, 0.0)
    assert policy_iteration(mdp).policy[0].tolist() == [1.0, 0.0]
    assert criterion(mdp, GO, eta) < criterion(mdp, STAY, eta) - 1e-3


def test_one_state_is_never_enough():
    rng = np.random.default_rng(0)
    for _ in range(20):
        mdp = random_mdp(rng, 1, 4, 0.7)
        policy = random_policy(rng, mdp)
        values = [criterion(mdp, policy, eta) for eta in (Dirac(0), HALF, Poisson(3.0), Dirac(2))]
        assert np.ptp(values) < 1e-12


def test_state_costs_on_three_states():
    mdp = three_state_detour()
    stay, go = deterministic([0, 0, 0], 2), deterministic([1, 0, 0], 2)
    assert criterion(mdp, stay, Dirac(0)) == pytest.approx(0.8)
    assert criterion(mdp, go, Dirac(0)) == pytest.approx(0.9)
    assert criterion(mdp, stay, HALF) == pytest.approx(0.8)
    assert criterion(mdp, go, HALF) == pytest.approx(0.7)
    assert criterion(mdp, go, Geometric(0.25)) == pytest.approx(0.8625)
    assert criterion(mdp, stay, Geometric(0.25)) == pytest.approx(0.8)


def test_state_costs_on_two_states_with_a_dirac_at_two():
    mdp = forced_return()
    always = np.array([[0.5, 0.5], [0.0, 1.0]])
    assert policy_iteration(mdp).policy[1].tolist() == [0.0, 1.0]
    assert criterion(mdp, always, Dirac(2)) == pytest.approx(1.333333, abs=5e-7)
    best = best_stationary(mdp, Dirac(2))
    assert best.value == pytest.approx(1.313709, abs=1e-6)
    assert best.policy[1, 1] == pytest.approx(0.828, abs=5e-4)


def test_decomposition_by_the_optimal_advantage():
    for number in range(20):
        rng = np.random.default_rng(number)
        mdp = random_mdp(rng, 4, 3, 0.8)
        assert decomposition_error(mdp, random_policy(rng, mdp), Geometric(0.6)) < 4e-15


def excess(mdp: MDP, eta) -> float:
    """Of the gamma-optimal policy over every policy that sees state and time."""
    return criterion(mdp, policy_iteration(mdp).policy, eta) - time_optimal(mdp, eta).value


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "kind", ["dirac", "no influence", "two states", "shortest path", "advantage"]
)
def test_when_the_claim_holds(kind):
    """40 random draws each, with Geom(kappa): no other policy is better, in time or stationary."""
    for number in range(40):
        rng = np.random.default_rng(number)
        mdp, eta = random_mdp(rng, 3, 2, 0.6), Geometric(float(rng.uniform(0.1, 0.9)))
        if kind == "dirac":
            eta = Dirac(0)
        elif kind == "no influence":
            mdp = MDP(np.repeat(mdp.kernel[:, :1], 2, axis=1), mdp.c, mdp.p0, mdp.gamma)
        elif kind == "two states":
            mdp = random_mdp(rng, 2, 2, 0.6)
            mdp = mdp.with_cost(np.repeat(mdp.c[:, :1], 2, axis=1))
        elif kind == "shortest path":
            mdp = chain(int(rng.integers(2, 5)), 0.6)
        else:
            v = policy_iteration(mdp).v
            mdp = mdp.with_cost(np.maximum(action_values(mdp, v) - v[:, None], 0.0))
        others = [*all_deterministic(mdp), random_policy(rng, mdp), random_policy(rng, mdp)]
        value = criterion(mdp, policy_iteration(mdp).policy, eta)
        assert value - min(criterion(mdp, policy, eta) for policy in others) < 1e-15
        if kind != "two states":  # where the best in time may differ
            best = time_optimal(mdp, eta)
            assert abs(value - best.value) <= best.error + 1e-14


def test_minimising_every_step_is_enough_for_every_eta():
    """On a corridor the planner minimises every E c_n, so it is best for all eta at once."""
    for eta in (Geometric(0.9), Poisson(3.0), Dirac(2)):
        assert abs(excess(chain(5, 0.6), eta)) < 1e-11


def test_more_knowledge_costs_less():
    mdp = go_stay(0.75, 0.0, 1.0)
    assert policy_iteration(mdp).policy[0].tolist() == [0.0, 1.0]
    assert criterion(mdp, GO, HALF) == pytest.approx(1.5)
    assert criterion(mdp, STAY, HALF) == pytest.approx(1.5)
    best = best_stationary(mdp, HALF)
    assert best.value == pytest.approx(1.4375, abs=1e-12)
    assert best.policy[0, 0] == pytest.approx(2 / 3, abs=1e-7)
    in_time = time_optimal(mdp, HALF)
    assert in_time.value == pytest.approx(1.375, abs=1e-12)
    once = np.stack([STAY, GO])
    assert (mu_in_time(mdp, once, HALF).values * mdp.c).sum() == pytest.approx(1.375, abs=1e-12)
    assert phase_optimal(mdp, 0.5).value == pytest.approx(1.0, abs=1e-12)
    assert phase_program(mdp, HALF)[0] == pytest.approx(1.0, abs=1e-9)


def test_the_best_stationary_policy_depends_on_the_start():
    numbers = {0: {(0, 0): 1.153719, (1, 0): 1.2}, 1: {(1, 0): 0.791837, (0, 0): 0.823140}}
    for start, values in numbers.items():
        mdp = start_matters(start)
        assert policy_iteration(mdp).policy.argmax(axis=1).tolist() == [1, 0]
        for actions, value in values.items():
            found = criterion(mdp, deterministic(list(actions), 2), HALF)
            assert found == pytest.approx(value, abs=5e-7)
        best = min(values.values())
        assert best_stationary(mdp, HALF).value == pytest.approx(best, abs=5e-7)


def test_potential_shaping_is_not_neutral():
    rng = np.random.default_rng(3)
    mdp, eta = random_mdp(rng, 4, 2, 0.7), Geometric(0.6)
    policy, potential = random_policy(rng, mdp), rng.standard_normal(4)
    shaped = mdp.with_cost(mdp.c + mdp.gamma * mdp.expect(potential) - potential[:, None])
    expected = criterion(mdp, policy, eta) - future(mdp, policy, eta).states @ potential
    assert criterion(shaped, policy, eta) == pytest.approx(expected, abs=1e-12)


def test_bound_on_the_loss_of_planning_with_gamma():
    for number in range(200):
        rng = np.random.default_rng(number)
        gamma, kappa = rng.uniform(0.1, 0.95), float(rng.uniform(0.05, 0.95))
        mdp, eta = random_mdp(rng, 3, 2, float(gamma)), Geometric(kappa)
        distance = weight_distance(eta, mdp.gamma)
        assert distance <= 2 * kappa / (1 - kappa * mdp.gamma) + 1e-9
        assert excess(mdp, eta) <= mdp.cost_span * distance + 1e-9


@pytest.mark.usefixtures("unchecked")
def test_how_often_the_planner_is_wrong():
    """Seeds 0 to 59 of random 3-state MDPs: 9 at gamma .5, kappa .9, none at gamma .99."""

    def wrong(gamma, kappa):
        found = 0
        for number in range(60):
            mdp, eta = random_mdp(np.random.default_rng(number), 3, 2, gamma), Geometric(kappa)
            value = criterion(mdp, policy_iteration(mdp).policy, eta)
            found += value > min(criterion(mdp, p, eta) for p in all_deterministic(mdp)) + 1e-9
        return found

    assert wrong(0.5, 0.9) == 9
    assert [wrong(0.99, kappa) for kappa in (0.3, 0.6, 0.9)] == [0, 0, 0]


def test_every_criterion_is_an_average_of_delayed_ones():
    """J_eta = sum_K eta(K) J_K with J_K = E v(s_K), which is the criterion of delta_K."""
    rng = np.random.default_rng(6)
    mdp = random_mdp(rng, 3, 2, 0.6)
    policy = random_policy(rng, mdp)
    v, step = evaluate(mdp, policy), mdp.under(policy)
    delayed = [mdp.p0 @ np.linalg.matrix_power(step, K) @ v for K in range(80)]
    for K in (0, 1, 5):
        assert criterion(mdp, policy, Dirac(K)) == pytest.approx(delayed[K], abs=1e-12)
    for eta in (HALF, Poisson(2.0)):
        expected = np.exp(eta.log_pmf(80)) @ delayed
        assert criterion(mdp, policy, eta) == pytest.approx(expected, abs=1e-12)


def test_optimal_for_all_eta_means_optimal_for_every_delay():
    """A corridor's planner minimises every J_K, and is best for other eta; go/stay's fails at 1."""
    corridor = chain(4, 0.6)
    delays = [Dirac(K) for K in range(6)]
    assert max(abs(excess(corridor, eta)) for eta in (*delays, HALF, Poisson(2.0))) < 1e-11
    mdp = go_stay(0.4, 1.0, 0.0)
    assert abs(excess(mdp, Dirac(0))) < 1e-12
    assert excess(mdp, Dirac(1)) == pytest.approx(0.8, abs=1e-9)


def test_the_exact_family_is_discounting_by_beta():
    rng = np.random.default_rng(5)
    for _ in range(20):
        mdp, beta = random_mdp(rng, 3, 2, 0.5), 0.9
        eta = ZeroModifiedGeometric(beta, 0.5)
        policy = random_policy(rng, mdp)
        scale = (1 - beta) / (1 - 0.5)
        expected = scale * (rho(mdp.with_discount(beta), policy).values * mdp.c).sum()
        assert criterion(mdp, policy, eta) == pytest.approx(expected, rel=1e-12)
        planned = policy_iteration(mdp.with_discount(beta)).policy
        assert criterion(mdp, planned, eta) == pytest.approx(time_optimal(mdp, eta).value, abs=1e-9)
