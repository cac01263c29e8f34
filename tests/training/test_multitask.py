"""Runs with many tasks, small: tasks are copied, solved tasks counted, both settings judged."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tiny import NAVIGATION, TINY

import etairl
from etairl.algorithms.girl import girl
from etairl.cli.app import main
from etairl.demos import Demos, load_demos, save_demos
from etairl.evaluation.matching import score
from etairl.runs import read_metrics
from etairl.tasks import planned_expert
from etairl.tasks.navigation_world import NAVIGATION as NAME
from etairl.training import multitask
from etairl.training.multitask import (
    EXPERT,
    ReturnScale,
    Role,
    demonstrated_tasks,
    generalise,
    play_tasks,
    well_known,
)
from etairl.training.preparation import prepare
from etairl.training.session import open_run
from etairl.training.watching import IN_USE
from etairl.types import InputError

MANY = replace(
    TINY,
    env=NAME,
    demos=NAVIGATION,
    demonstrations=30,
    girl=replace(TINY.girl, transitions=1800, episodes=6),
)


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> etairl.Result:
    return etairl.train(MANY, tmp_path_factory.mktemp("run") / "one")


def test_the_learner_plays_the_tasks_of_the_demonstrations_of_its_cycle():
    setting = prepare(MANY)
    state, buffer = setting.begin(), setting.make_buffer()
    tasks = setting.demos.trajectories.tasks
    cycles = list(girl(setting.game, setting.task, setting.expert, buffer, state))
    assert len(cycles) == 6
    for number, cycle in enumerate(cycles):
        # The expert's replay of a capacity of one cycle: the demonstrations drawn in it.
        drawn = setting.expert.replay(MANY.seed, number, 6, 6 * 50)
        rows = drawn.rows(drawn.offsets[:-1])
        theirs = setting.expert.buffer.transitions(rows, (6,)).observations[:, -2:]
        assert np.array_equal(cycle.rolled_out.tasks, theirs)
        assert {tuple(t) for t in theirs.tolist()} <= {tuple(t) for t in tasks.tolist()}
    starts = np.stack([c.rolled_out.observations[c.rolled_out.offsets[:-1], :2] for c in cycles])
    assert len(np.unique(starts.reshape(-1, 2), axis=0)) == 36  # tasks are copied, starts are not


def test_a_run_of_many_tasks_measures_itself_by_those_that_it_plays():
    """Ten demonstrations are left over, but of other tasks."""
    assert prepare(MANY).watched is None
    watched = prepare(replace(MANY, patience=5)).watched
    assert watched is not None
    assert watched.name == IN_USE


def test_metrics_count_solved_tasks(result):
    rows, scale = read_metrics(result.path), ReturnScale.of(prepare(MANY))
    assert scale is not None
    expert = load_demos(NAVIGATION).trajectories.take(np.arange(30)).returns.mean()
    assert scale.expert == pytest.approx(expert)
    assert scale.random < scale.expert
    for row in rows:
        assert row["success"] in np.arange(7) / 6
        assert row["score"] == pytest.approx(score(row["return"], scale.expert, scale.random))
    remaining = result.metrics["remaining"]
    assert remaining["success"] == pytest.approx(np.mean([row["success"] for row in rows[-4:]]))
    assert remaining["score"] == pytest.approx(
        np.mean([row["score"] for row in rows[-4:]]), rel=1e-5
    )


def test_both_settings_are_judged(tmp_path):
    """Beside the planner, who is the author of the bundled demonstrations."""
    bundled = replace(MANY, demos="etairl-Navigation-v0-300x50")
    short = replace(bundled, girl=replace(MANY.girl, transitions=300, remaining_cycles=1))
    found = etairl.train(short, tmp_path / "run").evaluate(10, cloning=False)
    verdicts = {v.name: v for v in found if v.playing in ("drawn", None)}
    assert found[0].playing == "drawn"  # as the demonstrations
    assert set(verdicts) == {"learner", "random", EXPERT, "expert, held out"}
    expert, chance = verdicts[EXPERT], verdicts["random"]
    assert expert.success == 1.0
    assert expert.generalisation.success == 1.0
    assert expert.generalisation.score == 1.0
    assert chance.success < 0.3
    assert chance.generalisation.score == 0.0
    assert chance.score == 0.0
    assert verdicts["learner"].generalisation.horizon == 100
    assert verdicts["expert, held out"].success == 1.0
    assert verdicts["expert, held out"].generalisation is None


def test_settings_have_their_tasks_and_horizons():
    setting, policy = prepare(MANY), planned_expert(NAME)
    tasks = demonstrated_tasks(setting, 40, 0)
    assert len(np.unique(tasks, axis=0)) == 30  # all of them, and ten again
    (learned,) = play_tasks(MANY, [Role(policy)], 1, tasks)
    assert np.array_equal(learned.tasks, tasks)
    assert (learned.lengths == 50).all()
    every = setting.task.space.laws["full"](np.random.default_rng(2), 40)
    wide, same = play_tasks(MANY, [Role(policy), Role(policy, drawn=False)], 1, every, longer=2)
    assert np.array_equal(wide.tasks, every.astype(np.float32))
    assert np.array_equal(wide.tasks, same.tasks)
    assert not np.array_equal(wide.actions, same.actions)
    assert (wide.lengths == 100).all()
    known = {tuple(t) for t in setting.demos.trajectories.tasks.tolist()}
    assert not {tuple(t) for t in wide.tasks.tolist()} & known


def test_the_ends_of_the_scale_try_ten_tasks_where_that_is_enough(monkeypatch):
    """Navigation differs from target to target; where errors may be large ten are enough."""
    setting = prepare(MANY, copies=1)
    every = generalise(setting, {}, 50, 1, drawn=True)
    assert [v.episodes for v in every.values()] == [25, 25]
    monkeypatch.setattr(multitask, "_ENOUGH", 10.0)
    some = generalise(setting, {"again": planned_expert(NAME)}, 50, 1, drawn=True)
    assert {name: v.episodes for name, v in some.items()} == {"again": 25, "random": 10, EXPERT: 10}


def test_a_scale_is_well_known_by_its_standard_error():
    """Ends at 0 and 10, each ± 1 with four episodes: an error of sqrt(2 · (4/3) / 4) = 0.82."""
    end = np.array([-1.0, 1.0, -1.0, 1.0])
    assert not well_known(end, end + 0.82 / 0.02 - 1.0)
    assert well_known(end, end + 0.82 / 0.02 + 1.0)
    assert not well_known(end)


def test_evaluate_from_the_command_line(result, capsys):
    assert main(["evaluate", str(result.path), "--episodes=4", "--no-cloning"]) == 0
    words = capsys.readouterr().out
    assert "tasks solved at the end of an episode" in words
    assert "in episodes of 100 steps" in words
    assert main(["evaluate", str(result.path), "--episodes=4", "--no-cloning", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["success"] is not None
    assert rows[0]["generalisation"]["horizon"] == 100


def test_a_run_that_was_stopped_ends_with_the_same_bytes(result, tmp_path):
    with open_run(MANY, tmp_path / "stopped", checkpoint_seconds=1000.0) as run:
        reports = run.play()
        for _ in range(3):
            next(reports)
        reports.close()  # as Ctrl-C does
    with open_run(MANY, tmp_path / "stopped", resume=True) as run:
        assert len(list(run.play())) == 3
    for name in ("policy.safetensors", "cost.safetensors", "metrics.jsonl", "result.json"):
        assert (tmp_path / "stopped" / name).read_bytes() == (result.path / name).read_bytes()


def test_demonstrations_that_do_not_fit(tmp_path):
    demos = load_demos(NAVIGATION)
    t = demos.trajectories.take(np.arange(6))
    drowned = t.tasks.copy()
    drowned[2] = (-5.0, 4.0)
    cases = {
        "these demonstrations have no tasks, but .* record some": replace(t, tasks=None),
        "is a vector of 2 numbers, but those given have 3": replace(t, tasks=np.zeros((6, 3))),
        r"target \(-5, 4\) lies in the lake": replace(t, tasks=drowned),
        "observations of episode 0 do not end with its task": replace(t, tasks=t.tasks[::-1]),
    }
    for number, (message, odd) in enumerate(cases.items()):
        path = tmp_path / f"{number}.npz"
        save_demos(Demos.of(odd, demos.spec), path)
        with pytest.raises(InputError, match=message):
            prepare(replace(MANY, demos=str(path), demonstrations=None))


@pytest.mark.slow
def test_fetch_reach_trains_and_is_judged(tmp_path):
    """A few steps: the simulator is slow."""
    tiny = replace(
        MANY,
        env="FetchReach-v4",
        demos="FetchReach-v4-200x100",
        demonstrations=20,
        horizon=8,
        girl=replace(MANY.girl, transitions=48, episodes=3),
    )
    result = etairl.train(tiny, tmp_path / "run")
    assert [row["success"] >= 0.0 for row in read_metrics(result.path)] == [True, True]
    found = result.evaluate(3, cloning=False)
    verdicts = {v.name: v for v in found if v.playing in ("drawn", None)}
    assert verdicts[EXPERT].success == 1.0
    assert verdicts[EXPERT].generalisation.success == 1.0
    assert verdicts["learner"].generalisation.horizon == 16
