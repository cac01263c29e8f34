"""A study that is killed, driver and workers, ends with the table of an unbroken one."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from processes import running
from programs import call
from tiny import GRID

from etairl.cli import study as study_command
from etairl.cli.app import main
from etairl.cli.console import Meter
from etairl.demos import load_demos, save_demos
from etairl.locks import held, locked
from etairl.studies.grid import read_grid
from etairl.studies.processes import environment, run_locally
from etairl.studies.study_folder import RunProgress, Study
from etairl.studies.worker import FAILED, ONE_THREAD, STOPPED, work
from etairl.types import InputError

TABLES = ("results.csv", "results.json", "statistics.json")


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "etairl", "study", *words]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("studies")
    (path / "tiny.toml").write_text(GRID)
    return path


@pytest.fixture(scope="module")
def surroundings(folder) -> dict[str, str]:
    """Compiled once for all processes of this file."""
    return environment() | {
        "JAX_COMPILATION_CACHE_DIR": str(folder / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }


@pytest.fixture(scope="module")
def unbroken(folder) -> Path:
    words = ("tiny.toml", "-o", "unbroken", "--workers=2", "--checkpoint-seconds=1000")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = call("study", *words)
    assert done.returncode == 0, done.stderr
    return folder / "unbroken"


def workers_of(study: Path) -> list[int]:
    """Processes of this study's runs, found by what they were called with."""
    words = ("etairl.studies.worker", str(study))
    return [pid for pid, line in running().items() if all(word in line for word in words)]


def cycles(study: Path) -> int:
    files = study.glob("runs/*/metrics.jsonl")
    return sum(file.read_text().count("\n") for file in files)


def start(
    folder: Path, study: Path, surroundings: dict[str, str], what: tuple[str, ...]
) -> subprocess.Popen:
    words = command(*what, "-o", str(study), "--workers=2", "--checkpoint-seconds=0")
    with (folder / "driver.log").open("ab") as log:
        return subprocess.Popen(words, cwd=folder, env=surroundings, stdout=log, stderr=log)


SMOKE = ("figure3", "--scale=smoke", "--seeds=1", "--envs=HalfCheetah-v5")


@pytest.fixture(scope="module")
def unbroken_smoke(folder, surroundings) -> Path:
    words = command(*SMOKE, "-o", "smoke", "--workers=2")
    subprocess.run(words, cwd=folder, env=surroundings, capture_output=True, check=True)
    return folder / "smoke"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "whole"), [(("tiny.toml",), "unbroken"), (SMOKE, "unbroken_smoke")]
)
def test_killed_driver_and_workers(folder, surroundings, request, what, whole):
    unbroken = request.getfixturevalue(whole)
    study, begun = folder / f"killed-{whole}", time.monotonic()
    kills = 0
    driver = start(folder, study, surroundings, what)
    while kills < 2:
        before = cycles(study)
        while cycles(study) < before + 3 and driver.poll() is None:
            time.sleep(0.01)
            assert time.monotonic() - begun < 300, (folder / "driver.log").read_text()
        if driver.poll() is not None:
            break
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        if kills == 0:  # the second time they notice by themselves that the driver is gone
            for process in workers_of(study):
                os.kill(process, signal.SIGKILL)
        kills += 1
        driver = start(folder, study, surroundings, what)
    assert driver.wait() == 0, (folder / "driver.log").read_text()
    assert kills == 2
    for name in TABLES:
        assert (study / name).read_bytes() == (unbroken / name).read_bytes(), name
    for run in (unbroken / "runs").iterdir():
        for name in ("policy.safetensors", "cost.safetensors", "metrics.jsonl"):
            assert (study / "runs" / run.name / name).read_bytes() == (run / name).read_bytes()


