"""What a report says of runs that failed, of versions and of commands, and what it leaves alone."""

import json
from pathlib import Path

import pytest
from made_up import made_up_study

from etairl.replication.paper_report import paper_data, paper_notes
from etairl.replication.paper_studies import named_jobs
from etairl.runs import versions
from etairl.storage import write_json
from etairl.studies.report_data import as_study, report_data
from etairl.studies.study_folder import Study

JOBS = named_jobs("figure1", "quick", [0], ["Hopper-v5"])


def level(job) -> float:
    return 0.1 + 0.05 * float(job.config.eta.partition(":")[2])


def begun(path: Path, finished: int) -> Study:
    """A study with so many finished runs; the next one failed."""
    study = made_up_study(path, JOBS[:finished], level)
    study = Study.open(path, study.name, study.scale, JOBS)
    study.fail(JOBS[finished], "RuntimeError", "motor 7 is on fire")
    return study


def tree(path: Path) -> dict[str, tuple[int, bytes | None]]:
    return {
        str(p.relative_to(path)): (p.stat().st_mtime_ns, p.read_bytes() if p.is_file() else None)
        for p in sorted(path.rglob("*"))
    }


def readme(study: Study) -> str:
    data = report_data(study)
    return paper_notes(study, data | paper_data(study, data), [])


def test_failures_are_carried_over(tmp_path):
    """Also of several studies; what has finished since, or is tried again, is no failure."""
    one = begun(tmp_path / "one", 2)
    failure = [{"run": JOBS[2].name, "why": "RuntimeError: motor 7 is on fire"}]
    data = report_data(as_study([one.path], tmp_path / "copy"))
    assert data["failures"] == failure
    assert data["counts"] == {"finished": 2, "failed": 1, "waiting": len(JOBS) - 3}
    other = made_up_study(tmp_path / "other", JOBS[5:6], level)
    both = [one.path, other.path]
    assert report_data(as_study(both, tmp_path / "both"))["failures"] == failure
    one.forget_failure(JOBS[2])
    assert report_data(as_study(both, tmp_path / "both"))["failures"] == []
    made_up_study(one.path, JOBS[:3], level)
    again = as_study([one.path], tmp_path / "copy")
    assert report_data(again)["failures"] == []
    assert list((tmp_path / "copy" / "failures").iterdir()) == []


def test_a_run_that_failed_here_and_finished_elsewhere_has_finished(tmp_path):
    one = begun(tmp_path / "one", 2)
    other = made_up_study(tmp_path / "other", JOBS[2:3], level)
    whole = as_study([one.path, other.path], tmp_path / "both")
    assert report_data(whole)["failures"] == []
    assert not list((tmp_path / "both").glob("failures/*"))
    # And stays so when the other study is gone.
    as_study([one.path], tmp_path / "both")
    assert not list((tmp_path / "both").glob("failures/*"))


def test_a_report_elsewhere_leaves_the_study_as_it_is(tmp_path):
    study = begun(tmp_path / "one", 2)
    before = tree(study.path)
    report_data(as_study([study.path], tmp_path / "copy"))
    assert tree(study.path) == before
    assert not (study.path / "summary.jsonl").exists()


def test_versions_are_those_of_the_runs(tmp_path):
    study = made_up_study(tmp_path / "one", JOBS[:3], level)
    files = [study.run_path(job) / "versions.json" for job in JOBS[:3]]
    for file in files:
        write_json(file, {"etairl": "0.0.9", "jax": "0.0.1", "demonstrations": file.parent.name})
    assert report_data(study)["versions"] == {"etairl": "0.0.9", "jax": "0.0.1"}
    assert "\n\nMade with: etairl 0.0.9, jax 0.0.1.\n\n" in readme(study)
    write_json(files[1], {"etairl": "0.0.9", "jax": "0.0.2"})
    files[2].unlink()
    text = (
        "Made with different versions: etairl 0.0.9, jax 0.0.1 or 0.0.2, unknown for 1 of 3 runs."
    )
    assert f"\n\n{text}\n\n" in readme(study)
    copy = as_study([study.path], tmp_path / "copy")
    assert f"\n\n{text}\n\n" in readme(copy)


def test_digests_of_before_do_not_say_their_versions(tmp_path):
    study = made_up_study(tmp_path / "one", JOBS[:2], level)
    small = as_study([study.path], tmp_path / "small")
    assert report_data(small)["versions"] == versions()
    file = small.path / "summary.jsonl"
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    for digest in kept:
        del digest["versions"]
    file.write_text("".join(json.dumps(d, separators=(",", ":")) + "\n" for d in kept))
    assert report_data(small)["versions"] == {"unknown": "for 2 of 2 runs"}
    copy = as_study([small.path], tmp_path / "copy")
    assert "\n\nMade with: unknown for 2 of 2 runs.\n\n" in readme(copy)
    assert file.read_bytes() == (copy.path / "summary.jsonl").read_bytes()


@pytest.mark.parametrize("scale", ["quick", "smoke"])
def test_the_commands_of_several_studies(tmp_path, scale):
    """Each with its own scale, seeds and environments, though they have runs in common."""
    one = made_up_study(tmp_path / "one", named_jobs("figure1", "quick", [0]), level)
    envs = ["HalfCheetah-v5"] if scale == "quick" else ["Ant-v5"]
    if scale != "quick":  # runs of one name must not differ
        one = made_up_study(tmp_path / "less", JOBS, level)
    jobs = named_jobs("figure2", scale, range(2), envs)
    two = Study.open(tmp_path / "two", "figure2", scale, jobs)
    text = readme(as_study([one.path, two.path], tmp_path / "both"))
    first = "" if scale == "quick" else " --envs Hopper-v5"
    lines = (
        f"etairl study figure1 --scale quick --seeds 1{first} -o FOLDER1",
        f"etairl study figure2 --scale {scale} --seeds 2 --envs {envs[0]} -o FOLDER2",
        "etairl report FOLDER1 FOLDER2 -o HERE",
    )
    assert "```\n" + "\n".join(lines) + "\n```" in text


def test_the_commands_of_a_file_and_of_a_single_run(tmp_path):
    one = made_up_study(tmp_path / "one", JOBS[:1], level)
    mine = Study.open(tmp_path / "mine", "grid", None, JOBS[1:2])
    text = readme(as_study([mine.path, one.run_path(JOBS[0])], tmp_path / "both"))
    lines = (
        "etairl study grid.toml -o FOLDER",
        "etairl train … -o RUN",
        "etairl report FOLDER RUN … -o HERE",
    )
    assert "\n".join(lines) in text
