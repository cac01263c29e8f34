"""A study whose results are made up, so that every verdict on it is known beforehand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from etairl.decoding import encode
from etairl.runs import RunDirectory
from etairl.storage import write_json
from etairl.studies.jobs import Job
from etairl.studies.study_folder import Study

Level = Callable[[Job], float]


def made_up_study(
    path: Path,
    jobs: list[Job],
    level: Level,
    scale: str | None = "quick",
    name: str = "figure1",
) -> Study:
    """Finished runs with MMD² at `level`; curves fall to it. 1 − score is three times as high."""
    study = Study.open(path, name, scale, jobs)
    for job in study.jobs:
        directory = RunDirectory(study.run_path(job))
        directory.open(encode(job.config))
        value = level(job)
        for row in _rows(value, job.config.seed):
            directory.log(row)
            directory.log_time({"cycle": row["cycle"], "seconds": 2.0})
        directory.finish(_result(value, 4 if scale == "smoke" else 40))
    # A random policy has return 0, the expert 1000.
    kinds = {f"{j.config.env} {j.config.mode} {j.config.horizon}": 0.0 for j in study.jobs}
    write_json(path / "random.json", kinds)
    return study


def _rows(value: float, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    rows = []
    for cycle in range(1, 41):
        fall = value + np.exp(-cycle / 8.0) * 0.4 + 0.01 * rng.normal()
        row = {
            "cycle": cycle,
            "transitions": cycle * 5000,
            "return": 1000 * (1 - 3 * fall),
            "return_std": 10.0,
            "length": 500.0 if cycle > 20 else 200.0,
            "actions_at_bounds": 0.1,
            "cost/accuracy_learner": 1.0 if seed == 1 else 0.7,
            "cost/accuracy_expert": 1.0 if seed == 1 else 0.7,
            "cost/gan_loss": 1.0,
            "solver/temperature": 0.1,
        }
        if cycle % 5 == 0:
            row |= {"mmd2_mu": fall, "mmd2_rho": 0.8 * fall}
        rows.append(json.loads(json.dumps(row)))
    return rows


def _result(value: float, cycles: int) -> dict[str, Any]:
    def distance(x: float) -> dict[str, float]:
        return {"value": x, "low": 0.9 * x, "high": 1.1 * x, "floor": 0.01}

    return {
        "cycles": cycles,
        "transitions": 200_000,
        "remaining": {
            "cycles": 40,
            "return": 1000 * (1 - 3 * value),
            "return_std": 12.0,
            "beside": "the expert, drawn",
            "mmd2_rho": distance(0.8 * value),
            "mmd2_mu": distance(value),
            "mmd2_rho_raw": distance(0.7 * value),
            "mmd2_mu_raw": distance(0.9 * value),
        },
        "expert_return": 1000.0,
        "best": {"cycle": 35, "mmd2_mu": 0.9 * value},
        "collapsed_share": 0.1,
        "diagnostics": [],
    }
