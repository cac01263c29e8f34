"""Where episodes end, and how a task goes on in the middle of them."""

import gymnasium
import gymnasium.envs.classic_control
import numpy as np
import pytest

from etairl.buffers import Replay
from etairl.rollouts import UniformPolicy, collect
from etairl.tasks import make_task, with_self_loops

ENGINES = ["envpool", "gymnasium"]


def play(name, engine, horizon, mode="terminating"):
    task = make_task(name, 6, horizon=horizon, seed=0, engine=engine, mode=mode)
    return collect(np.random.default_rng(0), task, UniformPolicy(task), 6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["CartPole-v1", "Hopper-v5"])
def test_a_world_that_ends_at_the_last_step_has_ended(name, engine):
    """The horizon is where the first copy falls: the same step, now also the last one."""
    free = play(name, engine, 200)
    assert free.terminated[free.last_rows].all()
    horizon = int(free.lengths[0])
    cut = play(name, engine, horizon)
    expected = free.lengths <= horizon
    assert 0 < expected.sum() < 6
    assert cut.terminated[cut.last_rows].tolist() == expected.tolist()
    assert cut.truncated[cut.last_rows].tolist() == (~expected).tolist()
    marks = play(name, engine, horizon, "absorbing").final_observations[:, -1]
    assert marks.tolist() == expected.astype(float).tolist()


class Impatient(gymnasium.envs.classic_control.PendulumEnv):
    """A pendulum that gives up after five steps, whoever asks for more."""

    def reset(self, *, seed=None, options=None):
        self.count = 0
        return super().reset(seed=seed, options=options)

    def step(self, action):
        self.count += 1
        seen, reward, ended, _, info = super().step(action)
        return seen, reward, ended, self.count == 5, info


def test_a_cut_by_the_environment_is_nothing_to_absorb():
    gymnasium.register("test/Impatient-v0", entry_point=Impatient)
    try:
        for horizon in (8, 5):
            task = make_task("test/Impatient-v0", 2, horizon=horizon, mode="absorbing")
            played = collect(np.random.default_rng(0), task, UniformPolicy(task), 2)
            seen = with_self_loops(played, task)
            assert seen.lengths.tolist() == [5, 5]
            assert (seen.final_observations[:, -1] == 0.0).all()
    finally:
        del gymnasium.registry["test/Impatient-v0"]


@pytest.mark.parametrize("engine", ENGINES)
def test_copies_go_on_after_the_time_limit(engine):
    """Step by step: a limit every 6 steps, then one row that is a start, in every copy."""
    task = make_task("Hopper-v5", 3, horizon=6, seed=0, engine=engine)
    task.reset()
    steps = [task.step(np.zeros((3, 3), np.float32)) for _ in range(21)]
    truncated = np.array([step.truncated.all() for step in steps])
    assert np.flatnonzero(truncated).tolist() == [5, 12, 19]
    assert [step.fresh.all() for step in steps] == [False, *truncated[:-1]]
    assert task.resets.tolist() == [4, 4, 4]
    starts = [steps[k].observations for k in (6, 13, 20)]
    assert len(np.unique(np.concatenate(starts), axis=0)) == 9


@pytest.mark.parametrize("engine", ENGINES)
def test_a_time_limit_is_no_end_of_the_world_for_what_is_learned(engine, rng):
    """From the simulator to the batch: no row is terminated, and each leads to its successor."""
    task = make_task("Pendulum-v1", 3, horizon=5, seed=0, engine=engine)
    replay = Replay(300, 3, 3, 1)
    observations = task.reset()
    replay.start(observations)
    follows = {}
    for _ in range(40):
        actions = rng.uniform(-2, 2, (3, 1)).astype(np.float32)
        step = task.step(actions)
        replay.add(actions, step)
        for before, after, fresh in zip(observations, step.observations, step.fresh, strict=True):
            if not fresh:
                follows[before.tobytes()] = after.tobytes()
        observations = step.observations
    drawn = replay.draw(rng, (2000,))
    assert not drawn.terminated.any()
    pairs = zip(drawn.observations, drawn.next_observations, strict=True)
    assert {a.tobytes(): b.tobytes() for a, b in pairs} == follows


@pytest.mark.parametrize("name", ["Hopper-v5", "CartPole-v1", "Pendulum-v1"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_fresh_task_rejoins_the_episodes_of_another(name, engine):
    """Copies are of different ages; one may just have ended. Every step after it is the same."""

    def make():
        return make_task(name, 4, horizon=17, seed=3, engine=engine)

    rng = np.random.default_rng(1)
    first = make()
    policy = UniformPolicy(first)
    observations = first.reset()
    replay = Replay(4000, 4, first.spec.obs_dim, first.spec.act_dim)
    replay.start(observations)
    ages = np.zeros(4, int)
    for moment in range(1, 60):
        actions = policy(rng, observations)
        step = first.step(actions)
        observations = step.observations
        replay.add(actions.astype(np.float32), step)
        ages = np.where(step.fresh, 0, ages + 1)
        if moment in (17, 18, 43, 59):
            second = make()
            found = replay.since_reset()
            assert found is not None
            assert found[1].tolist() == ages.tolist()
            again = second.rejoin(first.resets.copy(), *found)
            assert again.tobytes() == observations.tobytes()
            assert second.resets.tolist() == first.resets.tolist()
    for _ in range(40):
        actions = policy(rng, observations)
        step, other = first.step(actions), second.step(actions)
        observations = step.observations
        for a, b in zip(step, other, strict=True):
            assert a.tobytes() == b.tobytes()
