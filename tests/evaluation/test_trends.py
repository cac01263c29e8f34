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


def test_against_refits_without_each_run(rng):
    """Every seed has a column of its own; seeds have different runs, as in a study half done."""
    found = points(rng, slope=-1.0)
    found[1], found[2] = found[1][:5], found[2][3:]
    found[3] = [(0.176, 9.0)]  # a single run tells its own level, and nothing else
    trend = fit_trend(found)
    assert trend is not None
    seeds = np.repeat([0, 1, 2], [7, 5, 4])
    x, y = np.concatenate([found[s] for s in range(3)]).T
    design = np.column_stack([*(seeds == s for s in range(3)), x]).astype(float)

    def fitted(kept):
        return np.linalg.lstsq(design[kept], y[kept], rcond=None)[0]

    beta = fitted(np.arange(16))
    moved = np.array([fitted(np.delete(np.arange(16), i)) - beta for i in range(16)])
    limit = stats.t.ppf(0.975, 16 - 4)
    change = 0.367 * beta[3]
    half = limit * 0.367 * np.sqrt((moved[:, 3] ** 2).sum())
    assert trend.start == pytest.approx(beta[:3].mean())
    assert trend.end == pytest.approx(beta[:3].mean() + change)
    bounds = [trend.change.value, trend.change.low, trend.change.high]
    assert bounds == pytest.approx([change, change - half, change + half])
    assert trend.p == pytest.approx(2 * stats.t.sf(abs(change) / half * limit, 12))
    assert (trend.runs, trend.seeds, trend.reach) == (16, 3, 0.367)
    # Fieller's bounds are where the test does not tell end from 1 + r times start.
    for r in (trend.relative.low, trend.relative.high):
        assert r is not None
        weights = np.array([-r / 3, -r / 3, -r / 3, 0.367])
        t = weights @ beta / np.sqrt(((moved @ weights) ** 2).sum())
        assert abs(t) == pytest.approx(limit)


def test_one_seed_is_scipys_line(rng):
    found = points(rng, seeds=1, slope=0.5)
    trend = fit_trend(found)
    line = stats.linregress(*np.array(found[0]).T)
    assert trend is not None
    assert trend.change.value == pytest.approx(0.367 * line.slope)
    assert trend.start == pytest.approx(line.intercept)


def test_intervals_hold_the_truth_in_95_of_100(rng):
    """Whatever the levels of the seeds are."""
    draws, held, shares, alarms = 400, 0, 0, 0
    for _ in range(draws):
        trend = fit_trend(points(rng, slope=-1.0, levels=0.0))
        flat = fit_trend(points(rng, levels=5.0))
        assert trend is not None
        assert flat is not None
        held += trend.change.low <= -0.367 <= trend.change.high
        shares += trend.relative.low <= -0.367 <= trend.relative.high
        alarms += flat.p < 0.05
    # Four standard errors of a share of 400 at 5 %: 0.044. HC3 itself is off by 0.006 here.
    for share in (held, shares, draws - alarms):
        assert share / draws == pytest.approx(0.95, abs=0.05)


def test_noise_may_differ_from_setting_to_setting(rng):
    """Three times as much at the far end: plain least squares sees a trend in 29 of 100."""
    draws, alarms, plain = 400, 0, 0
    x = np.tile(SHARES, 3) - np.mean(SHARES)
    for _ in range(draws):
        found = points(rng, noise=0.1, levels=0.0)
        for runs in found.values():
            runs[-1] = (runs[-1][0], 1.0 + 0.3 * rng.normal())
        trend = fit_trend(found)
        assert trend is not None
        alarms += trend.p < 0.05
        y = np.concatenate(
            [v - v.mean() for v in (np.array(runs)[:, 1] for runs in found.values())]
        )
        slope = x @ y / (x @ x)
        error = np.sqrt(((y - slope * x) ** 2).sum() / 17 / (x @ x))
        plain += 2 * stats.t.sf(abs(slope) / error, 17) < 0.05
    # By 1,500 draws 9 and 29 of 100; four standard errors of shares of 400: 0.057 and 0.091.
    assert alarms / draws < 0.09 + 0.057
    assert plain / draws == pytest.approx(0.29, abs=0.091)


def test_power_is_how_often_it_is_found(rng):
    draws, found, foretold = 400, 0, []
    for _ in range(draws):
        trend = fit_trend(points(rng, slope=-0.25 / 0.367, noise=0.2, levels=0.0))
        assert trend is not None
        assert trend.power is not None
        found += trend.p < 0.05
        foretold.append(trend.power)
    # Four standard errors: 4 sqrt(.25 / 400) = 0.1; about a half is found.
    assert 0.3 < found / draws < 0.7
    assert np.median(foretold) == pytest.approx(found / draws, abs=0.1 + 0.05)


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
        {0: [(0.0, 1.0), (0.1, 2.0)]},
        {0: [(0.0, 1.0), (0.3, 2.0)], 1: [(0.0, 1.5), (0.3, 2.2)]},
        {0: [(0.0, 1.0)], 1: [(0.1, 2.0)], 2: [(0.3, 2.0)]},
        {0: [(0.0, 1.0), (0.0, 1.1), (0.0, 1.2)], 1: [(0.1, 1.0)] * 2, 2: [(0.2, 1.0)] * 2},
        {0: [(x, 0.3) for x in SHARES], 1: [(x, 0.7) for x in SHARES]},
        {0: [(x, 0.2 + 0.1 * x) for x in SHARES]},
        {0: [(0.0, 1.0), (0.0, 1.1), (0.1, 1.2)], 1: [(0.2, 1.0), (0.2, 1.3)]},
        {0: [(0.0, 1.0), (0.1, float("nan")), (0.2, 1.0), (0.3, 1.0)]},
    ],
    ids=[
        *("nothing", "two runs", "two settings", "one run each", "one setting each"),
        *("flat", "an exact line", "one run decides", "NaN"),
    ],
)
def test_too_little_has_no_trend(few):
    assert fit_trend(few) is None


def test_no_share_at_the_floor(rng):
    trend = fit_trend(points(rng, start=1.0, levels=0.0), floor=1.5)
    assert trend is not None
    assert (trend.relative.value, trend.power) == (None, None)
    assert trend.change.low is not None
    json.dumps(asdict(trend), allow_nan=False)
