"""Errata (c), (d), (e): concavity, the bijection, the tower rule."""

import numpy as np
import pytest

from etairl.eta import Dirac, Geometric, Poisson
from etairl.regularisers import Entropy
from etairl.replication.claims.occupancies import fork_entropies, tower_forms
from etairl.tabular.eta_criterion import criterion, visits
from etairl.tabular.exact_measures import (
    future,
    measure_entropy,
    mu,
    policy_from_occupancy,
)
from etairl.tabular.generators import (
    go_stay,
    go_stay_policy,
    hidden_start,
    random_mdp,
    random_policy,
)
from etairl.tabular.operators import action_values, evaluate

HALF = Geometric(0.5)
LAWS = (Geometric(0.6), Poisson(3.0), Dirac(4))


def slack(one, two):
    return measure_entropy(0.5 * (one + two)) - 0.5 * (measure_entropy(one) + measure_entropy(two))


def test_entropy_is_concave_on_measures():
    rng = np.random.default_rng(0)
    assert min(slack(*rng.exponential(size=(2, 3, 3))) for _ in range(2000)) > 0.0


def test_entropy_is_not_strict_along_rays_nor_for_one_policy():
    rng = np.random.default_rng(1)
    one = rng.exponential(size=(3, 2))
    assert slack(one, 3.0 * one) == pytest.approx(0.0, abs=1e-12)
    same_policy = one * np.array([[2.0], [0.5], [7.0]])
    assert slack(one, same_policy) == pytest.approx(0.0, abs=1e-12)


def test_three_entropies_at_the_midpoint():
    """On measures, of the extracted policy, and of what the mixture really does."""
    # State 1 has one action here: its row is deterministic.
    mdp, row = go_stay(0.0, 0.0, 0.0), np.array([1.0, 0.0])
    ends = [mu(mdp, go_stay_policy(p, row), HALF).values for p in (0.0, 1.0)]
    middle = 0.5 * (ends[0] + ends[1])
    assert measure_entropy(middle) == pytest.approx(0.625503, abs=5e-7)
    read = policy_from_occupancy(middle)
    assert measure_entropy(mu(mdp, read, HALF).values) == pytest.approx(0.695003, abs=5e-7)
    assert 0.5 * sum(measure_entropy(end) for end in ends) == 0.0


def test_entropy_is_not_concave_in_the_policy():
    ends, half = fork_entropies()
    assert [*ends, half] == pytest.approx([0.0, 6.584898, 3.017666], abs=5e-7)
    assert sum(ends) / 2 == pytest.approx(3.292449, abs=5e-7)


def test_entropy_of_an_occupancy_is_the_weighted_entropy_of_its_policy():
    rng = np.random.default_rng(2)
    mdp = random_mdp(rng, 4, 3, 0.8)
    policy = random_policy(rng, mdp)
    bonus = criterion(mdp, policy, HALF) - criterion(mdp, policy, HALF, Entropy(1.0))
    assert measure_entropy(mu(mdp, policy, HALF).values) == pytest.approx(bonus, rel=1e-12)


@pytest.mark.parametrize("eta", [Geometric(0.6), Poisson(3.0), Dirac(2)], ids=str)
def test_the_policy_is_read_back_from_its_occupancy(eta):
    rng = np.random.default_rng(3)
    for _ in range(20):
        mdp = random_mdp(rng, 4, 3, 0.7)
        policy = random_policy(rng, mdp)
        assert np.abs(policy_from_occupancy(mu(mdp, policy, eta).values) - policy).max() < 1e-14


def test_a_start_without_weight_leaves_its_policy_free():
    """eta = delta_1, so w_0 = 0, and state 0 is never seen again."""
    mdp = hidden_start()
    one, two = (np.array([[x, 1 - x], [0.5, 0.5], [1.0, 0.0]]) for x in (0.1, 0.9))
    assert mu(mdp, one, Dirac(1)).values == pytest.approx(mu(mdp, two, Dirac(1)).values, abs=0.0)
    assert np.abs(mu(mdp, one, HALF).values - mu(mdp, two, HALF).values).max() > 0.1


@pytest.mark.parametrize("eta", LAWS, ids=str)
def test_tower_rule(eta):
    rng = np.random.default_rng(4)
    for _ in range(10):
        mdp = random_mdp(rng, 4, 3, 0.8)
        policy, f = random_policy(rng, mdp), rng.standard_normal((4, 3))
        forms = tower_forms(mdp, policy, f, eta)
        # And by the definition, step by step.
        weights = eta.weights(mdp.gamma, 400)
        steps = visits(mdp, policy, len(weights)) @ (policy * f).sum(axis=1)
        assert np.ptp([*forms, weights @ steps]) < 1e-12


def test_geometric_eta_with_gamma_sums_discounted_q_values_up_to_a_factor():
    """E sum_n gamma^n Q(s_n, a_n) times 1 - gamma is the criterion of Geom(gamma)."""
    rng = np.random.default_rng(5)
    mdp = random_mdp(rng, 3, 2, 0.7)
    policy = random_policy(rng, mdp)
    q = action_values(mdp, evaluate(mdp, policy))
    total = (mu(mdp, policy, Dirac(0)).values * q).sum()
    assert criterion(mdp, policy, Geometric(0.7)) == pytest.approx((1 - 0.7) * total, rel=1e-12)


def test_masses():
    rng = np.random.default_rng(6)
    mdp = random_mdp(rng, 3, 2, 0.75)
    policy = random_policy(rng, mdp)
    for eta in LAWS:
        assert mu(mdp, policy, eta).values.sum() == pytest.approx(4.0, rel=1e-12)
        assert future(mdp, policy, eta).values.sum() == pytest.approx(1.0, rel=1e-12)
