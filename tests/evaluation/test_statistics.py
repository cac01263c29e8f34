"""Statistics across seeds, each against a value from elsewhere: by hand, SciPy, or brute force."""

import json
from dataclasses import asdict
from itertools import product

import numpy as np
import pytest
from scipy import stats

from etairl.evaluation.ratios import relative_change
from etairl.evaluation.significance import (
    holm,
    power_of,
    seeds_needed,
    sign_flips,
    t_power,
)
from etairl.evaluation.statistics import (
    compare,
    improvement_bounds,
    iqm,
    mean_interval,
    probability_of_improvement,
    stratified_bootstrap,
    summarise,
    summarise_shares,
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


@pytest.mark.parametrize("freedom", [1, 2, 3, 17])
def test_power_against_an_integral_over_the_spread(freedom):
    """P(|Z + c| > t S) with S² a chi square over its degrees; SciPy's tail is NaN at many c."""
    limit = stats.t.ppf(0.975, freedom)
    u = (np.arange(20_000) + 0.5) / 20_000
    wide = limit * np.sqrt(stats.chi2.ppf(u, freedom) / freedom)
    powers = []
    for centre in np.arange(0.0, 30.0, 0.5):
        exact = (stats.norm.sf(wide - centre) + stats.norm.cdf(-wide - centre)).mean()
        powers.append(t_power(freedom, centre))
        # The rule of midpoints is off by less than a hundredth of its step's 1 / 20,000 per limit.
        assert powers[-1] == pytest.approx(exact, abs=2e-4)
    assert np.all(np.diff(powers) > -1e-9)
    assert t_power(freedom, -3.0) == t_power(freedom, 3.0)


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


def covers(interval, truth: float) -> bool:
    return interval.low is None or interval.low <= truth <= interval.high


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_intervals_hold_the_truth_as_often_as_they_say(n, rng):
    """Mean of one setting; a paired share whose base is noisy; three tasks in shares of a base."""
    draws, held = 500, np.zeros(3)
    for _ in range(draws):
        held[0] += covers(mean_interval([rng.normal(1.0, 0.3, n)]), 1.0)
        y = rng.normal(1.0, 0.15, n)
        held[1] += covers(relative_change(0.7 * y + rng.normal(0.0, 0.1, n), y), -0.3)
        bases = [rng.normal(1.0, 0.2, n) for _ in range(3)]
        ours = [
            a * (0.5 + 0.5 * b + rng.normal(0.0, 0.15, n))
            for a, b in zip((0.6, 0.7, 0.8), bases, strict=True)
        ]
        held[2] += covers(summarise_shares(rng, ours, bases, resamples=1).mean, 0.7)
    # Four standard errors of a share of 500 at 95 %: 0.039. The percentile bootstrap of the mean
    # is at .52, .73, .83 and .91. The third is linearised, and too wide with two seeds.
    assert (held / draws > 0.95 - 0.039).all()
    assert held[0] / draws < 0.95 + 0.039


def test_mean_has_the_interval_of_scipys_t_test():
    theirs = stats.ttest_1samp(VALUES, 0.0).confidence_interval(0.95)
    ours = mean_interval([VALUES])
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


def test_mean_over_tasks_is_welchs(rng):
    """Two tasks with as many seeds: half the interval of Welch's test of x against minus y."""
    x, y = rng.normal(2.0, 1.0, 5), rng.normal(3.0, 0.2, 5)
    theirs = stats.ttest_ind(x, -y, equal_var=False).confidence_interval(0.95)
    ours = mean_interval([x, y])
    assert (ours.low, ours.high) == pytest.approx((theirs.low / 2, theirs.high / 2))


def test_fieller_has_what_the_t_test_does_not_refuse(rng):
    y = rng.normal(1.0, 0.2, 6)
    x = 0.8 * y + rng.normal(0.0, 0.1, 6)
    found = relative_change(x, y)
    for bound in (found.low, found.high):
        assert stats.ttest_rel(x, (1.0 + bound) * y).pvalue == pytest.approx(0.05, abs=1e-6)
    assert found.value == pytest.approx(x.mean() / y.mean() - 1)
    assert found.low < found.value < found.high


@pytest.mark.parametrize("base", [(0.0, 0.0, 0.0), (-0.02, -0.03, -0.01), (0.01, 0.02, 0.03)])
def test_no_share_of_nothing(base):
    """Zero, below zero, or at a floor of 0.02: no share, no power, and nothing that JSON lacks."""
    found = compare(dict(enumerate((-0.04, -0.05, -0.06))), dict(enumerate(base)), floor=0.02)
    assert (found.relative.value, found.relative.low, found.relative.high) == (None, None, None)
    assert "floor" in found.relative.note
    assert (found.power, found.needed) == (None, None)
    assert found.difference.value < 0.0
    json.dumps(asdict(found), allow_nan=False)


def test_a_base_in_its_own_noise_gives_no_bounds():
    found = relative_change(np.array([1.0, 2.0, 4.0]), np.array([0.1, 3.0, 0.5]))
    assert (found.low, found.high) == (None, None)
    assert "not clearly above 0" in found.note


def test_shares_have_the_noise_of_their_base(rng):
    """The setting does not vary, its base does: the bootstrap of the setting alone has no width."""
    y = np.array([0.8, 1.0, 1.3, 0.9, 1.1])
    found = summarise_shares(rng, [np.full(5, 0.5)], [y])
    assert found.mean.value == pytest.approx(0.5 / y.mean())
    # Linearised: the relative error of the base is that of its mean.
    half = 2.776445 * y.std(ddof=1) / np.sqrt(5) * 0.5 / y.mean() ** 2
    assert found.mean.high - found.mean.value == pytest.approx(half)
    assert found.iqm.high - found.iqm.low > half / 2


def test_bounds_of_improvement_against_all_27_draws(rng):
    x, y = np.array([1.0, 2.5, 5.0]), np.array([2.0, 3.0, 4.0])
    every = [
        probability_of_improvement([x[list(draw)]], [y[list(draw)]])
        for draw in product(range(3), repeat=3)
    ]
    found = improvement_bounds(rng, [x], [y])
    # 2000 draws; the extreme values have 1/27 each, above 2.5 %, and are met (four errors: 1.7 %).
    assert found == (min(every), max(every))


def test_holm_by_hand():
    # .01 x 4, .02 x 3, .03 x 2 = .06 (not below the one before), .9 x 1.
    assert holm([0.03, 0.01, 0.9, 0.02]) == pytest.approx([0.06, 0.04, 0.9, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
