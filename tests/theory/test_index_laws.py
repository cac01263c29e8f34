"""The law of n = t + k: closed forms, fixtures, and a chi-square test of what is really drawn."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats

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


LENGTHS = {"equal": (30,) * 6, "ragged": (1, 2, 5, 30, 17, 30, 8, 60)}
SPECS = (
    "dirac:0",
    "dirac:3",
    "geometric:0",
    "geometric:0.5",
    "geometric:0.97",
    "geometric:1",
    "uniform",
    "poisson:6",
    "poisson:900",
    "table:0,0.3,0.7",
    "zero-modified:0.995,0.99",
    "mixture:0.4*dirac:0+0.6*poisson:9",
)
DRAWS = 10**6


@cache
def log_pmf(spec, k):
    """log eta(k) from scipy or by hand, not from the package; up to a constant where truncated."""
    name, _, rest = spec.partition(":")
    if name == "dirac":
        return 0.0 if k == int(rest) else -math.inf
    if name == "uniform" or spec == "geometric:1":
        return 0.0
    if name == "geometric":
        kappa = float(rest)
        return (0.0 if k == 0 else -math.inf) if kappa == 0 else k * math.log(kappa)
    if name == "poisson":
        return float(stats.poisson.logpmf(k, float(rest)))
    if name == "table":
        table = [float(p) for p in rest.split(",")]
        return math.log(table[k]) if k < len(table) and table[k] > 0 else -math.inf
    if name == "zero-modified":
        beta, gamma = (float(x) for x in rest.split(","))
        start = (1 - beta) / (1 - gamma)
        tail = math.log(start * (beta - gamma)) + (k - 1) * math.log(beta)
        return math.log(start) if k == 0 else tail
    assert spec == "mixture:0.4*dirac:0+0.6*poisson:9"
    return math.log(0.4 * (k == 0) + 0.6 * float(stats.poisson.pmf(k, 9)))


def brute_row_law(spec, gamma, method, choice, lengths):
    """Probability of every row, by sums over t and k in plain Python."""
    longest = max(lengths)
    # A constant factor on eta cancels; take it out before exponentiating.
    top = max(log_pmf(spec, k) for k in range(longest))
    eta = [math.exp(log_pmf(spec, k) - top) for k in range(longest)]
    w = [
        math.fsum(eta[k] * (gamma ** (n - k) if n > k or gamma > 0 else 1.0) for k in range(n + 1))
        for n in range(longest)
    ]
    laws, episode_weights = [], []
    first = next(k for k in range(longest) if log_pmf(spec, k) > -math.inf)
    for length in lengths:
        total = math.fsum(w[:length])
        law = [0.0] * length
        if method == "exact":
            law = [x / total for x in w[:length]] if total > 0 else law
        else:
            starts = range(length - first)
            p = [gamma**t if t > 0 or gamma > 0 else 1.0 for t in starts]
            for t in starts:
                logs = [log_pmf(spec, k) for k in range(length - t)]
                peak = max(logs)
                mass = [math.exp(x - peak) for x in logs]
                for k, m in enumerate(mass):
                    law[t + k] += p[t] / math.fsum(p) * m / math.fsum(mass)
        laws.append(law)
        episode_weights.append(total if choice == "by_weight" else float(length > first))
    everything = math.fsum(episode_weights)
    rows = [np.array(law) * e / everything for law, e in zip(laws, episode_weights, strict=True)]
    return np.concatenate(rows)


def chi_square_p(counts, law):
    """p-value; rare rows (fewer than 5 expected) are pooled into one cell."""
    n = counts.sum()
    assert counts[law == 0].sum() == 0, "a row of probability 0 was drawn"
    common = law * n >= 5
    observed, expected = [*counts[common]], [*(law[common] * n)]
    if law[~common].sum() * n >= 1:
        observed.append(counts[~common].sum())
        expected.append(law[~common].sum() * n)
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return stats.chi2.sf(statistic, max(1, len(observed) - 1))


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("method", ["two_stage", "exact"])
@pytest.mark.parametrize("spec", SPECS)
def test_drawn_rows_follow_the_law(spec, method, lengths):
    """10^6 draws a case. 288 p-values in all: the smallest is near 1/288, far above 1e-5."""
    offsets = 5 + np.concatenate([[0], np.cumsum(lengths)])
    for seed, (gamma, choice) in enumerate(
        (g, c) for g in (1.0, 0.9, 0.0) for c in ("by_weight", "uniform")
    ):
        law = brute_row_law(spec, gamma, method, choice, lengths)
        sampler = FutureSampler(parse_eta(spec), gamma, method, choice)
        rows = sampler.rows(np.random.default_rng(seed), offsets, DRAWS)
        counts = np.bincount(rows - 5, minlength=len(law))
        assert chi_square_p(counts, law) > 1e-5, (gamma, choice)


@pytest.mark.parametrize("method", ["two_stage", "exact"])
@pytest.mark.parametrize("spec", SPECS)
def test_few_draws_from_many_rows_follow_the_same_law(spec, method):
    """Drawing fewer than there are rows takes another path; 300 batches of 152 rows."""
    lengths = LENGTHS["ragged"]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    law = brute_row_law(spec, 1.0, method, "by_weight", lengths)
    sampler = FutureSampler(parse_eta(spec), method=method)
    rng = np.random.default_rng(3)
    batches = [sampler.rows(rng, offsets, len(law) - 1) for _ in range(300)]
    counts = np.bincount(np.concatenate(batches), minlength=len(law))
    assert chi_square_p(counts, law) > 1e-5


@pytest.mark.parametrize("method", ["two_stage", "exact"])
@pytest.mark.parametrize("spec", ["geometric:0.5", "uniform", "poisson:6", "table:0,0.3,0.7"])
@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_pairs_follow_the_joint_law(spec, method, gamma):
    """Both rows of a pair, jointly: P(t, k) in one episode of 12 steps."""
    length = 12
    sampler = FutureSampler(parse_eta(spec), gamma, method)
    offsets = np.array([0, length])
    starts, futures = sampler.pairs(np.random.default_rng(1), offsets, DRAWS)
    assert (starts <= futures).all()
    joint = np.zeros((length, length))
    eta = [math.exp(log_pmf(spec, k)) for k in range(length)]
    first = next(k for k in range(length) if eta[k] > 0)
    for t in range(length - first if method == "two_stage" else length):
        for k in range(length - t):
            joint[t, t + k] = gamma**t * eta[k]
        if method == "two_stage":
            joint[t] *= gamma**t / joint[t].sum()
    joint /= joint.sum()
    counts = np.bincount(starts * length + futures, minlength=length**2)
    assert chi_square_p(counts, joint.ravel()) > 1e-5


@pytest.mark.parametrize("method", ["two_stage", "exact"])
def test_pairs_of_ragged_episodes_end_where_rows_do(method):
    lengths = LENGTHS["ragged"]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    law = brute_row_law("poisson:6", 0.9, method, "by_weight", lengths)
    sampler = FutureSampler(Poisson(6.0), 0.9, method)
    starts, futures = sampler.pairs(np.random.default_rng(2), offsets, DRAWS)
    assert chi_square_p(np.bincount(futures, minlength=len(law)), law) > 1e-5
    assert (starts <= futures).all()


def test_long_episodes_need_no_quadratic_table():
    """5,000 equal steps take the staged path; its mean is that of the law."""
    rows = mu(Geometric(0.999)).rows(np.random.default_rng(0), np.array([0, 5000]), 100_000)
    law = two_stage("geometric:0.999", 5000)
    mean = np.arange(5000) @ law
    spread = math.sqrt(np.arange(5000) ** 2 @ law - mean**2)
    assert abs(rows.mean() - mean) < 4 * spread / math.sqrt(100_000)


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
