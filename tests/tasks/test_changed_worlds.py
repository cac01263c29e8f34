"""Worlds to which a learned cost is carried: known ones in which something has changed."""

import gymnasium
import numpy as np
import pytest

from etairl.rollouts import UniformPolicy, collect
from etairl.tasks import ends_early, make_task, planned_expert
from etairl.tasks.environments import time_limit
from etairl.tasks.lame import LAME_ANT, LAMED
from etairl.tasks.navigation_world import MAPS, NAVIGATION, SHIFTED_NAVIGATION
from etairl.types import InputError

STILL = list(LAMED[LAME_ANT].still)


def test_the_legs_that_do_not_obey_are_the_front_ones():
    model = gymnasium.make("Ant-v5").unwrapped.model
    joints = [model.joint(model.actuator(i).trnid[0]) for i in STILL]
    assert [joint.name for joint in joints] == ["hip_1", "ankle_1", "hip_2", "ankle_2"]
    of = {"front_left_leg": "aux_1", "front_right_leg": "aux_2"}
    assert {model.body(leg).id for leg in of} == {
        int(model.body(a).parentid[0]) for a in of.values()
    }
    assert {model.body(int(joint.bodyid[0])).name for joint in joints[::2]} == set(of.values())


@pytest.mark.parametrize("engine", ["envpool", "gymnasium"])
def test_a_lame_ant_is_an_ant_that_was_asked_for_less(engine, rng):
    """Same starts, same steps, same rewards, whatever the lame columns ask for."""
    lame, well = (
        make_task(name, 2, horizon=30, seed=3, engine=engine) for name in (LAME_ANT, "Ant-v5")
    )
    assert lame.spec.environment == LAME_ANT
    assert (lame.spec.obs_dim, lame.spec.act_dim) == (27, 8)
    assert np.array_equal(lame.reset(), well.reset())
    for actions in rng.uniform(-1.0, 1.0, (12, 2, 8)).astype(np.float32):
        asked = actions.copy()
        actions[:, STILL] = 0.0
        one, two = lame.step(asked), well.step(actions)
        assert np.array_equal(one.observations, two.observations)
        assert np.array_equal(one.rewards, two.rewards)
        assert not np.array_equal(asked, actions)


def test_a_lame_ant_rejoins_in_the_middle(rng):
    task = make_task(LAME_ANT, 2, horizon=40, seed=4, threads=1)
    task.reset()
    actions = rng.uniform(-1.0, 1.0, (5, 2, 8)).astype(np.float32)
    for row in actions:
        step = task.step(row)
    again = make_task(LAME_ANT, 2, horizon=40, seed=4, threads=1)
    there = again.rejoin(task.resets, actions, np.array([5, 5]))
    assert np.array_equal(there, step.observations)


def test_a_lame_ant_has_what_an_ant_has():
    assert ends_early(LAME_ANT)
    assert time_limit(LAME_ANT) == 1000
    fixed = make_task(LAME_ANT, 1, horizon=20, mode="fixed")
    played = collect(np.random.default_rng(0), fixed, UniformPolicy(fixed), 2)
    assert (played.lengths == 20).all()
    assert make_task(LAME_ANT, 1, options={"use_contact_force": True}).spec.obs_dim == 105
    with pytest.raises(InputError, match="has no option 'legs'"):
        make_task(LAME_ANT, 1, options={"legs": 2})
    with pytest.raises(InputError, match=f"did you mean {LAME_ANT}"):
        make_task("etairl/LameAnts-v0", 1)


def test_the_planner_solves_the_shifted_map(rng):
    task = make_task(SHIFTED_NAVIGATION, 50, seed=0)
    assert task.spec.environment == SHIFTED_NAVIGATION
    walks = collect(rng, task, planned_expert(SHIFTED_NAVIGATION), 50, stochastic=False)
    assert task.success(walks.final_observations).all()
    world = MAPS[SHIFTED_NAVIGATION]
    assert world.on_land(walks.observations[:, :2].astype(np.float64), -1e-4).all()
    distances = world.distances(walks.observations[:, :2].astype(np.float64))
    assert walks.observations[:, 2:6] == pytest.approx(distances, abs=1e-4)


def test_the_shifted_lake_is_where_ways_led_through(rng):
    """The planner of the known map is stopped there, and no other lake has moved."""
    known, shifted = MAPS[NAVIGATION], MAPS[SHIFTED_NAVIGATION]
    assert known.lakes[1:] == shifted.lakes[1:]
    assert known.lakes[0][2] == shifted.lakes[0][2]
    task = make_task(SHIFTED_NAVIGATION, 100, seed=1)
    walks = collect(rng, task, planned_expert(NAVIGATION), 100, stochastic=False)
    assert 0.4 < task.success(walks.final_observations).mean() < 0.95


def test_the_shifted_map_in_gymnasium_and_numpy(rng):
    env = gymnasium.make(f"etairl.tasks.navigation_env:{SHIFTED_NAVIGATION}")
    seen, _ = env.reset(options={"position": (-6.0, 1.0), "target": (6.0, 1.0)})
    for _ in range(4):
        seen, *_ = env.step(np.array([1.0, 0.0]))
    assert seen[:2] == pytest.approx([-4.0, 1.0])  # the shore of the lake in the middle
    with pytest.raises(InputError, match=r"lies in the lake of radius 3 around \(-1, 1\)"):
        make_task(SHIFTED_NAVIGATION, 1).assign(np.array([[0.0, 0.0]]))
    made = make_task(SHIFTED_NAVIGATION, 2, engine="gymnasium", horizon=10)
    walks = collect(rng, made, planned_expert(SHIFTED_NAVIGATION), 2)
    assert walks.obs_dim == 8
