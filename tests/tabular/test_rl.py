"""Solvers of generalised RL: descents, the optimum in time, phases, the loss of planning."""

import numpy as np
import pytest
from small_mdps import all_deterministic

from etairl.eta import Dirac, Geometric, Poisson, ZeroModifiedGeometric
from etairl.regularisers import Entropy, Tsallis, Unregularised
from etairl.simplex import project_simplex
from etairl.tabular.eta_criterion import criterion, expand
from etairl.tabular.exact_measures import mu, mu_in_time
from etairl.tabular.generators import go_stay, random_mdp, random_policy
from etairl.tabular.mdp import deterministic
from etairl.tabular.operators import apply, apply_optimal, policy_iteration, value_iteration
from etairl.tabular.phase import flow_polytope, phase_mu, phase_optimal, phase_program
from etairl.tabular.rl import best_stationary, descend, planning_gap, time_optimal, weight_distance
from etairl.types import InputError


@pytest.mark.parametrize("method", ["mirror", "projected"])
@pytest.mark.parametrize("eta", [Geometric(0.9), Poisson(2.0)], ids=str)
def test_descents_end_where_no_direction_descends(eta, method):
    rng = np.random.default_rng(0)
    mdp = random_mdp(rng, 3, 2, 0.5)
    start = random_policy(rng, mdp)
    found = descend(mdp, eta, start, method=method)
    assert found.slope < 1e-7
    assert found.value < criterion(mdp, start, eta)
    assert found.value == pytest.approx(criterion(mdp, found.policy, eta), abs=1e-12)
    for other in all_deterministic(mdp):
        nearby = 0.999 * found.policy + 0.001 * other
        assert criterion(mdp, nearby, eta) >= found.value - 1e-9


@pytest.mark.usefixtures("unchecked")
def test_the_units_of_the_cost_do_not_matter():
    """In world 10 planning with gamma is not optimal, in the others it is."""
    eta, scales = Geometric(0.9), (1e-6, 1e4, 1e6)
    for seed in (0, 5, 10):
        mdp = random_mdp(np.random.default_rng(seed), 3, 2, 0.5)
        one = best_stationary(mdp, eta)
        for scale in scales:
            other = best_stationary(mdp.with_cost(scale * mdp.c), eta)
            assert other.value / scale == pytest.approx(one.value, rel=1e-9)
            assert other.slope <= 1e-8 * scale
    soft = best_stationary(mdp, eta, Entropy(0.2), starts=1).value
    for scale in scales:
        scaled = best_stationary(mdp.with_cost(scale * mdp.c), eta, Entropy(0.2 * scale), starts=1)
        assert scaled.value / scale == pytest.approx(soft, rel=1e-9)


@pytest.mark.parametrize("method", ["mirror", "projected"])
@pytest.mark.parametrize("regulariser", [Unregularised(), Entropy(0.2), Tsallis(0.3)])
def test_descents_leave_a_deterministic_start(method, regulariser):
    mdp, eta = random_mdp(np.random.default_rng(3), 3, 2, 0.9), Geometric(0.5)
    found = descend(mdp, eta, deterministic([0, 1, 0], 2), regulariser, method)
    assert found.slope < 1e-6
    assert found.value == pytest.approx(best_stationary(mdp, eta, regulariser).value, abs=1e-8)


def test_a_stationary_start_is_returned_as_it_is():
    mdp = random_mdp(np.random.default_rng(3), 3, 2, 0.9)
    planned = policy_iteration(mdp).policy
    found = descend(mdp, Dirac(0), planned)
    assert (found.policy == planned).all()
    assert found.iterations == 0


def test_the_slope_of_the_best_stationary_policy_is_known():
    """Planning with gamma is optimal here, so the planner's own policy is the answer."""
    best = best_stationary(go_stay(0.4, 1.0, 0.0), Geometric(0.1))
    assert best.policy[0].tolist() == [1.0, 0.0]
    assert best.slope == pytest.approx(0.0, abs=1e-12)


def test_a_projected_step_is_a_projection():
    """The first step that is accepted is project_simplex(pi - tau G / (mu span c))."""
    rng = np.random.default_rng(4)
    mdp, eta = random_mdp(rng, 3, 2, 0.5), Geometric(0.9)
    start = random_policy(rng, mdp)
    found = descend(mdp, eta, start, method="projected", most=1).policy
    here = expand(mdp, start, eta)
    direction = here.direct / (mdp.cost_span * here.visited[:, None])
    steps = [project_simplex(start - 0.5**i * direction) for i in range(20)]
    assert min(np.abs(found - step).max() for step in steps) < 1e-12
    assert found.tolist() != descend(mdp, eta, start, method="mirror", most=1).policy.tolist()