def test_again_makes_nothing_anew(folder, unbroken, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    before = {p: p.stat().st_mtime_ns for p in unbroken.rglob("runs/*/*")}
    assert main(["study", "tiny.toml", "-o", "unbroken"]) == 0
    assert "2 of 2 runs are finished" in capsys.readouterr().out
    assert before == {p: p.stat().st_mtime_ns for p in unbroken.rglob("runs/*/*")}


def test_a_failed_run_says_why_and_stops_no_other(folder, unbroken, monkeypatch, capsys):
    """One run's folder holds something else; the other is taken from the finished study."""
    monkeypatch.chdir(folder)
    study = folder / "spoiled"
    blocked = study / "runs" / "Pendulum-v1_geometric-0.75_default_s0"
    Study.open(study, "tiny", None, Study(unbroken).jobs)
    blocked.mkdir(parents=True)
    (blocked / "notes.txt").write_text("mine")
    assert main(["study", "tiny.toml", "-o", "spoiled", "--reuse", "unbroken", "--workers=1"]) == 1
    said = capsys.readouterr()
    assert "exists and is not a run" in said.err
    assert "1 of 2 runs are finished" in said.out
    assert main(["study", "status", "spoiled", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {state: n for state, n in found["counts"].items() if n} == {"finished": 1, "failed": 1}
    assert "exists and is not a run" in found["runs"][1]["why"]


def test_a_run_that_somebody_works_on_is_left_alone(unbroken, tmp_path):
    study = Study.open(tmp_path / "s", "tiny", None, Study(unbroken).jobs)
    job = study.jobs[0]
    with study.claimed(job):
        assert study.is_locked(job)
        assert study.progress(job).state == "running"
        with pytest.raises(InputError, match="another process works on"), study.claimed(job, 0.0):
            pass
    assert study.progress(job).state == "waiting"


def test_a_finished_run_is_evaluated_where_the_study_asks_for_it(unbroken, tmp_path):
    job = Study(unbroken).jobs[0]
    study = Study.open(tmp_path / "s", "tiny", None, [job], evaluate=2)
    assert study.reuse(Study(unbroken), [job]) == [job]
    assert work(study.path, job.name, 60.0) == 0
    rows = json.loads((study.run_path(job) / "evaluation.json").read_text())
    assert {"learner", "behaviour cloning", "random"} <= {row["name"] for row in rows}
    (digest,) = study.digests().values()
    assert digest.evaluation is not None
    assert digest.evaluation[0]["score"] is not None
    assert study.evaluated(job)
    (study.run_path(job) / "evaluation.json").unlink()
    (study.run_path(job) / "policy.safetensors").unlink()
    assert work(study.path, job.name, 60.0) == FAILED
    assert "policy.safetensors" in (study.failure(job) or "")


def test_a_study_runs_once_at_a_time(folder, unbroken, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    with locked(unbroken / "locks" / "study", 0.0):
        assert main(["study", "tiny.toml", "-o", "unbroken"]) == 2
    assert "another process works on" in capsys.readouterr().err


def test_a_folder_with_another_study_is_refused(unbroken, tmp_path):
    jobs = Study(unbroken).jobs
    with pytest.raises(InputError, match="holds the study tiny"):
        Study.open(unbroken, "other", None, jobs)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is not a study"):
        Study.open(tmp_path, "tiny", None, jobs)
    with pytest.raises(InputError, match="is not a study"):
        Study(tmp_path)


def test_other_settings_under_the_same_name_are_refused(unbroken, tmp_path):
    study = Study.open(tmp_path / "s", "tiny", None, Study(unbroken).jobs)
    other = [replace(job, config=replace(job.config, horizon=60)) for job in study.jobs]
    with pytest.raises(InputError, match=r"with other settings .*horizon"):
        Study.open(study.path, "tiny", None, other)


@pytest.mark.parametrize("place", ["name", "arm"])
@pytest.mark.parametrize("value", [5, None, ["a"], {"a": 1}])
def test_names_in_a_study_that_are_no_text(unbroken, tmp_path, capsys, place, value):
    plain = json.loads((unbroken / "study.json").read_text())
    (plain if place == "name" else plain["runs"][0])[place] = value
    (tmp_path / "s").mkdir()
    (tmp_path / "s/study.json").write_text(json.dumps(plain))
    assert main(["report", str(tmp_path / "s"), "-o", str(tmp_path / "page")]) == 2
    said = capsys.readouterr().err
    assert "study.json: a name in it is not text" in said
    assert said.count("\n") == 1


def test_an_error_of_our_own_is_written_down(unbroken, tmp_path):
    job = Study(unbroken).jobs[0]
    lost = replace(job, config=replace(job.config, demos="lost.npz"))
    study = Study.open(tmp_path / "s", "tiny", None, [lost])
    assert work(study.path, lost.name, 60.0) == FAILED
    assert "no such file: lost.npz" in (study.failure(lost) or "")
    assert study.progress(lost).state == "failed"


@pytest.mark.slow
def test_a_run_does_not_go_on_with_other_demonstrations(unbroken, tmp_path):
    shown = load_demos("Pendulum-v1-25x200")
    save_demos(shown, tmp_path / "demos.npz")
    job = Study(unbroken).jobs[0]
    own = replace(job, config=replace(job.config, demos=str(tmp_path / "demos.npz")))
    study = Study.open(tmp_path / "s", "tiny", None, [own])
    assert work(study.path, own.name, 0.0, stop=lambda: True) == STOPPED
    others = replace(shown, trajectories=shown.trajectories.take(np.arange(5, 25)))
    save_demos(others, tmp_path / "demos.npz", overwrite=True)
    assert work(study.path, own.name, 0.0) == FAILED
    assert "not those that" in (study.failure(own) or "")


def test_workers_keep_to_one_core(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert ONE_THREAD.items() <= environment().items()
    monkeypatch.setenv("XLA_FLAGS", "--mine")
    assert environment()["XLA_FLAGS"] == f"--mine {ONE_THREAD['XLA_FLAGS']}"
    assert "JAX_COMPILATION_CACHE_DIR" in environment()


ON_A_CORE = """
import os, sys
from etairl.studies.worker import keep_to_a_core
os.sched_setaffinity(0, map(int, sys.argv[1:]))
mine = keep_to_a_core()
print(*sorted(os.sched_getaffinity(0)), flush=True)
sys.stdin.read()
"""


def test_workers_of_two_studies_keep_to_different_cores(tmp_path):
    """One too many finds none and keeps to none; the core of one that was killed is free again."""
    # This process keeps to one core, that which started it does not.
    cores = [str(core) for core in sorted(os.sched_getaffinity(os.getppid()))[:2]]
    env, kept, started = environment() | {"XDG_CACHE_HOME": str(tmp_path)}, [], []

    def start() -> subprocess.Popen:
        words = [sys.executable, "-c", ON_A_CORE, *cores]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        started.append(subprocess.Popen(words, env=env, text=True, **pipes))
        kept.append(started[-1].stdout.readline().strip())
        return started[-1]

    try:
        first, *_ = [start() for _ in range(len(cores) + 1)]
        first.kill()
        first.wait()
        start()
    finally:
        for process in started:
            process.communicate()
    assert kept == [*cores, " ".join(cores), cores[0]]


def test_one_command_at_a_time_works_on_a_run(folder, tmp_path):
    study = Study.open(tmp_path / "s", "tiny", None, read_grid(folder / "tiny.toml").jobs)
    job = study.jobs[0]
    with held(study.run_path(job)):  # as `etairl resume` does
        assert work(study.path, job.name, 60.0) == FAILED
    assert "is in use by another command" in (study.failure(job) or "")


@pytest.mark.slow
def test_a_worker_has_a_core_of_its_own(unbroken, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    study = Study.open(tmp_path / "s", "tiny", None, Study(unbroken).jobs)
    ends = run_locally(study, study.jobs, 1, 1000.0)
    try:
        kept = set()
        until = time.monotonic() + 60
        while len(kept) != 1 and time.monotonic() < until:
            next(ends)
            kept = next((os.sched_getaffinity(pid) for pid in workers_of(study.path)), set())
        assert kept == {min(os.sched_getaffinity(0))}
    finally:
        ends.close()
    assert study.progress(study.jobs[0]).state in ("stopped", "waiting", "finished")


def progress(state, transitions=0, seconds=None) -> RunProgress:
    return RunProgress("run", state, transitions, 1000, seconds, None)


def test_the_bar_and_the_status_say_the_same_time_left():
    """Two run at half a second a transition: 4,300 are left of nine runs, by two at a time."""
    runs = [progress("running", 600, 300.0)] * 2 + [progress("stopped", 500, 250.0)] * 7
    notes = []

    class Noting(Meter):
        def update(self, done, note):
            notes.append(note)

    study_command._show(Noting("runs", 9), runs)
    assert notes == ["0 done, 2 running, about 18 min left"]
    assert study_command._left(runs, None) == pytest.approx(4300 * 0.5 / 2)


def test_finished_runs_are_read_once(unbroken, monkeypatch):
    study, known, read = Study(unbroken), {}, []
    monkeypatch.setattr(Study, "progress", counted(Study.progress, read))
    first = study_command._look(study, study.jobs, known)
    assert study_command._look(study, study.jobs, known) == first
    assert read == [job.name for job in study.jobs]
    assert [p.share for p in first] == [1.0] * len(study.jobs)


def counted(progress, read):
    def also(study, job):
        read.append(job.name)
        return progress(study, job)

    return also


def test_time_left_trusts_finished_runs_more_than_young_ones():
    """A finished run took 17 s; one that was stopped after its compiling cycle has 90 % to go."""
    found = [progress("finished", 1000, 17.0), progress("stopped", 100, 80.0)]
    assert study_command._left(found, 1) == pytest.approx(0.9 * 17.0)


def test_a_ray_cluster_that_is_none_is_said(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["study", "tiny.toml", "-o", "on-ray", "--ray", "nonsense"]) == 2
    assert "no Ray cluster at nonsense" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--workers", "0"), ("--reuse", "nowhere")])
def test_a_dry_run_checks_everything(folder, monkeypatch, words):
    monkeypatch.chdir(folder)
    assert main(["study", "tiny.toml", "--dry-run", *words]) == 2
