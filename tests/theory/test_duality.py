"""Errata (b): occupancies are not convex, min max is not max min, and what remains true."""

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize, minimize_scalar
from small_mdps import ring

from etairl.eta import Dirac, Geometric, Poisson, ZeroModifiedGeometric
from etairl.penalties import Ball
from etairl.replication.claims.occupancies import go_stay_features, go_stay_game, least_primal
from etairl.tabular.columns import generate
from etairl.tabular.cost_families import GANCosts, LinearCosts
from etairl.tabular.eta_criterion import visits
from etairl.tabular.exact_measures import (
    future,
    mu,
    mu_in_time,
    policy_from_occupancy,
    rho,
)
from etairl.tabular.game import Game
from etairl.tabular.generators import (
    go_stay,
    go_stay_policy,
    random_mdp,
    random_policy,
)
from etairl.tabular.irl import emma, megan
from etairl.tabular.phase import phase_mu, phase_program
from etairl.tabular.rl import best_stationary, time_optimal

HALF = Geometric(0.5)
CHAIN = go_stay(0.0, 0.0, 0.0)
STAY, GO = go_stay_policy(1.0), go_stay_policy(0.0)


def midpoint(measure):
    return 0.5 * (measure(STAY) + measure(GO))


def test_the_midpoint_of_two_occupancies_is_no_occupancy():
    assert mu(CHAIN, GO, HALF).values[0] == pytest.approx([0.0, 0.5])
    assert mu(CHAIN, STAY, HALF).values[0] == pytest.approx([2.0, 0.0])
    middle = midpoint(lambda policy: mu(CHAIN, policy, HALF).values)
    assert middle[0] == pytest.approx([1.0, 0.25])
    read = policy_from_occupancy(middle)
    assert read[0, 0] == pytest.approx(0.8)
    assert mu(CHAIN, read, HALF).values[0] == pytest.approx([1.1111, 0.2778], abs=5e-5)


def test_the_midpoint_solves_the_corrected_affine_system():
    """Residual 0 in all four equations, yet three different policies: .8, 2/3, 2/3."""
    f = midpoint(lambda policy: mu(CHAIN, policy, HALF).values)
    g = midpoint(lambda policy: future(CHAIN, policy, HALF).values)
    h = midpoint(lambda policy: rho(CHAIN, policy).values)
    gamma, kappa = 0.5, 0.5
    out = [x.sum(axis=1) for x in (f, g, h)]
    residuals = [
        out[0] - out[1] - gamma * CHAIN.inflow(f),
        out[0] - (1 - kappa) * out[2] - kappa * CHAIN.inflow(f),
        out[1] - (1 - kappa) * CHAIN.p0 - kappa * CHAIN.inflow(g),
        out[2] - CHAIN.p0 - gamma * CHAIN.inflow(h),
    ]
    assert np.abs(residuals).max() < 1e-14
    read = [policy_from_occupancy(x)[0, 0] for x in (f, g, h)]
    assert read == pytest.approx([0.8, 2 / 3, 2 / 3])


def test_kernels_are_not_convex_even_classically():
    """Average of always staying and always switching on a ring, read from both starts."""
    stay, switch = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    read = []
    for start in (0, 1):
        mdp = ring(0.5, start)
        average = 0.5 * (rho(mdp, stay).values + rho(mdp, switch).values)
        read.append(policy_from_occupancy(average)[0])
    assert read[0] == pytest.approx([0.6, 0.4])
    assert read[1] == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize("eta", [Dirac(0), ZeroModifiedGeometric(0.8, 0.5)], ids=str)
def test_occupancies_are_convex_where_the_weights_are_geometric(eta):
    rng = np.random.default_rng(0)
    for _ in range(20):
        mdp = random_mdp(rng, 3, 2, 0.5)
        mixed = 0.5 * sum(mu(mdp, random_policy(rng, mdp), eta).values for _ in range(2))
        assert mu(mdp, policy_from_occupancy(mixed), eta).values == pytest.approx(mixed, abs=1e-12)


@pytest.mark.parametrize("eta", [HALF, Poisson(2.0), Dirac(1)], ids=str)
def test_they_are_not_elsewhere(eta):
    mixed = midpoint(lambda policy: mu(CHAIN, policy, eta).values)
    again = mu(CHAIN, policy_from_occupancy(mixed), eta).values
    assert np.abs(again - mixed).max() > 0.01


