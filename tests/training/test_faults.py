"""Clocks that jump, disks that are full, homes that cannot be written, simulators that hang."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import count, cycle
from pathlib import Path

import pytest
from programs import run, start
from tiny import GRID

import etairl
from etairl.training.flat import configure
from etairl.training.session import open_run

FILES = ("policy.safetensors", "cost.safetensors", "metrics.jsonl", "result.json")
SHORT = configure(
    env="Pendulum-v1",
    demos="Pendulum-v1-25x200",
    demonstrations=4,
    horizon=20,
    episodes=2,
    transitions=120,
    solver="sac",
    rollout="episodes",
    solver_updates=2,
    solver_batch=8,
    cost_updates=1,
    cost_batch=8,
    remaining_cycles=2,
    hidden=(8,),
    hidden_d=(8,),
)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory) -> Path:
    return etairl.train(SHORT, tmp_path_factory.mktemp("unbroken") / "run").path


def contents(path: Path) -> list[bytes]:
    return [(path / name).read_bytes() for name in FILES]


def test_clocks_that_jump(unbroken, tmp_path, monkeypatch):
    """By years, back and forth; and a machine that slept, between any two looks at the clock."""
    since, slept, wall = time.monotonic, count(), cycle([0.0, 4e9, -5.0, 1e9])
    monkeypatch.setattr(time, "time", lambda: next(wall))
    monkeypatch.setattr(time, "time_ns", lambda: int(next(wall)))
    monkeypatch.setattr(time, "monotonic", lambda: since() + 1e5 * next(slept))
    path = etairl.train(SHORT, tmp_path / "run").path
    assert contents(path) == contents(unbroken)
    rows = [json.loads(line) for line in (path / "timing.jsonl").read_text().splitlines()]
    assert len(rows) == 3
    assert all(row["seconds"] >= 0.0 for row in rows)


@pytest.mark.parametrize("number", [1, 5, pytest.param(None, marks=pytest.mark.slow)])
def test_a_disk_that_is_full_at_any_write(unbroken, tmp_path, monkeypatch, number):
    """At the n-th file that is written; `None` is all of them, one after the other."""
    sync, done = os.fsync, False
    for at in (number,) if number else count(1):
        left = [at]

        def full(file, left=left):
            left[0] -= 1
            if left[0] == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            sync(file)

        path = tmp_path / str(at)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with suppress(OSError):
                play(path)
                done = True
        assert done == (left[0] > 0)
        play(path)
        assert contents(path) == contents(unbroken)
        assert not list(path.rglob("*.part"))
        if done or at == number:
            break
    assert at == number or at > 15


def play(path: Path) -> None:
    """To the end, from wherever it is."""
    with open_run(SHORT, path, resume=True, checkpoint_seconds=0.0) as opened:
        list(opened.play())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc takes no files")
def test_a_home_that_cannot_be_written(tmp_path):
    (tmp_path / "grid.toml").write_text(GRID)
    words = {k: v for k, v in os.environ.items() if k not in ("XDG_CACHE_HOME", "MPLCONFIGDIR")}
    words = {k: v for k, v in words.items() if not k.startswith("JAX_")}
    for command in (["study", "grid.toml", "-o", "study"], ["report", "study", "-o", "page"]):
        done = subprocess.run(
            [sys.executable, "-m", "etairl", *command],
            cwd=tmp_path,
            env=words | {"HOME": "/proc/nowhere"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    for log in (tmp_path / "study/logs").iterdir():
        assert "Warning" not in log.read_text()
    assert (tmp_path / "page/report.html").is_file()


STUCK = """
import os, time
import gymnasium, numpy as np

class Stuck(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float32)
    steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.normal(size=3).astype(np.float32)
        return self.place, {}

    def step(self, action):
        Stuck.steps += 1
        if Stuck.steps > 70 and os.path.exists("hang"):
            open("hanging", "w").close()
            while True:
                time.sleep(0.1)
        self.place = self.place + np.float32(0.1) * action[0]
        return self.place, 1.0, False, False, {}

gymnasium.register("Stuck-v0", entry_point=Stuck, max_episode_steps=20)
"""


def test_a_simulator_that_hangs_is_left_by_ctrl_c_and_the_run_goes_on(tmp_path):
    """The first asks to stop after the cycle, which does not end; the second stops at once."""
    (tmp_path / "stuck.py").write_text(STUCK)
    words = ["--env=stuck:Stuck-v0", "--demos=Pendulum-v1-25x200", "--demonstrations=4"]
    words += ["--horizon=20", "--episodes=2", "--transitions=200", "--solver=sac"]
    words += ["--rollout=episodes", "--solver-updates=1", "--solver-batch=8", "--cost-updates=1"]
    words += ["--cost-batch=8", "--hidden=8", "--hidden-d=8", "--checkpoint-seconds=0"]
    done = run("train", "-o", "whole", *words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "hang").touch()
    process = start("train", "-o", "run", *words, folder=tmp_path, output=tmp_path / "said")
    until = time.monotonic() + 120
    while not (tmp_path / "hanging").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert process.pid is not None
    for _ in range(2):
        os.kill(process.pid, signal.SIGINT)
        time.sleep(0.5)
    process.join(30)
    assert process.exitcode == 130, (tmp_path / "said").read_text()
    assert "Traceback" not in (tmp_path / "said").read_text()
    (tmp_path / "hang").unlink()
    done = run("resume", "run", "--trust", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in FILES[:3]:
        whole = (tmp_path / "whole" / name).read_bytes()
        assert (tmp_path / "run" / name).read_bytes() == whole
