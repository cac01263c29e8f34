"""Runs that a study evaluates once they are finished: kept in digests, put together in a report."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from browser import browse, needs_chromium
from made_up import made_up_study

from etairl.cli.app import main
from etairl.replication.paper_studies import named_jobs
from etairl.storage import write_json
from etairl.studies.report_data import report_data
from etairl.studies.study_folder import Study
from etairl.studies.summary import result_rows

JOBS = named_jobs("figure1", "quick", range(2), ["Hopper-v5"])[:2]
JOBS += [replace(job, config=replace(job.config, seed=1)) for job in JOBS]


def policy(name: str, back: float, **more) -> dict:
    distance = {"value": back / 1e4, "low": 0.0, "high": 1.0, "floor": 0.02}
    row = {"name": name, "episodes": 50, "return_mean": back, "score": back / 1000}
    row |= {"mmd2_rho": distance, "mmd2_mu": distance, "success": None, "generalisation": None}
    return row | {"features": [{"name": "x"}] * 1000} | more


@pytest.fixture
def study(tmp_path) -> Study:
    path = tmp_path / "mine"
    made_up_study(path, JOBS, lambda job: 0.2, None, "mine")
    study = Study.open(path, "mine", None, JOBS, evaluate=50)
    for job in study.jobs:
        assert not study.evaluated(job)
        back = 1000.0 + 200.0 * job.config.seed
        rows = [policy("learner", back), policy("behaviour cloning", 900.0), policy("random", 0.0)]
        # Demonstrations without rewards.
        nothing = policy("expert, held out", 950.0, return_mean=float("nan"), score=None)
        write_json(study.run_path(job) / "evaluation.json", [*rows, nothing])
        assert study.evaluated(job)
    return study


def test_the_table_has_means_over_seeds(study):
    table = report_data(study)["evaluation"]
    assert [(e["policy"], e["eta"], e["seeds"]) for e in table] == [
        ("learner", "geometric:0", [0, 1]),
        ("learner", "geometric:0.25", [0, 1]),
        *((who, "", [0, 1]) for who in ("behaviour cloning", "random", "expert, held out")),
    ]
    # Two values x and y: half of their interval is 12.706 |x - y| / 2.
    first = table[0]
    assert first["score"]["value"] == pytest.approx(1.1)
    assert first["score"]["high"] - 1.1 == pytest.approx(12.706 * 0.1, abs=1e-3)
    assert first["return"]["runs"] == [1000.0, 1200.0]
    assert (table[-1]["return"], table[0]["success"]) == (None, None)
    assert first["floor_mu"] == pytest.approx(0.02)


def test_it_is_in_notes_page_and_figures_also_without_the_runs(study, tmp_path, capsys):
    assert main(["report", str(study.path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["evaluation"]) == 5
    text = (study.path / "README.md").read_text()
    assert "| learner | 2 | 1,100 ± 1,271 | 1.100 ± 1.271 | 0.1100 ± 0.1271 |" in text
    assert (study.path / "figures" / "evaluation-score.png").stat().st_size > 5000
    assert (study.path / "summary.jsonl").stat().st_size < 4 * 20_000  # no single features
    small = tmp_path / "small"
    shutil.copytree(study.path, small, ignore=lambda *_: {"runs", "locks"})
    assert main(["report", str(small)]) == 0
    assert (small / "README.md").read_text() == text
    assert all(Study(small).evaluated(job) for job in JOBS)  # nothing is left to evaluate


def test_a_hint_is_no_floor_of_a_study(tmp_path):
    """Blocks of time, of this version or of an older one: left out of tables and figures."""
    by = "blocks of time, splits into 5 and 5, scaled to 10 and 1"
    study = made_up_study(tmp_path / "mine", JOBS, lambda job: 0.2, None, "mine")
    first = study.run_path(study.jobs[0]) / "result.json"
    result = json.loads(first.read_text())
    result["remaining"]["mmd2_mu"]["floor_by"] = by
    row = policy("learner", 900.0, playing="drawn", beside="demonstrations")
    row["mmd2_mu"] = row["mmd2_mu"] | {"floor_by": by}
    write_json(first, result | {"fresh": [row]})
    floors = [row["mmd2_mu_floor"] for row in result_rows(study)]
    assert floors[0] is None
    assert floors[1] == 0.01
    (entry,) = [e for e in report_data(study)["evaluation"] if e["policy"] == "learner, drawn"]
    assert entry["floor_mu"] is None


def test_a_study_that_asks_for_none_shows_the_end_of_its_runs(tmp_path):
    """Learner, clone and expert of both kinds; a kind that was guessed is called one."""
    study = made_up_study(tmp_path / "mine", JOBS, lambda job: 0.2, None, "mine")
    for job in study.jobs:
        file = study.run_path(job) / "result.json"
        fresh = [
            policy(who, 900.0, playing=kind, beside=beside, compared="states")
            for who in ("learner", "behaviour cloning", "expert")
            for kind, beside in (
                ("greedy", "demonstrations, greedy by a guess"),
                ("drawn", "the expert, drawn"),
            )
        ]
        write_json(file, json.loads(file.read_text()) | {"fresh": fresh})
    table = report_data(study)["evaluation"]
    others = ("behaviour cloning, greedy", "behaviour cloning, drawn")
    assert [e["policy"] for e in table] == [
        *["learner, greedy", "learner, drawn"] * 2,
        *others,
        *("expert, greedy", "expert, drawn"),
    ]
    assert [e["guessed"] for e in table] == [True, False] * 4
    assert main(["report", str(study.path)]) == 0
    said = (study.path / "README.md").read_text()
    assert "Drawn or greedy is a guess from the demonstrations of Hopper-v5." in said
    assert "MMD² of Hopper-v5 is of states alone: those demonstrations have no actions." in said


def test_parts_of_one_set_are_told_apart(tmp_path):
    parts = [(10, 1), (4, 20)]
    jobs = [
        replace(JOBS[0], config=replace(JOBS[0].config, demonstrations=many, every=every))
        for many, every in parts
    ]
    jobs = [replace(job, arm=f"arm {number}") for number, job in enumerate(jobs)]
    made_up_study(tmp_path / "mine", jobs, lambda job: 0.2, None, "mine")
    study = Study.open(tmp_path / "mine", "mine", None, jobs, evaluate=50)
    for job in study.jobs:
        rows = [policy("learner", 950.0), policy("behaviour cloning", 900.0)]
        write_json(study.run_path(job) / "evaluation.json", rows)
    arms = [entry["arm"] for entry in report_data(study)["evaluation"]]
    name = JOBS[0].config.demos
    assert arms[2:] == [f"{name}, 10 of them", f"{name}, 4 of them, one step in 20"]


def test_another_number_of_episodes_is_evaluated_again(study):
    more = Study.open(study.path, "mine", None, JOBS, evaluate=60)
    assert not any(more.evaluated(job) for job in more.jobs)
    none = Study.open(study.path, "mine", None, JOBS)
    assert all(none.evaluated(job) for job in none.jobs)


def test_many_tasks_have_two_columns_more(study):
    for job in study.jobs:
        wide = {"success": 0.25, "score": 0.5}
        rows = [policy("learner", 500.0, success=0.75, generalisation=wide)]
        write_json(study.run_path(job) / "evaluation.json", rows)
    entry = report_data(study)["evaluation"][0]
    assert (entry["success"]["value"], entry["success_all_tasks"]["value"]) == (0.75, 0.25)
    assert entry["score_all_tasks"]["value"] == 0.5
    assert main(["report", str(study.path)]) == 0
    names = {path.name for path in (study.path / "figures").iterdir()}
    assert {"evaluation-score.png", "evaluation-success.png"} <= names


CLAIMS = ("Claims of the paper", "Small κ", "All κ together")


@needs_chromium
def test_a_report_of_ones_own_runs_has_no_claims_of_the_paper(study, tmp_path):
    assert main(["report", str(study.path)]) == 0
    text = (study.path / "README.md").read_text()
    assert not any(words in text for words in CLAIMS)
    assert not (study.path / "claims.json").exists()
    elements, console = browse(study.path / "report.html", tmp_path, "--dump-dom")
    assert console == ""
    assert 'data-ready="yes"' in elements
    assert elements.count('<section id="claims" hidden') == 1
    assert elements.count('<section id="prediction" hidden') == 1
    assert 'href="#claims"' not in elements
    assert ">1100 ± 1270</td>" in elements


@pytest.mark.parametrize(("name", "claims"), [("figure1", True), ("navigation", False)])
def test_a_file_that_has_the_name_of_a_study_of_the_paper(tmp_path, name, claims):
    """It is one of the paper's only if it has runs of that study."""
    made = made_up_study(tmp_path / "s", JOBS, lambda job: 0.2, "quick", name)
    assert main(["report", str(made.path)]) == 0
    assert ("Claims of the paper" in Path(made.path / "README.md").read_text()) == claims