@pytest.mark.usefixtures("unchecked")
def test_min_max_and_max_min_of_the_wiem_game():
    p, upper = least_primal(go_stay_game(), HALF)
    assert p == pytest.approx(0.8, abs=1e-6)
    assert upper == pytest.approx(0.0, abs=1e-9)
    weights = np.linspace(0.0, 1.0, 21)
    game = go_stay_game()
    duals = [game.dual(go_stay_features() @ np.array([w, 1 - w])) for w in weights]
    assert max(duals) == pytest.approx(-1 / 9, abs=1e-9)
    assert weights[int(np.argmax(duals))] == pytest.approx(0.5)
    # RL after IRL: the best responses to that cost are pure, and not the expert.
    answer = game.respond(go_stay_features() @ np.array([0.5, 0.5])).policy[0, 0]
    assert min(abs(answer), abs(answer - 1.0)) < 1e-6


def test_values_on_the_enlarged_sets():
    values = {"stationary": -1 / 9, "time": -1 / 9, "phase": -4 / 9}
    for within, value in values.items():
        saddle = generate(go_stay_game(within))
        assert saddle.primal == pytest.approx(value, abs=1e-9)
        assert abs(saddle.gap) < 1e-9


def gap_with_entropy(alpha):
    """min max minus max min over p, with alpha H^eta and one action in state 1."""
    p = np.linspace(0.0, 1.0, 400_001)[1:-1]
    visited = 0.5 / (1 - 0.5 * p) ** 2
    entropy = -alpha * visited * (p * np.log(p) + (1 - p) * np.log(1 - p))
    expert = mu(CHAIN, go_stay_policy(0.8), HALF).values[0]
    one, two = p * visited - expert[0], 4 * ((1 - p) * visited - expert[1])
    upper = (np.maximum(one, two) - entropy).min()

    def lower(w):
        return -(w * one + (1 - w) * two - entropy).min()

    found = minimize_scalar(lower, bounds=(0, 1), method="bounded", options={"xatol": 1e-10})
    return upper + float(found.fun)


@pytest.mark.parametrize(
    ("alpha", "gap"), [(0.01, 0.1042), (0.05, 0.0764), (0.1, 0.0425), (0.2, 0.0004)]
)
def test_entropy_shrinks_the_gap(alpha, gap):
    assert gap_with_entropy(alpha) == pytest.approx(gap, abs=6e-5)


def test_enough_entropy_closes_the_gap():
    assert abs(gap_with_entropy(0.5)) < 1e-6


def mixture_gap(primal, floor):
    """Of the best stationary policy against the 50/50 mixture of stay and go."""
    found = minimize_scalar(primal, bounds=(0, 1), method="bounded", options={"xatol": 1e-10})
    return float(found.fun) - floor


def test_gaps_against_a_mixture_of_pure_policies():
    """State 1 counts as one pair; the mixture itself reaches the floor."""

    def occupancy(p):
        visited = 0.5 / (1 - 0.5 * p) ** 2
        return np.array([p * visited, (1 - p) * visited, 2 - visited])

    expert = 0.5 * (occupancy(0.0) + occupancy(1.0))
    assert expert == pytest.approx([1.0, 0.25, 0.75])
    distance = mixture_gap(lambda p: np.linalg.norm(occupancy(p) - expert), 0.0)
    assert distance == pytest.approx(0.0808, abs=5e-5)

    def divergence(p):
        own, other = occupancy(p), expert
        return float(own @ np.log(own / (own + other)) + other @ np.log(other / (own + other)))

    gap = mixture_gap(divergence, -2 * np.log(4))  # both have mass 2
    assert gap == pytest.approx(0.0043, abs=5e-5)


def test_dense_random_mdps_have_small_gaps_against_mixtures():
    """EMMA with all pairs as features: distance of a mixture from the stationary occupancies."""
    gaps = []
    for number in range(40):
        rng = np.random.default_rng(number)
        mdp = random_mdp(rng, 2, 2, 0.5)
        expert = 0.5 * sum(mu(mdp, random_policy(rng, mdp), HALF).values for _ in range(2))

        def residual(x, mdp=mdp, expert=expert):
            policy = np.stack([x, 1 - x], axis=1)
            return (mu(mdp, policy, HALF).values - expert).reshape(-1)

        found = least_squares(residual, [0.5, 0.5], bounds=(0, 1), xtol=1e-12, ftol=1e-12)
        gaps.append(np.linalg.norm(found.fun))
    # Below the .0808 of the chain, mostly by two orders of magnitude.
    assert max(gaps) == pytest.approx(0.011, abs=5e-4)
    assert np.median(gaps) == pytest.approx(5e-4, abs=5e-5)


def occupancies(mdp, x):
    """mu of many policies on 2 states and 2 actions, x[policy, state] to take action 0, at once."""
    policies = np.stack([x, 1 - x], axis=-1)
    step = np.einsum("nsa,sat->nst", policies, mdp.kernel)
    twice = np.linalg.matrix_power(np.linalg.inv(np.eye(2) - 0.5 * step), 2)
    return np.einsum("s,nst,nta->nta", 0.5 * mdp.p0, twice, policies)


