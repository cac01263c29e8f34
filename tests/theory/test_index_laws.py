"""The law of n = t + k: closed forms and fixtures; `test_index_draws` has what is really drawn."""

import math
from fractions import Fraction

import numpy as np
import pytest

from etairl.eta import Geometric, Poisson, Table, Uniform, parse_eta
from etairl.measures import FutureSampler, future, mu, rho, summarise_law


def two_stage(spec, horizon, gamma=1.0):
    return FutureSampler(parse_eta(spec), gamma, "two_stage").law(horizon)


def exact(spec, horizon, gamma=1.0):
    return FutureSampler(parse_eta(spec), gamma, "exact").law(horizon)


def test_four_steps_uniform_twice():
    expected = [Fraction(1, 16), Fraction(7, 48), Fraction(13, 48), Fraction(25, 48)]
    assert two_stage("geometric:1", 4) == pytest.approx([float(p) for p in expected], rel=1e-12)


def test_three_steps_half_and_half():
    expected = [0.32653061, 0.3537415, 0.31972789]
    assert two_stage("geometric:0.5", 3, 0.5) == pytest.approx(expected, abs=5e-9)
    assert exact("geometric:0.5", 3, 0.5) == pytest.approx([4 / 11, 4 / 11, 3 / 11], rel=1e-12)


KAPPAS = (0, 0.25, 0.5, 0.75, 0.9, 0.99, 1)


@pytest.mark.parametrize(
    ("law", "distances"),
    [
        (two_stage, (0, 0.0007, 0.0020, 0.0060, 0.0180, 0.1761, 0.3672)),
        (exact, (0, 0.0007, 0.0020, 0.0058, 0.0166, 0.1188, 0.2495)),
    ],
)
def test_distance_from_uniform_at_500_steps(law, distances):
    for kappa, distance in zip(KAPPAS, distances, strict=True):
        found = summarise_law(law(f"geometric:{kappa}", 500))["tv_from_uniform"]
        assert found == pytest.approx(distance, abs=5e-5)


def test_last_frame_at_500_steps():
    factors = (1, 1.263, 1.607, 2.195, 3.010, 5.199, 6.793)
    for kappa, factor in zip(KAPPAS, factors, strict=True):
        found = summarise_law(two_stage(f"geometric:{kappa}", 500))["last_frame_factor"]
        assert found == pytest.approx(factor, abs=5e-4)


def test_last_frame_factor_is_a_series():
    # sum_m (1-kappa) kappa^m / (1-kappa^(m+1)); at kappa = 1/2 the Erdos-Borwein constant.
    found = summarise_law(two_stage("geometric:0.5", 500))["last_frame_factor"]
    assert found == pytest.approx(1.606695152, abs=1e-9)


@pytest.mark.parametrize(("horizon", "distance"), [(10, 0.2017), (20, 0.1375), (50, 0.0599)])
def test_short_episodes_feel_kappa_more(horizon, distance):
    found = summarise_law(two_stage("geometric:0.75", horizon))["tv_from_uniform"]
    assert found == pytest.approx(distance, abs=5e-5)
    longer = summarise_law(two_stage("geometric:0.75", 100))["tv_from_uniform"]
    assert longer == pytest.approx(0.0300, abs=5e-5)


@pytest.mark.parametrize("horizon", [1, 7, 500])
def test_harmonic_form_at_kappa_one(horizon):
    harmonic = [math.fsum(1 / k for k in range(1, m + 1)) for m in range(horizon + 1)]
    expected = [(harmonic[horizon] - harmonic[horizon - 1 - n]) / horizon for n in range(horizon)]
    law = two_stage("uniform", horizon)
    assert law == pytest.approx(expected, rel=1e-10)
    assert np.arange(horizon) @ law == pytest.approx(3 * (horizon - 1) / 4)


def test_kappa_one_at_500_steps():
    staged, limit = summarise_law(two_stage("uniform", 500)), summarise_law(exact("uniform", 500))
    assert staged["last_frame_factor"] == pytest.approx(6.79, abs=5e-3)
    assert staged["last_quarter"] == pytest.approx(0.596, abs=1e-3)
    assert limit["last_quarter"] == pytest.approx(0.437, abs=1e-3)
    assert two_stage("uniform", 500)[0] * 500 == pytest.approx(1 / 500)
    assert exact("uniform", 500) == pytest.approx(np.arange(1, 501) / 125250)


