"""`etairl render`, on a run that was really trained."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from etairl.algorithms.girl import GirlConfig
from etairl.cli.app import main
from etairl.demos import Demos, load_demos, save_demos
from etairl.rollouts import UniformPolicy, collect
from etairl.solvers.players import SACSettings
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.tasks import make_task
from etairl.training.result import train
from etairl.training.settings import TrainConfig

ETAIRL = Path(sys.executable).with_name("etairl")
SMALL = ("--width", "64", "--height", "48")


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A folder with a tiny finished run on a pendulum."""
    folder = tmp_path_factory.mktemp("runs")
    task = make_task("Pendulum-v1", 2, horizon=200, seed=9, threads=1)
    played = collect(np.random.default_rng(0), task, UniformPolicy(task), 2)
    save_demos(Demos.of(played, task.spec, "random"), folder / "random.npz")
    girl = GirlConfig(
        transitions=400,
        episodes=2,
        cost_updates=2,
        cost_batch=16,
        capacity=400,
        remaining_cycles=1,
    )
    config = TrainConfig(
        env="Pendulum-v1",
        demos=str(folder / "random.npz"),
        demonstrations=2,
        horizon=200,
        girl=girl,
        solver=SACSettings(OffPolicy(solver_updates=2, solver_batch=16), SACConfig(hidden=(8,))),
    )
    train(config, folder / "run")
    return folder


def test_learner_beside_demonstration(runs, tmp_path, capsys, decode):
    clip = tmp_path / "clip.mp4"
    assert main(["render", str(runs / "run"), "-o", str(clip), "--steps", "12", *SMALL]) == 0
    said = capsys.readouterr().out
    rewards = load_demos(runs / "random.npz").trajectories.rewards
    assert rewards is not None
    total = f"return {rewards[:12].sum():.0f}"
    assert said.startswith("13 frames; learner, step 12, return -")
    assert f"demonstration 0, step 12, {total} → {clip}" in " ".join(said.split())
    frames = decode(clip)[1].astype(int)
    assert frames.shape == (13, 64, 128, 3)
    left, right = frames[:, 16:, :60], frames[:, 16:, 66:126]
    assert left.std() > 5
    assert right.std() > 5
    assert np.abs(left - right).mean() > 1
    assert np.abs(left[0] - left[-1]).mean() > 1
    assert [path.name for path in tmp_path.iterdir()] == ["clip.mp4"]


def test_a_run_that_names_code_is_drawn_only_if_it_is_trusted(runs, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(runs / "run", run)
    config = run / "config.json"
    config.write_text(config.read_text().replace('"Pendulum-v1"', '"nowhere:Pendulum-v1"'))
    command = ["render", str(run), "-o", str(tmp_path / "clip.gif")]
    assert main(command) == 2
    assert "--trust" in capsys.readouterr().err
    assert main([*command, "--trust"]) == 2  # the module does not exist
    said = " ".join(capsys.readouterr().err.split())
    assert "nowhere" in said
    assert "--trust" not in said


def test_the_learner_alone_as_a_gif(runs, tmp_path, capsys, decode):
    clip = tmp_path / "clip.gif"
    options = ("--beside", "nothing", "--policy", "best", "--fps", "10", "--steps", "5")
    arguments = ["render", str(runs / "run"), "-o", str(clip), *options, *SMALL]
    assert main(arguments) == 0
    assert decode(clip)[1].shape == (6, 64, 64, 3)
    before = clip.read_bytes()
    assert main(arguments) == 2
    assert "clip.gif exists already; choose another name" in capsys.readouterr().err
    assert main([*arguments, "--overwrite"]) == 0
    assert clip.read_bytes() == before, "the same settings make the same bytes"
    assert main([*arguments, "--overwrite", "--seed", "1"]) == 0
    assert clip.read_bytes() != before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "-o", "clip.avi"), "clip.avi: the name of a clip ends in .mp4 or .gif"),
        (("run", "-o", "clip"), "clip: the name of a clip ends in .mp4 or .gif"),
        (("run",), "-o"),
        (("none", "-o", "clip.mp4"), "none is not a run directory"),
        (("unfinished", "-o", "clip.mp4"), "unfinished is not finished yet"),
        (("run", "-o", "clip.mp4", "--steps", "0"), "--steps must be at least 1, got 0"),
        (("run", "-o", "clip.mp4", "--seed", "-1"), "the seed must be >= 0 and below 2^32, got -1"),
        (("run", "-o", "clip.mp4", "--fps", "0"), "--fps must lie in [1, 1000], got 0"),
        (("run", "-o", "clip.mp4", "--width", "9"), "--width must lie in [16, 2048], got 9"),
        (("run", "-o", "clip.mp4", "--height", "9999"), "--height must lie in [16, 2048]"),
        (("run", "-o", "clip.mp4", "--policy", "worst"), "invalid choice"),
        (("run", "-o", "clip.mp4", "--demonstration", "2"), "there is no demonstration 2"),
    ],
)
def test_bad_input_is_one_sentence(runs, tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").symlink_to(runs / "run")
    if arguments[0] == "unfinished":
        shutil.copytree(runs / "run", "unfinished")
        Path("unfinished/result.json").unlink()
    assert main(["render", *arguments]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert not list(tmp_path.glob("*clip*"))


def test_a_missing_encoder_is_one_sentence(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert main(["render", str(runs / "run"), "-o", str(tmp_path / "clip.mp4")]) == 2
    assert capsys.readouterr().err == (
        "etairl render: writing a clip needs the package imageio-ffmpeg; install it: "
        "pip install 'etairl[render]'\n"
    )


def test_ctrl_c_leaves_no_file(runs, tmp_path):
    large = ("--width", "1024", "--height", "1024")
    process = subprocess.Popen(
        [ETAIRL, "render", runs / "run", "-o", tmp_path / "clip.mp4", *large],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 100
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)  # until the encoder has begun its file
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.decode().strip().endswith("etairl: interrupted")
    assert list(tmp_path.iterdir()) == []
