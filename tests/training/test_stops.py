"""A run that stops, goes on, or is not alone."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import etairl
from etairl.algorithms.girl import GirlConfig
from etairl.cli.app import main
from etairl.cli.console import Meter
from etairl.cli.running import RunOptions, follow
from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.discriminator import GanConfig
from etairl.demos import Demos, save_demos
from etairl.demos.sources import located
from etairl.locks import LOCK, held
from etairl.runs import RunDirectory, read_metrics
from etairl.solvers.players import SACSettings
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.training.flat import configure
from etairl.training.session import open_run
from etairl.training.settings import TrainConfig
from etairl.types import InputError

TINY = TrainConfig(
    env="Pendulum-v1",
    demos="Pendulum-v1-25x200",
    demonstrations=4,
    horizon=20,
    girl=GirlConfig(
        transitions=960,
        episodes=2,
        cost_updates=2,
        cost_batch=8,
        remaining_cycles=4,
    ),
    cost=GanConfig(network=DiscriminatorConfig(hidden_d=(8,))),
    solver=SACSettings(OffPolicy(solver_updates=2, solver_batch=8), SACConfig(hidden=(8,))),
)


def stopped(config: TrainConfig, path: Path, cycles: int) -> RunDirectory:
    """A run that was stopped after so many cycles, as by Ctrl-C."""
    with (
        open_run(config, path, checkpoint_seconds=1000.0) as run,
        closing(run.play()) as reports,
    ):
        for _ in range(cycles):
            next(reports)
    return RunDirectory(path)


def test_stopped_in_the_cycle_where_patience_ran_out(tmp_path):
    config = replace(TINY, patience=1, measure_every=1)
    unbroken = etairl.train(config, tmp_path / "unbroken").path
    cycles = len(read_metrics(unbroken))
    assert cycles < 24
    stopped(config, tmp_path / "stopped", cycles)
    assert main(["resume", str(tmp_path / "stopped")]) == 0
    for name in ("policy.safetensors", "cost.safetensors", "metrics.jsonl", "result.json"):
        assert (tmp_path / "stopped" / name).read_bytes() == (unbroken / name).read_bytes()


@pytest.mark.parametrize("moment", ["a clone to compare with", "playing fresh episodes"])
def test_ctrl_c_after_the_last_cycle_stops_before_what_comes_next(
    moment, tmp_path, monkeypatch, capsys
):
    """Nothing of the training is lost: only the comparison is made again."""
    unbroken = etairl.train(TINY, tmp_path / "unbroken").path
    begin = Meter.stage

    def stage(meter: Meter, what: str) -> None:
        begin(meter, what)
        if what == moment:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Meter, "stage", stage)
    with pytest.raises(KeyboardInterrupt, match="is kept at 960 transitions; resume it with"):
        follow(TINY, tmp_path / "stopped", RunOptions(checkpoint_seconds=1000.0))
    assert "stopping soon" in capsys.readouterr().err
    assert not RunDirectory(tmp_path / "stopped").finished
    with open_run(TINY, tmp_path / "stopped", resume=True) as run:
        assert not list(run.play())  # no cycle is played again
    for name in ("policy.safetensors", "cost.safetensors", "metrics.jsonl", "result.json"):
        assert (tmp_path / "stopped" / name).read_bytes() == (unbroken / name).read_bytes()


@pytest.mark.parametrize(("cycles", "said"), [(6, 1), (12, 0)])
def test_a_warning_counts_the_cycles_before_the_stop_and_comes_once(tmp_path, capsys, cycles, said):
    """A temperature of 1e-5 gets a warning after ten cycles; the run has 24."""
    cold = configure(TINY, temperature=1e-5)
    stopped(cold, tmp_path / "run", cycles)
    assert main(["resume", str(tmp_path / "run")]) == 0
    words = capsys.readouterr().err
    assert words.count("the temperature is almost 0") == said
    assert words.count("cycle 10: the temperature") == said


def test_a_meter_starts_from_what_is_done():
    assert Meter("learning", 100, 40)._bar.tasks[0].completed == 40


@pytest.mark.slow
def test_one_command_at_a_time(tmp_path, capsys):
    directory = stopped(TINY, tmp_path / "run", 2)
    before = (directory.path / "metrics.jsonl").read_bytes()
    path = str(directory.path)
    expert = ["expert", "--output", path, "--env=Pendulum-v1", "--steps=20000"]
    with held(directory.path):
        for command in (["resume", path], expert):
            assert main(command) == 2
            words = capsys.readouterr().err
            assert "run is in use by another command" in words
            assert words.count("\n") == 1
        (directory.path / "config.json").rename(tmp_path / "config.json")
        with pytest.raises(InputError, match="in use by another command"):
            etairl.train(TINY, directory.path)
        (tmp_path / "config.json").rename(directory.path / "config.json")
    assert (directory.path / "metrics.jsonl").read_bytes() == before
    assert not (directory.path / LOCK).exists()
    (directory.path / LOCK).touch()  # of a command that was killed
    assert main(["resume", path]) == 0
    assert not (directory.path / LOCK).exists()


def test_a_killed_process_holds_nothing(tmp_path):
    program = (
        "import pathlib; from etairl.locks import held\n"
        f"with held(pathlib.Path({str(tmp_path)!r})):\n"
        "    print('held', flush=True); input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(InputError, match="in use by another command"), held(tmp_path):
        pass
    process.kill()
    process.communicate()
    assert (tmp_path / LOCK).exists()
    with held(tmp_path):
        pass
    assert not (tmp_path / LOCK).exists()


def test_from_another_folder_and_with_other_demonstrations(tmp_path, monkeypatch, capsys):
    """The file is named as seen from where the run was begun."""
    shown = etairl.load_demos("Pendulum-v1-25x200")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    save_demos(shown, "shown.npz")
    path = etairl.train(replace(TINY, demos="shown.npz"), "run").path.resolve()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = etairl.Result(str(path))
    assert again.config.demos == str(tmp_path / "shown.npz")
    first = shown.trajectories.take(np.arange(4)).observations[:20]
    assert np.array_equal(again.demonstrations.observations[:20], first)
    (path / "result.json").unlink()
    later = Demos.of(shown.trajectories.take(np.arange(5, 15)), shown.spec, shown.name)
    save_demos(later, tmp_path / "shown.npz", overwrite=True)
    before = {file: file.read_bytes() for file in path.iterdir() if file.is_file()}
    assert main(["resume", str(path)]) == 2
    assert "the demonstrations are not those that" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in path.iterdir() if file.is_file()} == before


def test_only_files_get_a_whole_path():
    for name in ("minari:walk-v0", "Pendulum-v1-25x200", "nowhere.npz"):
        assert located(name) == name
