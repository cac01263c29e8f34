"""Statistics across seeds, each against a value from elsewhere: by hand, SciPy, or brute force."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from etairl.evaluation.statistics import (
    compare,
    iqm,
    power_of,
    probability_of_improvement,
    seeds_needed,
    sign_flips,
    stratified_bootstrap,
    summarise,
)

VALUES = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.3, 5.8])


def test_interquartile_mean_by_hand():
    # Sorted: 1 1.5 | 2.6 3 4 5.3 | 5.8 9.
    assert iqm(VALUES) == pytest.approx((2.6 + 3.0 + 4.0 + 5.3) / 4)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 10, 13])
def test_interquartile_mean_is_scipys_trimmed_mean(n, rng):
    values = rng.normal(size=n)
    assert iqm(values) == pytest.approx(stats.trim_mean(values, 0.25))


def test_bootstrap_of_three_seeds_against_all_27_draws(rng):
    """Bounds are order statistics of the exact law; with 20,000 draws they are met exactly."""
    values = np.array([1.0, 2.0, 7.0])
    exact = np.array([np.mean(draw) for draw in product(values, repeat=3)])
    found = stratified_bootstrap(rng, [values], resamples=20_000)
    # P(mean = 1) = 1/27 = 3.7 % > 2.5 %, and the same for 7: four standard errors are 0.5 %.
    assert (found.value, found.low, found.high) == (pytest.approx(10 / 3), exact.min(), exact.max())


def test_bootstrap_keeps_the_strata(rng):
    """Two tasks that are far apart, without spread of their own: no interval to speak of."""
    strata = [np.full(3, 1.0), np.full(5, 100.0)]
    found = stratified_bootstrap(rng, strata)
    assert found.low == found.high == found.value == pytest.approx((3 * 1 + 5 * 100) / 8)


def test_stratified_interval_against_brute_force(rng):
    strata = [np.array([1.0, 2.0]), np.array([5.0, 9.0, 10.0])]
    every = [
        np.mean([*a, *b])
        for a in product(strata[0], repeat=2)
        for b in product(strata[1], repeat=3)
    ]
    low, high = np.quantile(every, [0.025, 0.975])
    found = stratified_bootstrap(rng, strata, resamples=40_000)
    # 108 equally likely draws lie on a lattice of step 0.2: within one step of the exact bounds.
    assert found.low == pytest.approx(low, abs=0.21)
    assert found.high == pytest.approx(high, abs=0.21)


def test_bootstrap_agrees_with_scipy(rng):
    values = rng.normal(size=30)
    theirs = stats.bootstrap((values,), np.mean, method="percentile", rng=np.random.default_rng(1))
    ours = stratified_bootstrap(rng, [values], resamples=10_000)
    # The standard error of a 2.5 % quantile of 10,000 draws is about 0.03 of their spread.
    tolerance = 4 * 0.03 * values.std() / np.sqrt(30)
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=tolerance)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=tolerance)


def test_one_seed_has_no_interval(rng):
    found = summarise(rng, [np.array([2.0])])
    assert (found.mean.value, found.mean.low, found.std) == (2.0, None, None)


def test_probability_of_improvement_is_mann_whitneys_u(rng):
    x, y = rng.integers(0, 6, size=7).astype(float), rng.integers(0, 6, size=9).astype(float)
    larger = stats.mannwhitneyu(y, x).statistic / (7 * 9)  # y above x, ties half
    assert probability_of_improvement([x], [y]) == pytest.approx(larger)


def test_probability_of_improvement_is_the_mean_over_tasks():
    ours, others = [np.array([1.0, 1.0]), np.array([5.0])], [np.array([2.0]), np.array([3.0])]
    assert probability_of_improvement(ours, others) == 0.5  # 1 on the first task, 0 on the second


def test_paired_comparison_against_scipy(rng):
    ours = dict(enumerate(rng.normal(1.0, 0.3, size=8)))
    others = dict(enumerate(rng.normal(1.5, 0.3, size=8)))
    found = compare(ours, others)
    x, y = np.array(list(ours.values())), np.array(list(others.values()))
    theirs = stats.ttest_rel(x, y)
    bounds = theirs.confidence_interval(0.95)
    assert found.p_t == pytest.approx(theirs.pvalue)
    assert (found.difference.low, found.difference.high) == pytest.approx((bounds.low, bounds.high))
    assert found.relative.value == pytest.approx((x.mean() - y.mean()) / y.mean())
    exact = stats.permutation_test(
        (x, y), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert found.p_signs == pytest.approx(exact.pvalue)


def test_paired_comparison_by_hand():
    """Differences -1, -2, -3: mean -2, spread 1, t = -2 √3; the base is 10."""
    found = compare({0: 9.0, 1: 8.0, 2: 7.0, 5: 0.0}, {2: 10.0, 1: 10.0, 0: 10.0, 7: 99.0})
    assert found.seeds == 3
    assert found.relative.value == pytest.approx(-0.2)
    assert found.difference.low == pytest.approx(-2 - 4.302653 / np.sqrt(3))
    assert found.effect == pytest.approx(-2.0 * (1 - 3 / 7))
    assert found.p_signs == 0.25  # three seeds cannot say more: 2 of 8 patterns
    assert found.improvement == 1.0
    # 25 % of 10 is 2.5 spreads: noncentral t with 2 degrees of freedom, centre 2.5 √3.
    assert found.power == pytest.approx(power_of(3, 2.5))


def test_no_common_seed_and_one_seed():
    assert compare({0: 1.0}, {1: 2.0}) is None
    found = compare({0: 1.0}, {0: 2.0})
    assert (found.seeds, found.relative.value, found.power) == (1, -0.5, None)


def test_many_seeds_draw_their_sign_patterns(rng):
    d = rng.normal(0.4, 1.0, size=20)
    theirs = stats.permutation_test(
        (d, np.zeros(20)),
        lambda a, b: np.mean(a - b),
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(2),
    )
    # Two estimates of a share: four standard errors of the coarser one.
    tolerance = 4 * np.sqrt(theirs.pvalue / 20_000) * 2
    assert sign_flips(d, rng) == pytest.approx(theirs.pvalue, abs=tolerance)


@pytest.mark.parametrize(
    # Tables of the power of the paired t-test (Cohen; G*Power).
    ("n", "effect", "power"),
    [(20, 0.5, 0.5645), (34, 0.5, 0.8078), (10, 0.8, 0.6162), (3, 0.0, 0.05)],
)
def test_power_against_published_tables(n, effect, power):
    assert power_of(n, effect) == pytest.approx(power, abs=5e-4)


def test_power_against_simulated_t_tests(rng):
    n, effect = 4, 1.5
    found = stats.ttest_1samp(rng.normal(effect, 1.0, size=(20_000, n)), 0.0, axis=1).pvalue
    # Standard error of a share of 20,000: at most 0.0036.
    assert power_of(n, effect) == pytest.approx((found < 0.05).mean(), abs=4 * 0.0036)


@pytest.mark.parametrize(("effect", "n"), [(0.5, 34), (0.2, 199), (0.8, 15)])
def test_seeds_needed_against_published_tables(effect, n):
    assert seeds_needed(effect) == n


def test_seeds_needed_gives_up():
    assert seeds_needed(0.0) is None
