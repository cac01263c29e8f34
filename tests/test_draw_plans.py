"""How a plan draws: on points that fill [0, 1) evenly, every share is met to a few thousandths."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from etairl.eta import Geometric, Uniform, parse_eta
from etairl.measures import FutureSampler, plan
from etairl.measures.index_laws import index_law, table_of_past
from etairl.measures.plan import Plan

N = 20_000
MASSES = {
    "dirac:0": [1.0],
    "dirac:2": [0.0, 0.0, 1.0],
    "geometric:0.5": [0.5**k for k in range(9)],
    "uniform": [1.0] * 9,
    "poisson:2": stats.poisson.pmf(np.arange(9), 2.0).tolist(),
    "table:0,0.3,0.7": [0.0, 0.3, 0.7],
}
LENGTHS = {"equal": (6, 6, 6), "ragged": (1, 4, 9, 2)}


class Even(np.random.Generator):
    """Numbers of a sequence that fills [0, 1) evenly; each call has another irrational step."""

    def __init__(self):
        super().__init__(np.random.PCG64(0))
        self.steps = iter(math.sqrt(prime) for prime in (2, 3, 5, 7, 11, 13))

    def random(self, size=None, *_, **__):
        return (np.arange(1, size + 1) * next(self.steps)) % 1.0


def joint_law(spec, gamma, method, choice, lengths) -> np.ndarray:
    """P(row of the start, row of the end), by sums over episodes, starts and lags."""
    eta = MASSES[spec] + [0.0] * 9
    first = next(k for k in range(9) if eta[k] > 0.0)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    joint = np.zeros((offsets[-1], offsets[-1]))
    for begin, length in zip(offsets[:-1], lengths, strict=True):
        own = np.zeros((length, length))
        for t in range(length):
            for k in range(length - t):
                own[t, t + k] = gamma**t * eta[k]
        weight = own.sum() if choice == "by_weight" else float(length > first)
        if length <= first:
            continue
        if method == "two_stage":
            for t in range(length - first):
                own[t] *= gamma**t / own[t].sum() if own[t].sum() else 0.0
        rows = slice(begin, begin + length)
        joint[rows, rows] = own / own.sum() * weight
    return joint / joint.sum()


def made(spec, gamma, method, choice, lengths) -> Plan:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Plan.of(parse_eta(spec), gamma, method, choice, offsets)


def shares(rows: np.ndarray, many: int) -> np.ndarray:
    assert rows.min() >= 0
    return np.bincount(rows.astype(int), minlength=many) / len(rows)


@pytest.mark.parametrize("choice", ["by_weight", "uniform"])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("method", ["two_stage", "exact"])
@pytest.mark.parametrize("gamma", [1.0, 0.7, 0.0])
@pytest.mark.parametrize("spec", MASSES)
class TestShares:
    def test_of_rows(self, spec, gamma, method, lengths, choice, monkeypatch):
        law = joint_law(spec, gamma, method, choice, lengths).sum(axis=0)
        some = made(spec, gamma, method, choice, lengths)
        first, time = some.draw(Even(), N)
        assert shares(first + time, len(law)) == pytest.approx(law, abs=4e-3)
        table = some.row_table()
        assert (table is None) == (
            some.length is not None
            or (
                (method == "two_stage" and "dirac" not in spec)
                and not (spec == "uniform" and gamma == 1.0)
            )
        )
        if table is not None:
            assert shares(table.find(Even().random(N)), len(law)) == pytest.approx(law, abs=2e-3)
        monkeypatch.setattr(plan, "_LONGEST_TABLE", 5)
        first, time = some.draw(Even(), N)
        assert shares(first + time, len(law)) == pytest.approx(law, abs=4e-3)

    def test_of_pairs(self, spec, gamma, method, lengths, choice):
        joint = joint_law(spec, gamma, method, choice, lengths)
        some = made(spec, gamma, method, choice, lengths)
        # A fresh number for the lag, and what is left of that for the start.
        for drawn in (some, replace(some, reuse=False)):
            first, t, time = drawn.draw_pairs(Even(), N)
            assert (t >= 0).all()
            assert (time >= t).all()
            cells = (first + t) * len(joint) + first + time
            assert shares(cells, joint.size) == pytest.approx(joint.ravel(), abs=6e-3)


class TestPlan:
    def test_what_it_knows(self):
        some = Plan.of(parse_eta("table:0,0.3,0.7"), 0.9, "exact", "by_weight", np.array([3, 7, 9]))
        assert some.first_rows.tolist() == [3.0, 7.0]
        assert some.lengths.tolist() == [4.0, 2.0]
        assert (some.length, some.longest, some.first_lag) == (None, 4, 1)
        assert not some.staged
        assert not some.every_row_alike
        equal = Plan.of(Geometric(1.0), 1.0, "two_stage", "uniform", np.array([0, 5, 10]))
        assert equal.eta == Uniform()
        assert (equal.length, equal.longest, equal.weighted) == (5, 5, None)
        assert equal.staged
        assert equal.triangular
        assert equal.reuse

    @pytest.mark.parametrize(
        ("spec", "gamma", "choice", "offsets", "alike"),
        [
            ("dirac:0", 1.0, "by_weight", [0, 2, 5], True),
            ("dirac:0", 1.0, "uniform", [0, 2, 4], True),
            ("dirac:0", 1.0, "uniform", [0, 2, 5], False),
            ("dirac:0", 0.9, "by_weight", [0, 2, 5], False),
            ("dirac:1", 1.0, "by_weight", [0, 2, 5], False),
        ],
    )
    def test_when_all_rows_are_alike(self, spec, gamma, choice, offsets, alike):
        some = Plan.of(parse_eta(spec), gamma, "exact", choice, np.array(offsets))
        assert some.every_row_alike == alike

    def test_too_short_episodes_are_never_chosen(self):
        """Of the uniform choice: only episodes with a step that the weighting reaches."""
        some = made("dirac:2", 1.0, "exact", "uniform", (2, 3, 9))
        assert some.weighted is not None
        first, _ = some.draw(Even(), N)
        assert shares(first, 6) == pytest.approx([0.0, 0.0, 0.5, 0.0, 0.0, 0.5], abs=1e-3)
        assert made("dirac:2", 1.0, "exact", "uniform", (3, 9)).weighted is None

    @pytest.mark.parametrize(("steps", "reuse"), [(2**16, True), (2**17, False)])
    def test_bits_of_one_number_are_enough_for_some(self, steps, reuse):
        """2^33 = 2^16 rows times 2^17 steps; 2^32 is less, 2^34 more."""
        offsets = np.array([0, steps])
        assert Plan.of(Geometric(0.5), 1.0, "two_stage", "uniform", offsets).reuse == reuse


@pytest.mark.parametrize("first", [0, 4])
@pytest.mark.parametrize("spec", ["dirac:0", "poisson:2", "uniform"])
def test_samplers_draw_rows_by_their_offsets(spec, first):
    """More draws than a block has, from rows that begin somewhere; few draws take another path."""
    lengths = LENGTHS["ragged"]
    offsets = first + np.concatenate([[0], np.cumsum(lengths)])
    for method in ("two_stage", "exact"):
        sampler = FutureSampler(parse_eta(spec), 1.0, method)
        joint = joint_law(spec, 1.0, method, "by_weight", lengths)
        rows = sampler.rows(np.random.default_rng(0), offsets, 40_000)
        # Four standard errors of a share of 40,000: 4 sqrt(.25 / 40,000) = .01.
        assert shares(rows - first, 16) == pytest.approx(joint.sum(axis=0), abs=0.01)
        starts, futures = sampler.pairs(np.random.default_rng(0), offsets, 40_000)
        cells = (starts - first) * 16 + futures - first
        assert shares(cells, 256) == pytest.approx(joint.ravel(), abs=0.01)
        few = [sampler.rows(np.random.default_rng(s), offsets, 15) for s in range(500)]
        # 7,500 draws: 4 sqrt(.25 / 7,500) = .023.
        found = shares(np.concatenate(few) - first, 16)
        assert found == pytest.approx(joint.sum(axis=0), abs=0.024)


def test_weights_of_steps_are_how_often_they_are_drawn():
    lengths = np.array(LENGTHS["ragged"])
    for spec in MASSES:
        for method in ("two_stage", "exact"):
            for choice in ("by_weight", "uniform"):
                for gamma in (1.0, 0.7):
                    sampler = FutureSampler(parse_eta(spec), gamma, method, choice)
                    found = sampler.step_weights(lengths)
                    law = joint_law(spec, gamma, method, choice, lengths.tolist()).sum(axis=0)
                    assert found / found.sum() == pytest.approx(law, abs=1e-12)


def test_futures_of_rows():
    """From row 5 of an episode of 9, rows 1 to 9: four lags are left."""
    offsets = np.array([0, 1, 10])
    sampler = FutureSampler(parse_eta("poisson:2"))
    rows = sampler.futures(Even(), offsets, np.full(N, 6))
    law = np.array(MASSES["poisson:2"][:4])
    assert shares(rows - 6, 4) == pytest.approx(law / law.sum(), abs=1e-3)
    mixed = sampler.futures(Even(), offsets, np.array([0, 9, 1, 5] * 5))
    assert mixed[::4].tolist() == [0] * 5
    assert mixed[1::4].tolist() == [9] * 5
    assert set(mixed[2::4]) <= set(range(1, 10))


def test_the_lag_given_where_it_leads():
    """P(k | n) in proportion to eta(k) gamma^(n-k): at n = 2 of Poisson 2 and .5."""
    mass = np.array([math.exp(-2) * 0.25, 2 * math.exp(-2) * 0.5, 2 * math.exp(-2)])
    found = table_of_past(parse_eta("poisson:2"), 0.5, 9).find(Even().random(N), 3)
    assert shares(found, 3) == pytest.approx(mass / mass.sum(), abs=1e-3)


@pytest.mark.parametrize("method", ["two_stage", "exact"])
@pytest.mark.parametrize("gamma", [1.0, 0.7, 0.0])
@pytest.mark.parametrize("spec", MASSES)
def test_laws_of_the_time_index(spec, gamma, method):
    law = joint_law(spec, gamma, method, "uniform", (7,)).sum(axis=0)
    assert index_law(parse_eta(spec), gamma, method, 7) == pytest.approx(law, abs=1e-13)
