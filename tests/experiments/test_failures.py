"""A simulator or a policy that fails in the middle of a run of imitation."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import etairl
from etairl.algorithms.girl import GirlConfig
from etairl.costs.discriminator import DiscriminatorConfig
from etairl.demos import Demos, save_demos
from etairl.experiments.imitation import run
from etairl.experiments.preparation import prepare
from etairl.experiments.settings import TrainConfig
from etairl.rollouts import UniformPolicy, collect
from etairl.runs import RunDirectory
from etairl.solvers.sac import SACConfig
from etairl.tasks import make_task
from etairl.types import DivergedError, InputError


class Drift(gymnasium.Env):
    """Every start differs; episodes end early now and then. Breaks after `last` steps in all."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    last: float = np.inf
    steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.normal(size=2).astype(np.float32)
        return self.place, {}

    def step(self, action):
        Drift.steps += 1
        if Drift.steps > Drift.last:
            raise RuntimeError("motor 7 is on fire")
        self.place = self.place + np.float32(0.3) * action[0] + np.float32(0.1)
        return self.place, 1.0, bool(self.place[0] > 1.5), False, {}


@pytest.fixture
def config(tmp_path):
    gymnasium.register("test/Drift-v0", entry_point=Drift, max_episode_steps=20)
    Drift.last, Drift.steps = np.inf, 0
    task = make_task("test/Drift-v0", 4, seed=9)
    played = collect(np.random.default_rng(0), task, UniformPolicy(task), 4)
    save_demos(Demos(played, task.spec, "random"), tmp_path / "drift.npz")
    Drift.steps = 0
    yield TrainConfig(
        env="test/Drift-v0",
        demos=str(tmp_path / "drift.npz"),
        demonstrations=None,
        horizon=20,
        girl=GirlConfig(
            transitions=500,
            episodes=4,
            solver_updates=3,
            solver_batch=8,
            cost_updates=2,
            cost_batch=8,
            remaining_cycles=3,
        ),
        cost=DiscriminatorConfig(hidden_d=(8,)),
        sac=SACConfig(hidden=(8,)),
    )
    gymnasium.registry.pop("test/Drift-v0")


def test_a_run_whose_simulator_failed_goes_on_as_if_it_had_not(config, tmp_path):
    """The half-played cycle is played again, from the same starts."""
    unbroken = etairl.train(config, tmp_path / "unbroken").path
    Drift.steps, Drift.last = 0, 290
    with pytest.raises(InputError, match="motor 7 is on fire"):
        etairl.train(config, tmp_path / "failed")
    assert RunDirectory(tmp_path / "failed").has_checkpoint
    Drift.last = np.inf
    for _ in run(prepare(config), RunDirectory(tmp_path / "failed")):
        pass
    for name in ("policy.safetensors", "cost.safetensors", "metrics.jsonl"):
        assert (tmp_path / "failed" / name).read_bytes() == (unbroken / name).read_bytes()


def test_what_diverged_is_not_kept(config, tmp_path, monkeypatch):
    """A policy that gives NaN: no checkpoint of it, and the simulator is not blamed."""
    wild = replace(config, sac=replace(config.sac, actor_lr=1e25))
    monkeypatch.setattr("etairl.experiments.imitation._check_finite", lambda state, row: None)
    with pytest.raises(DivergedError, match="the policy gave NaN"):
        etairl.train(wild, tmp_path / "wild")
    assert not RunDirectory(tmp_path / "wild").has_checkpoint
