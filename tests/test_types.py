from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etairl.types import InputError, Spec, Trajectories, ragged_rows


def episodes(lengths, **changes) -> Trajectories:
    steps = sum(lengths)
    last = np.zeros(steps, dtype=bool)
    last[np.cumsum(lengths) - 1] = True
    fields = {
        "observations": np.arange(2.0 * steps).reshape(steps, 2),
        "actions": np.arange(1.0 * steps).reshape(steps, 1),
        "terminated": last,
        "truncated": np.zeros(steps, dtype=bool),
        "offsets": np.concatenate([[0], np.cumsum(lengths)]),
        "rewards": np.ones(steps),
    }
    return Trajectories(**(fields | changes))


def test_lengths_returns_and_rows():
    t = episodes([3, 1, 4])
    assert len(t) == 3
    assert t.steps == 8
    assert t.lengths.tolist() == [3, 1, 4]
    assert t.last_rows.tolist() == [2, 3, 7]
    assert t.returns.tolist() == [3.0, 1.0, 4.0]
    assert t.pairs().shape == (8, 3)


def test_returns_are_unknown_without_rewards():
    assert episodes([2], rewards=None).returns is None


def test_arrays_cannot_be_changed_afterwards():
    t = episodes([3])
    with pytest.raises(ValueError, match="read-only"):
        t.observations[0, 0] = 5.0
    with pytest.raises(AttributeError):
        t.rewards = None


def test_nobody_else_can_change_them_either():
    mine = np.zeros((3, 2))
    t = episodes([3], observations=mine)
    mine[0, 0] = np.nan
    assert t.observations[0, 0] == 0.0


@pytest.mark.usefixtures("unchecked")
def test_odd_offsets_and_episodes_are_refused():
    with pytest.raises(InputError, match="episode 1 is empty"):
        episodes([3, 1, 4], offsets=np.array([0, 5, 3, 8], dtype=np.uint64))
    with pytest.raises(InputError, match="from 0 to 2"):
        episodes([3, 1, 4]).take(np.array([3]))
    with pytest.raises(InputError, match="store both alike"):
        episodes([3], final_observations=np.zeros((1, 2), np.float32))
    with pytest.raises(InputError, match=r"is 1e\+200 \(1 value "):
        episodes([3], rewards=np.array([0, 0, 1e200]))
    with pytest.raises(InputError, match="float32 or float64, got float16"):
        episodes([3], observations=np.zeros((3, 2), np.float16))
    with pytest.raises(InputError, match="at least one column"):
        episodes([3], observations=np.zeros((3, 0)))


def test_take_repeats_and_reorders_episodes():
    t = episodes([3, 1, 4], final_observations=np.repeat(np.arange(3.0)[:, None], 2, axis=1))
    taken = t.take(np.array([2, 0, 2]))
    assert taken.lengths.tolist() == [4, 3, 4]
    assert taken.observations[:4].tolist() == t.observations[4:].tolist()
    assert taken.final_observations[:, 0].tolist() == [2, 0, 2]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observations": np.zeros((8, 2)) * np.nan}, r"observations\[0, 0\] is NaN \(16"),
        ({"rewards": np.array([0, 0, np.inf, 0, 0, 0, 0, 0])}, r"rewards\[2\] is infinite"),
        ({"rewards": np.zeros(7)}, r"rewards must have shape \(8,\), got \(7,\)"),
        ({"offsets": np.array([0, 3, 4, 9])}, "lengths sum to 9, but there are 8 steps"),
        ({"offsets": np.array([0, 3, 3, 8])}, "episode 1 is empty"),
        ({"terminated": np.zeros(8, dtype=bool)}, "episode 0 has no end mark on its last step"),
        ({"truncated": np.arange(8) == 5}, "episode 2 is marked as ended at step 1, before"),
        ({"final_observations": np.zeros((2, 2))}, r"must have shape \(3, 2\), got \(2, 2\)"),
        ({"tasks": np.zeros((4, 1))}, r"tasks must have shape \(3, 1\)"),
        ({"observations": np.zeros((8, 2), int)}, "must be float32 or float64, got int64"),
        ({"terminated": np.zeros(8)}, "terminated must be boolean, got float64"),
        ({"observations": np.zeros(8)}, r"must be 2-dimensional .*, got shape \(8,\)"),
        ({"observations": np.zeros((0, 2))}, "there are no steps"),
    ],
)
def test_bad_arrays_are_refused_in_words(change, message):
    with pytest.raises(InputError, match=message):
        episodes([3, 1, 4], **change)


def test_both_end_marks_at_once_are_kept():
    t = episodes([3, 2], truncated=np.array([False, False, True, False, True]))
    assert t.terminated.sum() == 2
    assert t.truncated.sum() == 2


@given(st.lists(st.integers(1, 20), min_size=1, max_size=8))
def test_ragged_rows_is_the_python_loop(counts):
    starts = np.concatenate([[0], np.cumsum(counts)])[:-1] + 3
    pairs = zip(starts.tolist(), counts, strict=True)
    expected = [start + j for start, count in pairs for j in range(count)]
    assert ragged_rows(starts, np.array(counts)).tolist() == expected


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"action_low": (0.0,)}, "both bounds"),
        ({"action_low": (0.0,), "action_high": (1.0,)}, "1 and 1 numbers, but actions have 2"),
        ({"action_low": (0.0, 2.0), "action_high": (1.0, 1.0)}, "crossed"),
        ({"discrete_actions": 3}, "one column of indices"),
        ({"environment": "red \x1b[31m"}, "short and printable"),
    ],
)
def test_a_contradictory_spec_is_refused(fields, message):
    with pytest.raises(InputError, match=message):
        Spec(obs_dim=3, act_dim=2, **fields)


def test_replace_checks_again():
    with pytest.raises(InputError, match="crossed"):
        replace(Spec(1, 1, (0.0,), (1.0,)), action_low=(2.0,))
