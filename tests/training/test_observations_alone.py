"""Imitation from observations alone: what works, and what says that it needs actions."""

import json
from pathlib import Path

import numpy as np
import pytest
import tiny

import etairl
from etairl.cli.app import main
from etairl.demos import Selection, load_demos, save_demos
from etairl.demos.action_kind import playing_of
from etairl.evaluation.inspection import inspect
from etairl.evaluation.matching import Reference, Steps
from etairl.training.flat import configure
from etairl.training.preparation import prepare
from etairl.training.settings import TrainConfig
from etairl.types import InputError

SEEN = Selection(6, 50, no_actions=True)
pytestmark = pytest.mark.usefixtures("unchecked")  # as users run it


@pytest.fixture(scope="module")
def watched(tmp_path_factory) -> Path:
    """A file without actions, which does not say how it was played."""
    file = tmp_path_factory.mktemp("watched") / "watched.npz"
    t = load_demos("Pendulum-v1-25x200", select=SEEN).trajectories
    known = {"rewards": t.rewards, "final_observations": t.final_observations}
    ends = {"terminals": t.terminated, "timeouts": t.truncated, "episode_lengths": t.lengths}
    np.savez(file, observations=t.observations, **ends, **known)
    return file


@pytest.fixture
def config(watched) -> TrainConfig:
    return configure(
        tiny.TINY,
        demos=str(watched),
        inputs="state_next_state",
        transitions=500,
        remaining_cycles=2,
    )


def test_a_run_learns_from_observations_and_is_compared_by_them(config, tmp_path, capsys):
    said: list[str] = []
    result = etairl.train(config, tmp_path / "run", say=said.append)
    assert any("no actions: MMD² compares states alone" in sentence for sentence in said)
    assert result.demonstrations.act_dim == 0
    assert result.policy(result.demonstrations.observations[:4]).shape == (4, 1)
    assert result.playing == (None, False)
    assert not (result.path / "clone.safetensors").exists()
    assert result.metrics["remaining"]["compared"] == "states"
    assert np.isfinite(result.metrics["remaining"]["mmd2_mu"]["value"])
    assert {row["name"] for row in result.metrics["fresh"]} == {"learner", "random"}
    assert main(["evaluate", str(result.path), "--episodes=3"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "MMD² rho, states" in text
    assert "It is not known whether the demonstrations are drawn or greedy. They have no" in text
    assert "behaviour cloning is left out" in text
    rows = result.evaluate(3)
    assert {row.compared for row in rows} == {"states"}
    assert [row.title for row in rows] == ["learner, drawn", "learner, greedy", "random"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"inputs": "state_action"}, "no actions, and megan .* --inputs state_next_state"),
        ({"algorithm": "airl"}, "no actions, and airl .* --inputs state_next_state"),
        ({"algorithm": "iq", "normalise": "none"}, "no actions, and iq .* --inputs state_next"),
        ({"algorithm": "emma", "inputs": "state_action"}, "and emma .* --inputs state_next_state"),
        ({"cloning": 0.1}, "nothing can be cloned: leave out --cloning"),
        ({"expert_share": 0.5}, "no actions, .* leave out --expert-share"),
        ({"warm_start": True, "omega": "kl"}, "leave out --warm-start, --omega kl"),
        ({"idle": "geometric:0.7", "inputs": "state"}, "no actions, and a generator of futures"),
    ],
)
def test_what_needs_actions_says_so(config, settings, said):
    with pytest.raises(InputError, match=said):
        prepare(configure(config, **settings))


@pytest.mark.parametrize("settings", [{}, {"inputs": "state"}, {"algorithm": "wiem"}])
def test_costs_of_states_see_nothing_else(config, watched, settings):
    config = configure(config, mode="absorbing", **settings)
    prepared = prepare(config)
    t = load_demos(watched, select=Selection(5)).trajectories
    seen = prepared.expert.transitions()
    assert np.array_equal(seen.observations[:, :3], t.observations)
    assert np.array_equal(seen.next_observations[:49, :3], t.observations[1:50])
    assert not seen.actions.any()


def test_states_are_compared_with_states():
    whole = load_demos("Pendulum-v1-25x200", select=Selection(6, 50)).trajectories
    shown, played = whole.take(np.arange(3)), whole.take(np.arange(3, 6))
    states = Reference.of(shown.without_actions())
    assert states.compared == "states"
    assert Reference.of(shown).compared == "pairs"
    assert states.seen(played).pairs.shape == (150, 3)
    plain = Reference.of(shown.without_actions()).pools(Steps.of(played.without_actions()))[0]
    assert states.pools(states.seen(played))[0]["mu"].value() == plain["mu"].value()
    assert states.mmd2(played)["mu"] == states.mmd2(played.without_actions())["mu"]


def test_actions_are_left_out_on_demand(assert_same, watched, tmp_path, capsys, monkeypatch):
    file = str(tmp_path / "alone.npz")
    asked = ["--episodes", "6", "--steps", "50", "--no-actions"]
    assert main(["demos", "import", "Pendulum-v1-25x200", "-o", file, *asked]) == 0
    with np.load(file) as arrays:
        assert not {"actions", "action_low", "discrete_actions"} & set(arrays)
    alone = load_demos(file)
    assert_same(alone.trajectories, load_demos(watched).trajectories)
    assert playing_of(alone) == ("greedy", False)  # the file says so
    capsys.readouterr()
    assert main(["demos", "info", str(watched)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "actions none: observations alone played unknown" in said
    assert "halves of 300 states" in said
    assert "warning: there are no actions: train with --inputs state_next_state" in said
    assert main(["demos", "info", str(watched), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["act_dim"], found["action"], found["playing"]) == (0, None, None)
    assert inspect(load_demos(watched)).constant_actions == []
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    save_demos(alone, "minari:watched-v0")
    again = load_demos("minari:watched-v0")
    assert_same(alone.trajectories, again.trajectories)
    assert again.spec == alone.spec
