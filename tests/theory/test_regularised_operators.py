"""Errata (m): the softmin policy, not the greedy one."""

import numpy as np
import pytest

from etairl.regularisers import Entropy, KullbackLeibler, Tsallis, Unregularised
from etairl.tabular.generators import random_mdp, random_policy
from etairl.tabular.mdp import MDP
from etairl.tabular.operators import (
    action_values,
    apply,
    apply_optimal,
    evaluate,
    improve,
    policy_iteration,
    step_range,
    value_iteration,
)

ALL = {
    "none": Unregularised(),
    "entropy": Entropy(0.5),
    "tsallis": Tsallis(0.5),
    "kl": KullbackLeibler(0.5, np.array([0.2, 0.3, 0.5])),
}


def test_softmin_fixture():
    q = np.array([0.0, 1.0])
    assert Entropy(1.0).softmin(q) == pytest.approx(-0.313262, abs=5e-7)
    assert Entropy(1.0).argmin(q) == pytest.approx([0.731059, 0.268941], abs=5e-7)
    greedy = np.array([1.0, 0.0])
    assert greedy @ q - Entropy(1.0).value(greedy) == 0.0


def test_a_greedy_step_can_make_everything_worse():
    """One state, two free actions, gamma .9: the uniform policy collects entropy for ever."""
    mdp = MDP(P=np.ones((1, 2, 1)), c=np.zeros((1, 2)), p0=np.ones(1), gamma=0.9)
    uniform, soft = np.array([[0.5, 0.5]]), Entropy(1.0)
    assert evaluate(mdp, uniform, soft)[0] == pytest.approx(-6.931472, abs=5e-7)
    assert evaluate(mdp, np.array([[1.0, 0.0]]), soft)[0] == 0.0


@pytest.mark.usefixtures("unchecked")
def test_how_often_a_greedy_step_fails():
    """In 195 of 200 random MDPs some state gets worse; the softmin step never fails."""
    worse, soft = 0, Entropy(1.0)
    for number in range(200):
        rng = np.random.default_rng(number)
        mdp = random_mdp(rng, 3, 2, 0.9)
        v = evaluate(mdp, random_policy(rng, mdp), soft)
        worse += bool((evaluate(mdp, improve(mdp, v), soft) > v + 1e-9).any())
        assert (evaluate(mdp, improve(mdp, v, soft), soft) <= v + 1e-9).all()
    assert worse == 195


@pytest.mark.parametrize("regulariser", ALL.values(), ids=ALL)
@pytest.mark.parametrize("solve", [policy_iteration, value_iteration])
def test_fixed_points_and_error_bounds(solve, regulariser):
    rng = np.random.default_rng(1)
    for _ in range(5):
        mdp = random_mdp(rng, 4, 3, 0.8)
        found = solve(mdp, regulariser)
        assert found.error <= 1.001e-10 * step_range(mdp, regulariser) / (1 - 0.8)
        assert apply_optimal(mdp, found.v, regulariser) == pytest.approx(found.v, abs=1e-9)
        assert evaluate(mdp, found.policy, regulariser) == pytest.approx(found.v, abs=1e-9)
        other = random_policy(rng, mdp)
        assert (evaluate(mdp, other, regulariser) >= found.v - 1e-9).all()
        reference = policy_iteration(mdp, regulariser, tolerance=1e-13).v
        rough = value_iteration(mdp, regulariser, tolerance=1e-3)
        assert np.abs(rough.v - reference).max() <= rough.error + 1e-12


@pytest.mark.parametrize("regulariser", ALL.values(), ids=ALL)
def test_operators(regulariser):
    rng = np.random.default_rng(2)
    mdp = random_mdp(rng, 4, 3, 0.8)
    policy, v = random_policy(rng, mdp), rng.standard_normal(4)
    fixed = evaluate(mdp, policy, regulariser)
    assert apply(mdp, policy, fixed, regulariser) == pytest.approx(fixed, abs=1e-12)
    best = apply(mdp, improve(mdp, v, regulariser), v, regulariser)
    assert best == pytest.approx(apply_optimal(mdp, v, regulariser), abs=1e-12)
    assert (apply(mdp, policy, v, regulariser) >= best - 1e-12).all()


def test_the_regularised_q_needs_gamma_and_is_no_shift_of_q():
    rng = np.random.default_rng(3)
    mdp = random_mdp(rng, 4, 3, 0.9)
    policy, soft = random_policy(rng, mdp), Entropy(1.0)
    v = evaluate(mdp, policy, soft)
    q = action_values(mdp, v)
    assert (policy * q).sum(axis=1) - soft.value(policy) == pytest.approx(v, abs=1e-12)
    without_gamma = mdp.c + mdp.expect(v)
    assert np.abs((policy * without_gamma).sum(axis=1) - soft.value(policy) - v).max() > 0.1
    shifted = action_values(mdp, evaluate(mdp, policy)) - soft.value(policy)[:, None]
    assert np.abs(q - shifted).max() == pytest.approx(7.83, abs=5e-3)
