"""The product of an engine and a task space: dynamics without tasks, tasks in the observation."""

from dataclasses import replace

import numpy as np
import pytest

from etairl.rollouts import UniformPolicy, collect
from etairl.tasks import catalogue as entries
from etairl.tasks import make_task, planned_expert, register_tasks, task_space
from etairl.tasks.fetch import GRIPPER, all_goals, near_goals
from etairl.tasks.navigation_world import MAPS, NAVIGATION, LakeWorld
from etairl.tasks.product import Goals, ProductTask
from etairl.types import InputError, MultiTask, RejoinableTask

POLES = Goals(
    place=(0, 1),
    tolerance=0.1,
    laws={
        "training": lambda rng, n: rng.uniform(-1, 1, (n, 2)),
        "full": lambda rng, n: np.ones((n, 2)),
    },
    sparse=True,
)


@pytest.fixture
def poles(monkeypatch):
    """Pendulum, whose cosine and sine are to be somewhere."""
    monkeypatch.setattr(entries, "_ENTRIES", dict(entries._ENTRIES))
    register_tasks("Pendulum-v1", POLES)
    return "Pendulum-v1"


def test_any_environment_can_have_tasks(poles, rng):
    task = make_task(poles, 3, horizon=10, seed=2)
    assert isinstance(task, MultiTask)
    assert isinstance(task, RejoinableTask)
    assert task_space(poles) is POLES
    assert task.spec.obs_dim == 5
    t = collect(rng, task, UniformPolicy(task), 6)
    assert t.tasks.shape == (6, 2)
    assert len(np.unique(t.tasks, axis=0)) == 6
    assert np.array_equal(t.observations[:, -2:], t.tasks[t.episode_numbers])
    after = np.concatenate([t.observations[1:10], t.final_observations[:1]])
    far = np.hypot(*(after[:, :2] - t.tasks[0]).T) > 0.1
    assert np.array_equal(t.rewards[:10], -far.astype(np.float32))
    plain = make_task(poles, 3, horizon=10, seed=2, law=None)
    assert not isinstance(plain, MultiTask)
    assert plain.spec.obs_dim == 3


def test_dynamics_do_not_know_the_task(poles, rng):
    actions = rng.uniform(-2, 2, (10, 3, 1)).astype(np.float32)
    seen = []
    for number in (0.0, 0.5):
        task = make_task(poles, 3, horizon=10, seed=2)
        task.assign(np.full((3, 2), number))
        rows = [task.reset(), *(task.step(a).observations for a in actions)]
        seen.append(np.stack(rows))
    assert np.array_equal(seen[0][..., :3], seen[1][..., :3])
    assert not np.array_equal(seen[0][..., 3:], seen[1][..., 3:])


def test_tasks_are_drawn_per_episode_and_replayed(poles):
    """A fresh task that is brought to where another one was goes on with the same tasks."""
    first = make_task(poles, 4, horizon=5, seed=7)
    tasks = [first.reset()[:, -2:] for _ in range(4)]
    assert len(np.unique(np.concatenate(tasks), axis=0)) == 16
    again = make_task(poles, 4, horizon=5, seed=7)
    again.replay(np.full(4, 3))
    assert np.array_equal(again.reset()[:, -2:], tasks[3])
    uneven = make_task(poles, 4, horizon=5, seed=7)
    uneven.replay(np.array([3, 0, 1, 2]))
    expected = np.stack([tasks[k][i] for i, k in enumerate((3, 0, 1, 2))])
    assert np.array_equal(uneven.reset()[:, -2:], expected)


@pytest.mark.parametrize("name", [NAVIGATION, "Pendulum-v1"])
def test_a_task_is_rejoined_in_the_middle_of_episodes(name, poles, rng):
    one, two = (make_task(name, 3, horizon=6, seed=1) for _ in range(2))
    one.reset()
    width = one.spec.act_dim
    actions = rng.uniform(-1, 1, (10, 3, width)).astype(np.float32)
    for row in actions:
        last = one.step(row)
    assert last.fresh.sum() == 0
    ages = np.full(3, 3)  # 6 steps, a reset, 3 steps
    assert np.array_equal(two.rejoin(one.resets.copy(), actions[-3:], ages), last.observations)
    more = rng.uniform(-1, 1, (5, 3, width)).astype(np.float32)
    for row in more:
        a, b = one.step(row), two.step(row)
        assert np.array_equal(a.observations, b.observations)
        assert np.array_equal(a.rewards, b.rewards)
        assert np.array_equal(a.truncated, b.truncated)


def test_an_early_end_takes_the_next_task_in_its_own_time(monkeypatch, rng):
    """Episodes of CartPole end one by one; the tasks recorded are those they were played with."""
    monkeypatch.setattr(entries, "_ENTRIES", dict(entries._ENTRIES))
    register_tasks(
        "CartPole-v1", replace(POLES, place=(0,), laws={"training": _line, "full": _line})
    )
    task = make_task("CartPole-v1", 5, horizon=80, seed=0)
    t = collect(rng, task, UniformPolicy(task), 10)
    assert len(np.unique(t.lengths)) > 1
    assert np.array_equal(t.observations[:, -1:], t.tasks[t.episode_numbers])
    assert len(np.unique(t.tasks)) == 10


