"""The study files of the benchmarks ask for the runs whose results are kept."""

import json
import re
import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from etairl.algorithms.registry import ALGORITHMS
from etairl.studies.grid import read_grid
from etairl.studies.jobs import Job, same_run
from etairl.tasks import ends_early
from etairl.training.config_files import config_from

FOLDER = Path(__file__).parents[1]


@pytest.fixture
def jobs(monkeypatch):
    monkeypatch.setenv("ETAIRL_THIRD_PARTY", "/third-party")

    def of(name: str) -> list[Job]:
        return read_grid(FOLDER / "benchmarks" / f"{name}.toml").jobs

    return of


@pytest.mark.parametrize(("name", "runs", "kept"), [("multitask", 36, 24)])
def test_every_kept_run_is_asked_for_again(jobs, name, runs, kept):
    # Where episodes never end early, both choices are one; those that were kept say by_weight.
    asked = {same_run(replace(job.config, choice="by_weight")) for job in jobs(name)}
    assert len(asked) == runs
    lines = (FOLDER / "results" / name / "runs.jsonl").read_text().splitlines()
    assert len(lines) == kept
    for line in lines:
        config = json.loads(line)["config"]
        config["demos"] = config["demos"].replace("third-party/", "/third-party/")
        assert same_run(config_from(config, Path("config.json"))) in asked


@pytest.mark.parametrize("name", ["family", "transfer", "transfer_ant"])
def test_where_dying_could_pay_it_must_not(jobs, name):
    """Costs that take either sign; iq gives early ends a value of its own."""
    for job in jobs(name):
        ends = ends_early(job.config.env) and job.config.algorithm not in ("megan", "gail", "iq")
        assert job.config.mode == ("absorbing" if ends else "terminating")


def test_the_family_is_whole(jobs):
    """Every algorithm of the registry on every task, equal transitions; sgail is gail there."""
    made = {(job.config.env, job.config.algorithm) for job in jobs("family")}
    tasks, names = {env for env, _ in made}, set(ALGORITHMS) - {"sgail"}
    assert made == {(env, name) for env in tasks for name in names}
    assert tasks == {"HalfCheetah-v5", "Hopper-v5", "Ant-v5"}
    many = {c.girl.transitions for job in jobs("family") if (c := job.config).algorithm != "iq"}
    assert many == {2_000_000}


@pytest.mark.parametrize("path", sorted((FOLDER / "results").glob("*/README.md")), ids=str)
def test_results_say_with_which_version_they_were_made(path):
    assert re.search(r"Made with(: etairl| version) 0\.\d\.\d", path.read_text()[:400])


@pytest.fixture
def racing():
    return runpy.run_path(str(FOLDER / "benchmarks" / "race.py"))


def test_a_race_is_resumed_learner_by_learner(racing, tmp_path):
    """What is in the file is not run again; everything else becomes a line of it."""
    file, ran = tmp_path / "race.jsonl", []

    def own(seconds: float):
        ran.append(seconds)
        return {"seconds": seconds}

    def rows():
        return [json.loads(line) for line in file.read_text().splitlines()]

    first = racing["kept"](file, [], "Hopper", 0, "etairl", lambda: own(10.0))
    assert (first["task"], first["seed"], first["who"], first["seconds"]) == (
        *("Hopper", 0, "etairl", 10.0),
    )
    assert first["cores"] >= 1
    done = rows()
    assert racing["kept"](file, done, "Hopper", 0, "etairl", lambda: own(20.0)) == done[0]
    racing["kept"](file, done, "Hopper", 1, "etairl", lambda: own(30.0))
    racing["kept"](file, done, "Hopper", 0, "imitation", lambda: own(40.0))
    assert ran == [10.0, 30.0, 40.0]
    assert rows() == done
    assert len(done) == 3


def test_a_peer_is_judged_by_its_looks(racing, capsys):
    looks = [
        {"transitions": step, "score": score, "seconds": float(step)}
        for step, score in ((10, 0.5), (20, 0.91), (30, 0.7), (40, 0.95))
    ]
    found = racing["judged"](looks)
    assert (found["seconds"], found["transitions"], found["lowest"]) == (20.0, 20, 0.7)
    never = racing["judged"](looks[:1])
    assert (never["seconds"], never["stopped_after"], never["lowest"]) == (None, 10.0, None)
    ours = {"task": "Hopper", "seed": 0, "who": "etairl", "seconds": 5.0, "lowest": 0.9}
    peers = [
        {"task": "Hopper", "seed": 0, "who": "a"} | found,
        {"task": "Hopper", "seed": 0, "who": "b"} | never,
    ]
    racing["show"]([ours, *peers])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == [
        "| Hopper | 0 | etairl | 5 | 1.0 | 0.90 |",
        "| Hopper | 0 | a | 20 | 4.0 | 0.70 |",
        "| Hopper | 0 | b | not in 10 (score 0.50 then) | > 2.0 | – |",
    ]


def test_no_benchmark_runs_studies_by_itself():
    """Many runs are made by `etairl study`; those of other libraries by `make`."""
    scripts = (FOLDER / "benchmarks").glob("*.py")
    assert not [path.name for path in scripts if "Popen" in path.read_text()]
