"""Inverse RL as saddle problems; at a Dirac mass, the classical algorithms."""

import numpy as np
import pytest
from scipy.optimize import linprog
from small_mdps import all_deterministic

from etairl.eta import Dirac, Geometric, Poisson, ZeroModifiedGeometric
from etairl.penalties import Ball, Simplex
from etairl.regularisers import Entropy, Tsallis
from etairl.tabular.columns import generate
from etairl.tabular.cost_families import GANCosts, LinearCosts
from etairl.tabular.episodes import empirical_mu, sample_episodes
from etairl.tabular.exact_measures import measure_entropy, mu, policy_from_occupancy, rho
from etairl.tabular.game import Game
from etairl.tabular.generators import (
    go_stay,
    go_stay_policy,
    random_mdp,
    random_policy,
)
from etairl.tabular.irl import (
    emma,
    lpal,
    megan,
    mwal,
    wiem,
)
from etairl.tabular.maxent import max_entropy
from etairl.tabular.operators import policy_iteration
from etairl.tabular.phase import phase_mu
from etairl.types import InputError


def problem(seed, eta, mixed=False, states=3, actions=2):
    """A world, an expert's occupancy (of a mixture, if asked) and random features."""
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states, actions, 0.7)
    experts = [mu(mdp, random_policy(rng, mdp), eta).values for _ in range(2)]
    expert = 0.5 * (experts[0] + experts[1]) if mixed else experts[0]
    return mdp, expert, rng.random((states, actions, 3))


def vertices(mdp, eta, expert, features):
    """Feature differences of all deterministic policies: the corners of the classical polytope."""
    occupancies = [mu(mdp, policy, eta).values for policy in all_deterministic(mdp)]
    return np.stack([np.einsum("saf,sa->f", features, x - expert) for x in occupancies])


@pytest.mark.parametrize("seed", range(3))
def test_wiem_and_lpal_are_the_linear_program_over_all_policies(seed):
    """Independent of the solver: minimise the largest difference over mixtures of all corners."""
    mdp, expert, features = problem(seed, Dirac(0))
    corners = vertices(mdp, Dirac(0), expert, features)
    count = len(corners)
    value = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=np.hstack([corners.T, -np.ones((3, 1))]),
        b_ub=np.zeros(3),
        A_eq=np.append(np.ones(count), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * count + [(None, None)],
    ).fun
    for found in (wiem(mdp, Dirac(0), expert, features), lpal(mdp, Dirac(0), expert, features)):
        assert found.primal == pytest.approx(value, abs=1e-9)
        assert found.dual == pytest.approx(value, abs=1e-8)
        assert np.einsum("saf,sa->f", features, found.occupancy - expert).max() == pytest.approx(
            value, abs=1e-9
        )


def projection_method(mdp, expert, features, steps=200):
    """Abbeel and Ng (2004), the projection algorithm, written as in their paper."""
    target = np.einsum("saf,sa->f", features, expert)

    def expectations(weights):
        policy = policy_iteration(mdp.with_cost(features @ weights)).policy
        return np.einsum("saf,sa->f", features, mu(mdp, policy, Dirac(0)).values)

    bar = expectations(np.ones(features.shape[-1]))
    for _ in range(steps):
        if np.linalg.norm(bar - target) < 1e-9:
            break
        new = expectations(bar - target)
        move = new - bar
        if move @ move < 1e-18:
            break
        bar = bar + np.clip(move @ (target - bar) / (move @ move), 0.0, 1.0) * move
    return np.linalg.norm(bar - target)


@pytest.mark.parametrize("seed", range(3))
def test_emma_is_apprenticeship_learning(seed):
    """An expert that no policy matches, so that the distance is positive."""
    mdp, expert, features = problem(seed, Dirac(0))
    beyond = expert * np.array([1.5, 0.5])
    found = emma(mdp, Dirac(0), beyond, features)
    assert abs(found.gap) < 1e-8
    reached = projection_method(mdp, beyond, features)
    assert found.primal == pytest.approx(reached, rel=2e-2, abs=2e-3)
    assert found.primal <= reached + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_max_margin_is_the_best_separation(seed):
    mdp, expert, features = problem(seed, Dirac(0))
    beyond = expert * np.array([1.5, 0.5])
    corners = vertices(mdp, Dirac(0), beyond, features)
    found = emma(mdp, Dirac(0), beyond, features)
    weights = np.linalg.lstsq(features.reshape(-1, 3), found.cost.reshape(-1), rcond=None)[0]
    assert np.linalg.norm(weights) <= 1 + 1e-9
    assert (corners @ weights).min() == pytest.approx(found.dual, abs=1e-8)
    rng = np.random.default_rng(seed)
    for w in rng.standard_normal((200, 3)):
        assert (corners @ (w / np.linalg.norm(w))).min() <= found.dual + 1e-8


