import numpy as np
import pytest

from etairl.eta import Dirac, Geometric, Poisson, Uniform, parse_eta
from etairl.measures import FutureSampler, episode_shares, mu, rho
from etairl.types import InputError

OFFSETS = np.array([10, 30, 31, 80])


@pytest.mark.parametrize("method", ["two_stage", "exact"])
@pytest.mark.parametrize("spec", ["dirac:0", "geometric:0.9", "uniform", "poisson:5", "dirac:12"])
@pytest.mark.parametrize("n", [0, 1, 50, 20_000])
def test_same_seed_same_rows_within_bounds(spec, method, n):
    sampler = FutureSampler(parse_eta(spec), method=method)
    rows = sampler.rows(np.random.default_rng(5), OFFSETS, n)
    again = sampler.rows(np.random.default_rng(5), OFFSETS, n)
    assert rows.tolist() == again.tolist()
    assert rows.shape == (n,)
    assert ((rows >= 10) & (rows < 80)).all()


def test_gail_is_one_law_however_it_is_spelled():
    draws = [
        FutureSampler(eta).rows(np.random.default_rng(1), OFFSETS, 1000).tolist()
        for eta in (Dirac(0), Geometric(0.0))
    ]
    assert draws[0] == draws[1]
    assert Geometric(1.0).simplified() == Uniform()


@pytest.mark.parametrize("choice", ["by_weight", "uniform"])
@pytest.mark.parametrize("n", [40, 5000])
def test_gail_draws_alike_with_both_methods(choice, n):
    """Few draws, and so many that they pay for a table."""
    draws = [
        FutureSampler(Dirac(0), 1.0, method, choice).rows(np.random.default_rng(1), OFFSETS, n)
        for method in ("two_stage", "exact")
    ]
    assert draws[0].tolist() == draws[1].tolist()


@pytest.mark.parametrize("method", ["two_stage", "exact"])
@pytest.mark.parametrize(("kappa", "percent"), [(0.0, 9.1), (0.99, 2.6), (1.0, 1.0)])
def test_share_of_a_short_episode_beside_a_long_one(kappa, percent, method):
    r"""50 steps beside 500, with $w_n = 1 - \kappa^{n+1}$, or $n + 1$ for $\kappa = 1$."""
    n = np.arange(500)
    weights = n + 1.0 if kappa == 1.0 else 1.0 - kappa ** (n + 1.0)
    share = weights[:50].sum() / (weights[:50].sum() + weights.sum())
    assert round(100 * share, 1) == percent
    draws = 40_000
    for choice, expected in (("by_weight", share), ("uniform", 0.5)):
        sampler = FutureSampler(Geometric(kappa), 1.0, method, choice)
        rows = sampler.rows(np.random.default_rng(3), np.array([0, 500, 550]), draws)
        error = np.sqrt(expected * (1.0 - expected) / draws)
        assert (rows >= 500).mean() == pytest.approx(expected, abs=4 * error)


def test_rows_are_gathered(demos, rng):
    t = demos.trajectories
    sampler = mu(Poisson(15.0))
    batch = sampler(rng, t, 64)
    assert batch.observations.tolist() == t.observations[batch.rows].tolist()
    assert batch.actions.tolist() == t.actions[batch.rows].tolist()


def test_pairs_stay_in_their_episode(demos, rng):
    offsets = demos.trajectories.offsets
    starts, futures = mu(Geometric(0.9), method="exact").pairs(rng, offsets, 5000)
    episode = np.searchsorted(offsets, starts, side="right")
    assert (episode == np.searchsorted(offsets, futures, side="right")).all()


def test_too_far_ahead_is_refused_in_words(rng):
    with pytest.raises(InputError, match=r"dirac:49 looks further ahead.*longest.*\(49\)"):
        mu(Dirac(49)).rows(rng, OFFSETS, 10)
    assert set(mu(Dirac(48)).rows(rng, OFFSETS, 10)) == {79}


def test_unknown_names_are_refused(rng):
    with pytest.raises(InputError, match="gamma must lie in"):
        rho(1.1)


@pytest.mark.usefixtures("unchecked")
def test_unknown_methods_are_refused():
    with pytest.raises(InputError, match="method must be one of two_stage, exact, got 'both'"):
        FutureSampler(method="both")
    with pytest.raises(InputError, match="choice must be one of by_weight, uniform"):
        FutureSampler(choice="longest")


def test_large_collections_use_a_fresh_uniform(rng):
    """10^5 episodes of 1,000 steps leave too few bits of one uniform for the lag."""
    offsets = np.arange(100_001) * 1000
    rows = mu(Uniform()).rows(rng, offsets, 200_000)
    # E[n] = 3(T-1)/4 = 749.25; the standard deviation of n is below 300.
    assert abs((rows % 1000).mean() - 749.25) < 4 * 300 / np.sqrt(200_000)
    # Uniform over episodes: mean 49,999.5, standard deviation 28,868.
    assert abs((rows // 1000).mean() - 49_999.5) < 4 * 28_868 / np.sqrt(200_000)


def test_tenths_share_a_step_between_them():
    assert episode_shares(np.array([1.0]), 10) == pytest.approx(np.full(10, 0.1))
    assert episode_shares(rho().law(25), 10) == pytest.approx(np.full(10, 0.1))


def test_nothing_to_draw_from(rng):
    for offsets in (np.array([0]), np.array([0, 3, 3])):
        with pytest.raises(InputError, match="nothing to draw from"):
            rho().rows(rng, offsets, 5)


@pytest.mark.parametrize("spec", ["geometric:0.7", "poisson:4", "uniform", "dirac:3"])
@pytest.mark.parametrize("method", ["two_stage", "exact"])
def test_futures_of_given_rows_have_the_truncated_law(spec, method):
    # 40,000 draws: shares within 4 standard errors, 4 sqrt(p(1 - p)/n) <= 0.01.
    sampler, n = FutureSampler(parse_eta(spec), method=method), 40_000
    starts = np.full(n, 72)  # 8 steps are left of the last episode
    found = sampler.futures(np.random.default_rng(0), OFFSETS, starts)
    mass = parse_eta(spec).pmf(8) if spec != "uniform" else np.ones(8)
    shares = np.bincount(found - 72, minlength=8) / n
    assert np.abs(shares - mass / mass.sum()).max() < 0.01


def test_no_future_of_a_row_too_near_the_end():
    with pytest.raises(InputError, match="beyond the end of the episode"):
        FutureSampler(Dirac(3)).futures(np.random.default_rng(0), OFFSETS, np.array([79]))