def refined(f):
    """Where f is least over policies: on a grid, then off it."""
    axis = np.linspace(0.02, 0.98, 40)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    found = minimize(
        lambda x: f(x[None])[0],
        grid[np.argmin(f(grid))],
        bounds=[(1e-9, 1 - 1e-9)] * 2,
        options={"ftol": 1e-15, "gtol": 1e-9},
    )
    return found.x[None], float(found.fun)


def megan_gap(mdp, expert, alpha):
    """At the best policy for the regularised divergence: how far its own cost proves it best."""

    def regularised(value):
        def total(x):
            own = occupancies(mdp, x)
            shares = own / own.sum(axis=2, keepdims=True)
            return (value(own) + alpha * own * np.log(shares)).sum(axis=(1, 2))

        return total

    def divergence(own):
        return own * np.log(own / (own + expert)) + expert * np.log(expert / (own + expert))

    x, upper = refined(regularised(divergence))
    _, cost = GANCosts().maximum(occupancies(mdp, x)[0], expert)
    _, least = refined(regularised(lambda own: own * cost))
    return upper - least - GANCosts().offset(cost, expert)


@pytest.mark.parametrize("alpha", [0.02, 0.2])
def test_megan_with_entropy_and_a_stationary_expert_shows_no_gap(alpha):
    """In 40 random MDPs, minima refined off the grid."""
    for number in range(40):
        rng = np.random.default_rng(number)
        mdp = random_mdp(rng, 2, 2, 0.5)
        policy = random_policy(rng, mdp)
        expert = occupancies(mdp, policy[None, :, 0])[0]
        assert expert == pytest.approx(mu(mdp, policy, HALF).values, abs=1e-14)
        assert -1e-12 < megan_gap(mdp, expert, alpha) < 1e-8


@pytest.mark.parametrize("eta", [HALF, Poisson(3.0), Dirac(2)], ids=str)
def test_a_mixture_is_one_policy_in_time(eta):
    rng = np.random.default_rng(4)
    mdp = random_mdp(rng, 3, 2, 0.7)
    policies, shares = [random_policy(rng, mdp) for _ in range(3)], rng.dirichlet(np.ones(3))
    horizon = 128  # .7^128 is below 1e-19
    joint = sum(
        share * visits(mdp, policy, horizon)[:, :, None] * policy
        for share, policy in zip(shares, policies, strict=True)
    )
    in_time = joint / joint.sum(axis=2, keepdims=True)
    mixed = sum(s * mu(mdp, p, eta, 1e-17).values for s, p in zip(shares, policies, strict=True))
    weights, states, total = eta.weights(0.7, horizon), mdp.p0, 0.0
    for weight, policy in zip(weights, in_time, strict=True):
        pairs = states[:, None] * policy
        total, states = total + weight * pairs, mdp.inflow(pairs)
    assert np.abs(total - mixed).max() < 2e-15
    found = mu_in_time(mdp, in_time, eta)
    assert np.abs(found.values - mixed).sum() <= found.error


def test_the_sets_are_nested():
    """Every cost is answered at least as well by a larger class, and the program agrees."""
    rng = np.random.default_rng(6)
    for _ in range(5):
        mdp = random_mdp(rng, 3, 2, 0.6)
        stationary = best_stationary(mdp, HALF).value
        in_time, phase = time_optimal(mdp, HALF).value, phase_program(mdp, HALF)[0]
        assert phase - 1e-9 <= in_time <= stationary + 1e-9
        policy = random_policy(rng, mdp)
        blind = phase_mu(mdp, 0.5, policy, policy)
        assert blind == pytest.approx(mu(mdp, policy, HALF).values, abs=1e-12)


def test_weak_duality_needs_no_convexity():
    rng = np.random.default_rng(7)
    for _ in range(8):
        game = go_stay_game()
        occupancy = mu(CHAIN, go_stay_policy(float(rng.random())), HALF).values
        weights = rng.dirichlet(np.ones(2))
        assert game.dual(go_stay_features() @ weights) <= game.primal(occupancy) + 1e-9


def test_minimisers_for_a_realisable_expert():
    """MEGAN: the expert. EMMA: the same if features separate all pairs. WIEM may be below 0."""
    rng = np.random.default_rng(8)
    mdp = random_mdp(rng, 3, 2, 0.6)
    policy = random_policy(rng, mdp)
    expert = mu(mdp, policy, Dirac(0)).values
    every_pair = np.eye(6).reshape(3, 2, 6)
    found = megan(mdp, Dirac(0), expert)
    assert policy_from_occupancy(found.occupancy) == pytest.approx(policy, abs=1e-6)
    found = emma(mdp, Dirac(0), expert, every_pair)
    assert policy_from_occupancy(found.occupancy) == pytest.approx(policy, abs=1e-9)
    assert Game(mdp, Dirac(0), expert, LinearCosts(every_pair, Ball())).primal(expert) == 0.0
