import subprocess
import sys

import numpy as np
import pytest

from etairl.evaluation import mmd
from etairl.evaluation.mmd import (
    bootstrap_interval,
    floor,
    mmd2,
    mmd2_fourier,
    mmd2_weighted,
    permutation_test,
)
from etairl.types import InputError

RNG = np.random.default_rng(0)


def brute_mmd2(x, y, bandwidth):
    def gram(a, b):
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / bandwidth)

    n, m = len(x), len(y)
    return (
        (gram(x, x).sum() - n) / (n * (n - 1))
        + (gram(y, y).sum() - m) / (m * (m - 1))
        - 2 * gram(x, y).mean()
    )


@pytest.mark.parametrize("bandwidth", [0.7, "paper"])
def test_unbiased_estimate_is_the_brute_force_sum(rng, bandwidth):
    x, y = rng.normal(size=(57, 3)), rng.normal(0.3, 1.2, size=(81, 3))
    expected = brute_mmd2(x, y, 3.0 if bandwidth == "paper" else bandwidth)
    assert mmd2(x, y, bandwidth=bandwidth) == pytest.approx(expected, rel=1e-10)


def test_groups_leave_out_pairs_of_one_episode(rng):
    x, y = rng.normal(size=(24, 2)), rng.normal(0.2, 1.0, size=(30, 2))
    gx, gy = np.repeat([3, 5, 9], [10, 2, 12]), np.repeat([0, 1], 15)

    def mean(a, b, pairs):
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / 2)[pairs].mean()

    expected = (
        mean(x, x, gx[:, None] != gx[None])
        + mean(y, y, gy[:, None] != gy[None])
        - 2 * mean(x, y, np.ones((24, 30), dtype=bool))
    )
    assert mmd2(x, y, (gx, gy)) == pytest.approx(expected, rel=1e-10)


def test_dependent_steps_bias_only_the_estimate_without_groups():
    """60 pairs of samples from one law of episodes: mean 0 within 4 standard errors."""
    plain, grouped = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        (x, gx), (y, gy) = episodes(rng, 8, 1.0), episodes(rng, 8, 1.0)
        plain.append(mmd2(x, y))
        grouped.append(mmd2(x, y, (gx, gy)))
    assert abs(np.mean(grouped)) < 4 * np.std(grouped, ddof=1) / np.sqrt(60)
    assert np.mean(plain) > 10 * np.std(plain, ddof=1) / np.sqrt(60)


def test_weights_are_like_repeating_points(rng):
    x, y = rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    counts = np.array([3.0, 1.0, 0.0, 2.0, 4.0])
    repeated = np.repeat(x, counts.astype(int), axis=0)
    weighted = mmd2_weighted(x, counts, y, np.ones(4), 2.0)
    plain = mmd2_weighted(repeated, np.ones(10), y, np.ones(4), 2.0)
    assert weighted == pytest.approx(plain, rel=1e-12)
    assert mmd2_weighted(x, counts, x, counts) == pytest.approx(0.0, abs=1e-12)


def test_fourier_estimate_agrees_within_its_stated_error(rng):
    x, y = rng.normal(size=(3000, 6)), rng.normal(0.3, 1.0, size=(2000, 6))
    exact = mmd2(x, y)
    deviations = []
    for seed in range(30):
        value, error = mmd2_fourier(np.random.default_rng(seed), x, y, frequencies=256)
        deviations.append((value - exact) / error)
    # 30 standardised errors: mean 0 +- 1/sqrt(30), spread 1 +- 0.13.
    assert abs(np.mean(deviations)) < 4 / np.sqrt(30)
    assert 0.6 < np.sqrt(np.mean(np.square(deviations))) < 1.4


def test_more_frequencies_less_error(rng):
    x, y = rng.normal(size=(2, 1000, 3))
    few, many = (mmd2_fourier(rng, x, y, frequencies=n).standard_error for n in (64, 4096))
    assert many < few / 4


def test_p_values_are_uniform_under_equal_laws():
    """200 tests at level 10 %: 20 +- 4 rejections, three standard deviations allowed."""
    p = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        p.append(permutation_test(rng, *rng.normal(size=(2, 30, 2)), permutations=99))
    assert 8 <= np.sum(np.array(p) <= 0.1) <= 32
    assert 0.4 < np.mean(p) < 0.6


@pytest.mark.slow
def test_p_values_keep_their_level_with_unequal_sizes(monkeypatch):
    """500 against 100 points, which are binned: 40 tests at 20 %, 8 +- 2.5 rejections."""
    monkeypatch.setattr(mmd, "_MAX_BINS", 200)
    p = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(500, 2)), rng.normal(size=(100, 2))
        p.append(permutation_test(rng, x, y, permutations=99))
    assert np.sum(np.array(p) <= 0.2) <= 16


def test_a_shift_is_detected(rng):
    x, y = rng.normal(size=(2, 100, 2))
    assert permutation_test(rng, x, y + 0.8) == pytest.approx(1 / 1001)


def episodes(rng, count, spread):
    """Episodes of 40 steps around a centre of their own: steps depend on each other."""
    centres = np.repeat(rng.normal(0, spread, size=(count, 2)), 40, axis=0)
    return centres + 0.1 * rng.normal(size=(40 * count, 2)), np.repeat(np.arange(count), 40)


