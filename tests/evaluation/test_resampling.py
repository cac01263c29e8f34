"""MMD² of resampled groups, against sums over pairs of points written out."""

import math
from itertools import combinations, product

import numpy as np
import pytest

from etairl.evaluation.resampling import Pool, disjoint, null_scale, numbered, pooled_points
from etairl.types import InputError

X = np.array([[0.0], [0.3], [1.0], [1.4], [2.0]])
Y = np.array([[0.5], [0.6], [1.7], [2.2]])
GROUPS = (np.array([4, 4, 7, 8, 8]), np.array([0, 1, 1, 5]))
MEMBERS = ([0, 1], [2], [3, 4], [5], [6, 7], [8])  # rows of both samples, by group


def k(i: int, j: int) -> float:
    """The kernel of bandwidth .8 between two points of both samples."""
    both = np.concatenate([X, Y])[:, 0]
    return math.exp(-((both[i] - both[j]) ** 2) / 0.8)


def mean_over(a: list[int], b: list[int], within: bool = False) -> float:
    """Mean over pairs of points of two lists of groups; within one, those of different groups.

    A group that is listed twice is there twice, and the copy is not another group.
    """
    pairs = [
        k(i, j)
        for at, g in enumerate(a)
        for bt, h in enumerate(b)
        if not (within and g == h)
        for i in MEMBERS[g]
        for j in MEMBERS[h]
    ]
    return sum(pairs) / len(pairs)


def mmd2(a: list[int], b: list[int]) -> float:
    return mean_over(a, a, True) + mean_over(b, b, True) - 2.0 * mean_over(a, b)


@pytest.fixture
def pool() -> Pool:
    return Pool.of(X, Y, GROUPS, 0.8)


def test_the_value_of_both_samples(pool):
    assert pool.sizes.tolist() == [2, 1, 2, 1, 2, 1]
    assert pool.of_x.tolist() == [True, True, True, False, False, False]
    assert not pool.within
    assert pool.value() == pytest.approx(mmd2([0, 1, 2], [3, 4, 5]), rel=1e-12)


def test_without_groups_every_pair_counts_but_those_of_a_point_with_itself():
    found = Pool.of(X, Y, None, 0.8)
    assert found.within
    own = [k(i, j) for i in range(5) for j in range(5) if i != j]
    other = [k(i, j) for i in range(5, 9) for j in range(5, 9) if i != j]
    across = [k(i, j) for i in range(5) for j in range(5, 9)]
    by_hand = sum(own) / 20 + sum(other) / 12 - 2.0 * sum(across) / 20
    assert found.value() == pytest.approx(by_hand, rel=1e-12)


def test_copies_of_groups(pool):
    """A pair of a group and its copy is left out, as one of a group with itself."""
    a = np.array([[2.0, 1.0, 0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    b = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 3.0], [0.0, 0.0, 0.0, 1.0, 2.0, 0.0]])
    found = pool.mmd2(a, b)
    lists = [([0, 0, 1], [3, 5, 5, 5]), ([0, 2], [3, 4, 4])]
    assert found == pytest.approx([mmd2(*pair) for pair in lists], rel=1e-12)


