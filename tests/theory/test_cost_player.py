"""Errata (h), (i), (j): EMMA, WIEM, MEGAN's objective, Idle's game."""

import numpy as np
import pytest

from etairl.eta import Dirac, Geometric
from etairl.penalties import GAN, Ball, Simplex, jensen_shannon, surrogate_step
from etairl.regularisers import Entropy
from etairl.replication.claims.cost_players import emma_angle
from etairl.tabular.cost_families import LinearCosts
from etairl.tabular.exact_measures import mu
from etairl.tabular.game import Game
from etairl.tabular.generators import go_stay, go_stay_policy, random_mdp, random_policy
from etairl.tabular.irl import MirrorSettings, imitate

DELTA = np.array([0.6, 0.8])
OWN, EXPERT = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])


def test_inner_maxima():
    value, weights = Ball().maximum(DELTA)
    assert value == pytest.approx(1.0)
    assert weights == pytest.approx(DELTA)
    value, weights = Simplex().maximum(np.array([0.3, -0.1, 0.2]))
    assert value == pytest.approx(0.3)
    assert weights.tolist() == [1.0, 0.0, 0.0]


def test_at_a_match_the_previous_weights_stay():
    previous = np.array([0.25, 0.75])
    for allowed in (Ball(), Simplex()):
        value, weights = allowed.maximum(np.zeros(2), previous)
        assert value == 0.0
        assert weights.tolist() == previous.tolist()


def test_without_projection_the_surrogate_keeps_the_orthogonal_part():
    weights = np.array([-0.3, 0.4])
    for _ in range(2000):
        weights = surrogate_step(weights, DELTA, 1.0, 0.1, None)
    assert weights == pytest.approx([0.216, 1.088], abs=1e-9)


def test_with_projection_the_angle_decays_slowly():
    """1/sqrt(2 lr |Delta|^2 n): 7.07e-3 after 10^5 steps at lr .1; here after 2,000 and 8,000."""
    assert 1 / np.sqrt(2 * 0.1 * 1e5) == pytest.approx(7.07e-3, abs=5e-6)
    for steps in (2_000, 8_000):
        assert emma_angle(steps) == pytest.approx(1 / np.sqrt(2 * 0.1 * steps), rel=0.02)


@pytest.mark.parametrize("rate", [1.0, 10.0, 1e3])
def test_too_large_a_rate_does_no_harm_for_a_fixed_difference(rate):
    """Each step is projected: the larger the rate, the smaller the angle that is left."""
    assert emma_angle(500, rate) < emma_angle(500, 0.1)
    weights = np.array([-0.3, 0.4])
    for _ in range(500):
        weights = surrogate_step(weights, DELTA, 1.0, rate, Ball())
    assert weights == pytest.approx(DELTA, abs=1.2 / np.sqrt(2 * rate * 500))


def test_with_noise_a_large_rate_copies_the_latest_difference():
    rng = np.random.default_rng(6)
    weights = np.array([-0.3, 0.4])
    for _ in range(50):
        latest = DELTA + 0.5 * rng.standard_normal(2)
        weights = surrogate_step(weights, latest, 2.0, 1e6, Ball())
        assert weights == pytest.approx(latest / np.linalg.norm(latest), abs=1e-5)


@pytest.mark.slow
def test_the_angle_after_a_hundred_thousand_steps():
    assert emma_angle(100_000) == pytest.approx(7.07e-3, abs=2e-5)


def test_plain_projected_ascent_needs_few_steps():
    weights = np.array([-0.3, 0.4])
    for _ in range(60):
        weights = Ball().project(weights + DELTA)
    assert weights == pytest.approx(DELTA, abs=1e-9)


def test_the_wiem_surrogate_reaches_its_vertex():
    delta, weights = np.array([0.3, -0.1, 0.2]), np.full(3, 1 / 3)
    for _ in range(1000):
        weights = surrogate_step(weights, delta, 0.3, 1.0, Simplex())
    assert np.abs(weights - [1.0, 0.0, 0.0]).max() < 3e-5


