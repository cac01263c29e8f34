"""The study files of the benchmarks ask for the runs whose results are kept."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from etairl.studies.grid import read_grid
from etairl.studies.jobs import Job, same_run
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


def test_where_dying_could_pay_it_must_not(jobs):
    for job in jobs("family"):
        ends = job.config.env == "Hopper-v5" and job.arm not in ("megan", "gail")
        assert job.config.mode == ("absorbing" if ends else "terminating")


@pytest.mark.parametrize("path", sorted((FOLDER / "results").glob("*/README.md")), ids=str)
def test_results_say_with_which_version_they_were_made(path):
    assert re.search(r"Made with(: etairl| version) 0\.\d\.\d", path.read_text()[:400])


def test_no_benchmark_runs_studies_by_itself():
    """Many runs are made by `etairl study`; those of other libraries by `make`."""
    scripts = (FOLDER / "benchmarks").glob("*.py")
    assert not [path.name for path in scripts if "Popen" in path.read_text()]
