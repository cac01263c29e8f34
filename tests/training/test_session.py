"""Whole runs, small: what they write, what they refuse, what comes back."""

import json
import os
import re
import signal
import time
from dataclasses import replace

import numpy as np
import pytest
from programs import start
from tiny import TINY

import etairl
from etairl.cli.app import main
from etairl.cli.ending import print_result
from etairl.demos import Selection, load_demos, save_demos
from etairl.demos.sources import BUNDLED
from etairl.evaluation.progress import Progress
from etairl.runs import RunDirectory, read_metrics
from etairl.training.config_files import read_config
from etairl.training.flat import configure
from etairl.training.judging import CLONING
from etairl.training.preparation import prepare
from etairl.training.presets import PRESETS, preset
from etairl.types import InputError


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> etairl.Result:
    return etairl.train(TINY, tmp_path_factory.mktemp("run") / "one")


def test_cloning_beside_the_cost_comes_closer_to_the_demonstrations(tmp_path, result):
    """300 updates with weight 10 must lower the error of the actions on the demonstrations."""
    many = configure(TINY, solver_updates=50)
    cloned = etairl.train(configure(many, cloning=10.0), tmp_path / "cloned")
    free = etairl.train(many, tmp_path / "free")
    shown = result.demonstrations
    errors = [np.abs(r.policy(shown.observations) - shown.actions).mean() for r in (cloned, free)]
    assert errors[0] < 0.8 * errors[1]
    with pytest.raises(InputError, match="cloning must be >= 0"):
        configure(TINY, cloning=-1.0)


def test_gail_is_megan_with_all_weight_on_the_present_bit_for_bit(tmp_path):
    """By the names of the command line, over six cycles, in every file that has no clock."""
    choices = {
        "gail": {"algorithm": "gail"},
        "dirac": {"eta": "dirac:0"},
        "geometric": {"eta": "geometric:0"},
        "other": {"eta": "geometric:0.9"},
    }
    files = ("policy.safetensors", "cost.safetensors", "metrics.jsonl", "result.json")
    bytes_of = {}
    for name, choice in choices.items():
        path = etairl.train(configure(TINY, **choice), tmp_path / name).path
        assert len(read_metrics(path)) >= 5
        bytes_of[name] = [(path / file).read_bytes() for file in files]
    assert bytes_of["gail"] == bytes_of["dirac"] == bytes_of["geometric"]
    assert bytes_of["other"] != bytes_of["gail"]


def test_demonstrations_with_other_bounds_are_refused(tmp_path):
    """Pendulum's torques lie in [-2, 2]."""
    demos = etairl.load_demos("Pendulum-v1-25x200")
    wild = replace(demos.trajectories, actions=5.0 * demos.trajectories.actions)
    declared = replace(demos.spec, action_low=(-10.0,), action_high=(10.0,))
    silent = replace(demos.spec, action_low=None, action_high=None)
    for spec, message in ((declared, r"bounds \[-10, 10\]"), (silent, "lie beyond the bounds")):
        path = tmp_path / "wild.npz"
        etairl.save_demos(etairl.Demos.of(wild, spec), path, overwrite=True)
        with pytest.raises(InputError, match=message):
            prepare(replace(TINY, demos=str(path)))
    few = demos.trajectories.actions.copy()
    few[:3] = 2.5
    etairl.save_demos(
        etairl.Demos.of(replace(demos.trajectories, actions=few), silent), path, overwrite=True
    )
    said = prepare(replace(TINY, demos=str(path))).warnings()
    assert said == ["3 of 250 demonstrated actions were clipped to the bounds"]
    with np.load(path, allow_pickle=False) as arrays:
        bounds = {"action_low": np.float32([-2.0]), "action_high": np.float32([2.0])}
        np.savez(tmp_path / "bounded.npz", **dict(arrays), **bounds)
    assert prepare(replace(TINY, demos=str(tmp_path / "bounded.npz"))).warnings() == said


def test_a_horizon_beyond_the_demonstrations_is_said():
    (said,) = prepare(replace(TINY, horizon=300)).warnings()
    assert "5 of 5 demonstrations were cut before 300 steps" in said


