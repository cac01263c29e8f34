"""Whole runs in the mode absorbing: what counts, and what a resumed one makes of it."""

from contextlib import closing

import numpy as np
import pytest
from tiny import TINY

import etairl
from etairl.demos import Demos, save_demos
from etairl.rollouts import UniformPolicy, collect
from etairl.runs import read_metrics
from etairl.tasks import make_task
from etairl.training.flat import configure
from etairl.training.session import open_run


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """Random hopping: everybody falls, after other numbers of steps."""
    file = tmp_path_factory.mktemp("demos") / "d.npz"
    world = make_task("Hopper-v5", 5, horizon=150, seed=9)
    played = collect(np.random.default_rng(0), world, UniformPolicy(world), 5)
    save_demos(Demos.of(played, world.spec, "random"), file)
    change = {"env": "Hopper-v5", "demos": str(file), "horizon": 150, "mode": "absorbing"}
    return configure(TINY, **change, transitions=600, capacity=300, normalise="running")


@pytest.mark.parametrize("solver", ["sac", pytest.param("sac-eta", marks=pytest.mark.slow)])
def test_a_resumed_run_is_the_unbroken_one_and_counts_steps_in_the_world(tmp_path, config, solver):
    config = configure(config, solver=solver)
    whole = etairl.train(config, tmp_path / "whole")
    for resume in (False, True):
        with (
            open_run(config, tmp_path / "parts", resume=resume, checkpoint_seconds=0.0) as run,
            closing(run.play()) as reports,
        ):
            for report in reports:
                if not resume and report.row["cycle"] == 1:
                    break
    for name in ("metrics.jsonl", "result.json", "policy.safetensors", "cost.safetensors"):
        parts = (tmp_path / side / name for side in ("whole", "parts"))
        assert len({part.read_bytes() for part in parts}) == 1
    rows = read_metrics(whole.path)
    assert len(rows) > 1
    played = np.cumsum([row["length"] * config.girl.episodes for row in rows])
    assert [row["transitions"] for row in rows] == np.round(played).tolist()
    assert rows[-2]["transitions"] < 600 <= rows[-1]["transitions"] == whole.metrics["transitions"]
    assert min(row["length"] for row in rows) < 150
    learners = [v for v in whole.evaluate(5, cloning=False) if v.name == "learner"]
    assert learners
    assert all(0 < v.length <= 150 for v in learners)
