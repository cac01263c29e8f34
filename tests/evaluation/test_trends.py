"""A line through runs: against the normal equations in full, SciPy, and draws of known lines."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from scipy import stats

from etairl.evaluation.trends import fit_trend

SHARES = [0.0, 0.0007, 0.002, 0.006, 0.018, 0.176, 0.367]


def points(rng, seeds=3, start=1.0, slope=0.0, noise=0.1, levels=0.5) -> dict:
    own = levels * rng.normal(size=seeds)
    return {
        seed: [(x, start + own[seed] + slope * x + noise * rng.normal()) for x in SHARES]
        for seed in range(seeds)
    }


def test_against_the_normal_equations(rng):
    """Every seed has a column of its own; seeds have different runs, as in a study half done."""
    found = points(rng, slope=-1.0)
    found[1], found[2] = found[1][:5], found[2][3:]
    trend = fit_trend(found)
    assert trend is not None
    seeds = np.repeat([0, 1, 2], [7, 5, 4])
    x, y = np.concatenate([found[s] for s in range(3)]).T
    design = np.column_stack([*(seeds == s for s in range(3)), x]).astype(float)
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    noise = ((y - design @ beta) ** 2).sum() / (16 - 4)
    for interval, weights in (
        (trend.start, [1 / 3, 1 / 3, 1 / 3, 0]),
        (trend.end, [1 / 3, 1 / 3, 1 / 3, 0.367]),
        (trend.change, [0, 0, 0, 0.367]),
    ):
        w = np.array(weights)
        half = stats.t.ppf(0.975, 12) * np.sqrt(noise * w @ inverse @ w)
        expected = [w @ beta, w @ beta - half, w @ beta + half]
        assert [interval.value, interval.low, interval.high] == pytest.approx(expected)
    assert (trend.runs, trend.seeds, trend.reach) == (16, 3, 0.367)
    # Fieller's bounds are where the test does not tell end from r times start.
    for r in (trend.relative.low, trend.relative.high):
        assert r is not None
        w = np.array([-r / 3, -r / 3, -r / 3, 0.367])
        t = w @ beta / np.sqrt(noise * w @ inverse @ w)
        assert abs(t) == pytest.approx(stats.t.ppf(0.975, 12))


def test_one_seed_is_scipys_regression(rng):
    found = points(rng, seeds=1, slope=0.5)
    trend = fit_trend(found)
    x, y = np.array(found[0]).T
    line = stats.linregress(x, y)
    assert trend is not None
    assert trend.change.value == pytest.approx(0.367 * line.slope)
    assert trend.start.value == pytest.approx(line.intercept)
    assert trend.p == pytest.approx(line.pvalue)
    half = stats.t.ppf(0.975, 5) * line.intercept_stderr
    assert trend.start.high == pytest.approx(line.intercept + half)


def test_intervals_hold_the_truth_in_95_of_100(rng):
    draws, held, shares, alarms = 1000, 0, 0, 0
    for _ in range(draws):
        # Levels of seeds are part of the truth here: their spread is not in the model's noise.
        trend = fit_trend(points(rng, start=1.0, slope=-1.0, noise=0.1, levels=0.0))
        flat = fit_trend(points(rng))
        assert trend is not None
        assert flat is not None
        held += trend.change.low <= -0.367 <= trend.change.high
        shares += trend.relative.low <= -0.367 <= trend.relative.high
        alarms += flat.p < 0.05
    # Four standard errors of a share of 1000 at 5 %: 0.0276.
    for share in (held, shares, draws - alarms):
        assert share / draws == pytest.approx(0.95, abs=0.0276)


def test_power_is_how_often_it_is_found(rng):
    draws, found, foretold = 1000, 0, []
    for _ in range(draws):
        trend = fit_trend(points(rng, slope=-0.25 / 0.367, noise=0.1, levels=0.0))
        assert trend is not None
        assert trend.power is not None
        found += trend.p < 0.05
        foretold.append(trend.power)
    # Four standard errors: 4 sqrt(.25 / 1000) = 0.063 at most; the mean of foretold powers, from
    # estimated noise, is lower than the power at the true noise by a little.
    assert np.mean(foretold) == pytest.approx(found / draws, abs=0.063 + 0.03)


def test_all_runs_show_more_than_a_pair(rng):
    """At the same noise and seeds; the paired test of the two ends has two degrees of freedom."""
    line, pair, draws = 0, 0, 200
    for _ in range(draws):
        runs = points(rng, slope=-0.7, noise=0.1)
        trend = fit_trend(runs)
        assert trend is not None
        line += trend.p < 0.05
        ends = np.array([[runs[s][-1][1], runs[s][0][1]] for s in range(3)])
        pair += stats.ttest_rel(*ends.T).pvalue < 0.05
    assert line / draws > 0.9 > 0.6 > pair / draws


@pytest.mark.parametrize(
    "few",
    [
        {},
        {0: [(0.0, 1.0), (0.1, 2.0), (0.2, 2.5)][:2]},
        {0: [(0.0, 1.0), (0.3, 2.0)], 1: [(0.0, 1.5), (0.3, 2.2)]},
        {0: [(0.0, 1.0)], 1: [(0.1, 2.0)], 2: [(0.3, 2.0)]},
        {0: [(0.0, 1.0), (0.0, 1.1), (0.0, 1.2)], 1: [(0.1, 1.0)] * 2, 2: [(0.2, 1.0)] * 2},
        {0: [(0.0, 1.0), (0.1, 1.0), (0.2, 1.0), (0.3, 1.0)]},
    ],
    ids=["nothing", "two runs", "two settings", "one run each", "one setting each", "no noise"],
)
def test_too_little_has_no_trend(few):
    assert fit_trend(few) is None


def test_no_share_at_the_floor(rng):
    trend = fit_trend(points(rng, start=1.0, levels=0.0), floor=1.5)
    assert trend is not None
    assert (trend.relative.value, trend.power) == (None, None)
    assert trend.change.low is not None
    json.dumps(asdict(trend), allow_nan=False)