def test_moving_whole_episodes_keeps_the_level():
    """Dependent steps: taken for independent they reject nearly always, by episode they do not."""
    by_step, by_episode = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        (x, gx), (y, gy) = episodes(rng, 8, 1.0), episodes(rng, 8, 1.0)
        by_step.append(permutation_test(rng, x, y, permutations=49))
        by_episode.append(permutation_test(rng, x, y, (gx, gy), permutations=49))
    assert np.mean(np.array(by_step) <= 0.1) > 0.9
    # 10 % of 40 is 4 +- 1.9.
    assert np.sum(np.array(by_episode) <= 0.1) <= 10


def test_bootstrap_covers_the_truth():
    """Mean shift (1, 0) in 2 dimensions: MMD² = 0.10235. 60 intervals at 90 %: 54 +- 2.3."""
    covered = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(120, 2)), rng.normal(size=(120, 2)) + np.array([1.0, 0.0])
        low, high, level = bootstrap_interval(rng, x, y, level=0.9, resamples=200)
        assert level == 0.9
        covered += low <= 0.10235 <= high
    assert 46 <= covered <= 60


def test_intervals_by_episode_cover_zero_under_equal_laws():
    """Same demonstrator twice, 20 times: the 95 % interval holds the estimate, and mostly 0."""
    holds_estimate = holds_zero = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        (x, gx), (y, gy) = episodes(rng, 20, 1.0), episodes(rng, 20, 1.0)
        low, high, _ = bootstrap_interval(rng, x, y, (gx, gy), resamples=200)
        holds_estimate += low <= mmd2(x, y, (gx, gy)) <= high
        holds_zero += low <= 0.0 <= high
    assert holds_estimate == 20
    assert holds_zero >= 14


def test_floor_is_near_zero_and_below_a_real_difference(rng):
    x, gx = episodes(rng, 20, 1.0)
    y, gy = episodes(rng, 20, 1.0)
    found = floor(rng, x, gx)
    assert found.size == 400
    assert found.splits == 200
    assert found.mean < found.high
    assert abs(found.mean) < found.high
    assert mmd2(x, y + 2.0, (gx, gy)) > 3 * found.high
    assert mmd2(x, y, (gx, gy)) < found.high


def test_few_episodes_have_few_splits(rng):
    x, groups = episodes(rng, 4, 1.0)
    assert floor(rng, x, groups).splits == 6
    assert floor(rng, *episodes(rng, 20, 1.0)).splits == 200


def test_floor_without_groups(rng):
    found = floor(rng, rng.normal(size=(3000, 3)))
    # Unbiased: the mean of 200 dependent splits is within a few high quantiles of 0.
    assert abs(found.mean) < found.high


def test_same_seed_same_numbers(rng):
    x, y = rng.normal(size=(2, 60, 2))
    for function in (permutation_test, bootstrap_interval, mmd2_fourier):
        assert function(np.random.default_rng(7), x, y) == function(np.random.default_rng(7), x, y)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: mmd2(x, x[:, :1]), r"alike, got \(6, 2\) and \(6, 1\)"),
        (lambda x: mmd2(x[:1], x), r"at least 2 points .* \(1, 2\) and \(6, 2\)"),
        (lambda x: mmd2(x, x[:1]), r"at least 2 points .* \(6, 2\) and \(1, 2\)"),
        (lambda x: mmd2(x, x[:0]), r"at least 2 points .* \(6, 2\) and \(0, 2\)"),
        (lambda x: mmd2_fourier(RNG, x, x[:0]), "at least 2 points"),
        (lambda x: mmd2_fourier(RNG, x, x, frequencies=0), "frequencies must be at least 2"),
        (lambda x: floor(RNG, x, np.arange(6), splits=0), "splits must be at least 1"),
        (lambda x: permutation_test(RNG, x, x, permutations=0), "permutations must be at least 1"),
        (lambda x: bootstrap_interval(RNG, x, x, level=2.0), r"level must lie in \(0, 1\)"),
        (lambda x: mmd2_weighted(x, np.full(6, np.inf), x, np.ones(6)), "a must hold 6 weights"),
        (lambda x: mmd2(x * np.nan, x), "NaN or infinite"),
        (lambda x: mmd2_weighted(x, np.ones(5), x, np.ones(6)), "a must hold 6 weights >= 0"),
        (lambda x: mmd2_weighted(x, np.ones(6), x, -np.ones(6)), "b must hold 6 weights >= 0"),
        (lambda x: floor(np.random.default_rng(0), x, np.arange(6) // 3), "at least 4 episodes"),
        (
            lambda x: permutation_test(np.random.default_rng(0), x, x, (np.arange(6)[::-1],) * 2),
            "one ascending number per point",
        ),
        (
            lambda x: bootstrap_interval(np.random.default_rng(0), x, x, (np.zeros(6, int),) * 2),
            "with groups, x needs at least 2 episodes",
        ),
    ],
)
def test_bad_samples_are_refused_in_words(rng, call, message):
    with pytest.raises(InputError, match=message):
        call(rng.normal(size=(6, 2)))


def test_memory_stays_bounded():
    """N = M = 20,000 in 35 dimensions below 500 MB; the Gram matrices alone would take 5 GB."""
    program = (
        "import re, numpy as np; from etairl.evaluation.mmd import mmd2;"
        "x, y = np.random.default_rng(0).normal(size=(2, 20_000, 35)); mmd2(x, y);"
        # Not getrusage: its peak includes that of the process that started this one.
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read()).group(1))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 500_000
