"""An expert learns the right thing, from what really happened."""

from collections.abc import Iterator

import gymnasium
import jax
import numpy as np
import pytest

from etairl.algorithms import expert
from etairl.algorithms.expert import (
    ExpertConfig,
    ExpertCycle,
    begin,
    make_expert_task,
    make_solver,
    train_expert,
)
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import SACConfig


class Bandit(gymnasium.Env):
    """One step: the reward is largest, 0, at the action 0.5."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), -float((action[0] - 0.5) ** 2), True, False, {}


class Counting(gymnasium.Env):
    """Counts its steps; the world ends after 3 of them, or would after 9. The reward is 10 each.

    Everything that a transition should hold can be read from where it leads.
    """

    observation_space = gymnasium.spaces.Box(0.0, 9.0, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.row = np.array([0.0, self.np_random.choice([3.0, 9.0])], np.float32)
        return self.row, {}

    def step(self, action):
        self.row = self.row + np.array([1.0, 0.0], np.float32)
        return self.row, 10.0 * float(self.row[0]), bool(self.row[0] == self.row[1]), False, {}


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    names = {"test/Bandit-v0": Bandit, "test/Counting-v0": Counting}
    for name, kind in names.items():
        gymnasium.register(name, entry_point=kind, max_episode_steps=6)
    yield
    for name in names:
        gymnasium.registry.pop(name)


def cycles(config: ExpertConfig) -> Iterator[ExpertCycle]:
    task = make_expert_task(config)
    solver = make_solver(config, task)
    return train_expert(config, task, solver, begin(config, task, solver))


def test_the_return_of_a_bandit_rises():
    """A random action pays -1/3 - 1/4 on average, the worst one -2.25, the best one 0."""
    config = ExpertConfig(
        env="test/Bandit-v0",
        steps=2000,
        envs=16,
        cycle=32,
        warmup=250,
        batch=64,
        sac=SACConfig(hidden=(32, 32), actor_lr=3e-3, critic_lr=3e-3, temperature=0.01),
    )
    returns = [cycle.returns for cycle in cycles(config)]
    assert np.mean(returns[0]) < -0.4
    assert np.mean(returns[-1]) > -0.1


COUNTING = ExpertConfig(
    env="test/Counting-v0",
    steps=600,
    envs=4,
    cycle=24,
    warmup=60,
    batch=32,
    judge_every=100,
    judge_episodes=2,
    sac=SACConfig(hidden=(8,)),
)


@pytest.mark.parametrize("longest", [512, 40])
def test_batches_hold_what_the_world_did(monkeypatch, longest):
    """Cost is minus the reward; only the world terminates; no reset is a transition."""
    seen = []
    updates = SAC.updates

    def spy(self, key, state, drawn):
        assert not drawn.critics_only
        seen.append(jax.tree.map(np.asarray, drawn.batches[0]))
        return updates(self, key, state, drawn)

    monkeypatch.setattr(SAC, "updates", spy)
    monkeypatch.setattr(expert, "_LONGEST_SCAN", longest)
    many = sum(cycle.info is not None for cycle in cycles(COUNTING))
    assert sum(len(batch.cost) for batch in seen) == many * 4 * 24
    assert max(len(batch.cost) for batch in seen) == min(longest, 4 * 24)
    for batch in seen:
        count, length = batch.next_obs[..., 0], batch.next_obs[..., 1]
        assert np.array_equal(batch.cost, -10.0 * count)
        assert np.array_equal(batch.terminated, count == length)
        assert np.array_equal(batch.obs[..., 0], count - 1)
        assert np.array_equal(batch.obs[..., 1], length)
    ends = np.concatenate([batch.next_obs[..., 0].ravel() for batch in seen])
    assert ends.max() == 6  # where the time limit cut the longer ones


def test_the_policy_that_was_judged_best_is_kept(monkeypatch):
    scores = iter([1.0, 3.0, 2.0, 2.5, *[0.0] * 20])
    monkeypatch.setattr(expert, "_judge", lambda policy, stage: next(scores))
    actors = {}
    for cycle in cycles(COUNTING):
        if cycle.judged is not None:
            actors[cycle.judged] = np.array(cycle.progress.solver.actor.weights[0])
    best = cycle.progress.best
    assert float(best.score) == 3.0
    assert np.array_equal(best.actor.weights[0], actors[3.0])
    assert not np.array_equal(best.actor.weights[0], actors[2.5])


def test_a_discrete_expert_learns_to_balance():
    """CartPole: a random policy holds out for about 22 steps, this one soon for some 250."""
    config = ExpertConfig(
        env="CartPole-v1",
        steps=3000,
        envs=8,
        cycle=8,
        warmup=500,
        batch=64,
        judge_every=1000,
        judge_episodes=5,
        sac=SACConfig(
            hidden=(64, 64),
            actor_lr=1e-3,
            critic_lr=1e-3,
            temperature_lr=1e-3,
            polyak=0.02,
            first_temperature=0.2,
            target_entropy=0.15,
        ),
    )
    *_, last = cycles(config)
    assert float(last.progress.best.score) > 130
