"""Environments are really drawn, and recorded observations lead back to the recorded states."""

import sys
import warnings

import gymnasium
import numpy as np
import pytest

from etairl.rollouts import UniformPolicy, collect
from etairl.tasks import make_task
from etairl.tasks.environments import gymnasium_options
from etairl.tasks.offscreen import choose_backend, need
from etairl.tasks.poses import find_poser
from etairl.tasks.rendering import Scene
from etairl.training.scenes import demonstration, side_by_side
from etairl.types import InputError

SIZE = (64, 48)
MUJOCO = ["Hopper-v5", "HalfCheetah-v5"]
ACTIONS = {"Hopper-v5": 3, "HalfCheetah-v5": 6}
FOLLOWED = [
    *("Ant-v4", "Ant-v5", "HalfCheetah-v4", "HalfCheetah-v5", "Hopper-v4", "Hopper-v5"),
    *("Humanoid-v5", "InvertedPendulum-v5", "Swimmer-v5", "Walker2d-v4", "Walker2d-v5"),
]


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    """MuJoCo writes its remarks on a model into the current folder."""
    monkeypatch.chdir(tmp_path)


def record(environment: str, steps: int = 12):
    """One episode of random actions."""
    task = make_task(environment, 1, horizon=steps, seed=3, threads=1)
    return collect(np.random.default_rng(0), task, UniformPolicy(task), 1)


def bare(environment: str):
    """The environment itself; it cannot be drawn, but be put into a state."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = gymnasium.make(environment, **gymnasium_options(environment, "terminating"))
        made.reset(seed=0)
    return made.unwrapped


def scene(environment: str, seed: int = 0, horizon: int = 50) -> Scene:
    return Scene(environment, "terminating", horizon, seed, SIZE)


@pytest.mark.parametrize("environment", FOLLOWED)
def test_the_state_of_an_observation_gives_it_back(environment):
    episode = record(environment)
    world = bare(environment)
    pose = find_poser(environment, world, episode.observations)
    assert pose is not None
    # Humanoid adds columns that a state alone does not decide, such as contact forces.
    known = 45 if environment.startswith("Humanoid") else episode.obs_dim
    for step, recorded in enumerate(episode.observations):
        pose(step, None)
        again = world._get_obs()[:known]
        np.testing.assert_allclose(again, recorded[:known], rtol=0, atol=1e-6)


def test_the_state_of_a_pendulum():
    episode = record("Pendulum-v1")
    world = bare("Pendulum-v1")
    pose = find_poser("Pendulum-v1", world, episode.observations)
    assert pose is not None
    for step, recorded in enumerate(episode.observations):
        pose(step, episode.actions[step])
        np.testing.assert_allclose(world._get_obs(), recorded, rtol=0, atol=1e-6)
        assert world.last_u == episode.actions[step, 0]


@pytest.mark.parametrize("environment", MUJOCO)
def test_the_place_follows_from_the_velocity(environment):
    world = bare(environment)
    world.data.qvel[0] = 2.0  # pushed off
    rng = np.random.default_rng(0)
    rows, places = [world._get_obs()], [world.data.qpos[0]]
    for _ in range(20):
        rows.append(world.step(rng.uniform(-0.3, 0.3, world.action_space.shape))[0])
        places.append(world.data.qpos[0])
    pose = find_poser(environment, world, np.stack(rows))
    assert pose is not None
    pose(20, None)
    moved = places[-1] - places[0]
    assert moved > 0.1
    assert world.data.qpos[0] == pytest.approx(moved, rel=0.05)


@pytest.mark.parametrize("environment", ["Reacher-v5", "Hopper-v5", "Pendulum-v1"])
def test_observations_that_do_not_tell_the_state(environment):
    world = bare(environment)
    assert find_poser(environment, world, np.zeros((4, 2))) is None


@pytest.mark.usefixtures("offscreen")
@pytest.mark.parametrize("environment", MUJOCO)
def test_mujoco_is_drawn(environment):
    """Not blank, of the wanted size, and two scenes do not draw into each other's pictures."""
    first, second = scene(environment, 0), scene(environment, 1)
    first.reset()
    second.reset()
    for _ in range(5):
        second.step(np.ones((1, ACTIONS[environment]), np.float32))
    pictures = [first.draw(), second.draw(), first.draw(), second.draw()]
    assert pictures[0].shape == (48, 64, 3)
    assert pictures[0].std() > 10
    np.testing.assert_array_equal(pictures[0], pictures[2])
    np.testing.assert_array_equal(pictures[1], pictures[3])
    assert np.abs(pictures[0].astype(int) - pictures[1]).mean() > 0.3
    first.close()
    second.close()


