"""Steps of episodes, their parts and weights, and the spread of a null: small cases by hand."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from etairl.evaluation.floors import OwnGroups, Spread, for_few
from etairl.evaluation.resampling import Pool, null_scale
from etairl.evaluation.steps import MEASURES, Steps


def steps(*lengths: int) -> Steps:
    """Pairs that tell their row."""
    many = sum(lengths)
    groups = np.repeat(np.arange(len(lengths)), lengths)
    time = np.concatenate([np.arange(length) for length in lengths])
    return Steps(np.arange(float(many))[:, None], groups, time)


class TestSteps:
    def test_groups(self):
        some = steps(3, 1, 2)
        assert (len(some), some.episodes, some.lengths.tolist()) == (6, 3, [3, 1, 2])
        assert steps(4).episodes == 1
        assert some.window(5, 9).episodes == 0

    def test_a_window(self):
        some = steps(4, 2).window(1, 3)
        assert some.pairs[:, 0].tolist() == [1, 2, 5]
        assert (some.groups.tolist(), some.time.tolist()) == ([0, 0, 1], [1, 2, 1])

    def test_blocks_of_time(self):
        some = steps(5, 3).blocks(2)
        assert some.groups.tolist() == [0, 0, 1, 1, 2, 3, 3, 4]
        later = steps(5, 5).window(1, 5).blocks(2, 1)
        assert later.groups.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
        assert later.time.tolist() == [1, 2, 3, 4] * 2

    def test_joined(self):
        both = steps(2, 1).joined(steps(1, 2))
        assert both.groups.tolist() == [0, 0, 1, 2, 3, 3]
        assert both.time.tolist() == [0, 1, 0, 0, 0, 1]
        assert both.pairs[:, 0].tolist() == [0, 1, 2, 0, 1, 2]

    def test_weights(self):
        """1 for rho; 1 - .99^(n+1) for mu, whose law ends with the longest episode."""
        assert list(MEASURES) == ["rho", "mu"]
        rho, mu = steps(3, 1).weights()
        assert rho.tolist() == [1.0, 1.0, 1.0, 1.0]
        by_hand = 1.0 - 0.99 ** np.array([1, 2, 3, 1])
        assert mu == pytest.approx(by_hand / (1.0 - 0.99**3))


class TestParts:
    def test_the_longest_is_as_long_as_the_longest(self):
        """Own 10, 4, 8; of the others' 2, 6 the quantiles .167, .5, .833 are 2.67, 4, 5.33."""
        parts = steps(10, 4, 8).parts(np.random.default_rng(0), np.array([6, 2]))
        assert len(parts) == 2  # 22 of 12 steps, rounded down, but two at least
        for part in parts:
            assert part.lengths.tolist() == [5, 3, 4]
            assert part.groups.tolist() == [0] * 5 + [1] * 3 + [2] * 4
            own = steps(10, 4, 8)
            rows = part.pairs[:, 0].astype(int)
            assert part.time.tolist() == own.time[rows].tolist()
            assert own.groups[rows].tolist() == part.groups.tolist()
            for group, length in enumerate((10, 4, 8)):
                times = part.time[part.groups == group]
                assert (np.diff(times) > 0).all()
                # A run that may go on at the start: no more than one gap, seen as a circle.
                gaps = np.diff([*times, times[0] + length])
                assert (gaps > 1).sum() <= 1

    def test_as_often_as_they_cover_every_step_once(self):
        rng = np.random.default_rng(0)
        assert len(steps(20, 20).parts(rng, np.array([4]))) == 5
        assert len(steps(20, 20).parts(rng, np.array([7]))) == 2
        assert len(steps(40, 40).parts(rng, np.array([2]))) == 8
        (*_, last) = steps(20, 20).parts(rng, np.array([0]))
        assert last.lengths.tolist() == [1, 1]

    def test_none_gets_longer_and_nearly_all_is_all(self):
        rng = np.random.default_rng(0)
        (part, _) = steps(2, 40).parts(rng, np.array([30]))
        assert part.lengths.tolist() == [2, 30]
        assert steps(20, 20).parts(rng, np.array([19])) != []
        assert steps(40, 40).parts(rng, np.array([39])) == []
        assert steps(3, 5).parts(rng, np.array([9])) == []

    def test_every_step_is_as_likely(self):
        rng = np.random.default_rng(0)
        counts = np.zeros(5)
        for _ in range(2000):
            for part in steps(5).parts(rng, np.array([2])):
                counts[part.time] += 1
        # 4,000 parts of 2 of 5 steps: 1,600 +- 4 sqrt(4,000 * .24).
        assert counts == pytest.approx(np.full(5, 1600), abs=124)


