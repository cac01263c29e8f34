"""Late branching: what decides an episode, and that copies and the Gymnasium version agree."""

import gymnasium
import numpy as np
import pytest

from etairl.rollouts import collect
from etairl.tasks import make_task, planned_expert
from etairl.tasks.fork_world import FORK, ForkWorld
from etairl.types import InputError

WORLD = ForkWorld()


def test_the_expert_never_falls_not_even_after_twice_the_horizon():
    played = collect(
        np.random.default_rng(0), make_task(FORK, 30, horizon=400), planned_expert(FORK), 30
    )
    assert (played.lengths == 400).all()
    assert not played.terminated.any()
    first = np.argmax(played.observations[:400, 0] >= WORLD.fork)
    assert 150 < first < 190  # the last quarter of 200 steps


@pytest.mark.parametrize(
    ("across", "sign", "falls"),
    [(0.5, 1.0, False), (0.5, -1.0, True), (-0.5, -1.0, False), (0.1, 1.0, True)],
)
def test_the_fork_asks_for_the_side_of_the_sign(across, sign, falls):
    state = np.array([[WORLD.fork - 0.05, across, sign]])
    after, fell = WORLD.move(state, np.array([[1.0, 0.0]]))
    assert fell[0] == falls
    before, early = WORLD.move(np.array([[3.0, across, sign]]), np.array([[1.0, 0.0]]))
    assert not early[0]
    assert before[0, 0] == pytest.approx(3.1)
    assert after[0, 0] > WORLD.fork


def test_nobody_changes_sides_behind_the_fork_and_the_room_ends():
    state = np.array([[16.0, 0.2, 1.0]])
    for _ in range(10):
        state, fell = WORLD.move(state, np.array([[0.0, -1.0]]))
        assert not fell[0]
    assert state[0, 1] == WORLD.post
    assert WORLD.move(np.array([[18.95, 0.5, 1.0]]), np.array([[1.0, 0.0]]))[1][0]


def test_copies_do_what_gymnasium_does():
    task, env = make_task(FORK, 3, seed=1), gymnasium.make(f"etairl.tasks.fork_env:{FORK}")
    seen, walker = task.reset(), env.unwrapped
    env.reset(seed=0)
    walker.state = seen[0].astype(np.float64)
    rng = np.random.default_rng(0)
    for _ in range(50):
        action = rng.uniform(-1.0, 1.0, (3, 2)).astype(np.float32)
        step = task.step(action)
        observation, reward, *_ = env.step(action[0])
        np.testing.assert_allclose(step.observations[0], observation, atol=1e-5)
        assert step.rewards[0] == pytest.approx(reward, abs=1e-5)


def test_rejoins_in_the_middle_and_begins_anew_after_a_fall():
    task, rng = make_task(FORK, 2, seed=4), np.random.default_rng(2)
    task.reset()
    actions = rng.uniform(-1.0, 1.0, (7, 2, 2)).astype(np.float32)
    for row in actions:
        step = task.step(row)
    again = make_task(FORK, 2, seed=4)
    ages = np.array([7, 7])
    np.testing.assert_array_equal(again.rejoin(task.resets, actions, ages), step.observations)


def test_draws_and_refusals():
    picture = gymnasium.make(f"etairl.tasks.fork_env:{FORK}", render_mode="rgb_array")
    picture.reset(seed=0)
    assert picture.render().shape == (100, 800, 3)
    with pytest.raises(InputError, match="no option"):
        make_task(FORK, 1, options={"speed": 2})
    with pytest.raises(InputError, match="NaN"):
        WORLD.move(np.zeros((1, 3)), np.array([[np.nan, 0.0]]))
