import numpy as np
import pytest

from etairl.algorithms.grl import GrlConfig, grl, weighted_cost
from etairl.eta import parse_eta
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.tasks import make_task
from etairl.types import InputError, Trajectories


def test_the_weighted_cost_of_episodes_by_hand():
    """Geom(0.5), gamma 0.5: weights 0.5, 0.5, 0.375; episodes of three steps and of one."""
    played = Trajectories(
        observations=np.zeros((4, 1), np.float32),
        actions=np.zeros((4, 1), np.float32),
        terminated=np.array([False, False, True, True]),
        truncated=np.zeros(4, bool),
        offsets=np.array([0, 3, 4]),
        rewards=np.float32([-1.0, -2.0, -4.0, -10.0]),
    )
    expected = (0.5 * 1 + 0.5 * 2 + 0.375 * 4 + 0.5 * 10) / 2
    assert weighted_cost(played, parse_eta("geometric:0.5"), 0.5) == pytest.approx(expected)


def test_a_solver_that_asks_for_no_time_gets_none(monkeypatch):
    seen, original = [], SAC.updates

    def spied(self, key, state, drawn):
        seen.append(drawn.batches[0])
        return original(self, key, state, drawn)

    monkeypatch.setattr(SAC, "updates", spied)
    task = make_task("etairl.tasks.pay_early:GoStay-v0", 2, horizon=4, seed=0)
    solver = SAC(SACConfig(hidden=(4,)), task.spec, play=OffPolicy(3, 8))
    rounds = list(grl(GrlConfig(cycles=2, episodes=2), task, solver))
    assert [batches.time for batches in seen] == [None, None]
    assert [r.rolled_out.steps for r in rounds] == [8, 8]
    assert set(np.unique(seen[0].cost)) <= {np.float32(0.4), np.float32(1.0), np.float32(0.0)}


def test_bad_settings():
    with pytest.raises(InputError, match="memory must be at least 1, got 0"):
        GrlConfig(memory=0)


def test_cycles_of_steps_are_as_long_as_the_horizon():
    task = make_task("etairl.tasks.pay_early:GoStay-v0", 2, horizon=4, seed=0)
    solver = SAC(SACConfig(hidden=(4,)), task.spec, play=OffPolicy(3, 8))
    config = GrlConfig(cycles=2, episodes=2, rollout="steps", memory=1)
    rounds = list(grl(config, task, solver))
    assert [r.rolled_out.steps for r in rounds] == [8, 8]
