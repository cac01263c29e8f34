"""A simulator or a policy that fails in the middle of a run of imitation."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import etairl
from etairl.algorithms.girl import GirlConfig
from etairl.cli.running import RunOptions, follow
from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.discriminator import GanConfig
from etairl.demos import Demos, save_demos
from etairl.evaluation.matching import Reference
from etairl.rollouts import UniformPolicy, collect
from etairl.runs import RunDirectory
from etairl.solvers.players import SACSettings
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.tasks import make_task
from etairl.training.flat import configure
from etairl.training.session import open_run
from etairl.training.settings import TrainConfig
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
    save_demos(Demos.of(played, task.spec, "random"), tmp_path / "drift.npz")
    Drift.steps = 0
    yield TrainConfig(
        env="test/Drift-v0",
        demos=str(tmp_path / "drift.npz"),
        demonstrations=None,
        horizon=20,
        girl=GirlConfig(
            transitions=500,
            episodes=4,
            cost_updates=2,
            cost_batch=8,
            remaining_cycles=3,
        ),
        cost=GanConfig(network=DiscriminatorConfig(hidden_d=(8,))),
        solver=SACSettings(OffPolicy(solver_updates=3, solver_batch=8), SACConfig(hidden=(8,))),
    )
    gymnasium.registry.pop("test/Drift-v0")


def test_a_run_whose_simulator_failed_goes_on_as_if_it_had_not(config, tmp_path):
    """The half-played cycle is played again, from the same starts."""
    unbroken = etairl.train(config, tmp_path / "unbroken").path
    Drift.steps, Drift.last = 0, 290
    with pytest.raises(InputError, match="motor 7 is on fire"):
        etairl.train(config, tmp_path / "failed")
    assert RunDirectory(tmp_path / "failed").checkpoints.any
    Drift.last = np.inf
    with open_run(config, tmp_path / "failed", resume=True) as run:
        assert list(run.play())
    for name in ("policy.safetensors", "cost.safetensors", "metrics.jsonl"):
        assert (tmp_path / "failed" / name).read_bytes() == (unbroken / name).read_bytes()


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_what_diverged_is_not_kept(config, tmp_path):
    """A policy that gives NaN: no checkpoint of it, and the simulator is not blamed.

    One update of size 1e30 leaves finite weights, whose products overflow when they act.
    """
    wild = configure(config, solver_updates=1, hidden=(8, 8), actor_lr=1e30, seed=2)
    with pytest.raises(DivergedError, match=r"the policy gave NaN.*\(in cycle 2\)"):
        etairl.train(wild, tmp_path / "wild")
    assert not RunDirectory(tmp_path / "wild").checkpoints.any
    with pytest.raises(InputError, match=r"\(in cycle 2\); the last checkpoint, of cycle 1, is"):
        follow(wild, tmp_path / "kept", RunOptions(0.0, 1))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_players_that_broke_in_the_last_update_are_not_kept(config, tmp_path):
    """1e39 is infinity in single precision; all that the only update reports is from before it."""
    wild = configure(config, solver_updates=1, actor_lr=1e39)
    with pytest.raises(InputError, match=r"in solver.actor.* after cycle 1; there was no check"):
        follow(wild, tmp_path / "wild", RunOptions(0.0, 1))
    assert not RunDirectory(tmp_path / "wild").checkpoints.any


class Torn(Reference):
    """Cannot compare any more after so many times."""

    left = 4

    def mmd2(self, *arguments, **options):
        Torn.left -= 1
        if Torn.left < 0:
            raise InputError("the ruler broke")
        return super().mmd2(*arguments, **options)


def test_a_failure_between_the_updates_and_the_metrics_keeps_the_players(config, tmp_path):
    """The state before them is gone by then: what is kept is the one after."""
    config = replace(config, measure_every=1)
    directory = RunDirectory(tmp_path / "torn")
    with open_run(config, directory.path) as run:
        reference = run.prepared.reference
        torn = Torn(reference.steps, scale=reference.scale)
        run._prepared = run.prepared._replace(reference=torn)
        with pytest.raises(InputError, match="the ruler broke"):
            list(run.play())
    assert directory.checkpoints.cycle == 5
    with open_run(config, directory.path, resume=True) as run:
        rows = [report.row["cycle"] for report in run.play()]
    assert rows[0] == 6
    assert directory.finished
