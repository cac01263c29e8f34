"""A run as a folder to share: what it says, and that it works like a run wherever it is."""

import getpass
import json
import re
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from tiny import TINY, few

import etairl
from etairl.cli.app import main
from etairl.storage import read_json, write_json
from etairl.training.card_text import CardFacts, card_text
from etairl.training.flat import configure
from etairl.types import InputError

NASTY = 'x](http://e.x) | <img src=x onerror=alert(1)>\n---\n"\\ ` $'


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return etairl.train(TINY, tmp_path_factory.mktemp("run") / "secret-name").path


@pytest.fixture(scope="module")
def card(run) -> Path:
    return etairl.Result(run).card(run.parent / "shared").parent


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """A run on demonstrations of one's own."""
    config = replace(TINY, demos=few("Pendulum-v1-25x200", 6))
    return etairl.train(config, tmp_path_factory.mktemp("own") / "run").path


def front_matter(card: Path) -> dict:
    head, text = (card / "README.md").read_text().split("---\n", 2)[1:]
    assert text.startswith("\n# ")
    return yaml.safe_load(head)


def test_the_layout_of_a_hub(card):
    found = front_matter(card)
    assert found["library_name"] == "etairl"
    assert found["pipeline_tag"] == "reinforcement-learning"
    assert {"reinforcement-learning", "etairl", "Pendulum-v1"} <= set(found["tags"])
    (model,) = found["model-index"]
    (result,) = model["results"]
    assert model["name"] == "megan-Pendulum-v1"
    assert result["task"]["type"] == "reinforcement-learning"
    assert result["dataset"] == {"name": "Pendulum-v1", "type": "Pendulum-v1"}
    metrics = {metric["type"]: metric["value"] for metric in result["metrics"]}
    fresh = read_json(card / "result.json")["fresh"][0]
    assert metrics["mean_reward"] == f"{fresh['return_mean']:.2f} +/- {fresh['return_std']:.2f}"
    assert metrics["mmd2_mu"] == pytest.approx(fresh["mmd2_mu"]["value"], abs=1e-6)
    text = (card / "README.md").read_text()
    for heading in ("Scores", "Data", "Settings", "Limits", "How to load it", "Versions"):
        assert f"\n## {heading}\n" in text
    # 10 episodes: Student's t with 9 degrees of freedom.
    half = 2.262 * fresh["return_std"] / 3
    shown = re.search(r"learner, greedy \| 10 \| (-[\d.]+) \[(-[\d.]+), ", text)
    assert shown is not None
    assert float(shown[1]) - float(shown[2]) == pytest.approx(half, abs=0.2)
    assert "| transitions | 1500 | 500000 |" in text  # what differs from the preset


def test_it_works_like_a_run_wherever_it_is(run, card, tmp_path, monkeypatch):
    moved = tmp_path / "elsewhere"
    shutil.copytree(card, moved)
    monkeypatch.chdir(tmp_path)
    observation = np.array([0.6, 0.8, -1.0], np.float32)
    before, after = etairl.load(run), etairl.load("elsewhere")
    assert np.array_equal(before.predict(observation)[0], after.predict(observation)[0])
    for name in ("policy", "best-policy", "cost", "clone"):
        file = f"{name}.safetensors"
        assert (moved / file).read_bytes() == (run / file).read_bytes()
    again = etairl.Result(moved)
    rows = again.demonstrations.observations[:5], again.demonstrations.actions[:5]
    assert np.array_equal(again.cost(*rows), etairl.Result(run).cost(*rows))
    assert main(["export", "elsewhere", "-o", "policy.npz"]) == 0
    assert main(["plot", "elsewhere", "-o", "curves.png"]) == 0


@pytest.mark.slow
def test_it_is_evaluated_and_explained_like_a_run(card, tmp_path, monkeypatch):
    monkeypatch.chdir(shutil.copytree(card, tmp_path / "elsewhere").parent)
    assert main(["evaluate", "elsewhere", "--episodes", "2"]) == 0
    assert main(["explain", "elsewhere", "--episodes", "2"]) == 0
    assert main(["render", "elsewhere", "-o", "clip.gif", "--steps", "3"]) == 0