@pytest.mark.usefixtures("unchecked")
def test_a_misspelt_method_is_refused():
    mdp = random_mdp(np.random.default_rng(0), 3, 2, 0.5)
    with pytest.raises(InputError, match="method must be 'mirror' or 'projected', got 'mirrror'"):
        descend(mdp, Geometric(0.5), np.full((3, 2), 0.5), method="mirrror")


def test_both_descents_agree_with_entropy():
    rng = np.random.default_rng(1)
    mdp, eta = random_mdp(rng, 3, 2, 0.5), Geometric(0.7)
    start = random_policy(rng, mdp)
    for regulariser in (Entropy(0.2), Tsallis(0.4)):
        one, two = (descend(mdp, eta, start, regulariser, m) for m in ("mirror", "projected"))
        assert one.value == pytest.approx(two.value, abs=1e-8)


@pytest.mark.parametrize("eta", [Dirac(0), ZeroModifiedGeometric(0.8, 0.5)], ids=str)
@pytest.mark.parametrize("regulariser", [Entropy(0.2), Tsallis(0.2)])
def test_with_geometric_weights_all_classes_agree(eta, regulariser):
    rng = np.random.default_rng(2)
    mdp = random_mdp(rng, 3, 2, 0.5)
    best = best_stationary(mdp, eta, regulariser)
    assert best.value == pytest.approx(time_optimal(mdp, eta, regulariser).value, abs=1e-9)
    local = descend(mdp, eta, random_policy(rng, mdp), regulariser)
    assert local.value == pytest.approx(best.value, abs=1e-8)


@pytest.mark.parametrize("eta", [Geometric(0.6), Poisson(2.0), Dirac(2)], ids=str)
@pytest.mark.parametrize("regulariser", [None, Entropy(0.3)])
def test_the_optimum_in_time_is_attained_and_a_lower_bound(eta, regulariser):
    rng = np.random.default_rng(3)
    mdp = random_mdp(rng, 3, 2, 0.6)
    best = time_optimal(mdp, eta) if regulariser is None else time_optimal(mdp, eta, regulariser)
    assert best.error < 1e-10
    if regulariser is None:
        attained = (mu_in_time(mdp, best.policies, eta).values * mdp.c).sum()
        assert attained == pytest.approx(best.value, abs=1e-10)
    for _ in range(10):
        policy = random_policy(rng, mdp)
        value = criterion(mdp, policy, eta, *([] if regulariser is None else [regulariser]))
        assert value >= best.value - 1e-10


def test_phases():
    rng = np.random.default_rng(4)
    for _ in range(5):
        mdp, kappa = random_mdp(rng, 3, 2, 0.6), 0.7
        best = phase_optimal(mdp, kappa)
        value, occupancy = phase_program(mdp, Geometric(kappa))
        assert best.value == pytest.approx(value, abs=1e-9)
        attained = phase_mu(mdp, kappa, best.waiting, best.running)
        assert (attained * mdp.c).sum() == pytest.approx(value, abs=1e-9)
        assert (occupancy * mdp.c).sum() == pytest.approx(value, abs=1e-9)


def test_the_program_is_classical_for_the_dirac():
    rng = np.random.default_rng(5)
    mdp = random_mdp(rng, 4, 3, 0.8)
    value, occupancy = phase_program(mdp, Dirac(0))
    planned = policy_iteration(mdp)
    assert value == pytest.approx(mdp.p0 @ planned.v, abs=1e-9)
    assert occupancy == pytest.approx(mu(mdp, planned.policy, Dirac(0)).values, abs=1e-8)


@pytest.mark.usefixtures("unchecked")
def test_phases_that_make_no_sense_are_refused():
    mdp = random_mdp(np.random.default_rng(6), 2, 2, 0.5)
    half = np.full((2, 2), 0.5)
    with pytest.raises(InputError, match=r"kappa must lie in \[0, 1\), got 1.0; Geom\(1\) is"):
        phase_optimal(mdp, 1.0)
    with pytest.raises(InputError, match=r"kappa must lie in \[0, 1\), got -0.5$"):
        phase_mu(mdp, -0.5, half, half)
    with pytest.raises(InputError, match=r"policy\[0\] sums to 2"):
        phase_mu(mdp, 0.5, half, 2.0 * np.ones((2, 2)) / 2)
    with pytest.raises(InputError, match=r"policy\[0, 0\] is NaN"):
        apply(mdp, np.full((2, 2), np.nan), np.zeros(2))