@pytest.mark.usefixtures("offscreen")
def test_a_recorded_picture_is_the_live_one():
    """Half a cheetah: posed from its observation it looks as it did when it was simulated."""
    live, posed = scene("HalfCheetah-v5"), scene("HalfCheetah-v5", 1)
    rows = [live.reset()[0]]
    rows += [live.step(np.full((1, 6), 0.5, np.float32)).observations[0] for _ in range(10)]
    assert posed.load(np.stack(rows))
    posed.pose(0, None)
    other = posed.draw()
    posed.pose(10, None)
    seen = live.draw().astype(int)
    # The place of the start is unknown, so the pattern on the ground may be shifted.
    assert np.abs(seen - posed.draw()).mean() < 0.5 * np.abs(seen - other).mean()
    live.close()
    posed.close()


@pytest.mark.usefixtures("offscreen")
def test_the_ground_does_not_end():
    stage = scene("HalfCheetah-v5")
    rows = np.repeat(stage.reset(), 2, axis=0)
    rows[:, 8] = 4000.0  # metres per second: 200 m in one step
    assert stage.load(rows)
    for step in range(2):
        stage.pose(step, None)
        ground = stage.draw()[-8:]
        assert ground.std() > 30
    stage.close()


@pytest.mark.parametrize("environment", ["Pendulum-v1", "CartPole-v1", "Acrobot-v1"])
def test_classic_control_is_drawn_the_same_live_and_recorded(environment):
    live, posed = scene(environment), scene(environment, 1)
    rows = [live.reset()[0]]
    action = np.ones((1, 1), np.float32 if environment.startswith("Pend") else np.int64)
    rows += [live.step(action).observations[0] for _ in range(6)]
    assert posed.load(np.stack(rows))
    posed.pose(6, action[0])
    seen = live.draw()
    assert seen.std() > 5
    assert np.abs(seen.astype(int) - posed.draw()).mean() < 0.1
    posed.pose(0, None)
    assert (seen != posed.draw()).any()
    live.close()
    posed.close()


@pytest.mark.usefixtures("offscreen")
def test_where_states_are_unknown_the_actions_are_replayed():
    stage = scene("Reacher-v5")
    panels = list(demonstration(record("Reacher-v5", 4), 0, stage, 3))
    assert [panel.step for panel in panels] == [0, 1, 2, 3]
    assert panels[-1].caption.startswith("actions of demonstration 0, other start, step 3, return")
    assert (panels[0].picture != panels[-1].picture).any()
    stage.close()


def test_a_demonstration_is_shown_to_its_end_and_then_stands_still():
    stage, other = scene("Pendulum-v1"), scene("Pendulum-v1")
    short, long = record("Pendulum-v1", 3), record("Pendulum-v1", 6)
    sides = [demonstration(short, 0, stage, 5), demonstration(long, 0, other, 5)]
    shown = list(side_by_side(sides))
    assert [[panel.step for panel in row] for row in shown] == [
        *([0, 0], [1, 1], [2, 2]),
        *([3, 3], [3, 4], [3, 5]),
    ]
    assert short.returns is not None
    assert shown[-1][0].total == pytest.approx(short.returns[0])
    assert shown[-1][1].total == pytest.approx(float(long.rewards[:5].sum()))
    with pytest.raises(InputError, match="there is no demonstration 1; the run learned from 1"):
        demonstration(short, 1, stage, 5)
    stage.close()


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    with pytest.raises(InputError, match=r"neither EGL nor OSMesa works; .*install libosmesa6"):
        choose_backend(["nonsense"])
    monkeypatch.setenv("MUJOCO_GL", "nonsense")
    with pytest.raises(InputError, match="MUJOCO_GL=nonsense does not work here; unset it"):
        scene("Hopper-v5")
    monkeypatch.delenv("MUJOCO_GL")
    for package, environment in (("mujoco", "Hopper-v5"), ("pygame", "Pendulum-v1")):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, package, None)
            with pytest.raises(InputError, match=rf"needs the package {package}.*etairl\[render\]"):
                scene(environment)
    with pytest.raises(InputError, match="writing needs the package no-such; install it"):
        need("no_such", "writing")


class Blind(gymnasium.Env):
    """Has nothing to show."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)


def test_environments_that_cannot_be_drawn():
    gymnasium.register("Blind-v0", entry_point=Blind)
    with pytest.raises(InputError, match=r"Blind-v0 cannot be drawn: its render modes are none"):
        scene("Blind-v0")
    with pytest.raises(InputError, match="CheetahRun-v1 cannot be drawn: Gymnasium does not have"):
        scene("CheetahRun-v1")
