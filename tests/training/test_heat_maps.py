"""Maps of a learned cost: what is drawn at a place is what the cost says there."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from tiny import NAVIGATION

import etairl
from etairl.algorithms.girl import GirlConfig
from etairl.cli.app import main
from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.discriminator import GanConfig
from etairl.solvers.players import SACSettings
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.tasks.navigation_env import NavigationEnv
from etairl.tasks.navigation_world import NAVIGATION as NAME
from etairl.tasks.navigation_world import LakeWorld
from etairl.training.flat import configure
from etairl.training.heat_maps import TARGETS, check_mapped, cost_maps
from etairl.training.settings import TrainConfig
from etairl.types import InputError

TINY = TrainConfig(
    env=NAME,
    demos=NAVIGATION,
    demonstrations=10,
    horizon=50,
    eta="geometric:0.7",
    girl=GirlConfig(
        transitions=400,
        episodes=4,
        cost_updates=20,
        cost_batch=64,
        remaining_cycles=2,
    ),
    cost=GanConfig(network=DiscriminatorConfig(hidden_d=(16,), lr_d=1e-2)),
    solver=SACSettings(OffPolicy(solver_updates=2, solver_batch=16), SACConfig(hidden=(16, 16))),
)


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> etairl.Result:
    return etairl.train(TINY, tmp_path_factory.mktemp("run") / "one")


def in_the_environment(position, target):
    """The observation of the Gymnasium environment, which the maps do not use."""
    observation, _ = NavigationEnv().reset(options={"position": position, "target": target})
    return observation[None]


def test_values_are_those_of_the_cost_in_the_environment(result):
    maps = cost_maps(result, cells=20)
    assert maps.costs.shape == (5, 20, 20)
    # Cells of side 1: the middle of row 12, column 18 is 18.5 - 10 to the right, 2.5 up.
    for number, target in enumerate(TARGETS.values()):
        for row, column, place in (
            (0, 0, (-9.5, -9.5)),
            (12, 18, (8.5, 2.5)),
            (19, 3, (-6.5, 9.5)),
        ):
            by_hand = result.cost(in_the_environment(place, target), np.zeros((1, 2)))
            assert maps.costs[number, row, column] == pytest.approx(by_hand[0], abs=1e-5)
    assert np.nanstd(maps.costs) > 1e-3  # so the comparison tells places apart
    middle = np.array([[-4.5, 4.5]])  # row 14, column 5: in the first lake
    assert not LakeWorld().on_land(middle)[0]
    assert np.isnan(maps.costs[:, 14, 5]).all()
    assert not np.isnan(maps.costs[:, 0, 0]).any()
    assert maps.at_rest
    assert maps.title == "MEGAN, η = geometric:0.7, learned cost at rest"


@pytest.mark.parametrize(
    "inputs", ["state", pytest.param("state_next_state", marks=pytest.mark.slow)]
)
def test_other_inputs(tmp_path, inputs):
    config = configure(TINY, algorithm="gail", inputs=inputs)
    other = etairl.train(config, tmp_path / "run")
    maps = cost_maps(other, cells=10)
    seen = in_the_environment((9.0, 1.0), (0.0, 0.0))
    anything = np.array([[0.3, -0.8]]) if inputs == "state" else np.zeros((1, 2))
    by_hand = other.cost(seen, anything, seen)
    assert maps.costs[1, 5, 9] == pytest.approx(by_hand[0], abs=1e-5)
    assert maps.at_rest == (inputs != "state")
    assert maps.title == "GAIL, learned cost" + (" at rest" if maps.at_rest else "")


def test_targets_are_tasks_of_the_environment():
    LakeWorld().check_targets(np.array(list(TARGETS.values())))


def test_from_the_command_line(result, tmp_path, capsys):
    file = tmp_path / "map.png"
    words = ["evaluate", str(result.path), "--episodes=2", "--no-cloning", f"--map={file}"]
    assert main(words) == 0
    assert f"learned cost of five targets → {file}" in capsys.readouterr().out
    assert file.read_bytes()[:4] == b"\x89PNG"


def test_what_cannot_be_mapped(result, tmp_path, capsys):
    # Nothing but the settings is there: a refusal comes before the run is loaded.
    shutil.copytree(result.path, tmp_path / "run", ignore=shutil.ignore_patterns("*.safetensors"))
    assert main(["evaluate", str(tmp_path / "run"), "--map=map.jpg"]) == 2
    assert "a figure's name ends in .png, .svg, .pdf" in capsys.readouterr().err
    config = tmp_path / "run" / "config.json"
    config.write_text(config.read_text().replace(NAME, "Hopper-v5"))
    assert main(["evaluate", str(tmp_path / "run"), "--map=map.png"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"a map of the cost is drawn for {NAME} only, not for Hopper-v5" in told
    with pytest.raises(InputError, match="only, not for FetchReach-v4"):
        check_mapped(replace(TINY, env="FetchReach-v4"))