def test_the_printed_wiem_target_misses_its_maximiser():
    own, expert = np.array([0.9, 0.5]), np.array([0.6, 0.6])
    _, weights = Simplex().maximum(own - expert)
    corrected = (own - expert).max()
    printed = own.max() + expert[np.argmax(own)]  # - max_i E[f_i] - E_E[f_i], without brackets
    assert weights @ (own - expert) - corrected == 0.0
    assert abs(weights @ (own - expert) - printed) > 1.0


def test_sums_of_unequal_batches_compare_nothing():
    """512 against 256 samples of one law, means 1, 4 features of unit variance."""
    rng = np.random.default_rng(0)
    sums = rng.normal(1, 1, (512, 4)).sum(axis=0) - rng.normal(1, 1, (256, 4)).sum(axis=0)
    # 256 in every feature, give or take sqrt(768): the norm is near 512.
    assert np.linalg.norm(sums) == pytest.approx(507, abs=0.5)


@pytest.mark.parametrize(("dims", "floor"), [(23, 0.30), (119, 0.68)])
def test_the_norm_of_an_estimated_difference_is_biased(dims, floor):
    assert np.sqrt(2 * dims / 512) == pytest.approx(floor, abs=5e-3)
    rng = np.random.default_rng(dims)
    norms = [
        np.linalg.norm(np.subtract(*rng.standard_normal((2, 512, dims)).mean(axis=1)))
        for _ in range(50)
    ]
    # The norm of d normals spreads by 1/sqrt(2d) of itself; 4 standard errors of 50, and the
    # relative bias 1/(4d) of the mean of a chi variable.
    assert np.mean(norms) == pytest.approx(
        floor, rel=4 / np.sqrt(2 * dims * 50) + 1 / (4 * dims) + 0.02
    )


@pytest.mark.parametrize("eta", [Dirac(0), Geometric(0.5)], ids=str)
def test_exact_best_responses_chatter(eta):
    """WIEM on go/stay: cost and policy answer each other for ever."""
    mdp = go_stay(0.0, 0.0, 0.0)
    features = np.zeros((2, 2, 2))
    features[0, 0, 0], features[0, 1, 1] = 1.0, 4.0
    expert = mu(mdp, go_stay_policy(0.8), eta).values
    costs = LinearCosts(features, Simplex())
    game, policy, played = Game(mdp, eta, expert, costs), go_stay_policy(0.5), []
    for _ in range(8):
        _, cost = costs.maximum(mu(mdp, policy, eta).values, expert)
        policy = game.respond(cost).policy
        played.append(round(float(policy[0, 0]), 6))
    assert set(played) == {0.0, 1.0}
    assert played[0] != played[1]
    assert played[2:] == played[:-2]


def score(own, expert, d, sign=1.0):
    return float(own @ np.log(d) + sign * expert @ np.log1p(-d))


def test_gan_fixture():
    value, cost = GAN().maximum(OWN, EXPERT)
    assert value == pytest.approx(-1.136093, abs=5e-7)
    assert value == pytest.approx(2 * jensen_shannon(OWN, EXPERT) - np.log(4), abs=1e-14)
    assert np.exp(cost) == pytest.approx([5 / 6, 1 / 2, 1 / 4])


def test_gan_penalty_turns_costs_into_a_discriminator():
    rng = np.random.default_rng(1)
    for d in rng.uniform(0.01, 0.99, (50, 3)):
        cost = np.log(d)
        paid = (OWN - EXPERT) @ cost - GAN().penalty(cost, EXPERT)
        assert paid == pytest.approx(score(OWN, EXPERT, d), abs=1e-13)
        assert paid <= GAN().maximum(OWN, EXPERT)[0]
    assert GAN().penalty(np.array([-1.0, 0.1, -1.0]), EXPERT) == np.inf


def test_with_the_printed_minus_the_supremum_is_infinite():
    values = [score(OWN, EXPERT, np.full(3, 1 - 10.0**-k), -1.0) for k in (2, 6, 12)]
    assert values[0] < values[1] < values[2]
    assert values[2] > 25