def test_megan_at_a_dirac_is_gail():
    """The realisable expert is found, D is one half, and JS is 0."""
    mdp, expert, _ = problem(4, Dirac(0))
    found = megan(mdp, Dirac(0), expert)
    assert found.primal == pytest.approx(-np.log(4) / 0.3, abs=1e-9)
    assert abs(found.gap) < 1e-8
    assert found.occupancy == pytest.approx(expert, abs=1e-5)
    assert policy_from_occupancy(found.occupancy) == pytest.approx(
        policy_from_occupancy(expert), abs=1e-4
    )


def separated(eta, within="stationary"):
    """Go/stay with one feature per action of state 0: only a mixture of both pleases both."""
    mdp = go_stay(0.0, 0.0, 0.0)
    features = np.zeros((2, 2, 2))
    features[0, 0, 0] = features[0, 1, 1] = 1.0
    expert = mu(mdp, go_stay_policy(0.8), eta).values
    return Game(mdp, eta, expert, LinearCosts(features, Simplex()), within)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("eta", "within"), [(Dirac(0), "stationary"), (Geometric(0.5), "phase")], ids=str
)
def test_multiplicative_weights_approach_the_value(eta, within):
    """The excess falls like 1/sqrt(steps): .33, .09, .03 after 30, 300, 3,000."""
    game = separated(eta, within)
    value, early, late = generate(game).primal, mwal(game, 30), mwal(game, 300)
    assert 0.2 < early.primal - value < 0.5
    assert -1e-9 <= late.primal - value < 0.1
    assert -1e-9 <= value - late.dual < 0.1
    for found in (early, late):
        assert found.proven
        assert found.solved
        assert found.shares.sum() == pytest.approx(1.0)
        assert len(found.policies) == found.iterations


def multiplicative_weights(game, steps):
    """Syed and Schapire (2007), figure 1, in rewards as they write it; all policies are tried."""
    gamma, features = game.mdp.gamma, -game.costs.features
    policies = all_deterministic(game.mdp)
    means = [np.einsum("saf,sa->f", features, rho(game.mdp, p).values) for p in policies]
    expert = np.einsum("saf,sa->f", features, game.expert)
    beta = 1.0 / (1.0 + np.sqrt(2.0 * np.log(len(expert)) / steps))
    w, used = np.ones(len(expert)), []
    for _ in range(steps):
        used.append(w / w.sum())
        best = max(means, key=lambda mean: used[-1] @ mean)
        w = w * beta ** (((1.0 - gamma) * (best - expert) + 2.0) / 4.0)
    return np.mean(used, axis=0)


@pytest.mark.parametrize("steps", [1, 2, 3, 20])
def test_multiplicative_weights_are_those_of_syed_and_schapire(steps):
    game = separated(Dirac(0))
    expected = game.costs.features @ multiplicative_weights(game, steps)
    assert mwal(game, steps).cost == pytest.approx(expected, abs=1e-12)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("within", ["time", "phase"])
@pytest.mark.parametrize("seed", range(2))
def test_gaps_close_on_convex_sets(within, seed):
    mdp, expert, features = problem(seed, Geometric(0.6), mixed=True)
    for costs in (LinearCosts(features, Ball()), LinearCosts(features, Simplex()), GANCosts()):
        game = Game(mdp, Geometric(0.6), expert, costs, within)
        found = generate(game)
        assert found.proven
        assert found.solved
        assert -1e-9 < found.gap < 1e-7
        assert game.primal(found.occupancy) == pytest.approx(found.primal)
        assert game.dual(found.cost) == pytest.approx(found.dual, abs=1e-9)
        assert found.shares.sum() == pytest.approx(1.0)
    assert not Game(mdp, Geometric(0.6), expert, costs, "stationary").proven
    assert wiem(mdp, ZeroModifiedGeometric(0.8, 0.7), expert, features).proven


