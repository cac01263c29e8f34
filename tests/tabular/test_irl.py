"""Inverse RL as saddle problems; at a Dirac mass, the classical algorithms."""

import numpy as np
import pytest
from scipy.optimize import linprog

from etairl.eta import Dirac, Geometric, Poisson
from etairl.penalties import Ball, Simplex
from etairl.regularisers import Entropy, Tsallis
from etairl.tabular.columns import generate
from etairl.tabular.episodes import empirical_mu, sample_episodes
from etairl.tabular.game import Game, GANCosts, LinearCosts
from etairl.tabular.generators import all_deterministic, random_mdp, random_policy
from etairl.tabular.irl import emma, lpal, max_margin, megan, mwal, wiem
from etairl.tabular.maxent import max_entropy
from etairl.tabular.measures import measure_entropy, mu, policy_from_occupancy
from etairl.tabular.operators import policy_iteration
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
    assert found.primal == pytest.approx(
        projection_method(mdp, beyond, features), rel=2e-2, abs=2e-3
    )
    assert found.primal <= projection_method(mdp, beyond, features) + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_max_margin_is_the_best_separation(seed):
    mdp, expert, features = problem(seed, Dirac(0))
    beyond = expert * np.array([1.5, 0.5])
    corners = vertices(mdp, Dirac(0), beyond, features)
    found = max_margin(mdp, Dirac(0), beyond, features)
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


@pytest.mark.parametrize("eta", [Dirac(0), Geometric(0.5)], ids=str)
def test_multiplicative_weights_keep_their_promise(eta):
    mdp, expert, features = problem(5, eta, mixed=True)
    within = "stationary" if eta == Dirac(0) else "phase"
    game, steps = Game(mdp, eta, expert, LinearCosts(features, Simplex()), within), 300
    value, found = generate(game).primal, mwal(game, steps)
    rate = np.sqrt(2 * np.log(3) / steps) + np.log(3) / steps
    assert value - 1e-9 <= found.primal <= value + 4 / 0.3 * features.max() * rate
    assert found.dual <= value + 1e-9
    assert found.shares.sum() == pytest.approx(1.0)
    assert len(found.policies) == steps


@pytest.mark.parametrize("within", ["time", "phase"])
@pytest.mark.parametrize("seed", range(2))
def test_gaps_close_on_convex_sets(within, seed):
    mdp, expert, features = problem(seed, Geometric(0.6), mixed=True)
    for costs in (LinearCosts(features, Ball()), LinearCosts(features, Simplex()), GANCosts()):
        game = Game(mdp, Geometric(0.6), expert, costs, within)
        found = generate(game)
        assert game.proven
        assert -1e-9 < found.gap < 1e-7
        assert game.primal(found.occupancy) == pytest.approx(found.primal)
        assert game.dual(found.cost) == pytest.approx(found.dual, abs=1e-9)
        assert found.shares.sum() == pytest.approx(1.0)
    assert not Game(mdp, Geometric(0.6), expert, GANCosts()).proven


def test_lpal_is_wiem_over_phases():
    mdp, expert, features = problem(7, Geometric(0.6), mixed=True)
    program = lpal(mdp, Geometric(0.6), expert, features)
    assert abs(program.gap) < 1e-9
    columns = wiem(mdp, Geometric(0.6), expert, features, "phase")
    assert columns.primal == pytest.approx(program.primal, abs=1e-8)


@pytest.mark.parametrize("eta", [Dirac(0), Geometric(0.6), Poisson(2.0)], ids=str)
def test_maximum_entropy_matches_features_and_nothing_is_more_random(eta):
    mdp, expert, features = problem(8, eta)
    found = max_entropy(mdp, eta, expert, features, Entropy(0.5))
    assert found.mismatch <= 1e-10
    assert abs(found.gap) < 1e-9
    if eta == Dirac(0):
        assert found.primal == pytest.approx(-0.5 * measure_entropy(found.occupancy), abs=1e-9)
        assert measure_entropy(found.occupancy) >= measure_entropy(expert) - 1e-9


@pytest.mark.parametrize("weights", [Ball(), Simplex()])
@pytest.mark.parametrize("regulariser", [Entropy(0.3), Tsallis(0.5)])
def test_regularised_emma_and_wiem(weights, regulariser):
    mdp, expert, features = problem(9, Geometric(0.6), mixed=True)
    found = max_entropy(mdp, Geometric(0.6), expert, features, regulariser, weights, tolerance=1e-8)
    assert -1e-9 < found.gap <= 1e-8
    assert weights.project(found.weights) == pytest.approx(found.weights, abs=1e-12)


def test_features_that_nobody_has_cannot_be_matched():
    mdp, expert, features = problem(10, Dirac(0))
    with pytest.raises(InputError, match="the expert's features must be those of some policy"):
        max_entropy(mdp, Dirac(0), 3.0 * expert, features, Entropy(0.5), most=30)


def test_experts_from_episodes():
    """The estimated occupancy leads to nearly the same policy as the exact one."""
    rng = np.random.default_rng(11)
    mdp, eta = random_mdp(rng, 3, 2, 0.7), Geometric(0.5)
    policy = random_policy(rng, mdp)
    seen = empirical_mu(sample_episodes(rng, mdp, policy, 4000, 60), mdp, eta).values
    found = megan(mdp, eta, seen, "time")
    # 4000 episodes: a probability is known to about sqrt(1/4000) = .016; 5 of them.
    assert policy_from_occupancy(found.occupancy) == pytest.approx(policy, abs=0.08)


@pytest.mark.usefixtures("unchecked")
def test_games_that_make_no_sense_are_refused():
    mdp, expert, features = problem(12, Dirac(0))
    costs = LinearCosts(features, Simplex())
    with pytest.raises(InputError, match=r"the expert's occupancy must have shape \(3, 2\)"):
        Game(mdp, Dirac(0), expert.T, costs)
    with pytest.raises(InputError, match=r"expert\[0, 0\] is negative, NaN or infinite"):
        Game(mdp, Dirac(0), expert - 10.0, costs)
    with pytest.raises(InputError, match="poisson:2 has no phase; choose within='time'"):
        Game(mdp, Poisson(2.0), expert, costs, "phase")
    with pytest.raises(InputError, match="multiplicative weights play on a simplex"):
        mwal(Game(mdp, Dirac(0), expert, GANCosts()), 3)
    with pytest.raises(InputError, match="not solved to 1e-12 with 1 columns"):
        generate(Game(mdp, Dirac(0), expert, GANCosts()), tolerance=1e-12, most=1)
