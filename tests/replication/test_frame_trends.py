"""Lines through the runs of a study whose truth is known."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from made_up import made_up_study

from etairl.cli.app import main
from etairl.replication.frame_trends import trends
from etairl.replication.paper_report import paper_data, paper_notes
from etairl.replication.paper_studies import named_jobs
from etairl.replication.rules import telling_rows
from etairl.studies.jobs import Job
from etairl.studies.report_data import report_data
from etairl.studies.study_folder import Study
from etairl.studies.summary import result_rows, tv_from_gail

CHEETAH = "HalfCheetah-v5"


def value(job: Job) -> float:
    """Falls by half of the share of other frames; the bare arm has twice of all."""
    share = tv_from_gail(job.config, job.config.horizon)
    own = 0.002 * np.random.default_rng([job.config.seed, int(1e4 * share)]).normal()
    return (2.0 if job.arm == "bare" else 1.0) * (0.2 - 0.1 * share + own)


@pytest.fixture(scope="module")
def jobs() -> list[Job]:
    return named_jobs("figure1", "quick", range(3), [CHEETAH])


@pytest.fixture(scope="module")
def study(jobs, tmp_path_factory) -> Study:
    return made_up_study(tmp_path_factory.mktemp("made-up") / "s", jobs, value)


def test_the_line_is_found(study):
    found = trends(result_rows(study), study.jobs)
    # The bare arm has two settings, which make no line.
    assert [(t["arm"], t["metric"]) for t in found] == [
        ("penalised", "mmd2_rho"),
        ("penalised", "mmd2_mu"),
        ("penalised", "shortfall"),
    ]
    trend = found[1]
    assert (trend["env"], trend["to"], trend["settings"]) == (CHEETAH, "geometric:1", 7)
    assert (trend["runs"], trend["seeds"]) == (21, 3)
    assert trend["reach"] == pytest.approx(0.3672, abs=5e-5)
    # Noise of 0.002 on 21 runs: a standard error of 0.0012 at the far end; four of them.
    assert trend["change"]["value"] == pytest.approx(-0.1 * 0.3672, abs=0.005)
    assert trend["relative"]["value"] == pytest.approx(-0.1836, abs=0.025)
    assert trend["p"] < 1e-6


def test_only_one_weighting_varies_on_a_line(jobs, tmp_path):
    """Poisson rates, and runs with other settings, are on no line of κ."""
    default = [j for j in jobs if j.arm == "penalised" and j.config.eta != "geometric:0.9"]
    poisson = [
        j for j in named_jobs("figure2", "quick", range(3), [CHEETAH]) if "poisson" in j.name
    ]
    odd = [
        Job("penalised", replace(default[0].config, eta="geometric:0.9", horizon=300, seed=seed))
        for seed in range(3)
    ]
    study = made_up_study(tmp_path / "s", [*default, *poisson, *odd], value)
    (trend,) = [t for t in trends(result_rows(study), study.jobs) if t["metric"] == "mmd2_mu"]
    assert (trend["settings"], trend["runs"]) == (6, 18)


def test_a_study_half_done(study):
    """κ = 1 has one seed, and no score; another seed has a single run."""
    rows = [
        row
        for row in result_rows(study)
        if row["arm"] == "penalised"
        and (row["seed"] == 0 or row["eta"] != "geometric:1")
        and (row["seed"] != 2 or row["eta"] == "geometric:0")
    ]
    for row in rows:
        row["score"] = None if row["eta"] == "geometric:1" else row["score"]
    rho, mu, cost = trends(rows, study.jobs)
    assert (mu["settings"], mu["to"], mu["runs"], mu["seeds"]) == (7, "geometric:1", 13, 2)
    assert mu["reach"] == rho["reach"] == pytest.approx(0.3672, abs=5e-5)
    assert (cost["settings"], cost["to"], cost["runs"]) == (6, "geometric:0.99", 12)
    assert cost["reach"] == pytest.approx(0.1761, abs=5e-5)


def test_runs_of_a_few_cycles_say_nothing(jobs, tmp_path):
    study = made_up_study(tmp_path / "s", jobs, value, scale="smoke")
    assert trends(telling_rows(result_rows(study)), study.jobs) == []
    assert paper_data(study, report_data(study))["trends"] == []


@pytest.mark.parametrize(
    ("scaled", "words"),
    [
        (lambda v, k: v, r"−\d+ % \[−\d+ %, −\d+ %\]"),
        (lambda v, k: v / 40, r"−0\.000\d+ \[.*\] \(it begins at the expert's floor\)"),
        (lambda v, k: v * k, r"\[.*\] \(no bounds as a share\)"),
    ],
    ids=["a share", "at the floor", "no bounds"],
)
def test_changes_in_the_notes(jobs, tmp_path, scaled, words):
    def level(job: Job) -> float:
        kappa = float((job.config.eta or "").partition(":")[2])
        return scaled(value(job), 4.0 if (job.config.seed + round(8 * kappa)) % 2 else -2.0)

    study = made_up_study(tmp_path / "s", jobs, level)
    data = report_data(study)
    lines = (
        paper_notes(study, data | paper_data(study, data), [])
        .split("## All κ together")[1]
        .splitlines()
    )
    (line,) = [x for x in lines if "MMD² of μ | 21 |" in x]
    assert re.search(words, line), line


def test_every_spelling_is_on_the_line(jobs, tmp_path):
    spelled = {"geometric:0": "dirac:0", "geometric:1": "uniform"}
    same = [
        replace(j, config=replace(j.config, eta=spelled.get(j.config.eta or "", j.config.eta)))
        for j in jobs
        if j.arm == "penalised"
    ]
    study = made_up_study(tmp_path / "s", same, value)
    found = trends(result_rows(study), study.jobs)
    assert [(t["settings"], t["to"]) for t in found] == [(7, "uniform")] * 3


def test_in_tables_notes_and_on_the_terminal(study, capsys):
    data = paper_data(study, report_data(study))
    kept = json.loads((study.path / "claims.json").read_text())["trends"]
    assert json.loads(json.dumps(data["trends"])) == kept
    assert len(kept) == 3
    assert main(["report", str(study.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trends"] == kept
    written = (study.path / "README.md").read_text()
    assert "## All κ together" in written
    (line,) = [x for x in written.splitlines() if "MMD² of μ | 21 |" in x]
    share = 100 * kept[1]["relative"]["value"]
    assert f"(geometric:1) | −{abs(share):.0f} % [−" in line