def test_nothing_of_the_machine_is_in_it(own, tmp_path):
    folder = tmp_path / "card"
    etairl.Result(own).card(folder, with_demonstrations=True)
    source = Path(read_json(own / "config.json")["demos"])
    assert source.is_absolute()
    words = {str(source.parent), str(own.parent), str(Path.home()), "/tmp/", "/home/"}
    words |= {f"/{getpass.getuser()}/", f"@{socket.gethostname()}"}
    for file in folder.iterdir():
        data = file.read_bytes()
        assert not [word for word in words if word.encode() in data], file
    assert read_json(folder / "config.json")["demos"] == "demonstrations.npz"


def test_demonstrations_of_ones_own(own, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "card"
    assert main(["card", str(own), "-o", str(folder), "--license", "mit"]) == 0
    assert front_matter(folder)["license"] == "mit"
    source = Path(read_json(own / "config.json")["demos"])
    assert not list(folder.glob("*.npz"))  # nobody shares them by accident
    monkeypatch.chdir(tmp_path)
    assert etairl.load(folder).spec.obs_dim == 3
    capsys.readouterr()
    for command in (["evaluate"], ["explain"], ["render", "-o", "clip.mp4"]):
        assert main([command[0], str(folder), *command[1:]]) == 2
        said = capsys.readouterr().err
        assert f"put {source.name} beside its config.json" in said
        assert said.count("\n") == 1
    shutil.copy(source, folder / source.name)
    assert len(etairl.Result(folder).demonstrations) == 5
    # With them, it is whole; what an older card had is gone.
    assert main(["card", str(own), "-o", str(folder)]) == 2
    assert "already" in capsys.readouterr().err
    again = [str(own), "-o", str(folder), "--overwrite"]
    assert main(["card", *again, "--with-demonstrations"]) == 0
    (folder / source.name).unlink()
    moved = folder.rename(tmp_path / "moved")
    assert len(etairl.Result(moved).demonstrations) == 5
    assert main(["card", str(own), "-o", str(moved), "--overwrite"]) == 0
    assert not list(moved.glob("*.npz"))


def test_texts_of_users_are_text(run, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    write_json(copy / "versions.json", {"etairl": NASTY, "demonstrations": NASTY})
    result = read_json(copy / "result.json")
    result["diagnostics"] = [{"name": NASTY, "message": NASTY, "cycle": 1}]
    result["fresh"][0]["name"] = result["fresh"][0]["beside"] = NASTY
    write_json(copy / "result.json", result)
    folder = tmp_path / "card"
    etairl.Result(copy).card(folder, name=NASTY)
    found = front_matter(folder)
    assert found["model-index"][0]["name"] == " ".join(NASTY.split())
    text = (folder / "README.md").read_text().split("---\n", 2)[2]
    assert "<img" not in text
    assert "](http" not in text
    lines = text.splitlines()
    assert [line for line in lines if line.startswith("---")] == []
    tables = [line for line in lines if line.startswith("| ")]
    assert len({line.count("|") for line in tables if "&#" in line or "learner" in line}) == 1


@pytest.mark.parametrize(("features", "times"), [("quadratic", 0), ("mine:features", 3)])
def test_its_commands_say_trust_where_its_settings_name_code(run, features, times):
    result = etairl.Result(run)
    config = configure(result.config, algorithm="emma", features=features)
    demos = etairl.load_demos(config.demos)
    facts = CardFacts("x", config, result.metrics, [], {}, demos, "the demonstrations", "Ours.")
    assert card_text(facts).count(" --trust") == times


def test_what_is_no_card_is_said(run, card, tmp_path, capsys):
    with pytest.raises(InputError, match="short name of a license"):
        etairl.Result(run).card(tmp_path / "x", license="do what\nyou want")
    assert main(["card", str(run), "-o", str(run), "--overwrite"]) == 2
    assert "is the run itself" in capsys.readouterr().err
    other = tmp_path / "other"
    shutil.copytree(run, other)
    assert main(["card", str(run), "-o", str(other), "--overwrite"]) == 2
    assert "is a run and not a card" in capsys.readouterr().err
    assert json.loads((other / "result.json").read_text())["cycles"] == 6
    assert main(["card", str(tmp_path / "none")]) == 2
    assert "is not a run directory" in capsys.readouterr().err


@pytest.mark.parametrize("rows", [[{}], [{"name": "x"}], [5], {"a": 1}, [[["x"]]]])
def test_a_damaged_evaluation_is_said(run, tmp_path, rows):
    copy = shutil.copytree(run, tmp_path / "copy")
    (copy / "evaluation.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match="damaged, or of another version"):
        etairl.Result(copy).card(tmp_path / "card")
    assert not (tmp_path / "card").exists()
