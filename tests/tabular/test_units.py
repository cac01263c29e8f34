"""Costs and features in any unit: solvers say the same, and say truly how exact they are."""

import numpy as np
import pytest

from etairl.eta import Dirac, Geometric
from etairl.penalties import Simplex
from etairl.regularisers import Entropy
from etairl.replication.claims.occupancies import go_stay_features, go_stay_game
from etairl.tabular.cost_families import LinearCosts
from etairl.tabular.exact_measures import mu
from etairl.tabular.game import Game
from etairl.tabular.generators import random_mdp, random_policy
from etairl.tabular.irl import MirrorSettings, emma, imitate, lpal, megan, mwal, wiem
from etairl.tabular.operators import policy_iteration, value_iteration
from etairl.tabular.phase import phase_program
from etairl.tabular.rl import best_stationary

SCALES = [1e-10, 1e-4, 1e6]


def problem(eta, seed=1):
    """A world, the occupancy of a mixture of two policies, and features."""
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 3, 2, 0.6)
    expert = 0.5 * sum(mu(mdp, random_policy(rng, mdp), eta).values for _ in range(2))
    return mdp, expert, rng.random((3, 2, 3))


def multiplicative(mdp, eta, expert, features):
    return mwal(Game(mdp, eta, expert, LinearCosts(features, Simplex())), 20)


def in_phases(mdp, eta, expert, features):
    return wiem(mdp, eta, expert, features, "phase")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    ("solver", "eta"),
    [
        (wiem, Dirac(0)),
        (in_phases, Geometric(0.7)),
        (emma, Dirac(0)),
        (lpal, Dirac(0)),
        (lpal, Geometric(0.7)),
        (multiplicative, Dirac(0)),
    ],
)
def test_the_units_of_features_do_not_matter(solver, eta, scale):
    """An expert that nobody matches, so that values are not 0."""
    mdp, expert, features = problem(eta)
    beyond = expert * np.array([1.5, 0.5])
    plain, scaled = (solver(mdp, eta, beyond, f) for f in (features, scale * features))
    assert plain.solved
    assert scaled.solved
    assert abs(plain.primal) > 1e-3
    assert scaled.primal / scale == pytest.approx(plain.primal, rel=1e-7)
    assert scaled.dual / scale == pytest.approx(plain.dual, rel=1e-7)
    assert scaled.cost / scale == pytest.approx(plain.cost, abs=1e-6)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("scale", SCALES)
def test_nor_where_best_responses_are_searched_for(scale):
    """WIEM over conv(D) on go/stay, whose value is -1/9."""
    game = go_stay_game()
    found = wiem(game.mdp, game.eta, game.expert, scale * go_stay_features())
    assert found.solved
    assert found.primal / scale == pytest.approx(-1 / 9, abs=1e-8)
    assert found.dual / scale == pytest.approx(-1 / 9, abs=1e-8)


def test_a_gap_is_asked_for_in_units_of_the_mass():
    """At gamma .999 the mass is 1,000: megan reaches 1e-8 of it, and less if asked."""
    mdp, eta = random_mdp(np.random.default_rng(1), 3, 2, 0.999), Dirac(0)
    expert = mu(mdp, random_policy(np.random.default_rng(2), mdp), eta).values
    found, rough = megan(mdp, eta, expert), megan(mdp, eta, expert, tolerance=1e-3)
    assert found.solved
    assert found.gap <= 1e-5
    assert rough.solved
    assert 1e-5 < rough.gap <= 1.0


def test_a_program_that_is_not_exact_enough_says_so():
    mdp, expert, features = problem(Dirac(0))
    assert lpal(mdp, Dirac(0), expert, features).solved
    assert not lpal(mdp, Dirac(0), expert, features, tolerance=-1.0).solved


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("solve", [policy_iteration, value_iteration])
@pytest.mark.parametrize("scale", [1e-8, 1e9])
def test_the_units_of_the_cost_do_not_matter_to_planning(solve, scale):
    mdp = random_mdp(np.random.default_rng(0), 6, 3, 0.99)
    other = mdp.with_cost(scale * mdp.c)
    exact = policy_iteration(mdp, tolerance=1e-14).v
    found = solve(other)
    assert np.abs(found.v / scale - exact).max() <= found.error / scale < 2e-8
    soft, exact = solve(other, Entropy(0.1 * scale)), policy_iteration(mdp, Entropy(0.1), 1e-14)
    assert np.abs(soft.v / scale - exact.v).max() <= soft.error / scale < 2e-8
    assert soft.policy == pytest.approx(exact.policy, abs=1e-7)
    still = solve(mdp.with_cost(np.full((6, 3), scale)))  # a cost without span is a cost, too
    assert still.v == pytest.approx(np.full(6, 100.0 * scale), rel=1e-9)


@pytest.mark.parametrize("scale", SCALES)
def test_nor_to_exact_optima(scale):
    mdp = random_mdp(np.random.default_rng(3), 3, 2, 0.6)
    other = mdp.with_cost(scale * mdp.c)
    for optimum in (lambda m: best_stationary(m, Dirac(0)).value, program):
        assert optimum(other) / scale == pytest.approx(optimum(mdp), rel=1e-9)


def program(mdp):
    return phase_program(mdp, Geometric(0.7))[0]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("rate", [5.0, 50.0, 500.0])
def test_mirror_steps_of_any_size_leave_a_policy(rate):
    """Too large to find the expert, but no action's probability is lost to underflow."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        mdp, eta = random_mdp(rng, 3, 3, 0.9), Geometric(0.5)
        expert = np.eye(3)[rng.integers(3, size=3)] if seed % 2 else random_policy(rng, mdp)
        settings = MirrorSettings(rate=rate, steps=40, matched=seed < 2)
        found = imitate(mdp, eta, mu(mdp, expert, eta).values, settings)
        assert found.sum(axis=1) == pytest.approx(np.ones(3))
        assert (found > 0.0).all()
