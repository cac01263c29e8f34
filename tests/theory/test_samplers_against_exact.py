"""The samplers of the deep code against the exact measures of random MDPs."""

import numpy as np
import pytest

from etairl.eta import Dirac, Geometric, Poisson
from etairl.measures import future
from etairl.measures import mu as sampled_mu
from etairl.measures import rho as sampled_rho
from etairl.tabular.episodes import empirical_mu, sample_episodes
from etairl.tabular.exact_measures import future as exact_future
from etairl.tabular.exact_measures import mu, rho, weighted
from etairl.tabular.generators import (
    go_stay,
    go_stay_policy,
    random_mdp,
    random_policy,
    random_sparse_mdp,
)

EPISODES, HORIZON, DRAWS = 4000, 100, 200_000


def drawn(sampler, episodes, mdp, seed):
    rows = sampler.rows(np.random.default_rng(seed), episodes.offsets, DRAWS)
    pairs = episodes.observations[rows, 0] * mdp.actions + episodes.actions[rows, 0]
    counts = np.bincount(pairs.astype(np.int64), minlength=mdp.c.size)
    return counts.reshape(mdp.c.shape) / DRAWS


def assert_same_law(found, exact, episodes=EPISODES):
    """Draws, and the episodes behind them: each share is an average over independent episodes.

    A share p of an episode has variance at most p, so its standard error is at most
    sqrt(p/episodes + p/DRAWS); 5 of them for a dozen shares, plus what lies beyond the horizon.
    """
    error = np.sqrt(exact / episodes + exact / DRAWS)
    assert (np.abs(found - exact) < 5 * error + 1e-4).all()


@pytest.mark.parametrize("seed", range(3))
def test_samplers_draw_from_the_exact_measures(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 3, 2, 0.9, start=0)
    policy = random_policy(rng, mdp)
    episodes = sample_episodes(rng, mdp, policy, EPISODES, HORIZON)
    for eta in (Geometric(0.7), Poisson(3.0), Dirac(2)):
        exact = mu(mdp, policy, eta).values * (1 - mdp.gamma)
        sampler = sampled_mu(eta, mdp.gamma, method="exact")
        assert_same_law(drawn(sampler, episodes, mdp, seed), exact)
        exact = exact_future(mdp, policy, eta).values
        assert_same_law(drawn(future(eta), episodes, mdp, seed), exact)
    exact = rho(mdp, policy).values * (1 - mdp.gamma)
    assert_same_law(drawn(sampled_rho(mdp.gamma), episodes, mdp, seed), exact)


def test_the_two_stage_sampler_draws_its_own_law_and_not_mu():
    """Two states, the second absorbs: a law that prefers the end of an episode sees more of it."""
    rng, mdp, policy = np.random.default_rng(7), go_stay(0.0, 0.0, 0.0), go_stay_policy(0.9)
    episodes = sample_episodes(rng, mdp, policy, 20_000, 20)
    n = np.arange(20)
    weights = 1 - 0.9 ** (n + 1)  # w_n at gamma 1, kappa .9
    truncated = weighted(mdp, policy, weights / weights.sum())
    assert truncated[0].sum() == pytest.approx(weights @ 0.9**n / weights.sum())
    laws = {}
    for method in ("two_stage", "exact"):
        sampler = sampled_mu(Geometric(0.9), 1.0, method=method)
        laws[method] = weighted(mdp, policy, sampler.law(20))
        assert_same_law(drawn(sampler, episodes, mdp, 0), laws[method], 20_000)
    found = drawn(sampled_mu(Geometric(0.9), 1.0, method="two_stage"), episodes, mdp, 0)
    with pytest.raises(AssertionError):
        assert_same_law(found, truncated, 20_000)
    assert found[0].sum() < truncated[0].sum() - 0.03
    assert laws["exact"] == pytest.approx(truncated)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_empirical_measure_estimates_mu(sparse):
    rng = np.random.default_rng(9)
    mdp = random_sparse_mdp(rng, 6, 2, 2, 0.8) if sparse else random_mdp(rng, 4, 2, 0.8)
    policy, eta = random_policy(rng, mdp), Geometric(0.6)
    found = empirical_mu(sample_episodes(rng, mdp, policy, EPISODES, 80), mdp, eta)
    exact = mu(mdp, policy, eta).values
    # One episode contributes at most 1/(1-gamma) = 5 to a pair: variance at most 5 mu.
    assert (np.abs(found.values - exact) < 5 * np.sqrt(5 * exact / EPISODES) + found.error).all()
    assert found.error == pytest.approx(mu(mdp, policy, eta).values.sum() - found.values.sum())
    assert found.error < 1e-5


def test_episodes_carry_what_happened():
    rng = np.random.default_rng(1)
    mdp = random_mdp(rng, 3, 2, 0.8)
    episodes = sample_episodes(rng, mdp, random_policy(rng, mdp), 5, 7)
    states = episodes.observations[:, 0].astype(int)
    assert episodes.lengths.tolist() == [7] * 5
    assert not episodes.terminated.any()
    assert episodes.rewards == pytest.approx(-mdp.c[states, episodes.actions[:, 0]])
    assert episodes.final_observations.shape == (5, 1)