def _line(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.uniform(-1, 1, (n, 1))


def test_tasks_can_be_assigned_and_drawn_again():
    task = make_task(NAVIGATION, 2, horizon=3, seed=0)
    drawn = task.reset()[:, -2:]
    task.assign(np.array([[9.0, 9.0], [0.0, 0.0]]))
    for _ in range(2):
        assert task.reset()[:, -2:].tolist() == [[9.0, 9.0], [0.0, 0.0]]
    task.assign(None)
    assert not np.array_equal(task.reset()[:, -2:], drawn)  # the task of its fourth episode
    fresh = make_task(NAVIGATION, 2, horizon=3, seed=0)
    assert np.array_equal(fresh.reset()[:, -2:], drawn)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([[-5.0, 4.0], [0.0, 0.0]], r"target \(-5, 4\) lies in the lake of radius 3 around"),
        ([[0.0, 0.0], [0.0, -10.5]], r"target \(0, -10.5\) lies outside of the box"),
        ([[0.0, 0.0, 0.0]] * 2, "is a vector of 2 numbers, but those given have 3"),
        ([0.0, 0.0], r"is a vector of 2 numbers, but those given have shape \(2,\)"),
        ([[0.0, 0.0]], "1 tasks for 2 copies"),
        ([[np.nan, 0.0]] * 2, "NaN or infinite"),
    ],
)
def test_tasks_that_cannot_be(tasks, message, unchecked):
    with pytest.raises(InputError, match=message):
        make_task(NAVIGATION, 2).assign(np.array(tasks))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        (NAVIGATION, {"law": "some"}, "law must be one of training, full"),
        (NAVIGATION, {"mode": "absorbing"}, "use the mode terminating"),
        (NAVIGATION, {"engine": "envpool"}, "unknown environment"),
        (NAVIGATION, {"options": {"lakes": 3}}, "has no option 'lakes'"),
        ("Pendulum-v1", {"engine": "numpy"}, f"the engine numpy has {NAVIGATION}, "),
    ],
)
def test_settings_that_cannot_be(name, settings, message, unchecked):
    with pytest.raises(InputError, match=message):
        make_task(name, 2, **settings)


def test_laws_of_fetch(rng):
    near = np.linalg.norm(near_goals(rng, 4000) - GRIPPER, axis=1)
    assert near.min() >= 0.05
    assert near.max() <= 0.10
    # Uniform in volume: half of the shell lies within the radius of half its volume.
    half = ((0.05**3 + 0.10**3) / 2) ** (1 / 3)
    assert (near < half).mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(4000))
    wide = all_goals(rng, 4000) - GRIPPER
    assert np.abs(wide).max() <= 0.15
    assert np.linalg.norm(wide, axis=1).max() > 0.2


def test_fetch_reach_has_our_goals(rng):
    """Goals are shown, paid for and reached as ours; the arm does what it always did."""
    task = make_task("FetchReach-v4", 3, horizon=12, seed=0, law="full")
    assert isinstance(task, ProductTask)
    assert (task.spec.obs_dim, task.spec.act_dim) == (13, 4)
    first = task.reset()
    assert first[:, :3] == pytest.approx(np.repeat(GRIPPER[None], 3, 0), abs=1e-5)
    t = collect(rng, task, planned_expert("FetchReach-v4"), 3, stochastic=False)
    assert task.success(t.final_observations).all()
    far = np.linalg.norm(t.observations[1:12, :3] - t.tasks[0], axis=1) > 0.05
    assert np.array_equal(t.rewards[:11], -far.astype(np.float32))
    plain = make_task("FetchReach-v4", 3, horizon=12, seed=0, law=None)
    assert plain.spec.obs_dim == 16
    again = make_task("FetchReach-v4", 3, horizon=12, seed=0)
    starts = plain.reset(), again.reset()
    actions = rng.uniform(-1, 1, (6, 3, 4)).astype(np.float32)
    for row in actions:
        starts = plain.step(row).observations, again.step(row).observations
    assert np.array_equal(starts[0][:, 6:], starts[1][:, :10])
    with pytest.raises(InputError, match=r"is 100 cm from where the gripper starts"):
        again.assign(np.repeat((GRIPPER + np.array([1.0, 0.0, 0.0]))[None], 3, 0))


def test_the_map_of_the_catalogue_is_the_map_of_the_engine():
    assert make_task(NAVIGATION, 1)._task._task.world == LakeWorld()
    for name, world in MAPS.items():
        assert make_task(name, 1)._task._task.world == world
        assert task_space(name).mend.__self__ == world