def test_gan_loss_of_the_normalised_occupancies_at_its_optimum():
    """The maximum over D is 2 JS - log 4, times the mass 1/(1 - gamma)."""
    rng = np.random.default_rng(2)
    mdp, eta = random_mdp(rng, 4, 3, 0.8), Geometric(0.6)
    own, expert = (mu(mdp, random_policy(rng, mdp), eta).values for _ in range(2))
    value, cost = GAN().maximum(own, expert)
    js = jensen_shannon(own * 0.2, expert * 0.2)
    assert value == pytest.approx((2 * js - np.log(4)) / 0.2, abs=1e-12)
    # As a discriminator is trained: binary cross-entropy with logit h, label 1 on the learner.
    h = np.log(own / expert)
    loss = (own * 0.2 * np.logaddexp(0, -h)).sum() + (expert * 0.2 * np.logaddexp(0, h)).sum()
    assert -loss == pytest.approx(2 * js - np.log(4), abs=1e-13)
    assert cost == pytest.approx(-np.logaddexp(0, -h), abs=1e-13)


def test_swapped_labels_need_the_other_cost():
    """Cost log D with D = 1 on the expert is low where the learner should not go."""
    d = GAN().discriminator(OWN, EXPERT)
    kept, matching = np.log(1 - d), np.log(d)  # swapped D is 1 - d
    assert np.argmin(matching) == np.argmax(EXPERT / OWN)
    assert np.argmin(kept) == np.argmax(OWN / EXPERT)


def test_survival_bonus_of_positive_rewards():
    returns = [(1 - 0.99**steps) / 0.01 for steps in (10, 100)]
    assert returns == pytest.approx([9.56, 63.4], abs=0.005 * 10)


def test_entropy_moves_the_fixed_point_off_the_expert():
    rng = np.random.default_rng(3)
    mdp, eta = random_mdp(rng, 3, 2, 0.8), Geometric(0.5)
    expert = random_policy(rng, mdp)
    target = mu(mdp, expert, eta).values
    off = []
    for alpha in (0.02, 0.2):
        settings = MirrorSettings(rate=0.5, steps=300, regulariser=Entropy(alpha))
        off.append(np.abs(imitate(mdp, eta, target, settings) - expert).max())
    assert 1e-4 < off[0] < off[1]


def test_idle_is_a_game_of_max_d_min_g():
    one = np.ones(1)
    values = {d: score(one, one, np.array([d])) for d in (0.5, 0.6, 0.4, 1e-6)}
    assert values[0.5] == pytest.approx(-np.log(4))
    assert values[0.5] == pytest.approx(-1.3863, abs=5e-5)
    assert values[0.6] == pytest.approx(-1.4271, abs=5e-5)
    assert values[0.4] == pytest.approx(values[0.6])
    assert values[1e-6] == pytest.approx(-13.8, abs=0.02)


def test_idle_against_one_half_is_indifferent_and_its_optimum_is_jensen_shannon():
    rng = np.random.default_rng(4)
    real, fake = rng.dirichlet(np.ones(5), size=2)
    half = np.full(5, 0.5)
    assert score(real, fake, half) == pytest.approx(score(real, real, half))
    best = score(real, fake, real / (real + fake))
    assert best == pytest.approx(2 * jensen_shannon(real, fake) - np.log(4), abs=1e-14)


def test_conditioning_on_the_state_alone_is_enough():
    """sum rho(s,a) P^eta(.|s,a) = sum rho(s) P^eta(.|s), with a drawn by the policy."""
    rng = np.random.default_rng(5)
    mdp = random_mdp(rng, 3, 2, 0.7)
    policy, kappa = random_policy(rng, mdp), 0.6
    step = mdp.under(policy)
    tail = (1 - kappa) * np.linalg.inv(np.eye(3) - kappa * step)
    by_state = mdp.p0 @ np.linalg.inv(np.eye(3) - 0.7 * step)
    pairs = by_state[:, None] * policy
    from_pairs = (1 - kappa) * by_state + kappa * mdp.inflow(pairs) @ tail
    assert from_pairs == pytest.approx(by_state @ tail, abs=1e-12)
