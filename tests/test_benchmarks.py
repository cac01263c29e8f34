"""The benchmarks of trained runs: their commands can be run, their tables say what was found."""

import importlib
import json
import sys
from pathlib import Path

import pytest

import etairl.cli.train

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def load(tmp_path, monkeypatch):
    """A script by name, with results of its own."""

    def by_name(name: str):
        monkeypatch.syspath_prepend(FOLDER)
        module = importlib.import_module(name)
        monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
        return module

    yield by_name
    for name in ("runner", "multitask", "family", "imitation"):
        sys.modules.pop(name, None)


@pytest.fixture
def script(load):
    return load("multitask")


@pytest.fixture
def trained(load, tmp_path, monkeypatch):
    """The settings that each run of a script would be trained with, for its first seed."""

    def of(name: str) -> dict:
        asked = []
        follow = lambda config, *_: asked.append(config) or 0  # noqa: E731
        monkeypatch.setattr(etairl.cli.train, "follow", follow)
        first = {run: words for run, words in load(name).options().items() if run.endswith("-0")}
        for run, words in first.items():
            command = importlib.import_module("runner").command(tmp_path / run, words)
            assert etairl.cli.train.run(command[2:]) == 0
        return dict(zip(first, asked, strict=True))

    return of


def test_every_run_of_many_tasks_has_its_settings(script, trained):
    found = trained("multitask")
    assert len(script.options()) == 24
    assert len(found) == 12
    for name, config in found.items():
        task, settings, algorithm = name.removesuffix("-0").split("-", 2)
        assert config.env == script.ENVIRONMENTS[task]
        assert config.seed == 0
        assert config.algorithm == algorithm.partition("-")[0]
        assert config.eta == ("dirac:0" if algorithm == "gail" else "geometric:0.7")
        assert config.idle == ("geometric:0.7" if algorithm == "megan-idle" else None)
        reach = 1_000_000 if settings == "paper" else 200_000
        assert config.girl.transitions == (500_000 if task == "navigation" else reach)


def test_every_run_of_the_family_has_its_settings(trained):
    found = trained("family")
    assert len(found) == 12
    for name, config in found.items():
        task, algorithm, *waves, seed = name.split("-")
        assert (config.env, config.algorithm, config.seed) == (f"{task}-v5", algorithm, int(seed))
        wanted = ("fourier:256", 0.1) if waves else ("quadratic", 1.0)
        assert (config.linear.features, config.linear.radius) == wanted
        # Where dying could pay, it must not.
        ends = task == "Hopper" and algorithm not in ("megan", "gail")
        assert config.mode == ("absorbing" if ends else "terminating")
        assert config.girl.transitions == 2_000_000
        assert (config.girl.episodes, config.horizon, config.demonstrations) == (18, 500, 10)


def test_every_run_of_imitation_has_its_settings(trained):
    found = trained("imitation")
    assert len(found) == 6
    assert found["Ant-own-0"].anchor
    assert not found["HalfCheetah-third-party-0"].anchor
    assert found["HalfCheetah-third-party-0"].demos.endswith("HalfCheetah-v4-berkeley-policy.npz")


def test_the_table_of_the_family(load):
    script = load("family")
    script.RESULTS.mkdir()
    distance = {"value": 0.5, "floor": 0.25}
    for seed, back in ((0, 1000.0), (1, 1200.0)):
        rows = [
            {"name": who, "return_mean": back, "mmd2_rho": distance, "mmd2_mu": distance}
            for who in ("learner", "behaviour cloning", "expert, held out", "random")
        ]
        row = {
            "result": {
                "remaining": {"return": back + 1.0},
                "collapsed_share": 0.25 if seed else None,
                "cycles": 222 + 2 * seed,
            },
            "verdicts": rows,
            "config": {"seed": seed},
        }
        (script.RESULTS / f"Hopper-emma-{seed}.json").write_text(json.dumps(row))
    script.table()
    text = (script.RESULTS / "README.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    # Two values x and y: half of their interval is 12.706 |x - y| / 2.
    both = "1,100 ± 1,271 | 0.5000 ± 0.0000 | 0.5000 ± 0.0000"
    assert lines == [
        f"| Hopper | emma | 2 | 223 | 1,101 ± 1,271 | {both} | 25 % |",
        "| Hopper | floor | | | | | 0.2500 | 0.2500 | |",
        f"| Hopper | behaviour cloning | 2 | | | {both} | |",
        f"| Hopper | random | 2 | | | {both} | |",
        "| Hopper | expert, held out | | | | 1,000 | 0.5000 | 0.5000 | |",
    ]


@pytest.mark.slow
def test_a_run_is_made_once_and_kept(load, tmp_path, capsys):
    script, runner = load("imitation"), importlib.import_module("runner")
    small = ["--env=Pendulum-v1", "--demos=Pendulum-v1-25x200", "--horizon=50", "--transitions=400"]
    small += ["--episodes=4", "--solver-updates=5", "--cost-updates=3", "--hidden", "8", "8"]
    for _ in range(2):
        good = runner.run_missing({"one": small}, script.RESULTS, tmp_path / "runs", 1, script.keep)
        assert good
    assert capsys.readouterr().out.split() == ["started", "one", "finished", "one"]
    row = json.loads((script.RESULTS / "one.json").read_text())
    assert {v["name"] for v in row["verdicts"]} >= {"learner", "behaviour cloning", "random"}
    bad = {"bad": ["--env=Nowhere-v0"]}
    assert not runner.run_missing(bad, script.RESULTS, tmp_path / "runs", 1, script.keep)


def verdict(name, success, cost, wide=True):
    other = {"success": success / 2, "normalised_cost": 2 * cost} if wide else None
    return {"name": name, "success": success, "normalised_cost": cost, "generalisation": other}


def write(script, job, success, cost):
    rows = [verdict("learner", success, cost), verdict("random", 0.0, 1.0, wide=False)]
    curve = {key: [10.0, 20.0] for key in script.CURVE}
    script.RESULTS.mkdir(exist_ok=True)
    path = script.RESULTS / f"{script.name(job)}.json"
    path.write_text(json.dumps({"config": {"seed": job[3]}, "verdicts": rows, "curve": curve}))


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