class TestSpread:
    def pool(self) -> tuple[Pool, np.ndarray]:
        """Six groups of different sizes: vectors whose products are the sums of a kernel."""
        z = np.array([[3.0, 1.0], [1.0, -2.0], [0.5, 2.0], [4.0, 0.0], [-1.0, 1.0], [2.0, 2.5]])
        sizes = np.array([1.0, 2.0, 1.5, 3.0, 2.0, 1.0])
        return Pool(z @ z.T, sizes, np.ones(6, bool), False), z

    def test_its_moments_by_hand(self):
        pool, z = self.pool()
        x, y = np.array([0, 1, 2]), np.array([3, 4, 5])
        owner = np.array([0, 1, 2, 0, 1, 3])  # the first and the fourth are of one episode
        of_x = np.arange(6) < 3
        mean = z[y].sum(axis=0) / pool.sizes[y].sum()
        centred = z - pool.sizes[:, None] * mean
        unit_x, unit_y = pool.sizes[x].mean(), pool.sizes[y].mean()

        def squared(a, b, unit) -> float:
            every = [
                (centred[i] @ centred[j] / unit) ** 2 for i in a for j in b if owner[i] != owner[j]
            ]
            return sum(every) / len(every)

        own = [
            sum(centred[i] @ centred[i] for i in kind) / 3 / unit**2 * 3 / 2
            for kind, unit in ((x, unit_x), (y, unit_y))
        ]
        found = Spread.of(pool, owner, of_x, ~of_x)
        assert tuple(found) == pytest.approx(
            (
                *own,
                squared(x, x, unit_x**2),
                squared(y, y, unit_y**2),
                squared(x, y, unit_x * unit_y),
            )
        )

    def test_scale_and_directions(self):
        some = Spread(own_x=3.0, own_y=5.0, xx=2.0, yy=7.0, xy=11.0)
        assert some.scale(4, 6) == pytest.approx(math.sqrt(2 / 12 + 7 / 30 + 2 * 11 / 24))
        squares = 2 / 16 + 7 / 36 + 2 * 11 / 24
        assert some.dimensions(4, 6) == pytest.approx((3 / 4 + 5 / 6) ** 2 / squares)
        assert Spread(0.1, 0.1, 2.0, 7.0, 11.0).dimensions(4, 6) == 1.0
        assert Spread(1e5, 1e5, 1e-3, 1e-3, 1e-3).dimensions(4, 6) == 1e6

    def test_for_few_by_distributions(self):
        for d, f in ((1, 7), (3.5, 4), (40, 11)):
            known = stats.chi2.ppf(0.95, d) / d - 1.0
            assert for_few(d, f) == pytest.approx((stats.f.ppf(0.95, d, f * d) - 1.0) / known)


