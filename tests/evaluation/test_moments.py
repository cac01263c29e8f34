"""Where two sides differ along their episodes: by hand, and by counting all splits."""

from itertools import combinations

import numpy as np
import pytest

from etairl.evaluation.moments import (
    Check,
    excess,
    mean_by_time,
    peaks,
    relabelled,
    smoothed,
    smoothed_episodes,
    top_rows,
    window_of,
)
from etairl.types import Trajectories, offsets_of


def episodes(*lengths: int, spans: list[int] | None = None) -> Trajectories:
    """Of nothing but their lengths."""
    offsets = offsets_of(np.array(lengths))
    last = np.zeros(offsets[-1], bool)
    last[offsets[1:] - 1] = True
    return Trajectories(
        np.zeros((len(last), 1)),
        np.zeros((len(last), 1)),
        np.zeros(len(last), bool),
        last,
        offsets,
        spans=None if spans is None else np.array(spans),
    )


class TestRelabelled:
    def shares(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Of all ways to choose the one side, those in which some column differs as much."""
        both = np.concatenate([own, other])
        spread = both.std(axis=0)
        spread[spread == 0.0] = 1.0
        largest = []
        for chosen in combinations(range(len(both)), len(own)):
            rest = [i for i in range(len(both)) if i not in chosen]
            gap = both[list(chosen)].mean(axis=0) - both[rest].mean(axis=0)
            largest.append(np.abs(gap / spread).max())
        seen = np.abs((own.mean(axis=0) - other.mean(axis=0)) / spread)
        return (np.array(largest)[:, None] >= seen * (1.0 - 1e-9)).mean(axis=0)

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize(("n", "m"), [(3, 3), (2, 6), (5, 2)])
    def test_against_all_splits(self, seed, n, m):
        """A column of a tiny unit and one of a large one count alike; 4,000 draws err by .03.

        The same split, summed in another order, is the same: a share of .05 or .1 hangs on it.
        """
        rng = np.random.default_rng(seed)
        units = np.array([1.0, 1e-3, 1e4])
        own = (rng.normal(size=(n, 3)) + np.array([1.5, -1.0, 0.2])) * units
        other = rng.normal(size=(m, 3)) * units
        found = relabelled(np.random.default_rng(5), own, other)
        gaps = [check.gap for check in found]
        assert gaps == pytest.approx((own.mean(axis=0) - other.mean(axis=0)).tolist())
        assert [check.p for check in found] == pytest.approx(self.shares(own, other), abs=0.032)

    def test_the_smallest_and_the_largest_p(self, rng):
        """Of 184,756 splits one shows as much, and its mirror: not among 4,000 draws."""
        own, other = np.zeros((10, 2)), np.zeros((10, 2))
        own[:, 0], other[:, 0] = 5.0 + rng.random(10), rng.random(10)
        far, same = relabelled(np.random.default_rng(0), own, other)
        assert far.p == 1 / 4001
        assert (same.gap, same.p) == (0.0, 1.0)
        assert not far.noise
        assert same.noise

    @pytest.mark.parametrize(("n", "m", "told"), [(3, 3, True), (2, 4, False), (1, 19, True)])
    def test_with_fewer_than_20_ways_nothing_is_told(self, rng, n, m, told):
        own, other = rng.normal(size=(n, 1)), rng.normal(size=(m, 1))
        (found,) = relabelled(rng, own, other)
        assert found.gap == pytest.approx(own.mean() - other.mean())
        assert (found.p is not None) == told
        assert told or found.noise

    def test_five_percent_is_not_noise(self):
        assert [Check(1.0, p).noise for p in (0.04, 0.05, 0.0501)] == [False, False, True]


def test_a_moment_is_a_fiftieth_of_the_horizon():
    assert [window_of(n) for n in (1, 49, 50, 99, 100, 1000)] == [1, 1, 1, 1, 2, 20]


@pytest.mark.parametrize(
    ("width", "means"),
    [
        (1, [1, 2, 4, 8, 16]),
        (2, [1.5, 3, 6, 12, 16]),
        (3, [1.5, 7 / 3, 14 / 3, 28 / 3, 12]),
        (4, [7 / 3, 15 / 4, 30 / 4, 28 / 3, 12]),
        (9, [6.2] * 5),
    ],
)
def test_means_around_each_row(width, means):
    assert smoothed(np.array([1.0, 2.0, 4.0, 8.0, 16.0]), width) == pytest.approx(means)


def test_each_episode_is_smoothed_by_itself():
    found = smoothed_episodes(episodes(2, 3), np.array([1.0, 3.0, 10.0, 20.0, 60.0]), 2)
    assert found == pytest.approx([2.0, 3.0, 15.0, 40.0, 60.0])


def test_peaks_are_rows_of_the_whole():
    assert peaks(episodes(2, 3, 1), np.array([1.0, 3.0, 9.0, 2.0, 9.0, 7.0])).tolist() == [1, 2, 5]


class TestTopRows:
    SMOOTH = np.array([5.0, 9.0, 8.0, 1.0, 7.0, 6.0, 6.5, 2.0])  # episodes of 5 and 3 rows

    def top(self, count: int, apart: int, each: int = 2) -> list[int]:
        return top_rows(episodes(5, 3), self.SMOOTH, count, apart, each)

    def test_they_are_apart_from_each_other(self):
        # 1; not 2 and 0, which are next to it; 4; both of the first episode are gone; 6.
        assert self.top(9, 1) == [1, 4, 6]
        assert self.top(9, 0) == [1, 2, 6, 5]
        assert self.top(9, 2) == [1, 4, 6]
        assert self.top(9, 3) == [1, 6]

    def test_no_more_than_asked(self):
        assert self.top(0, 0) == []
        assert self.top(1, 0) == [1]
        assert self.top(3, 0, each=5) == [1, 2, 4]
        assert self.top(9, 0, each=1) == [1, 6]

    def test_rows_without_a_value_are_passed_over(self):
        smooth = self.SMOOTH.copy()
        smooth[[1, 5]] = np.nan
        smooth[4] = np.inf
        assert top_rows(episodes(5, 3), smooth, 9, 0) == [2, 6, 0, 7]
        assert np.isnan(smooth[1])  # what is given stays as it is


class TestExcess:
    def test_over_the_mean_of_others_at_the_same_step(self):
        """Four others have two steps, three a third: that is compared with the mean of all."""
        others = episodes(3, 3, 3, 2)
        usual = np.array([1.0, 2.0, 30.0, 2.0, 3.0, 31.0, 3.0, 4.0, 32.0, 6.0, 11.0])
        overall = usual.mean()
        above, means = excess(episodes(3), np.array([10.0, 20.0, 40.0]), others, usual)
        assert means == pytest.approx([3.0, 5.0, overall])
        assert above == pytest.approx([7.0, 15.0, 40.0 - overall])

    def test_steps_beyond_the_others_have_the_mean_over_all(self):
        above, means = excess(episodes(2), np.array([1.0, 2.0]), episodes(*[1] * 4), np.arange(4.0))
        assert means == pytest.approx([1.5, 1.5])
        assert above == pytest.approx([-0.5, 0.5])

    def test_each_of_the_others_against_the_rest(self):
        """Four at the first step, each against three; the second step has three in all."""
        others, usual = episodes(2, 2, 2, 1), np.array([1.0, 10.0, 2.0, 20.0, 3.0, 30.0, 6.0])
        above, means = excess(others, usual, others, usual, apart=True)
        overall = usual.mean()
        rest = [11 / 3, overall, 10 / 3, overall, 9 / 3, overall, 6 / 3]
        assert means == pytest.approx(rest)
        assert above == pytest.approx(usual - np.array(rest))


class TestMeanByTime:
    def test_by_hand(self):
        means, counts = mean_by_time(episodes(3, 1), np.array([1.0, 2.0, 4.0, 5.0]), 4)
        assert counts.tolist() == [2, 1, 1, 0]
        assert means[:3] == pytest.approx([3.0, 2.0, 4.0])
        assert np.isnan(means[3])

    def test_steps_beyond_the_horizon_are_left_out(self):
        means, counts = mean_by_time(episodes(3, 1), np.array([1.0, 2.0, 4.0, 5.0]), 2)
        assert counts.tolist() == [2, 1]
        assert means == pytest.approx([3.0, 2.0])

    def test_a_row_of_a_thinned_episode_stands_for_its_steps(self):
        thinned = episodes(2, 2, spans=[2, 1, 1, 2])
        means, counts = mean_by_time(thinned, np.array([1.0, 3.0, 5.0, 9.0]), 3)
        assert counts.tolist() == [2, 2, 2]
        assert means == pytest.approx([3.0, 5.0, 6.0])
