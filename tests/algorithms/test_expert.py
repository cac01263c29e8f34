"""Experts on a real simulator, small."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import jax
import numpy as np
import pytest
from programs import call, start

from etairl.algorithms.expert import (
    ExpertConfig,
    begin,
    make_expert_task,
    make_solver,
    train_expert,
)
from etairl.demos import load_demos
from etairl.solvers.sac_config import SACConfig
from etairl.types import InputError

TINY = ExpertConfig(
    env="Pendulum-v1",
    steps=360,
    horizon=30,
    envs=4,
    cycle=30,
    warmup=100,
    batch=32,
    sac=SACConfig(hidden=(16, 16)),
)


def fingerprint(config: ExpertConfig) -> str:
    task = make_expert_task(config)
    solver = make_solver(config, task)
    *_, last = train_expert(config, task, solver, begin(config, task, solver))
    leaves = jax.tree.leaves(last.progress.solver)
    return hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in leaves)).hexdigest()


def test_same_seed_same_bytes_here_and_in_another_process():
    here = fingerprint(TINY)
    assert here == fingerprint(TINY)
    code = "import runpy, sys; m = runpy.run_path(sys.argv[1]); print(m['fingerprint'](m['TINY']))"
    path = os.pathsep.join(sys.path)  # with the helpers of tests
    done = subprocess.run(
        [sys.executable, "-c", code, __file__],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.stdout.strip() == here


def test_other_seeds_differ():
    assert fingerprint(TINY) != fingerprint(replace(TINY, seed=1))


def test_normalised_observations_are_learned_from():
    config = replace(TINY, sac=SACConfig(hidden=(16, 16), normalise="running"))
    task = make_expert_task(config)
    solver = make_solver(config, task)
    *_, last = train_expert(config, task, solver, begin(config, task, solver))
    assert float(last.progress.solver.normaliser.rows) >= 360
    assert np.abs(np.asarray(last.progress.solver.normaliser.mean)).max() > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [({"steps": 0}, "steps must be at least 1"), ({"capacity": 1}, "capacity must hold")],
)
def test_bad_settings(change, message):
    with pytest.raises(InputError, match=message):
        ExpertConfig(**change)


SMALL = [
    *("--env", "Pendulum-v1", "--steps", "9000", "--warmup", "1000", "--hidden", "32", "32"),
    *("--envs", "8", "--batch", "64", "--episodes", "3", "--checkpoint-seconds", "0.2"),
]


def test_train_interrupt_go_on_and_record(tmp_path):
    """Ctrl-C keeps what was trained; the same command goes on; a third run records again."""
    folder = tmp_path / "expert"
    said = tmp_path / "said"
    process = start("expert", "-o", folder, *SMALL, folder=tmp_path, output=said)
    deadline = time.monotonic() + 120
    while not list(folder.glob("checkpoints/[0-9]*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    process.join(60)
    assert process.exitcode == 130, said.read_text()
    assert "Traceback" not in said.read_text()
    done = call("expert", "-o", folder, *SMALL)
    assert done.returncode == 0, done.stderr
    assert "resuming from step" in done.stdout
    demos = load_demos(folder / "Pendulum-v1-3x200.npz")
    assert demos.trajectories.lengths.tolist() == [200] * 3
    card = json.loads((folder / "Pendulum-v1-3x200.json").read_text())
    assert card["return_mean"] == pytest.approx(demos.trajectories.returns.mean(), rel=1e-5)
    assert card["training"]["env"] == "Pendulum-v1"
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["cycle"] for row in rows] == sorted({row["cycle"] for row in rows})
    assert not (folder / "replay").exists()
    again = call(*("expert", "-o", folder, *SMALL[:-4], "--episodes", "2", "--record-steps", "50"))
    assert again.returncode == 0, again.stderr
    assert load_demos(folder / "Pendulum-v1-2x50.npz").trajectories.steps == 100


def test_a_folder_of_another_expert_is_not_overwritten(tmp_path):
    folder = tmp_path / "expert"
    os.makedirs(folder)
    (folder / "config.json").write_text(json.dumps({"env": "Hopper-v5"}))
    done = call("expert", "-o", folder, *SMALL)
    assert done.returncode == 2
    assert "holds a run with other settings" in done.stderr
