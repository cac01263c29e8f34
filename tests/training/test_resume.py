"""A run that is killed and resumed ends with the bytes of an unbroken one."""

import json
import signal
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from programs import killed_at_a_rename, no_large_files, run, start

TINY = [
    "--env=Hopper-v5",
    "--demos=synthetic.npz",
    "--horizon=40",
    "--transitions=2400",
    "--episodes=4",
    "--solver=sac",
    "--rollout=episodes",
    "--solver-updates=8",
    "--solver-batch=32",
    "--cost-updates=4",
    "--cost-batch=32",
    "--capacity=600",
    "--remaining-cycles=6",
    "--measure-every=2",
    "--demonstrations=4",
    "--threads=1",
    "--hidden",
    "16",
    "16",
]
FILES = ("policy.safetensors", "cost.safetensors", "best-policy.safetensors", "metrics.jsonl")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Demonstrations of a random Hopper, and an unbroken run on them."""
    from etairl.demos import Demos, save_demos
    from etairl.rollouts import UniformPolicy, collect
    from etairl.tasks import make_task

    path = tmp_path_factory.mktemp("runs")
    task = make_task("Hopper-v5", 6, horizon=40, seed=9)
    played = collect(np.random.default_rng(0), task, UniformPolicy(task), 6)
    save_demos(Demos.of(played, task.spec, "random"), path / "synthetic.npz")
    done = run("train", "-o", "unbroken", *TINY, "--checkpoint-seconds=1000", folder=path)
    assert done.returncode == 0, done.stderr
    return path


def contents(run: Path) -> dict[str, bytes]:
    return {name: (run / name).read_bytes() for name in FILES}


def resumed(name: str, folder: Path) -> None:
    done = run("resume", name, "--threads=1", folder=folder)
    assert done.returncode == 0, done.stderr


def kill(folder: Path, name: str, options: list[str], most: float = np.inf) -> int:
    """Train, and kill soon after each cycle that is logged; returns how often."""
    rng = np.random.default_rng(4)
    path, kills, begun = folder / name, 0, time.monotonic()
    process = start("train", "-o", name, *options, "--checkpoint-seconds=0", folder=folder)
    while True:
        before = _progress(path) if kills < most else np.inf
        while _progress(path) < before + 1 and process.is_alive():
            time.sleep(0.01)
            assert time.monotonic() - begun < 500
        time.sleep(float(rng.uniform(0.0, 0.1)))
        if not process.is_alive():
            break
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        kills += 1
        process = start("resume", name, "--checkpoint-seconds=0", "--threads=1", folder=folder)
    assert process.exitcode == 0
    return kills


@pytest.mark.parametrize("kills", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_kills_at_random_moments(folder, kills):
    """Many of them while a checkpoint is being written: there is one per cycle."""
    assert kill(folder, f"killed-{kills}", TINY, most=kills) == kills
    assert contents(folder / f"killed-{kills}") == contents(folder / "unbroken")


@pytest.mark.slow
def test_kills_of_the_solver_with_two_critics(folder):
    """With a weighting that needs its clock: the time of every transition comes back, too."""
    options = [x for x in TINY if "transitions" not in x]
    options += ["--transitions=800", "--solver=sac-eta", "--eta=poisson:3"]
    done = run("train", "-o", "whole", *options, "--checkpoint-seconds=1000", folder=folder)
    assert done.returncode == 0, done.stderr
    assert kill(folder, "parts", options, most=3) == 3
    assert contents(folder / "parts") == contents(folder / "whole")


def test_kills_in_the_middle_of_a_checkpoint(folder):
    """Between the writing of a file and its renaming, at another file each time."""
    command = ["train", "-o", "torn", *TINY]
    for rename in (5, 4, 3):
        words = [*command, "--checkpoint-seconds=0"]
        done = run(*words, folder=folder, before=partial(killed_at_a_rename, rename))
        assert done.returncode == -signal.SIGKILL
        command = ["resume", "torn", "--threads=1"]
    resumed("torn", folder)
    assert contents(folder / "torn") == contents(folder / "unbroken")


def test_after_a_damaged_checkpoint_the_one_before_gives_the_same_bytes(folder):
    """By then the memory has forgotten its first episodes."""
    command = ["train", "-o", "hurt", *TINY, "--checkpoint-seconds=0"]
    done = run(*command, folder=folder, before=partial(killed_at_a_rename, 115))
    assert done.returncode == -signal.SIGKILL
    before, newest = sorted((folder / "hurt/checkpoints").glob("[0-9]*"))
    assert json.loads((before / "checkpoint.json").read_text())["values"]["since"] > 0
    (newest / "cost.safetensors").write_bytes(b"torn")
    told = run("resume", "hurt", "--threads=1", folder=folder)
    assert told.returncode == 0
    said = " ".join(told.stderr.split())
    assert "its checksum is wrong; the run is resumed from the checkpoint before it" in said
    assert f"kept in hurt/checkpoints/damaged-{newest.name}" in said
    assert contents(folder / "hurt") == contents(folder / "unbroken")


def _progress(run: Path) -> int:
    file = run / "metrics.jsonl"
    lines = file.read_text().splitlines() if file.is_file() else []
    return len(lines)


def test_the_replay_forgets_and_the_disk_too(folder):
    """The capacity is below what the run makes: segments of forgotten cycles were removed."""
    result = json.loads((folder / "unbroken/result.json").read_text())
    assert result["transitions"] >= 2400
    assert not (folder / "unbroken/replay").exists()
    assert result["remaining"]["cycles"] == 6


def test_killed_before_the_first_checkpoint(folder):
    """There is nothing to go on from: the run begins anew, and its metrics with it."""
    process = start("train", "-o", "early", *TINY, "--checkpoint-seconds=1000", folder=folder)
    begun = time.monotonic()
    while _progress(folder / "early") < 3 and time.monotonic() - begun < 200:
        time.sleep(0.01)
    process.kill()
    process.join()
    assert 3 <= _progress(folder / "early") < _progress(folder / "unbroken")
    resumed("early", folder)
    assert contents(folder / "early") == contents(folder / "unbroken")


def test_a_disk_that_is_full(folder):
    """No file may grow beyond 20 kB: the first checkpoint fails. With room again, all is well."""
    command = ["train", "-o", "full", *TINY, "--checkpoint-seconds=1000"]
    done = run(*command, folder=folder, before=no_large_files)
    assert done.returncode == 2, done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    resumed("full", folder)
    assert contents(folder / "full") == contents(folder / "unbroken")