@pytest.mark.parametrize(("lam", "factor"), [(10, 6.90), (25, 14.75), (40, 22.44)])
def test_poisson_piles_up_on_the_last_frame(lam, factor):
    def erlang_b(servers):
        inverse = 1.0
        for m in range(1, servers + 1):
            inverse = 1.0 + inverse * m / lam
        return 1.0 / inverse

    found = summarise_law(two_stage(f"poisson:{lam}", 500))["last_frame_factor"]
    assert found == pytest.approx(factor, abs=5e-3)
    assert found == pytest.approx(math.fsum(erlang_b(m) for m in range(500)), rel=1e-9)
    # With the exact weights the pile-up is gone.
    assert summarise_law(exact(f"poisson:{lam}", 500))["last_frame_factor"] < 1.1


def test_exact_weights_at_gamma_one():
    n = np.arange(300)
    weights = 1 - 0.9 ** (n + 1)
    assert exact("geometric:0.9", 300) == pytest.approx(weights / weights.sum())


def test_geometric_tends_to_uniform():
    assert exact("dirac:0", 100, 1 - 1e-9) == pytest.approx(np.full(100, 0.01), rel=1e-6)


def test_looking_ahead_three_steps_it_is_not():
    """2.33 if counting starts at 0, 3.33 if it starts at 1."""
    assert Geometric(0.7).mean() == pytest.approx(2.33, abs=5e-3)
    k = np.arange(200)
    from_one = (k + 1) @ (0.3 * 0.7**k)
    assert from_one == pytest.approx(3.33, abs=5e-3)


def test_logarithms_approximate_the_harmonic_form():
    """(1/T) ln((T+.5)/(T-n-.5)) to a thousandth but for the last frames, (1/T) ln(T/(T-n)) less."""
    horizon = 500
    law, n = two_stage("uniform", horizon), np.arange(horizon)
    fine = np.log((horizon + 0.5) / (horizon - n - 0.5)) / horizon
    rough = np.log(horizon / (horizon - n)) / horizon
    early = slice(0, 490)
    assert np.abs(fine[early] / law[early] - 1).max() < 2e-3
    assert fine.sum() == pytest.approx(1.0, abs=2e-3)
    middle = slice(100, 450)
    off = [np.abs(form[middle] / law[middle] - 1).max() for form in (fine, rough)]
    assert off[0] < off[1] < 0.02


@pytest.mark.parametrize("horizon", [4, 50])
def test_at_kappa_one_the_two_stage_law_is_exact_for_another_eta_at_each_length(horizon):
    """eta_T(k) in proportion to 1/(T-k), at gamma 1."""
    mass = 1.0 / (horizon - np.arange(horizon))
    eta = Table(tuple(mass / mass.sum()))
    found = FutureSampler(eta, 1.0, "exact").law(horizon)
    assert found == pytest.approx(two_stage("uniform", horizon), rel=1e-12)
    shorter = FutureSampler(eta, 1.0, "exact").law(horizon - 1)
    assert np.abs(shorter - two_stage("uniform", horizon - 1)).max() > 1e-3


def test_which_trajectory():
    """500 steps beside 50: half each, or by what the measure weighs."""
    offsets = np.array([0, 500, 550])
    n = 200_000
    rng = np.random.default_rng(0)
    for choice, share in (("uniform", 0.5), ("by_weight", 50 / 550)):
        short = (rho(choice=choice).rows(rng, offsets, n) >= 500).mean()
        assert abs(short - share) < 4 * math.sqrt(share * (1 - share) / n)


def test_last_quarter_of_odd_horizons():
    for horizon in (1, 3, 5, 500):
        assert summarise_law(exact("dirac:0", horizon))["last_quarter"] == pytest.approx(0.25)


def test_rho_future_and_mu_are_one_sampler():
    assert rho(0.9).law(20) == pytest.approx(0.9 ** np.arange(20) / (0.9 ** np.arange(20)).sum())
    assert future(Poisson(3.0)).law(20) == pytest.approx(Poisson(3.0).pmf(20))
    assert mu(Uniform()).law(20).tolist() == two_stage("uniform", 20).tolist()
    starts, futures = future(Poisson(3.0)).pairs(np.random.default_rng(0), np.array([0, 20]), 1000)
    assert (starts == 0).all()
    assert futures.max() > 0