def test_laws_without_phases_have_no_program():
    mdp = random_mdp(np.random.default_rng(6), 2, 2, 0.5)
    with pytest.raises(InputError, match="poisson:2 has no finite phase, so no linear program"):
        flow_polytope(mdp, Poisson(2.0))


def test_the_loss_of_planning_is_ordered_and_bounded():
    for seed in range(5):
        mdp = random_mdp(np.random.default_rng(seed), 3, 2, 0.5)
        gap = planning_gap(mdp, Geometric(0.9), starts=1)
        assert gap.in_time - 1e-9 <= gap.stationary <= gap.heuristic + 1e-12
        assert gap.heuristic - gap.in_time <= gap.bound
        assert gap.bound <= 2 * mdp.cost_span * 0.9 / (1 - 0.45) + 1e-9


def test_the_error_in_time_bounds_what_was_cut_off():
    """Cut early, the optimum is low by something, and by no more than `error`."""
    mdp, eta = random_mdp(np.random.default_rng(8), 3, 2, 0.9), Geometric(0.98)
    for regulariser in (Unregularised(), Entropy(0.3)):
        exact = time_optimal(mdp, eta, regulariser)
        rough = time_optimal(mdp, eta, regulariser, tolerance=0.5)
        assert 0.1 < exact.value - rough.value <= rough.error


@pytest.mark.parametrize("eta", [Poisson(3.0), Dirac(2), Geometric(0.5)], ids=str)
@pytest.mark.parametrize("gamma", [0.9, 0.99999])
def test_after_the_law_of_eta_the_optimum_in_time_is_planning(eta, gamma):
    """Backward induction over 2,000 steps at gamma .9; the value is attained at any gamma."""
    mdp = random_mdp(np.random.default_rng(9), 3, 2, gamma)
    best = time_optimal(mdp, eta)
    assert len(best.policies) < 200
    attained = (mu_in_time(mdp, best.policies, eta).values * mdp.c).sum()
    assert attained == pytest.approx(best.value, rel=1e-9)
    assert (best.policies[-1] == policy_iteration(mdp).policy).all()
    if gamma == 0.9:
        v = np.zeros(3)
        for weight in eta.weights(gamma, 2000)[::-1]:
            v = (weight * mdp.c + mdp.expect(v)).min(axis=1)
        assert best.value == pytest.approx(mdp.p0 @ v, abs=1e-10)


def test_planning_with_much_patience_is_judged_quickly():
    mdp, eta = random_mdp(np.random.default_rng(10), 3, 2, 0.99999), Poisson(3.0)
    gap = planning_gap(mdp, eta, starts=1)
    assert gap.in_time <= gap.stationary * (1 + 1e-9) <= gap.heuristic * (1 + 2e-9)
    # w lags behind gamma^n by about 3 steps of the mass, so twice that, whatever the patience.
    assert gap.bound < 2 * 3 * mdp.cost_span + 1e-6


def test_the_error_of_policy_iteration_is_a_bound():
    """Stopped at a loose tolerance; with gamma = .95 the residual alone is no bound."""
    tight = 0
    for seed in range(10):
        mdp = random_mdp(np.random.default_rng(seed), 4, 3, 0.95)
        exact = policy_iteration(mdp, tolerance=1e-12).v
        rough = policy_iteration(mdp, tolerance=20.0)
        missing = np.abs(rough.v - exact).max()
        assert missing <= rough.error + 1e-9
        residual = np.abs(rough.v - apply_optimal(mdp, rough.v)).max()
        tight += missing > residual
    assert tight > 0


def test_weight_distance_of_the_dirac_is_zero():
    assert weight_distance(Dirac(0), 0.7) < 1e-9
    # Dirac(1): w = (0, 1, gamma, ...), so the distance is 1 + sum (1 - gamma) gamma^n = 2.
    assert weight_distance(Dirac(1), 0.7) == pytest.approx(2.0, abs=1e-9)


def test_impatient_iterations_say_so():
    mdp = random_mdp(np.random.default_rng(7), 3, 2, 0.9)
    # At a fixed point of rounded arithmetic nothing moves any more; the error is still not 0.
    still = value_iteration(mdp, tolerance=0.0)
    assert np.abs(still.v - policy_iteration(mdp).v).max() <= still.error
    assert 0.0 < still.error < 1e-12
    with pytest.raises(InputError, match="value iteration has not reached 1e-10 in 3 steps"):
        value_iteration(mdp, most=3)
    with pytest.raises(InputError, match="policy iteration has not reached 1e-10 in 1 steps"):
        policy_iteration(mdp, Entropy(0.1), most=1)