class TestFloor:
    def own(self, episodes: int, each: int = 1, rng=None) -> OwnGroups:
        rng = np.random.default_rng(4) if rng is None else rng
        z = rng.normal(size=(episodes * each, 3))
        sizes = rng.uniform(1.0, 2.0, episodes * each)
        pool = Pool(z @ z.T, sizes, np.ones(len(z), bool), False)
        owner = np.repeat(np.arange(episodes), each)
        return OwnGroups(pool, owner, np.zeros(len(z), int))

    def test_drawn_where_there_are_enough(self):
        """4 of 10 against 5: the quantile of what can be drawn, raised for ten episodes."""
        own = self.own(10)
        value, how = own.floor(4, 5)
        drawn = own.pool.null(np.random.default_rng(9), (4, 5), 20_000)
        spread = Spread.of(own.pool, own.owner, np.ones(10, bool), np.ones(10, bool))
        raised = for_few(spread.dimensions(4, 5), 9)
        # A 95 % quantile of 1,000 is known to some percent.
        assert value == pytest.approx(raised * np.quantile(drawn, 0.95), rel=0.08)
        assert how == "episodes, drawn from the demonstrations"

    @pytest.mark.parametrize(
        ("n", "m", "a", "b"), [(8, 8, 4, 4), (3, 7, 3, 5), (7, 3, 5, 3), (20, 30, 4, 4)]
    )
    def test_scaled_where_there_are_not(self, n, m, a, b):
        """All splits of 8 are counted: the value is exact."""
        own = self.own(8)
        value, how = own.floor(n, m)
        every = own.pool.null(np.random.default_rng(0), (a, b), 1000)
        assert len(every) == math.comb(8, a)
        spread = Spread.of(own.pool, own.owner, np.ones(8, bool), np.ones(8, bool))
        factor = null_scale(n, m) / null_scale(a, b) * for_few(spread.dimensions(n, m), 7)
        assert value == pytest.approx(factor * np.quantile(every, 0.95))
        assert how == f"episodes, splits into {a} and {b}, scaled to {n} and {m}"

    def test_blocks_of_few_episodes(self):
        """Three episodes of three blocks: halves of 4 and 5 of nine, 126 splits, all counted."""
        own = self.own(3, 3)
        value, how = own.floor(2, 4, 0.5)
        every = own.pool.null(np.random.default_rng(0), (4, 5), 1000)
        factor = null_scale(0.5 * 2 * 3, 4 * 3) / null_scale(4, 5)
        assert value == pytest.approx(factor * np.quantile(every, 0.95))
        assert how == "blocks of time, splits into 4 and 5, scaled to 2 and 4: a hint"
        # Two groups at the fewest: nothing can be said of one.
        value, _ = own.floor(1, 1, 0.1)
        factor = null_scale(2.0, 3) / null_scale(4, 5)
        assert value == pytest.approx(factor * np.quantile(every, 0.95))

    def test_of_too_few_groups_nothing_is_said(self):
        assert self.own(7).floor(2, 2) == (None, None)
        assert self.own(1, 8).floor(2, 2).value is not None

    def test_a_floor_is_not_below_zero(self):
        """Groups that are all alike differ by nothing, up to rounding below it."""
        z = np.ones((8, 1))
        pool = Pool(z @ z.T - 1e-9 * np.eye(8), np.ones(8), np.ones(8, bool), False)
        assert OwnGroups(pool, np.arange(8), np.zeros(8, int)).floor(4, 4).value >= 0.0

    def test_parts_take_the_place_of_the_learner(self):
        """One part of each episode: the first side has parts alone, the second none."""
        rng = np.random.default_rng(7)
        z = rng.normal(size=(16, 3))
        sizes = np.repeat([2.0, 1.0], 8)
        pool = Pool(z @ z.T, sizes, np.ones(16, bool), False)
        own = OwnGroups(pool, np.tile(np.arange(8), 2), np.repeat([0, 1], 8))
        value, how = own.floor(4, 4)
        assert how == "episodes, drawn from the demonstrations, the first as short as the learner's"
        x, y = np.zeros((70, 16)), np.zeros((70, 16))
        for row, some in enumerate(combinations(range(8), 4)):
            x[row, [8 + i for i in some]] = 1.0
            y[row, [i for i in range(8) if i not in some]] = 1.0
        whole = np.arange(16) < 8
        spread = Spread.of(pool, own.owner, ~whole, whole)
        factor = for_few(spread.dimensions(4, 4), 7)
        assert value == pytest.approx(factor * np.quantile(pool.mmd2(x, y), 0.95))
