"""EMMA, WIEM and AIRL as whole runs: readable weights, frozen costs, files that do not fit."""

import importlib
import json
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import tiny
from safetensors.numpy import load_file, save_file

import etairl
from etairl.algorithms.registry import ALGORITHMS
from etairl.cli.app import main
from etairl.cli.evaluate import print_features
from etairl.cli.running import RunOptions, follow
from etairl.evaluation.explanation import FeatureGap
from etairl.evaluation.matching import Distance
from etairl.evaluation.timeline import Timeline
from etairl.runs import read_metrics
from etairl.training.behaviour import Behaviour
from etairl.training.config_files import read_config
from etairl.training.flat import configure, flatten
from etairl.training.preparation import prepare
from etairl.training.session import open_run
from etairl.types import InputError

TINY = configure(tiny.TINY, transitions=750, remaining_cycles=2)
EMMA = configure(TINY, algorithm="emma", features="identity")
pytestmark = pytest.mark.usefixtures("unchecked")  # as users run it


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A finished run of each of the three."""
    folder = tmp_path_factory.mktemp("family")
    for name in ("emma", "wiem", "airl"):
        start = TINY if name == "airl" else EMMA
        etairl.train(configure(start, algorithm=name), folder / name)
    return folder


def test_evaluate_names_the_features(runs, capsys):
    assert main(["evaluate", str(runs / "emma"), "--episodes", "4", "--no-cloning"]) == 0
    said = capsys.readouterr().out
    assert "features that explain the expert, by weight" in said
    assert "4 of 4 features" in said
    assert main(["evaluate", str(runs / "wiem"), "--episodes=4", "--no-cloning", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    features = rows[0]["features"]
    assert {f["name"] for f in features} == {
        s + n for s in ("", "-") for n in ("cos angle", "sin angle", "angular velocity", "torque")
    }
    weights = [f["weight"] for f in features]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1.0, abs=1e-5)
    assert all(f["standard_error"] > 0 for f in features)


def test_the_expert_is_closer_than_chance_in_what_matters(runs):
    """Upright means cos = 1: a random pendulum hangs more than 3 standard errors lower."""
    found = etairl.Result(runs / "emma").evaluate(8, cloning=False)
    gaps = {v.name: {g.name: g for g in v.features} for v in found}
    hanging = gaps["random"]["cos angle"]
    assert hanging.gap < -3 * hanging.standard_error
    same = gaps["expert, held out"]["cos angle"]
    assert abs(same.gap) < 4 * same.standard_error


def test_a_gan_cost_has_no_features(runs):
    result = etairl.Result(runs / "airl")
    assert result.gaps(result.demonstrations) is None
    demos = result.demonstrations
    costs = result.cost(demos.observations[:9], demos.actions[:9])  # of states alone
    other = result.cost(demos.observations[:9], -demos.actions[:9])
    assert np.array_equal(costs, other)


@pytest.mark.parametrize("mode", ["terminating", "fixed", "absorbing"])
def test_gaps_are_those_that_the_cost_learned_from(tmp_path, mode):
    """With dirac:0 every step counts alike: one batch of all of them, and a step all the way."""
    from etairl.algorithms.girl import as_points
    from etairl.costs.family import Points
    from etairl.demos import Demos, save_demos
    from etairl.experience import ExpertBuffer
    from etairl.rollouts import UniformPolicy, collect
    from etairl.solvers.policy import ActionScaling
    from etairl.tasks import make_task, with_self_loops, without_absorbing

    world = make_task("Hopper-v5", 5, horizon=40, seed=9)
    played = collect(np.random.default_rng(0), world, UniformPolicy(world), 5)
    save_demos(Demos.of(played, world.spec, "random"), tmp_path / "d.npz")
    change = {"env": "Hopper-v5", "demos": str(tmp_path / "d.npz"), "horizon": 40, "mode": mode}
    change |= {"eta": "dirac:0", "choice": "by_weight", "cost_rate": 1.0, "transitions": 50}
    change |= {"solver_updates": 1}
    result = etairl.train(configure(EMMA, **change), tmp_path / "run")
    task = make_task("Hopper-v5", 6, horizon=40, mode=mode, seed=1)
    played = collect(np.random.default_rng(1), task, UniformPolicy(task), 6)
    played = with_self_loops(played, task)
    actions = ActionScaling(task.spec).to_solver(played.actions)
    sides = (ExpertBuffer.of(played, actions), result._prepared.expert)
    own, expert = (Points(*(x[None] for x in as_points(s.transitions()))) for s in sides)
    cost = result._prepared.game.cost
    state, info = cost.updates(jax.random.key(0), result._cost, own, expert)
    gaps = result.gaps(without_absorbing(played) if mode == "absorbing" else played)
    found = {g.name: g.gap for g in gaps}
    assert [found[name] for name in cost.names(state)] == pytest.approx(
        np.asarray(state.weights) * float(info.gap), abs=1e-4
    )
    assert ("absorbing" in found) == (mode == "absorbing")


@pytest.mark.parametrize("name", ["emma", "airl"])
def test_a_fresh_policy_on_a_frozen_cost(runs, tmp_path, name, capsys):
    target = tmp_path / "again"
    arguments = ["-o", str(target), "--cost", str(runs / name), "--seed", "3", "--threads", "1"]
    assert main(["train", *arguments]) == 0
    assert "return" in capsys.readouterr().out
    config = read_config(target)
    assert config.seed == 3
    assert config.algorithm == name
    assert config.frozen_cost == str((runs / name).resolve())
    assert not any(key.startswith("cost/") for row in read_metrics(target) for key in row)
    before, after = (load_file(p / "cost.safetensors") for p in (runs / name, target))
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[key], after[key]) for key in before)
    one, two = (load_file(p / "policy.safetensors") for p in (runs / name, target))
    assert not all(np.array_equal(one[key], two[key]) for key in one)
    again = etairl.Result(target)
    demos = again.demonstrations
    pair = demos.observations[:5], demos.actions[:5]
    assert np.array_equal(again.cost(*pair), etairl.Result(runs / name).cost(*pair))
    assert (again.gaps(demos) is None) == (name == "airl")


def test_what_bounded_divergence_does_not_bound_entropy(runs, tmp_path):
    """Of a run near a clone, which a fresh policy on its cost does not have."""
    from etairl.cli.train import on_the_cost_of

    change = {"omega": "kl", "warm_start": True, "temperature": 0.3, "target_entropy": -2.0}
    near = configure(EMMA, critic_cycles=5, **change)
    fresh = configure(near, **on_the_cost_of(runs / "emma", near))
    assert (fresh.omega, fresh.solver.play.warm_start) == ("entropy", False)
    assert (fresh.solver.sac.temperature, fresh.solver.sac.target_entropy) == (None, None)
    assert fresh.solver.play.critic_cycles == 0
    assert fresh.solver.sac.hidden == TINY.solver.sac.hidden


def test_a_run_names_the_feature_that_broke(tmp_path, monkeypatch):
    """Finite at the demonstrations alone; the networks, which broke next, are not blamed."""
    (tmp_path / "brittle.py").write_text(
        "import jax.numpy as jnp\nfrom etairl import load_demos\n\n"
        f"SEEN = jnp.asarray(load_demos({TINY.demos!r}).trajectories.observations[:, 0])\n\n\n"
        "def known(obs, act):\n    x = obs[..., :1]\n"
        "    return jnp.where(jnp.isin(x, SEEN), x, jnp.nan)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    config = configure(EMMA, features="brittle:known")
    with pytest.raises(InputError, match=r"feature known0 is nan at a pair of the learner") as told:
        follow(config, tmp_path / "run", RunOptions(0.0, 1))
    assert "(in cycle 1); there was no checkpoint yet" in str(told.value)
    assert "learning rates" not in str(told.value)


def test_a_feature_map_that_was_edited_is_noticed(tmp_path, monkeypatch):
    """By its units on the same demonstrations: when a run is loaded, and when it goes on."""

    def write(factor: float) -> None:
        text = "import jax.numpy as jnp\n\n\ndef own(obs, act):\n"
        (tmp_path / "edited.py").write_text(
            f"{text}    return {factor} * obs + obs[..., :1] ** 2\n"
        )
        sys.modules.pop("edited", None)
        importlib.invalidate_caches()

    monkeypatch.syspath_prepend(tmp_path)
    write(1.0)
    config = configure(EMMA, features="edited:own")
    etairl.train(config, tmp_path / "done")
    with open_run(config, tmp_path / "half", checkpoint_seconds=0.0) as run:
        reports = run.play()
        next(reports)
        reports.close()
    write(1.01)
    with pytest.raises(InputError, match=r"own0, .* not as in the run: another .*edited since"):
        etairl.Result(tmp_path / "done", trust=True)
    with (
        pytest.raises(InputError, match="was the feature map edited since"),
        open_run(config, tmp_path / "half", resume=True) as run,
    ):
        next(run.play())
    write(1.0)
    done = etairl.Result(tmp_path / "done", trust=True)
    assert done.gaps(prepare(config).demos.trajectories)


def test_frozen_costs_that_are_not_there(tmp_path, capsys, runs):
    def said(*arguments) -> str:
        assert main(["train", "-o", str(tmp_path / "x"), *map(str, arguments)]) == 2
        return capsys.readouterr().err

    assert "is not a run directory" in said("--cost", tmp_path / "nowhere")
    assert "--preset and --cost both say where the settings start from" in said(
        "--cost", runs / "emma", "--preset", "near-clone"
    )
    told = said("--frozen-cost", tmp_path / "nowhere", "--env=Pendulum-v1", "--demos", TINY.demos)
    assert "has no learned cost" in told
    assert "observations have 3 columns" in said("--cost", runs / "emma", "--env", "Hopper-v5")
    assert "empty basis" in said("--algorithm", "emma", "--features", "rbf:0")
    pendulum = ("--env=Pendulum-v1", "--demos", TINY.demos, "--algorithm", "emma")
    assert "cannot be found" in said(*pendulum, "--features", "nowhere:map")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("wiem", lambda w: 2 * w, "the weights sum to 2 .* must lie on the simplex"),
        ("emma", lambda w: np.full_like(w, 0.9), "norm of the weights is 1.8, .* ball of radius 1"),
        ("emma", lambda w: w * np.nan, "not all finite numbers"),
        ("emma", lambda w: w[:-1], "missing or has another shape"),
    ],
)
def test_weights_outside_their_set(runs, tmp_path, name, change, message):
    result = etairl.Result(runs / name)
    result.save(tmp_path / "odd")
    file = tmp_path / "odd" / "cost.safetensors"
    arrays = load_file(file)
    save_file(arrays | {".weights": np.ascontiguousarray(change(arrays[".weights"]))}, file)
    with pytest.raises(InputError, match=message):
        etairl.Result(tmp_path / "odd")


def test_the_radius_bounds_the_weights(tmp_path):
    """With the whole way to the best weights in each cycle, they lie on the sphere."""
    etairl.train(configure(EMMA, radius=0.1, cost_rate=1.0), tmp_path / "r")
    weights = load_file(tmp_path / "r" / "cost.safetensors")[".weights"]
    assert np.linalg.norm(weights) == pytest.approx(0.1, rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "algorithm", "eta"),
    [
        (["--algorithm", "gail"], "gail", "dirac:0"),
        (["--algorithm=airl"], "airl", "dirac:0"),
        (["--algorithm", "airl", "--eta", "poisson:3"], "airl", "poisson:3"),
        (["--algorithm", "wiem"], "wiem", "geometric:0.99"),
        (["--preset", "paper/hopper", "--algorithm", "emma"], "emma", "geometric:1"),
        (["--preset", "paper/hopper", "--algorithm", "gail"], "gail", "dirac:0"),
        ([], "megan", "geometric:0.99"),
    ],
)
def test_an_algorithm_brings_its_weighting(arguments, algorithm, eta, monkeypatch, tmp_path):
    from etairl.cli import train

    seen = []
    monkeypatch.setattr(train, "follow", lambda config, *_, **__: seen.append(config))
    assert main(["train", "-o", str(tmp_path / "x"), *arguments]) == 0
    assert (seen[0].algorithm, seen[0].eta) == (algorithm, eta)


def test_the_divergence_can_be_let_go(monkeypatch, tmp_path):
    from etairl.cli import train

    seen = []
    monkeypatch.setattr(train, "follow", lambda config, *_, **__: seen.append(config))
    words = ["train", "-o", str(tmp_path / "x")]
    assert main([*words, "--preset=near-clone", "--omega", "entropy"]) == 0
    assert seen[0].omega == "entropy"
    clone = ["--solver", "sac", "--omega", "kl", "--warm-start", "--normalise", "none"]
    assert main([*words, *clone]) == 0
    assert (seen[1].omega, seen[1].solver.play.warm_start) == ("kl", True)


HOPPER = {"env": "Hopper-v5", "demos": "Hopper-v5-25x500"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"algorithm": "emma", "both_signs": False}, "--both-signs has no effect on weights in"),
        ({"algorithm": "wiem", "both_signs": False}, None),
        ({"algorithm": "wiem", "radius": 0.1}, "--radius has no effect on weights in a simplex"),
        ({"algorithm": "emma", "radius": 0.1}, None),
        ({"algorithm": "emma", "inputs": "state"}, None),
        ({"algorithm": "emma", **HOPPER}, "that dying pays"),
        ({"algorithm": "airl", **HOPPER}, "that dying pays"),
        ({"algorithm": "megan", **HOPPER}, None),
        ({"algorithm": "emma", **HOPPER, "mode": "fixed"}, None),
        (
            {"solver": "sac-eta", "eta": "poisson:45", "gamma_irl": 0.99},
            "25% of eta poisson:45 lie beyond the horizon of 50 steps",
        ),
        ({"solver": "sac-eta", "eta": "geometric:0.99", "gamma_irl": 0.99}, None),
    ],
)
def test_what_is_said_before_a_run(change, sentence):
    prepared = prepare(configure(TINY, **change))
    said = [s for s in prepared.warnings() if "collinear" not in s]
    assert len(said) == (sentence is not None), said
    assert sentence is None or sentence in said[0]


@pytest.mark.parametrize(
    ("algorithm", "setting"),
    [("emma", "form"), ("megan", "features"), ("airl", "inputs"), ("wiem", "gradient_penalty")],
)
def test_settings_of_other_families_are_refused(algorithm, setting):
    other = configure(TINY, algorithm="megan" if algorithm != "megan" else "emma")
    value = flatten(other)[setting]
    with pytest.raises(InputError, match=f"{setting} is not a setting of {algorithm} with"):
        configure(TINY, algorithm=algorithm, **{setting: value})


def test_a_program_is_told_what_a_terminal_says(tmp_path):
    said = []
    config = configure(EMMA, algorithm="wiem", transitions=250, radius=0.5)
    etairl.train(config, tmp_path / "run", say=said.append)
    assert said == ["--radius has no effect on weights in a simplex"]


def test_the_table_of_wiem_leaves_out_what_was_never_the_worst(capsys):
    """On a simplex the others share what the start left them; on a ball all weights were earned."""
    weights, distance = (0.7, 0.1, 0.1, 0.1), Distance(0.0, 0.0, 0.0, None, None, 1.0, 0.0)
    line = Timeline(9, 0.0, [1.0] * 20, [])
    for found, shown in ((weights, 1), ((0.7, -0.4, 0.2, 0.1), 4)):
        gaps = [FeatureGap(f"f{i}", w, 0.5, 0.1) for i, w in enumerate(found)]
        numbers = (4, 0.0, 0.0, 9.0, None, *[distance] * 4)
        print_features([Behaviour("learner", "drawn", "demonstrations", *numbers, line, gaps)])
        said = capsys.readouterr().out
        assert f"{shown} of 4 features" in said
        assert ("f3" in said) == (shown == 4)


def test_the_list_of_algorithms(capsys):
    assert main(["algorithms", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(ALGORITHMS)
    assert {"megan", "gail", "emma", "wiem", "airl", "rairl", "eairl", "sgail", "iq"} <= {
        row["name"] for row in rows
    }
    assert all({"psi", "omega", "eta", "cost", "solver"} <= row.keys() for row in rows)
    assert main(["algorithms"]) == 0
    assert "indicator of the simplex" in capsys.readouterr().out
