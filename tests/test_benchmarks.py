"""The study files of the benchmarks ask for the runs whose results are kept."""

import json
import re
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