def test_a_game_that_ends_above_its_tolerance_says_so():
    """Nothing is below -1: the best response repeats, and no column is left to add."""
    mdp, expert, features = problem(3, Dirac(0))
    found = generate(Game(mdp, Dirac(0), expert, LinearCosts(features, Simplex())), tolerance=-1.0)
    assert not found.solved
    assert abs(found.gap) < 1e-9


def test_lpal_is_wiem_over_phases():
    mdp, expert, features = problem(7, Geometric(0.6), mixed=True)
    program = lpal(mdp, Geometric(0.6), expert, features)
    assert abs(program.gap) < 1e-9
    assert program.proven
    assert program.solved
    columns = wiem(mdp, Geometric(0.6), expert, features, "phase")
    assert columns.primal == pytest.approx(program.primal, abs=1e-8)
    waiting, running = program.policies[0]
    played = phase_mu(mdp, 0.6, waiting, running)
    assert played == pytest.approx(program.occupancy, abs=1e-9)
    classical = lpal(mdp, Dirac(0), expert, features)
    played = mu(mdp, classical.policies[0], Dirac(0)).values
    assert played == pytest.approx(classical.occupancy, abs=1e-9)


@pytest.mark.parametrize("eta", [Dirac(0), Geometric(0.6), Poisson(2.0)], ids=str)
def test_maximum_entropy_matches_features_and_nothing_is_more_random(eta):
    mdp, expert, features = problem(8, eta)
    found = max_entropy(mdp, eta, expert, features, Entropy(0.5))
    assert found.mismatch <= 1e-10
    assert abs(found.gap) < 1e-9
    if eta == Dirac(0):
        assert found.primal == pytest.approx(-0.5 * measure_entropy(found.occupancy), abs=1e-9)
        assert measure_entropy(found.occupancy) >= measure_entropy(expert) - 1e-9


@pytest.mark.usefixtures("unchecked")
def test_features_in_different_units_are_matched_too():
    """Metres, centimetres and 100 metres: the same policy, and weights in inverse units."""
    mdp, expert, features = problem(3, Dirac(0))
    units = np.array([1.0, 1e-2, 1e2])
    plain, scaled = (
        max_entropy(mdp, Dirac(0), expert, f, Entropy(0.5), tolerance=1e-9)
        for f in (features, features * units)
    )
    assert scaled.policy == pytest.approx(plain.policy, abs=1e-6)
    assert scaled.weights * units == pytest.approx(plain.weights, abs=1e-4)
    assert scaled.cost == pytest.approx((features * units) @ scaled.weights)
    assert scaled.mismatch <= 1e-7  # 1e-9 of the largest feature


@pytest.mark.parametrize("weights", [Ball(), Simplex()])
@pytest.mark.parametrize("regulariser", [Entropy(0.3), Tsallis(0.5)])
def test_regularised_emma_and_wiem(weights, regulariser):
    mdp, expert, features = problem(9, Geometric(0.6), mixed=True)
    found = max_entropy(mdp, Geometric(0.6), expert, features, regulariser, weights, tolerance=1e-8)
    assert -1e-9 < found.gap <= 1e-8
    assert weights.project(found.weights) == pytest.approx(found.weights, abs=1e-12)


def test_features_that_nobody_has_cannot_be_matched():
    mdp, expert, features = problem(10, Dirac(0))
    with pytest.raises(InputError, match=r"has not reached 1e-10 in 30 steps, .* is left: allow"):
        max_entropy(mdp, Dirac(0), 3.0 * expert, features, Entropy(0.5), most=30)


@pytest.mark.usefixtures("unchecked")
def test_experts_from_episodes():
    """The estimated occupancy leads to nearly the same policy as the exact one."""
    rng = np.random.default_rng(11)
    mdp, eta = random_mdp(rng, 3, 2, 0.7), Geometric(0.5)
    policy = random_policy(rng, mdp)
    seen = empirical_mu(sample_episodes(rng, mdp, policy, 4000, 60), mdp, eta).values
    found = megan(mdp, eta, seen, "time")
    # 4000 episodes: a probability is known to about sqrt(1/4000) = .016; 5 of them.
    assert policy_from_occupancy(found.occupancy) == pytest.approx(policy, abs=0.08)
