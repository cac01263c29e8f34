"""A study goes on from the digests of its runs, and a report is made of them alone."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from made_up import made_up_study

from etairl.cli.app import main
from etairl.locks import locked
from etairl.replication.paper_report import paper_data
from etairl.replication.paper_studies import named_jobs
from etairl.runs import RunDirectory
from etairl.studies.jobs import Job
from etairl.studies.report_data import as_study, report_data
from etairl.studies.study_folder import Study
from etairl.training.flat import configure
from etairl.types import InputError

TABLES = ("results.csv", "results.json", "statistics.json")
PAGES = ("report.html", "README.md")
RESULTS = Path(__file__).parents[2] / "results"
QUICK = named_jobs("figure1", "quick", range(2), ["Hopper-v5"])


def level(job) -> float:
    return 0.1 + 0.05 * float(job.config.eta.partition(":")[2]) + 0.001 * job.config.seed


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    made = made_up_study(tmp_path_factory.mktemp("original") / "study", QUICK, level)
    report_data(made)  # writes tables and digests
    return made.path


@pytest.fixture
def study(original, tmp_path) -> Study:
    """One's own copy: times of files and all."""
    return Study(shutil.copytree(original, tmp_path / "study"))


def contents(path: Path, names: tuple[str, ...] = TABLES) -> dict[str, bytes]:
    return {name: (path / name).read_bytes() for name in names}


def without_runs(study: Study, path: Path) -> Study:
    shutil.copytree(study.path, path, ignore=lambda *_: {"runs", "locks"})
    return Study(path)


def drop_lines(path: Path, name: str) -> None:
    file = path / "summary.jsonl"
    kept = [x for x in file.read_text().splitlines(True) if json.loads(x)["name"] != name]
    file.write_text("".join(kept))


def replace_line(study: Study, name: str, text: str) -> None:
    drop_lines(study.path, name)
    with (study.path / "summary.jsonl").open("a") as stream:
        stream.write(text + "\n")


def test_without_its_runs_a_study_has_the_same_tables_and_page(study, tmp_path):
    small = without_runs(study, tmp_path / "small")
    for name in TABLES:
        (small.path / name).unlink()
    assert main(["report", str(study.path)]) == 0
    assert main(["report", str(small.path)]) == 0
    every = (*TABLES, *PAGES)
    assert contents(small.path, every) == contents(study.path, every)
    assert {small.progress(job).state for job in small.jobs} == {"finished"}


def test_without_its_runs_a_study_goes_on(study, tmp_path, capsys, monkeypatch):
    small = without_runs(study, tmp_path / "small")
    before = contents(small.path)
    words = ["study", "figure1", "--seeds", "2", "--envs", "Hopper-v5", "-o", str(small.path)]
    assert main(words) == 0  # nothing is left to make
    assert "18 of 18 runs are finished" in capsys.readouterr().out
    assert contents(small.path) == before


def test_results_in_another_folder_are_complete_and_say_how_they_were_made(study, tmp_path):
    missing = study.jobs[-1]
    shutil.rmtree(study.run_path(missing))
    drop_lines(study.path, missing.name)
    out = tmp_path / "results"
    untouched = {p: p.stat().st_mtime_ns for p in study.path.rglob("*.csv")}
    assert main(["report", str(study.path), "-o", str(out)]) == 0
    assert {p: p.stat().st_mtime_ns for p in study.path.rglob("*.csv")} == untouched
    text = (out / "README.md").read_text()
    assert "etairl study figure1 --scale quick --seeds 2 --envs Hopper-v5 -o FOLDER" in text
    assert "17 of 18 runs are finished. Missing: Hopper-v5, bare: 1." in text
    kept = Study(out)
    assert [job.name for job in kept.jobs if not kept.finished(job)] == [missing.name]
    assert (out / "summary.jsonl").stat().st_size < 18 * 20_000
    # Another study takes them instead of making them again.
    other = Study.open(tmp_path / "other", "figure1", "quick", QUICK)
    assert len(other.reuse(kept, other.jobs)) == 17
    assert sum(other.finished(job) for job in other.jobs) == 17


def test_results_keep_runs_that_the_study_has_lost(study, tmp_path):
    out = tmp_path / "results"
    report_data(as_study([study.path], out))
    newer = made_up_study(
        tmp_path / "newer", [replace(QUICK[0], config=replace(QUICK[0].config, seed=7))], level
    )
    report_data(as_study([newer.path], out))
    assert len(json.loads((out / "results.json").read_text())) == len(QUICK) + 1


def test_a_report_of_nothing_overwrites_nothing(study, tmp_path, capsys):
    small = without_runs(study, tmp_path / "small")
    (small.path / "summary.jsonl").unlink()
    before = contents(small.path)
    assert main(["report", str(small.path)]) == 2
    assert "has no finished run yet" in capsys.readouterr().err
    assert contents(small.path) == before


def test_a_digest_of_other_settings_does_not_count(study, tmp_path):
    small = without_runs(study, tmp_path / "small")
    job = small.jobs[0]
    changed = replace(job, config=replace(job.config, measure_every=3))
    assert small.finished(job)
    assert not small.finished(changed)


