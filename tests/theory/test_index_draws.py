"""Errata (l): chi-square tests of the rows that are really drawn."""

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from etairl.eta import Geometric, Poisson, parse_eta
from etairl.measures import FutureSampler, mu

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
    law = FutureSampler(Geometric(0.999), 1.0, "two_stage").law(5000)
    mean = np.arange(5000) @ law
    spread = math.sqrt(np.arange(5000) ** 2 @ law - mean**2)
    assert abs(rows.mean() - mean) < 4 * spread / math.sqrt(100_000)
