from dataclasses import replace

import numpy as np
import pytest

from etairl.demos import Demos, Selection, limit_cycle
from etairl.eta import parse_eta
from etairl.evaluation.inspection import inspect
from etairl.types import Spec


def test_what_is_there(demos):
    found = inspect(demos)
    t = demos.trajectories
    assert (found.episodes, found.steps) == (8, 480)
    assert (found.obs_dim, found.act_dim) == (4, 2)
    assert found.returns.mean == pytest.approx(t.returns.mean())
    assert found.action.high == pytest.approx(t.actions.max())
    assert found.terminated == found.ended_early == found.non_finite == 0
    assert found.floor_raw.size == found.floor_standardised.size == 240
    assert found.cycle.length == 15
    assert found.advice.eta == "poisson:15"
    assert "repeats every 15 steps" in found.advice.reason
    assert found.warnings == []


def test_same_seed_same_inspection(demos):
    assert inspect(demos, 3) == inspect(demos, 3)


def test_the_advice_parses(demos, rng):
    for part in (Selection(), Selection(steps=10), Selection(every=4)):
        advice = inspect(Demos.of(part(demos.trajectories), demos.spec)).advice
        assert str(parse_eta(advice.eta)) == advice.eta


def test_no_cycle_no_poisson(rng):
    demos = limit_cycle(rng, episodes=6, length=100, period=1000.0)
    found = inspect(demos)
    assert found.cycle is None
    assert found.advice.eta.startswith("geometric:")
    assert "no cycle was found" in found.advice.reason


def test_warnings_say_what_may_go_wrong(demos):
    t = demos.trajectories
    unbounded = Demos.of(replace_actions(t, t.actions * 10), Spec(4, 2))
    assert any(
        "leave [-1, 1] and the file names no bounds" in w for w in inspect(unbounded).warnings
    )
    clipped = Demos.of(t, Spec(4, 2, (-0.1, -0.1), (0.1, 0.1)))
    assert any("outside the bounds and were clipped" in w for w in inspect(clipped).warnings)
    few = Demos.of(t.take(np.array([0, 1, 1])), demos.spec)
    found = inspect(few)
    assert found.floor_raw is None
    assert any("only 3 episodes" in w for w in found.warnings)
    assert any("1 episodes are exact copies" in w for w in found.warnings)


def test_discrete_actions_are_not_told_to_have_bounds(demos):
    t = demos.trajectories
    index = (np.arange(t.steps) % 3)[:, None]
    for actions in (index, index.astype(np.float32)):  # some store indices as floats
        said = inspect(Demos.of(replace(t, actions=actions), Spec(4, 1))).warnings
        assert any("import with --discrete 3" in w for w in said)
        assert not any("--bounds" in w for w in said)
    named = Demos.of(replace(t, actions=index), Spec(4, 1, discrete_actions=3))
    assert not any("--discrete" in w or "--bounds" in w for w in inspect(named).warnings)


def test_unequal_lengths_and_early_ends(demos):
    t = demos.trajectories
    cut = t.take(np.array([0, 1, 2, 3]))
    short = Selection(steps=30)(t.take(np.array([4, 5])))
    rows = cut.steps + short.steps
    both = type(t)(
        observations=np.concatenate([cut.observations, short.observations]),
        actions=np.concatenate([cut.actions, short.actions]),
        terminated=np.arange(rows) == rows - 1,
        truncated=np.concatenate([cut.truncated, short.truncated]) & (np.arange(rows) < rows - 1),
        offsets=np.concatenate([cut.offsets, short.offsets[1:] + cut.steps]),
    )
    found = inspect(Demos.of(both, demos.spec))
    assert found.terminated == 1
    assert found.ended_early == 2
    assert found.returns is None
    assert any("episode lengths differ (30 to 60)" in w for w in found.warnings)
    assert any("final observations are unknown" in w for w in found.warnings)


def test_constant_columns_are_named(demos):
    t = demos.trajectories
    columns = np.concatenate([t.observations, np.full((t.steps, 1), 3.0, np.float32)], axis=1)
    wider = replace(t_without_finals(t), observations=columns)
    assert inspect(Demos.of(wider, Spec(5, 2))).constant_observations == [4]


def t_without_finals(t):
    return type(t)(t.observations, t.actions, t.terminated, t.truncated, t.offsets, t.rewards)


def replace_actions(t, actions):
    return type(t)(t.observations, actions, t.terminated, t.truncated, t.offsets, t.rewards)