def pool_of(seed: int, n: int, m: int) -> Pool:
    """Groups whose sums come from points in a plane, of different sizes."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n + m, 2))
    return Pool(z @ z.T, rng.uniform(1.0, 3.0, n + m), np.arange(n + m) < n, False)


def of_sums(pool: Pool, a: list[int], b: list[int]) -> float:
    """MMD² from the sums between groups, written out."""
    w = pool.sizes
    inside = [
        sum(pool.sums[g, h] for g in side for h in side if g != h)
        / sum(w[g] * w[h] for g in side for h in side if g != h)
        for side in (a, b)
    ]
    across = sum(pool.sums[g, h] for g in a for h in b) / sum(w[g] * w[h] for g in a for h in b)
    return sum(inside) - 2.0 * across


@pytest.mark.parametrize(("n", "m"), [(3, 3), (2, 4), (4, 2)])
@pytest.mark.parametrize("seed", range(5))
def test_the_p_value_is_the_share_of_all_relabellings(seed, n, m):
    """20 or 15 relabellings, a tie with its mirror among the 20; 4,000 draws err by .03."""
    pool, every = pool_of(seed, n, m), range(n + m)
    values = [
        of_sums(pool, list(a), [g for g in every if g not in a]) for a in combinations(every, n)
    ]
    assert pool.value() == pytest.approx(values[0])
    exact = np.mean(np.array(values) >= values[0] - 1e-9)
    assert pool.p_value(np.random.default_rng(0), 4000) == pytest.approx(exact, abs=0.032)


def test_the_smallest_p_value_counts_what_was_observed():
    """Far apart, 8 groups a side: one split and its mirror of 12,870, not among 99."""
    points = np.repeat([0.0, 9.0], 8)[:, None] + np.arange(16)[:, None] / 100.0
    pool = Pool.of(points[:8], points[8:], (np.arange(8), np.arange(8)), 1.0)
    assert pool.p_value(np.random.default_rng(0), 99) == 1 / 100


def test_splits_that_are_alike_are_ties():
    """All points are equal: whatever the labels, the value is 0 up to rounding."""
    pool = Pool.of(np.ones((6, 1)), np.ones((9, 1)), (np.arange(6) // 2, np.arange(9) // 3), 1.0)
    assert pool.p_value(np.random.default_rng(0), 50) == 1.0


def test_bounds_are_quantiles_over_all_draws(pool):
    """27 draws of either side, those with a single group left out."""

    def sides(groups: list[int]) -> list[list[int]]:
        return [list(draw) for draw in product(groups, repeat=3) if len(set(draw)) > 1]

    every = sorted(mmd2(a, b) for a in sides([0, 1, 2]) for b in sides([3, 4, 5]))
    low, high = pool.interval(np.random.default_rng(0), level=0.6, resamples=20_000)
    # 576 draws alike; shares of 20,000 err by .011 (three standard errors): 7 places of the list.
    at = [round(0.2 * 576), round(0.8 * 576)]
    assert every[at[0] - 8] - 1e-9 <= low <= every[at[0] + 8] + 1e-9
    assert every[at[1] - 8] - 1e-9 <= high <= every[at[1] + 8] + 1e-9
    assert low < pool.value() < high


def test_the_interval_is_widened_to_hold_the_value():
    """At a level of nearly 0 both bounds are the median, which lies on either side of the value."""
    sides = set()
    for seed in range(8):
        pool = pool_of(seed, 4, 4)
        value = pool.value()
        low, high = pool.interval(np.random.default_rng(3), 1e-9, 500)
        assert low == value or high == value
        assert low < high
        sides.add("above" if low == value else "below")
    assert sides == {"above", "below"}


def test_draws_without_pairs_say_nothing():
    """Two groups a side: half of the draws have one group twice, all others are the value."""
    groups = (np.array([0, 0, 0, 1, 1]), np.array([0, 1, 1, 1]))
    pool = Pool.of(X, Y, groups, 0.8)
    value = pool.value()
    assert pool.interval(np.random.default_rng(0), resamples=100) == pytest.approx((value, value))
    # By seed 1 the only draw has one group twice.
    assert pool.interval(np.random.default_rng(1), resamples=1) == pytest.approx((value, value))


def test_halves_of_one_law(pool):
    found = pool.null(np.random.default_rng(0), (2, 4), 15)
    every = [mmd2(list(a), [g for g in range(6) if g not in a]) for a in combinations(range(6), 2)]
    assert sorted(found) == pytest.approx(sorted(every), rel=1e-10)


class TestDisjoint:
    def test_all_ways_where_they_are_few(self):
        first, second = disjoint(np.random.default_rng(0), 5, (2, 3), 10)
        assert {tuple(np.flatnonzero(row)) for row in first} == set(combinations(range(5), 2))
        assert (first != second).all()
        assert len(first) == 10

    def test_random_ones_where_they_are_more_than_asked(self):
        first, second = disjoint(np.random.default_rng(0), 5, (2, 3), 9)
        assert first.shape == second.shape == (9, 5)
        assert (first.sum(axis=1) == 2).all()
        assert (first != second).all()

    def test_some_groups_may_be_left_over(self):
        first, second = disjoint(np.random.default_rng(0), 7, (2, 3), 2000)
        assert first.shape == (2000, 7)
        assert (first.sum(axis=1) == 2).all()
        assert (second.sum(axis=1) == 3).all()
        assert not (first & second).any()
        # Every group as often: 2000 * 2/7 +- 4 * 20.
        assert first.sum(axis=0) == pytest.approx(np.full(7, 4000 / 7), abs=81)
        assert second.sum(axis=0) == pytest.approx(np.full(7, 6000 / 7), abs=89)


def test_the_spread_of_a_null_distribution_by_its_sizes():
    assert null_scale(2, 3) == pytest.approx(math.sqrt(1 / 2 + 1 / 6 + 1 / 3))
    assert null_scale(5, 4) == pytest.approx(math.sqrt(1 / 20 + 1 / 12 + 1 / 10))
    assert null_scale(7, 7) == pytest.approx(math.sqrt(2 / 42 + 2 / 49))


def test_groups_are_numbered_over_both_samples():
    ids, many = numbered(GROUPS, (5, 4))
    assert (ids.tolist(), many) == ([0, 0, 1, 2, 2, 3, 4, 4, 5], 3)
    ids, many = numbered((np.array([2, 3, 9]), np.array([], int)), (3, 0))
    assert (ids.tolist(), many) == ([0, 1, 2], 3)


@pytest.mark.parametrize(
    ("groups", "rows", "message"),
    [
        ((np.array([0, 1]), np.array([0, 1])), (3, 2), "groups of x"),
        ((np.array([0, 1]), np.array([1, 0])), (2, 2), "groups of y"),
        ((np.array([0, 0]), np.array([0, 1])), (2, 2), "x needs at least 2 episodes"),
        ((np.array([0, 1]), np.array([5, 5])), (2, 2), "y needs at least 2 episodes"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_groups_that_cannot_be_are_refused(groups, rows, message):
    with pytest.raises(InputError, match=message):
        numbered(groups, rows)


@pytest.mark.usefixtures("unchecked")
def test_samples_that_cannot_be_are_refused():
    two = np.zeros((2, 1))
    assert pooled_points(two, two + 1.0).tolist() == [[0.0], [0.0], [1.0], [1.0]]
    assert pooled_points(two, None).tolist() == [[0.0], [0.0]]
    for x, y, message in (
        (np.zeros((2, 0)), np.zeros((2, 0)), "alike"),
        (np.zeros(2), None, "alike"),
        (two, np.zeros((2, 2)), "alike"),
        (two, np.zeros((1, 1)), "at least 2 points"),
        (np.zeros((1, 1)), None, "at least 2 points"),
        (two, np.full((2, 1), np.inf), "NaN or infinite"),
    ):
        with pytest.raises(InputError, match=message):
            pooled_points(x, y)
