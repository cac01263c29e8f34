"""A learned cost in another world: it teaches where it knows the columns, else it is refused."""

import json
import shutil
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import tiny
from gymnasium.envs.classic_control.pendulum import PendulumEnv
from safetensors.numpy import load_file, save_file

import etairl
from etairl.cli.app import main
from etairl.decoding import encode
from etairl.solvers.learned import about_file
from etairl.tasks import planned_expert
from etairl.tasks.navigation_world import NAVIGATION, SHIFTED_NAVIGATION
from etairl.training.carrying import check_columns
from etairl.training.config_files import read_config
from etairl.training.flat import configure
from etairl.training.preparation import prepare
from etairl.types import InputError

TINY = configure(tiny.TINY, transitions=750, remaining_cycles=2)
FREE: dict = {"action_low": None, "action_high": None}
WALKS = "etairl-ShiftedNavigation-v0-100x50"
pytestmark = pytest.mark.usefixtures("unchecked")  # as users run it


class HeavyPendulum(PendulumEnv):
    """Three times the mass, same columns."""

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.m = 3.0


@pytest.fixture(scope="module")
def heavy():
    gymnasium.register("HeavyPendulum-v0", entry_point=HeavyPendulum, max_episode_steps=200)
    yield "HeavyPendulum-v0"
    del gymnasium.registry["HeavyPendulum-v0"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("carried")
    for name in ("emma", "airl"):
        change = {"features": "identity"} if name == "emma" else {}
        etairl.train(configure(TINY, algorithm=name, **change), folder / name)
    return folder


def told(run, folder, **spec):
    """A run whose policy says that it was learned in another world."""
    shutil.copytree(run, folder)
    file = folder / "policy.safetensors"
    about = encode(replace(about_file(file), marked=spec.pop("marked", False)))
    save_file(load_file(file), file, {"etairl": json.dumps(about | {"spec": about["spec"] | spec})})
    return folder


@pytest.mark.parametrize("name", ["emma", "airl"])
def test_it_is_kept_in_a_changed_world(runs, heavy, tmp_path, name):
    target = tmp_path / "heavy"
    words = ["-o", str(target), "--cost", str(runs / name), "--env", heavy, "--threads", "1"]
    assert main(["train", *words, "--horizon", "50"]) == 0
    assert read_config(target).env == heavy
    before, after = (load_file(p / "cost.safetensors") for p in (runs / name, target))
    assert all(np.array_equal(before[key], after[key]) for key in before)
    played = etairl.Result(target)
    demos = played.demonstrations
    pair = demos.observations[:5], demos.actions[:5]
    assert np.array_equal(played.cost(*pair), etairl.Result(runs / name).cost(*pair))


def test_other_demonstrations_do_not_change_its_units(runs, tmp_path):
    """Those serve for measuring alone: their own mean and spread are no edited feature map."""
    target, cost = tmp_path / "two", str(runs / "emma")
    assert main(["train", "-o", str(target), "--cost", cost, "--demonstrations", "2"]) == 0
    shutil.rmtree(tmp_path / "two" / "checkpoints", ignore_errors=True)
    assert etairl.Result(target).config.demonstrations == 2


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("emma", {"obs_dim": 4}, "whose observations have 4 columns, but those of .* have 3"),
        ("emma", {"act_dim": 2} | FREE, "whose actions have 2 columns, but those of .* have 1"),
        ("emma", {"discrete_actions": 3} | FREE, "actions are 3 choices, but those of .* are 1"),
        ("emma", {"marked": True}, "learned in the mode absorbing, .* add --mode absorbing"),
        ("airl", {"obs_dim": 2}, "whose observations have 2 columns"),
    ],
)
def test_other_columns_are_refused(runs, tmp_path, name, change, message):
    folder = told(runs / name, tmp_path / "odd", **change)
    config = configure(read_config(runs / name), frozen_cost=str(folder))
    with pytest.raises(InputError, match=message):
        prepare(config, threads=1)


def test_a_cost_of_states_does_not_mind_other_actions(runs, tmp_path):
    """Which is the point of learning one."""
    folder = told(runs / "airl", tmp_path / "odd", action_low=[-9.0], action_high=[9.0])
    known = about_file(folder / "policy.safetensors").spec
    assert (known.action_low, known.environment) == ((-9.0,), "Pendulum-v1")
    prepare(configure(read_config(runs / "airl"), frozen_cost=str(folder)), threads=1)
    folder = told(runs / "airl", tmp_path / "two", act_dim=2, **FREE)
    prepare(configure(read_config(runs / "airl"), frozen_cost=str(folder)), threads=1)


def test_columns_in_another_order_are_refused(runs, tmp_path):
    folder = told(runs / "emma", tmp_path / "odd", observation_names=["x", "y", "speed"])
    task = prepare(read_config(runs / "emma"), threads=1).task
    check_columns(folder, prepare(read_config(runs / "emma"), threads=1).game.cost, task)
    task.spec = replace(task.spec, observation_names=("y", "x", "speed"))
    with pytest.raises(InputError, match="have x in column 0, but Pendulum-v1 has y there"):
        check_columns(folder, prepare(read_config(runs / "emma"), threads=1).game.cost, task)


def test_around_a_lake_that_has_moved(tmp_path, capsys):
    """The walks of the known map lead through it; those of the changed one say how well it goes."""
    many = {"env": NAVIGATION, "demos": tiny.NAVIGATION, "demonstrations": 30, "episodes": 6}
    etairl.train(configure(TINY, transitions=600, **many), tmp_path / "known")
    words = ["train", "-o", str(tmp_path / "new"), "--cost", str(tmp_path / "known")]
    words += ["--env", SHIFTED_NAVIGATION, "--threads", "1"]
    assert main(words) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "lies in the lake of radius 3 around (-1, 1)" in said
    assert main([*words, "--demos", WALKS]) == 0
    rows = {(r["name"], r["playing"]): r for r in etairl.Result(tmp_path / "new").metrics["fresh"]}
    assert rows["expert", "greedy"]["success"] == 1.0
    assert rows["learner", "greedy"]["success"] < 0.5
    assert planned_expert(SHIFTED_NAVIGATION) is not None
