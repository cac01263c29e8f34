"""The benchmark of many tasks: its commands can be run, its table says what the results say."""

import importlib.util
import json
from pathlib import Path

import pytest

import etairl.cli.train

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "multitask.py"


@pytest.fixture
def script(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("multitask_benchmark", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    return module


def test_every_run_has_settings_that_can_be_trained(script, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(etairl.cli.train, "follow", lambda config, *_: asked.append(config) or 0)
    for job in script.jobs():
        etairl.cli.train.run(script.command(job, tmp_path)[2:])
    assert len(asked) == len({script.name(job) for job in script.jobs()}) == 24
    for (task, settings, algorithm, seed), config in zip(script.jobs(), asked, strict=True):
        assert config.env == script.ENVIRONMENTS[task]
        assert config.seed == seed
        assert config.algorithm == algorithm.partition("-")[0]
        assert config.eta == ("dirac:0" if algorithm == "gail" else "geometric:0.7")
        assert config.idle == ("geometric:0.7" if algorithm == "megan-idle" else None)
        reach = 1_000_000 if settings == "paper" else 200_000
        assert config.girl.transitions == (500_000 if task == "navigation" else reach)


def verdict(name, success, cost, wide=True):
    other = {"success": success / 2, "normalised_cost": 2 * cost} if wide else None
    return {"name": name, "success": success, "normalised_cost": cost, "generalisation": other}


def write(script, job, success, cost):
    rows = [verdict("learner", success, cost), verdict("random", 0.0, 1.0, wide=False)]
    curve = {key: [10.0, 20.0] for key in script.CURVE}
    script.RESULTS.mkdir(exist_ok=True)
    path = script.RESULTS / f"{script.name(job)}.json"
    path.write_text(json.dumps({"seed": job[3], "verdicts": rows, "curve": curve}))


def test_the_table_and_the_figures(script):
    with pytest.raises(SystemExit, match="no results yet"):
        script.figures()
    write(script, ("navigation", "paper", "megan", 0), 0.5, 0.30)
    write(script, ("navigation", "paper", "megan", 1), 0.7, 0.34)
    write(script, ("fetchreach", "tuned", "gail", 0), 0.9, 0.1)
    script.figures()
    script.table()
    text = (script.RESULTS / "README.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    # Two values x and y: half of their interval is 12.706 |x - y| / 2.
    assert lines == [
        "| etairl/Navigation-v0 | paper | MEGAN | 2 | 60 ± 127 % | 0.320 ± 0.254 | "
        "30 ± 64 % | 0.640 ± 0.508 |",
        "| etairl/Navigation-v0 | paper | random | 2 | 0 ± 0 % | 1.000 ± 0.000 |  |  |",
        "| FetchReach-v4 | tuned | GAIL | 1 | 90 % | 0.100 | 45 % | 0.200 |",
        "| FetchReach-v4 | tuned | random | 1 | 0 % | 1.000 |  |  |",
    ]
    for file in ("curves.png", "cost.png", "success.png"):
        assert f"]({file})" in text
        assert (script.RESULTS / file).stat().st_size > 5000


def test_curves_are_thinned_by_means(script):
    rows = [
        {"transitions": 10 * i, "success": i, "normalised_cost": -i, "return": 0}
        for i in range(301)
    ]
    curve = script.thin(rows)
    assert len(curve["transitions"]) == 101
    assert curve["transitions"][:2] == [20, 50]
    assert curve["success"][:2] == [1.0, 4.0]
    assert curve["normalised_cost"][-1] == -300.0
    assert script.thin(rows[:150])["success"] == list(range(150))