@pytest.mark.parametrize("text", ["{", "[1]", "{}", '{"settings": 1}', "x" * 300_000])
@pytest.mark.parametrize("old", [True, False], ids=["0.1", "now"])
def test_a_damaged_digest_is_said(study, tmp_path, text, old):
    small = without_runs(study, tmp_path / "small")
    job = small.jobs[0]
    if old:
        drop_lines(small.path, job.name)
        (small.path / "summary").mkdir()
        (small.path / "summary" / f"{job.name}.json").write_text(text)
    else:
        replace_line(small, job.name, text)
    with pytest.raises(InputError, match=r"(is damaged|is too large).*remove"):
        small.finished(job)


def test_a_line_with_a_name_may_be_damaged_too(study, tmp_path):
    small = without_runs(study, tmp_path / "small")
    name = small.jobs[0].name
    for rest, why in (({}, "is damaged"), ({"result": "x" * 300_000}, "is too large")):
        replace_line(small, name, json.dumps({"name": name} | rest))
        with pytest.raises(InputError, match=rf"the line of {name} {why}.*remove it"):
            Study(small.path).finished(small.jobs[0])


def test_digests_of_version_01_are_read_and_reused(study, tmp_path):
    """They were a file per run, with a fingerprint instead of the settings."""
    small = without_runs(study, tmp_path / "small")
    before = contents(small.path)
    lines = [json.loads(x) for x in (small.path / "summary.jsonl").read_text().splitlines()]
    (small.path / "summary.jsonl").unlink()
    for line in lines:
        del line["config"]
        text = json.dumps(line | {"settings": "0" * 64})
        file = small.path / "summary" / f"{line.pop('name')}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({k: v for k, v in json.loads(text).items() if k != "name"}))
    old = Study(small.path)
    assert main(["report", str(old.path)]) == 0
    assert contents(old.path) == before
    other = Study.open(tmp_path / "other", "figure1", "quick", QUICK)
    assert len(other.reuse(old, other.jobs)) == len(QUICK)
    kept = [json.loads(x) for x in (other.path / "summary.jsonl").read_text().splitlines()]
    assert all(line["config"]["env"] == "Hopper-v5" for line in kept)


def test_single_runs_with_other_settings_are_other_settings(study, tmp_path):
    """Two runs that differ in more than the seed are not averaged as seeds."""
    job = QUICK[0]
    paths = []
    for number, gamma in enumerate((0.99, 0.9)):
        config = replace(configure(job.config, gamma_rl=gamma), seed=number)
        made = made_up_study(tmp_path / str(number), [replace(job, config=config)], level)
        paths.append(made.run_path(made.jobs[0]))
    both = as_study(paths, tmp_path / "both")
    assert [j.arm for j in both.jobs] == ["gamma_rl=0.99", "gamma_rl=0.9"]
    assert [entry["seeds"] for entry in report_data(both)["settings"]] == [[0], [1]]


def test_seeds_of_one_setting_differ_in_the_seed_alone(study):
    job = QUICK[0]
    other = replace(job, config=replace(job.config, seed=9, horizon=400))
    with pytest.raises(InputError, match=r"would count as two seeds.*differ in horizon"):
        Study.open(study.path, "figure1", "quick", [other])


def test_two_smoke_studies_together_say_nothing_about_claims(tmp_path):
    made = [
        made_up_study(
            tmp_path / env, named_jobs("figure1", "smoke", range(2), [env]), level, "smoke"
        )
        for env in ("Hopper-v5", "HalfCheetah-v5")
    ]
    both = as_study([study.path for study in made], tmp_path / "both")
    assert both.scale == "smoke"
    assert paper_data(both, report_data(both))["findings"] == []


def test_a_report_of_several_studies_can_be_repeated(study, tmp_path):
    other = made_up_study(
        tmp_path / "b", named_jobs("figure1", "quick", range(2), ["Ant-v5"]), level
    )
    report_data(as_study([study.path, other.path], tmp_path / "both"))
    first = contents(tmp_path / "both")
    moved = other.path.rename(tmp_path / "moved")
    report_data(as_study([study.path, moved], tmp_path / "both"))
    assert contents(tmp_path / "both") == first


def test_a_report_does_not_go_into_a_study_with_runs(study, tmp_path, capsys):
    other = made_up_study(tmp_path / "b", QUICK, level)
    assert main(["report", str(study.path), "-o", str(other.path)]) == 2
    assert "has runs of its own" in capsys.readouterr().err


def test_a_refused_command_leaves_the_study_as_it_is(study, capsys):
    before = (study.path / "study.json").read_bytes()
    words = ["study", "figure1", "--seeds", "4", "--envs", "Hopper-v5", "-o", str(study.path)]
    with locked(study.path / "locks" / "study", 0.0):
        assert main(words) == 2
    assert "another process works on" in capsys.readouterr().err
    assert (study.path / "study.json").read_bytes() == before


