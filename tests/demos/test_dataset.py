import numpy as np
import pytest

from etairl.demos import Demos, Selection, Standardiser, limit_cycle
from etairl.types import InputError, Spec, Trajectories


def ragged() -> Trajectories:
    lengths = [7, 3, 10]
    steps = sum(lengths)
    last = np.zeros(steps, dtype=bool)
    last[np.cumsum(lengths) - 1] = True
    terminated = last & (np.arange(steps) == 9)
    return Trajectories(
        observations=np.arange(float(steps))[:, None],
        actions=np.arange(float(steps))[:, None] / 10,
        terminated=terminated,
        truncated=last & ~terminated,
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        rewards=np.arange(float(steps)),
        final_observations=np.array([[100.0], [200.0], [300.0]]),
        tasks=np.array([[1.0], [2.0], [3.0]]),
    )


def test_first_episodes():
    t = Selection(episodes=2)(ragged())
    assert t.lengths.tolist() == [7, 3]
    assert t.tasks.ravel().tolist() == [1, 2]


def test_first_steps_are_a_truncation_and_know_what_came_next():
    t = Selection(steps=5)(ragged())
    assert t.lengths.tolist() == [5, 3, 5]
    assert t.observations.ravel().tolist() == [0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14]
    assert t.truncated[t.last_rows].tolist() == [True, False, True]
    assert t.terminated[t.last_rows].tolist() == [False, True, False]
    assert t.final_observations.ravel().tolist() == [5, 200, 15]


def test_first_steps_without_final_observations():
    t = ragged()
    bare = Trajectories(t.observations, t.actions, t.terminated, t.truncated, t.offsets)
    assert Selection(steps=5)(bare).final_observations is None
    assert Selection(steps=2)(bare).final_observations.ravel().tolist() == [2, 9, 12]


def test_every_third_step_keeps_ends_and_returns():
    t = Selection(every=3)(ragged())
    assert t.observations.ravel().tolist() == [0, 3, 6, 7, 10, 13, 16, 19]
    assert t.lengths.tolist() == [3, 1, 4]
    assert t.terminated[t.last_rows].tolist() == [False, True, False]
    assert t.returns.tolist() == ragged().returns.tolist()


def test_selections_combine_in_order():
    t = Selection(episodes=1, steps=6, every=2)(ragged())
    assert t.observations.ravel().tolist() == [0, 2, 4]
    assert t.final_observations.ravel().tolist() == [6]


def test_selecting_more_than_there_is():
    with pytest.raises(InputError, match="asked for 4 episodes, but there are only 3"):
        Selection(episodes=4)(ragged())
    with pytest.raises(InputError, match="every must be at least 1, got 0"):
        Selection(every=0)


def test_actions_are_clipped_and_counted():
    demos = Demos.of(ragged(), Spec(1, 1, (0.5,), (1.5,)))
    assert demos.clipped == 5 + 4
    assert demos.trajectories.actions.min() == 0.5
    assert demos.trajectories.actions.max() == 1.5
    assert Demos.of(ragged(), Spec(1, 1, (0.0,), (2.0,))).clipped == 0


def test_discrete_actions_become_whole_numbers_in_range():
    t = ragged()
    index = Trajectories(
        t.observations, np.floor(t.actions * 10) % 4, t.terminated, t.truncated, t.offsets
    )
    demos = Demos.of(index, Spec(1, 1, discrete_actions=4))
    assert demos.trajectories.actions.dtype == np.int64
    with pytest.raises(InputError, match=r"action 3.0 at row 3 is not one of the 3 actions 0 to 2"):
        Demos.of(index, Spec(1, 1, discrete_actions=3))
    with pytest.raises(InputError, match=r"action 0\.1 at row 1"):
        Demos.of(t, Spec(1, 1, discrete_actions=3))


def test_bounds_of_whole_numbers_make_no_sense():
    t = ragged()
    whole = Trajectories(t.observations, np.full((20, 1), 3), t.terminated, t.truncated, t.offsets)
    with pytest.raises(InputError, match="store them as floats"):
        Demos.of(whole, Spec(1, 1, (-0.5,), (0.5,)))


def test_a_spec_of_another_task_is_refused():
    with pytest.raises(InputError, match="have 1 and 1 columns, the task expects 3 and 1"):
        Demos.of(ragged(), Spec(3, 1))


def test_standardised_columns_have_unit_scale_and_constants_keep_theirs(rng):
    x = rng.normal(5.0, 3.0, (4000, 3))
    x[:, 1] = 7.0
    standardiser = Standardiser.of(x)
    z = standardiser(x)
    assert z.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    assert z[:, [0, 2]].std(axis=0) == pytest.approx(np.ones(2))
    assert standardiser.scale[1] == 1.0
    assert standardiser(np.array([[0.0, 9.0, 0.0]]))[0, 1] == 2.0


def test_synthetic_demonstrations_are_reproducible_and_turn():
    first, again = (limit_cycle(np.random.default_rng(3), 4, 50, 10.0) for _ in range(2))
    assert first.trajectories.observations.tobytes() == again.trajectories.observations.tobytes()
    position = first.trajectories.observations[20:50, :2]
    # After ten steps the demonstrator is back where it was, up to its noise.
    assert np.abs(position[10:] - position[:-10]).max() < 0.35