@pytest.mark.parametrize("many", [25, 1])
def test_every_demonstration_may_be_used_and_a_single_one(tmp_path, many):
    """No held-out row then; the floor comes from splits, or from blocks of time."""
    demos = etairl.load_demos(TINY.demos, select=Selection(episodes=many))
    etairl.save_demos(demos, tmp_path / "own.npz")
    few = replace(TINY, demos=str(tmp_path / "own.npz"), demonstrations=None)
    few = replace(few, girl=replace(TINY.girl, transitions=250))
    result = etairl.train(few, tmp_path / "run")
    found = result.evaluate(episodes=5, cloning=False)
    assert not [v.name for v in found if v.name.startswith("expert")]
    for v in found:
        by = "episodes, splits into" if many > 1 else "blocks of time, splits into"
        assert v.mmd2_mu.floor_by.startswith(by)
        assert v.mmd2_mu.low <= v.mmd2_mu.value <= v.mmd2_mu.high
        assert v.beside == "demonstrations"
    assert main(["evaluate", str(result.path), "--episodes=2", "--no-cloning"]) == 0


def test_files_of_a_run(result):
    names = {path.name for path in result.path.iterdir()}
    assert names == {
        *("config.json", "versions.json", "metrics.jsonl", "timing.jsonl", "result.json"),
        *("policy.safetensors", "best-policy.safetensors", "cost.safetensors"),
        *("clone.safetensors", "tensorboard"),
    }
    assert read_config(result.path) == TINY
    rows = read_metrics(result.path)
    assert [row["cycle"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert ["mmd2_mu" in row for row in rows] == [False, True] * 3
    assert not any("second" in key or "time" in key for row in rows for key in row)
    assert result.metrics["remaining"]["cycles"] == 4


def test_tensorboard_reads_the_events(result):
    from tensorboardX.proto.event_pb2 import Event

    (file,) = (result.path / "tensorboard").iterdir()
    data, values = file.read_bytes(), {}
    while data:
        size = int.from_bytes(data[:8], "little")
        event = Event.FromString(data[12 : 12 + size])
        data = data[12 + size + 4 :]
        for value in event.summary.value:
            values[value.tag, event.step] = value.simple_value
    rows = read_metrics(result.path)
    assert values["return", rows[-1]["transitions"]] == pytest.approx(rows[-1]["return"], rel=1e-6)


def test_policy_and_cost_in_python(result):
    demos = etairl.load_demos("Pendulum-v1-25x200").trajectories
    observations, actions = demos.observations[:7], demos.actions[:7]
    chosen = result.policy(observations)
    assert chosen.shape == (7, 1)
    assert (np.abs(chosen) <= 2.0).all()
    # Products of matrices add in another order than those of a matrix and a vector.
    assert np.allclose(result.policy(observations[0]), chosen[0], atol=1e-6)
    assert np.allclose(result.policy(observations.tolist()), chosen, atol=1e-6)
    assert result.policy([[1, 0, 0]]).shape == (1, 1)
    drawn = result.policy(observations, np.random.default_rng(0))
    assert not np.array_equal(drawn, chosen)
    costs = result.cost(observations, actions)
    assert costs.shape == (7,)
    assert (costs < 0).all()  # log D
    of_lists = result.cost(observations.tolist(), actions.tolist())
    assert np.allclose(of_lists, costs, atol=1e-6)
    one = result.cost(observations[0].tolist(), actions[0].tolist())
    assert one.shape == ()
    assert np.isclose(float(one), costs[0], atol=1e-6)
    assert np.array_equal(result.cost(observations, actions[:, 0]), costs)  # of one column


@pytest.mark.usefixtures("unchecked")
def test_rows_of_another_shape_are_refused(result):
    observations = etairl.load_demos("Pendulum-v1-25x200").trajectories.observations[:7]
    with pytest.raises(InputError, match=r"have 3 numbers each: .* got the shape \(7, 2\)"):
        result.policy(observations[:, :2])
    with pytest.raises(InputError, match="actions must be rows of 1 number, one"):
        result.cost(observations, observations)
    with pytest.raises(InputError, match="one for each of 7 observations; got the shape"):
        result.cost(observations, [[0.5]])
    with pytest.raises(InputError, match="actions must be rows of 1 numbers: could not convert"):
        result.cost([1, 0, 0], "left")
    with pytest.raises(InputError, match="there are 6 next observations, but 7 observations"):
        result.cost(observations, observations[:, :1], observations[1:])
    with pytest.raises(InputError, match="the seed must be >= 0 and below 2"):
        result.evaluate(seed=-1)


def test_a_saved_run_is_the_same_run(result, tmp_path):
    result.save(tmp_path / "kept")
    again = etairl.Result(tmp_path / "kept")
    observations = etairl.load_demos("Pendulum-v1-25x200").trajectories.observations[:5]
    assert np.array_equal(again.policy(observations), result.policy(observations))
    best = etairl.Result(tmp_path / "kept", "best")
    assert best.policy(observations).shape == (5, 1)
    with pytest.raises(InputError, match="exists already"):
        result.save(tmp_path / "kept")


def test_the_table(result):
    found = {v.title: v for v in result.evaluate(4)}
    kinds = [
        f"{who}, {how}"
        for who in ("learner", "behaviour cloning", "expert")
        for how in ("greedy", "drawn")
    ]
    assert list(found) == [*kinds, "random", "expert, held out"]
    assert result.playing == ("greedy", False)
    assert found["random"].score == pytest.approx(0.0)
    expert = found["expert, held out"]
    assert expert.episodes == 20
    assert abs(expert.score - 1.0) < 0.3
    assert expert.mmd2_mu.value < found["learner, greedy"].mmd2_mu.value
    for title, behaviour in found.items():
        # Like with like: the drawn rows beside the expert's own drawn episodes.
        drawn = title.endswith("drawn")
        assert behaviour.beside == ("the expert, drawn" if drawn else "demonstrations")
        for d in (behaviour.mmd2_mu, behaviour.mmd2_rho_raw):
            assert d.low <= d.value <= d.high
    line = found["expert, greedy"].timeline
    assert [(q.begin, q.end) for q in line.quarters] == [(0, 12), (12, 25), (25, 38), (38, 50)]
    assert line.survival == [1.0] * 20
    assert line.ended_early == 0.0
    whole = sum(q.return_mean for q in line.quarters)
    assert whole == pytest.approx(found["expert, greedy"].return_mean)


def test_the_end_of_a_run_has_both_kinds(result):
    fresh = {(row["name"], row["playing"]): row for row in result.metrics["fresh"]}
    everyone = ("learner", "behaviour cloning", "expert")
    both = [(who, kind) for who in everyone for kind in ("greedy", "drawn")]
    assert list(fresh) == [*both, ("random", None)]
    remaining = result.metrics["remaining"]
    assert remaining["beside"] == "demonstrations"  # what it was shown
    assert remaining["score_beside"] == "the expert, drawn"
    assert remaining["score"] is not None
    assert result.metrics["same_kind"]["beside"] == "the expert, drawn"
    distances = [
        remaining["mmd2_mu"],
        result.metrics["same_kind"]["mmd2_mu"],
        fresh["learner", "drawn"]["mmd2_mu"],
    ]
    assert all(d["low"] <= d["value"] <= d["high"] for d in distances)


def test_the_clone_is_made_once_and_kept(result, tmp_path, monkeypatch):
    """That of the file plays; a run of an older version, without one, makes it anew."""
    result.save(tmp_path / "old")
    (tmp_path / "old" / "clone.safetensors").unlink()
    made = [v for v in etairl.Result(tmp_path / "old").evaluate(4) if v.name == CLONING]
    monkeypatch.setattr("etairl.training.cloned.clone", None)  # whoever makes one fails
    kept = [v for v in result.evaluate(4) if v.name == CLONING]
    assert kept == made
    assert len(kept) == 2


def test_more_episodes_of_the_learner_than_of_expert_and_chance(result):
    found = {v.title: v.episodes for v in result.evaluate(27)}
    assert {name: n for name, n in found.items() if "held" not in name} == {
        **{f"{who}, greedy": 27 for who in ("learner", CLONING)},
        **{f"{who}, drawn": 25 for who in ("learner", CLONING)},  # not as the demonstrations
        **{"expert, greedy": 25, "expert, drawn": 25, "random": 25},
    }


def test_a_guessed_kind_is_said_wherever_kinds_are_compared(tmp_path, capsys):
    arrays = dict(np.load(BUNDLED / "Pendulum-v1-25x200.npz"))
    del arrays["playing"]
    np.savez(tmp_path / "silent.npz", **arrays)
    few = replace(TINY, girl=replace(TINY.girl, transitions=500))
    result = etairl.train(replace(few, demos=str(tmp_path / "silent.npz")), tmp_path / "run")
    words = "demonstrations, greedy by a guess"
    assert {row["beside"] for row in result.metrics["fresh"]} == {words}
    assert result.metrics["remaining"]["beside"] == words
    print_result(result.path)
    assert f"from {words}" in capsys.readouterr().out
    assert main(["evaluate", str(result.path), "--episodes=2", "--no-cloning"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The demonstrations look greedy (a guess from the data): greedy rows beside" in said
    assert main(["demos", "info", str(tmp_path / "silent.npz")]) == 0
    assert "greedy, a guess from the data" in capsys.readouterr().out


def test_a_hint_is_called_one(result, tmp_path, capsys):
    """Three demonstrations, and no others of their expert: blocks of time."""
    demos = load_demos("Pendulum-v1-25x200")
    save_demos(
        replace(demos, trajectories=demos.trajectories.take(np.arange(3))), tmp_path / "3.npz"
    )
    few = replace(TINY, demonstrations=3, girl=replace(TINY.girl, transitions=500))
    made = etairl.train(replace(few, demos=str(tmp_path / "3.npz")), tmp_path / "run")
    print_result(made.path)
    said = capsys.readouterr().out
    assert (
        len(re.findall(r"expert against itself \d\.\d{5}, a hint, from demonstrations", said)) == 2
    )
    assert main(["evaluate", str(made.path), "--episodes=2", "--no-cloning"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"\nlearner, greedy .*\d \(hint\)", said)
    assert "in the first row by blocks of time" in " ".join(said.split())
    assert main(["evaluate", str(result.path), "--episodes=9", "--no-cloning"]) == 0
    assert "hint" not in capsys.readouterr().out


def test_twice_the_horizon_and_its_figure(result, capsys):
    run = str(result.path)
    assert main(["evaluate", run, "--episodes=3", "--no-cloning", "--figures"]) == 0
    said = capsys.readouterr().out
    assert "by quarters of the 50 steps of an episode" in said
    assert "by quarters of the 100 steps of an episode" in said
    figure = result.path / "episodes.png"
    assert figure.stat().st_size > 20_000
    figure.unlink()


def test_same_settings_same_bytes(result, tmp_path):
    again = etairl.train(TINY, tmp_path / "again")
    for name in ("policy.safetensors", "cost.safetensors", "metrics.jsonl", "result.json"):
        assert (again.path / name).read_bytes() == (result.path / name).read_bytes()


def test_early_stopping(tmp_path):
    config = replace(TINY, patience=1, measure_every=1)
    found = etairl.train(
        replace(config, girl=replace(TINY.girl, transitions=50_000)), tmp_path / "r"
    )
    rows = read_metrics(found.path)
    assert len(rows) < 200
    assert found.metrics["stopped"]["why"] == "patience"
    assert found.metrics["stopped"]["cycle"] == len(rows)
    assert [Progress.of(rows[:n]).stop(1) for n in (len(rows) - 1, len(rows))] == [None, "patience"]
    assert found.metrics["kept"]["policy"] == "last"


@pytest.mark.usefixtures("lasting")
def test_a_warm_start_begins_as_a_clone(tmp_path):
    config = configure(
        TINY,
        warm_start=True,
        demonstrations=10,
        horizon=200,
        transitions=1000,
        hidden=(64, 64),
    )
    found = etairl.train(config, tmp_path / "warm")
    # A random pendulum returns about -1,200, the expert -130; the clone draws its actions.
    assert read_metrics(found.path)[0]["return"] > -500


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_there(name):
    assert preset(name) == PRESETS[name]


def test_presets_are_the_table_of_the_paper():
    """Appendix, hyper-parameters; N = 90 everywhere."""
    table = {
        "hopper": (500, 500, 256, 1, 50, 512, 3, 64, 1, 16, 10**7),
        "halfcheetah": (500, 500, 256, 1, 50, 512, 3, 64, 1, 32, 10**7),
        "ant": (500, 500, 256, 1, 50, 512, 3, 64, 1, 32, 10**7),
        "fetchreach": (100, 300, 1024, 5, 500, 512, 4, 64, 3, 16, 10**6),
        "navigation": (50, 150, 128, 1, 300, 128, 4, 64, 3, 16, 5 * 10**5),
    }
    for name, row in table.items():
        c = preset(f"paper/{name}")
        play, sac, network = c.solver.play, c.solver.sac, c.cost.network
        found = (
            *(c.horizon, play.solver_updates, play.solver_batch, c.girl.cost_every),
            *(c.girl.cost_updates, c.girl.cost_batch, len(sac.hidden), sac.hidden[0]),
            *(len(network.hidden_d), network.hidden_d[0], c.girl.transitions),
        )
        assert found == row, name
        assert c.girl.episodes == 90
        assert c.girl.capacity == c.girl.expert_capacity == 10**6
        assert network.gradient_penalty == 0.0
        assert (c.sampler, c.choice, c.gamma_irl) == ("two_stage", "uniform", 1.0)
        assert (c.demonstrations, sac.first_temperature) == (None, 1.0)


def refused(capsys, *arguments, output="run") -> str:
    """What a command that is refused says: one line."""
    assert main(["train", "-o", str(output), *map(str, arguments)]) == 2
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) == 1
    return said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--env", "Hopper-v5", "--demos", "Pendulum-v1-25x200"), "observations have 3 columns"),
        (("--env", "CartPole-v1", "--demos", "Pendulum-v1-25x200"), "observations have 3 columns"),
        (("--demos", "nowhere.npz"), "no such file: nowhere.npz"),
        (("--preset", "paper/hoper"), "unknown preset 'paper/hoper'; did you mean paper/hopper?"),
        (("--eta", "geometric:1.5"), "geometric"),
        (("--env", "HalfCheeta-v5"), "did you mean HalfCheetah-v5"),
        (("--demonstrations", "9000"), "HalfCheetah-v5-25x500: asked for 9000 episodes, but there"),
        (("--demonstrations", "26"), "at most 25, in `etairl train` with --demonstrations 25"),
        (("--transitions", "0"), "transitions must be at least 1"),
        (("--episodes", "1"), "episodes must be at least 2"),
        (("--preset", "near-clone", "--normalise", "running"), "leave out --normalise"),
        (("--algorithm", "gail", "--eta", "poisson:25"), "gail is megan with eta dirac:0"),
        (("--algorithm", "gial"), "gail"),
        (("--mode", "fixed", "--env", "CartPole-v1"), "has no switch for its early ends"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_input_is_one_sentence_and_writes_nothing(tmp_path, capsys, arguments, message):
    assert message in refused(capsys, *arguments, output=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_folder_is_never_overwritten(result, tmp_path, capsys):
    result.save(tmp_path / "run")
    before = (tmp_path / "run/result.json").read_bytes()
    told = refused(capsys, output=tmp_path / "run")
    assert "already holds a run (finished); choose another folder" in told
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/cat.png").write_text("")
    assert "exists and is not a run" in refused(capsys, output=tmp_path / "photos")
    assert (tmp_path / "run/result.json").read_bytes() == before
    assert os.listdir(tmp_path / "photos") == ["cat.png"]


def test_other_versions_and_other_files_are_refused(result, tmp_path, capsys):
    def resume(name):
        assert main(["resume", str(tmp_path / name)]) == 2
        return capsys.readouterr()

    result.save(tmp_path / "old")
    (tmp_path / "old/result.json").unlink()
    versions = json.loads((tmp_path / "old/versions.json").read_text())
    (tmp_path / "old/versions.json").write_text(json.dumps(versions | {"jax": "0.0.1"}))
    config = json.loads((tmp_path / "old/config.json").read_text())
    (tmp_path / "old/config.json").write_text(json.dumps(config))  # not as it would be rewritten

    def contents():
        files = sorted((tmp_path / "old").rglob("*"))
        return {path: path.read_bytes() for path in files if path.is_file()}

    before = contents()
    done = resume("old")
    assert "was begun with other versions (jax 0.0.1 →" in done.err
    assert done.out == ""
    assert contents() == before
    (tmp_path / "old/config.json").write_text(json.dumps(config | {"colour": "blue"}))
    assert "unknown or missing settings: colour" in resume("old").err
    assert "is not a run directory" in resume("nowhere").err


def test_nan_stops_the_run_and_says_where(tmp_path):
    """A learning rate beyond all reason; the checkpoint before it stays."""
    config = configure(TINY, critic_lr=1e30, actor_lr=1e30)
    with pytest.raises(FloatingPointError, match=r"NaN or infinity in solver.*after cycle \d+"):
        etairl.train(config, tmp_path / "run")
    assert not RunDirectory(tmp_path / "run").finished


def test_ctrl_c_keeps_what_was_learned(tmp_path):
    command = ["train", "-o", "run", "--env=Pendulum-v1", "--demos=Pendulum-v1-25x200"]
    command += [
        "--horizon=50",
        "--solver=sac",
        "--solver-updates=5",
        "--hidden",
        "16",
        "--cost-updates=3",
    ]
    process = start(*command, folder=tmp_path, output=tmp_path / "said")
    metrics = tmp_path / "run/metrics.jsonl"
    for _ in range(600):
        if metrics.is_file() and metrics.read_text().count("\n") >= 3:
            break
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    process.join(60)
    assert process.exitcode == 130
    assert "stopping soon" in (tmp_path / "said").read_text()
    assert RunDirectory(tmp_path / "run").checkpoints.any