def test_to_look_is_to_write_nothing(study, tmp_path, capsys):
    small = without_runs(study, tmp_path / "small")
    before = sorted(os.listdir(small.path))
    assert main(["study", "status", str(small.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["finished"] == len(QUICK)
    assert sorted(os.listdir(small.path)) == before


def test_a_run_that_is_made_again_has_its_own_digest(study):
    job = study.jobs[0]
    result = json.loads((study.run_path(job) / "result.json").read_text())
    RunDirectory(study.run_path(job)).finish(result | {"cycles": 41})
    assert study.digests()[job.name].result["cycles"] == 41


@pytest.mark.parametrize(("name", "runs"), [("figure1", 81), ("figure2", 48), ("figure3", 30)])
def test_the_digests_that_are_kept_here_count(name, runs):
    kept = Study(RESULTS / name)
    names = [json.loads(x)["name"] for x in (kept.path / "summary.jsonl").read_text().splitlines()]
    assert {job.name for job in kept.jobs if kept.finished(job)} == set(names)
    assert len(names) == runs


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["result.json", "metrics.jsonl"])
def test_a_number_that_is_not_finite_is_said(study, tmp_path, capsys, name, number):
    file = study.run_path(study.jobs[3]) / name
    if name == "result.json":
        result = json.loads(file.read_text())
        result["remaining"]["return"] = number
        file.write_text(json.dumps(result))
    else:
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        rows[-1]["return"] = number
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for words in ([], ["-o", str(tmp_path / "out")]):
        assert main(["report", str(study.path), *words]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert f"{file} has a number that is not finite" in said
    assert not (tmp_path / "out").exists()


def test_a_digest_with_a_number_that_is_not_finite_is_damaged(study, tmp_path):
    small = without_runs(study, tmp_path / "small")
    name = small.jobs[0].name
    replace_line(small, name, json.dumps({"name": name, "result": {}, "length": float("nan")}))
    with pytest.raises(InputError, match=r"is damaged.*remove it"):
        small.finished(small.jobs[0])


def test_what_a_kill_left_of_a_finished_run_goes(study, tmp_path):
    job = study.jobs[0]
    run = study.run_path(job)
    for name in ("replay", "checkpoints/00000001"):
        (run / name).mkdir(parents=True)
        (run / name / "x").write_text("x")
    other = Study.open(tmp_path / "other", "figure1", "quick", QUICK)
    assert other.reuse(study, [job]) == [job]
    kept = sorted(p.name for p in other.run_path(job).iterdir())
    study.digests()
    assert sorted(p.name for p in run.iterdir()) == kept
    assert not {"replay", "checkpoints"} & set(kept)
    assert "result.json" in kept


@pytest.mark.parametrize("versions", [{"numpy": 5}, [1], "x", {"numpy": []}])
def test_versions_that_are_none(study, tmp_path, versions):
    """The page compares those of all runs."""
    small = without_runs(study, tmp_path / "small")
    name = small.jobs[0].name
    lines = (small.path / "summary.jsonl").read_text().splitlines()
    line = next(json.loads(line) for line in lines if json.loads(line)["name"] == name)
    replace_line(small, name, json.dumps(line | {"versions": versions}))
    with pytest.raises(InputError, match=r"summary.jsonl(?s:.*)is damaged"):
        report_data(Study(small.path))


def test_a_digest_that_is_nested_too_deep(study, tmp_path):
    small = without_runs(study, tmp_path / "small")
    name = small.jobs[0].name
    nested = "[" * 900 + "]" * 900
    text = json.dumps({"name": name, "result": {"remaining": {"return": 0}}, "diagnostics": []})
    text = text[:-1] + f', "length": 1.0, "curves": {nested}}}'
    replace_line(small, name, text)
    with pytest.raises(InputError, match=r"is damaged \((?s:.*)remove it"):
        Study(small.path).finished(small.jobs[0])


def with_demos(*files: str) -> list[Job]:
    each = zip(QUICK, files, strict=False)
    return [replace(job, config=replace(job.config, demos=file)) for job, file in each]


def kept_study(folder: Path, jobs: list[Job]) -> Study:
    made = made_up_study(folder / "made", jobs, level)
    report_data(made)
    return without_runs(made, folder / "kept")


def test_runs_are_reused_where_the_demonstrations_lie_elsewhere(tmp_path):
    there = kept_study(tmp_path, with_demos("there/hopper.npz", "there/hopper.npz"))
    here = with_demos("/here/hopper.npz", "/here/hopper.npz")
    other = Study.open(tmp_path / "other", "figure1", "quick", here)
    assert other.reuse(there, here) == here
    assert all(map(other.finished, here))


def test_two_files_of_one_name_are_not_taken_for_each_other(tmp_path):
    there = kept_study(tmp_path, with_demos("a/hopper.npz", "b/hopper.npz"))
    here = with_demos("b/hopper.npz", "b/hopper.npz")
    other = Study.open(tmp_path / "other", "figure1", "quick", here)
    assert other.reuse(there, here) == here[1:]
