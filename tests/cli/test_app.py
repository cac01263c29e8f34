"""The program as a user meets it: exit codes and streams.

Those of a real process where that matters; else of a call, which need not start Python and import
the libraries.
"""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from programs import call, start

from etairl.cli.app import COMMANDS, main
from etairl.demos import bundled_demos, load_demos, save_demos

ETAIRL = Path(sys.executable).with_name("etairl")


def etairl(*arguments, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [ETAIRL, *map(str, arguments)], capture_output=True, text=True, timeout=600, **options
    )


@pytest.fixture
def file(demos, tmp_path, monkeypatch, minari_folder) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "walk.npz"
    save_demos(demos, path)
    return path


def test_help_lists_the_commands_and_imports_nothing_heavy():
    done = etairl("--help")
    assert done.returncode == 0
    assert all(name in done.stdout for name in COMMANDS)
    program = (
        "import sys; from etairl.cli.app import main; main(['--help']);"
        "heavy = {'numpy', 'scipy', 'matplotlib', 'rich', 'tyro', 'minari'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    done = call(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: etairl {command}")


def test_version_and_no_command():
    assert etairl("--version").stdout.startswith("etairl 0.")
    bare = etairl()
    assert bare.returncode == 2
    assert "usage: etairl" in bare.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("etaa",), "unknown command 'etaa'; did you mean eta?"),
        (
            ("xyz",),
            "choose from demo, train, resume, evaluate, study, report, explain",
        ),
        (("eta", "geom:0.9"), "did you mean 'geometric:0.99'?"),
        (("eta", "geometric:2"), "kappa in [0, 1], got 2"),
        (("eta", "geometric:x"), "cannot read 'x' in 'geometric:x' as a number; write it like"),
        (("eta", "dirac:0", "--horizon", "0"), "--horizon must lie in [1, 20000], got 0"),
        (("eta", "dirac:0", "--horizon", "10000000"), "--horizon must lie in [1, 20000]"),
        (("eta", "dirac:0", "--gamma-irl", "0"), "--gamma-irl must lie in (0, 1], got 0.0"),
        (("eta", "dirac:9", "--horizon", "5"), "looks further ahead than the longest episode"),
        (("eta", "dirac:0", "--sampler", "both"), "invalid choice"),
        (("eta", "dirac:0", "--horizont", "5"), "unknown option --horizont"),
        (("eta", "dirac:0", "--horizon", "1.5"), "--horizon: '1.5' is not a whole number"),
        (("demos", "info", "walk.npz", "--seed", "-1"), "the seed must be >= 0"),
        (("demos", "info", "walk.npz", "--max-gib", "inf"), "--max-gib must be > 0"),
        (("demos", "info", "minari:walk"), "it ends in a version, like walk-v0"),
        (("eta", "dirac:0", "-o", "law.xyz"), "a figure's name ends in .png, .svg, .pdf"),
        (("eta",), "name a weighting"),
        (("demos", "infos", "x"), "unknown action 'infos'; did you mean info?"),
        (("demos", "info", "walc.npz"), "did you mean walk.npz?"),
        (("demos", "info", "."), "is a folder; name one .npz file in it"),
        (("demos", "info", "walk.npz", "--episodes", "9"), "asked for 9 episodes"),
        (("demos", "info", "walk.npz", "--every", "0"), "every must be at least 1"),
        (("demos", "info", "walk.npz", "--bounds", "1", "-1"), "bounds are crossed"),
        (("demos", "info", "walk.npz", "--max-gib", "1e-9"), "more than the limit"),
        (("demos", "info", "minari:none-v0"), "no such local dataset"),
        (("demos", "import", "walk.npz", "-o", "walk.npz"), "exists already"),
        (("demos", "export", "walk.npz", "-o", "walk.csv"), "ends in .npz, or to minari:NAME-v0"),
        (
            ("demos", "import", "walk.npz", "-o", "x.npz", "--noise", "1"),
            "etairl demos: --noise SIG",
        ),
        (("demos", "import", "walk.npz", "-o", "x.npz", "--end", "x"), "--end is for tables"),
        (("demos", "info", "Pendulm"), "did you mean Pendulum-v1-25x200?"),
        (("train", "-o", "x", "--env", "Pendulm"), "did you mean Pendulum-v1"),
        (("train", "-o", "x", "--algorithm", "megn"), "did you mean megan?"),
        (("demos", "ls", "nowhere"), "no such folder: nowhere"),
        (("bench", "everything"), "invalid choice"),
    ],
)
@pytest.mark.usefixtures("file", "unchecked")
def test_bad_input_is_one_sentence_and_exit_code_2(arguments, words):
    done = call(*arguments)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr + done.stdout
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_bad_input_of_a_process(file):
    done = etairl("demos", "info", "walc.npz")
    assert done.returncode == 2
    assert "did you mean walk.npz?" in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.usefixtures("unchecked")
def test_a_cut_file_is_one_sentence(file):
    raw = file.read_bytes()
    file.write_bytes(raw[:-100])
    cut = call("demos", "info", file)
    assert cut.returncode == 2
    assert cut.stderr.count("\n") == 1
    assert "is not an npz file, or it is damaged" in cut.stderr


@pytest.mark.usefixtures("file")
def test_a_damaged_run_is_one_sentence_with_what_to_do():
    Path("run").mkdir()
    Path("run/config.json").write_text('{"env": ')
    said = call("evaluate", "run")
    assert said.returncode == 2
    assert said.stderr.startswith("etairl evaluate: run/config.json: cannot be read")
    assert said.stderr.endswith("; copy the folder again from where it is whole, or make it anew\n")
    assert said.stderr.count("\n") == 1


def test_eta_json_has_the_promised_keys():
    assert (
        json.loads(call("eta", "uniform", "--json").stdout)["sampler"] == "exact"
    )  # as in `train`
    done = call("eta", "geometric:0.99", "--sampler", "two_stage", "--json")
    found = json.loads(done.stdout)
    assert list(found) == [
        *("eta", "horizon", "gamma_irl", "sampler", "law"),
        *("tv_from_uniform", "mean_index", "last_quarter", "last_frame_factor"),
    ]
    assert found["eta"] == "geometric:0.99"
    assert found["sampler"] == "two_stage"
    assert len(found["law"]) == 500
    assert sum(found["law"]) == pytest.approx(1.0)
    assert found["tv_from_uniform"] == pytest.approx(0.1761, abs=5e-5)
    assert found["last_frame_factor"] == pytest.approx(5.199, abs=5e-4)


def test_eta_for_people_and_its_figure(tmp_path):
    for name in ("law.png", "deep/law.svg", "law.pdf"):
        done = call("eta", "poisson:25", "--sampler", "exact", "-o", tmp_path / name)
        assert done.returncode == 0
        assert "distance from GAIL" in done.stdout
    assert (tmp_path / "law.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "deep/law.svg").read_bytes()
    assert (tmp_path / "law.pdf").read_bytes().startswith(b"%PDF")


def test_info_reports_everything_and_json_holds_it_too(file):
    text = call("demos", "info", file)
    assert text.returncode == 0
    for word in (
        *("episodes", "length", "return", "action range", "NaN or infinite", "endings"),
        *("MMD² floor", "standardised", "movement cycle", "suggested η"),
    ):
        assert word in text.stdout
    found = json.loads(call("demos", "info", file, "--json").stdout)
    assert found["episodes"] == 8
    assert found["cycle"]["length"] == 15
    assert found["advice"]["eta"] == "poisson:15"
    assert found["floor_raw"]["size"] == 240
    assert found["length"] == {"low": 60.0, "mean": 60.0, "high": 60.0, "std": 0.0}


def test_none_found_is_an_answer(file):
    done = call("demos", "info", file, "--steps", 10)
    assert done.returncode == 0
    assert "none found: the episodes are too short to tell" in done.stdout


def test_import_and_export_through_minari(file, demos):
    done = call("demos", "export", file, "-o", "minari:walk-v0")
    assert done.returncode == 0
    assert "8 episodes, 480 steps" in done.stdout
    done = call(
        *("demos", "import", "minari:walk-v0", "-o", "part.npz"),
        *("--episodes", 4, "--every", 2, "--bounds", -0.2, 0.2),
    )
    assert done.returncode == 0
    assert "outside the bounds and were clipped" in done.stdout
    with np.load("part.npz", allow_pickle=False) as part:
        assert part["episode_lengths"].tolist() == [30] * 4
        assert np.abs(part["actions"]).max() <= np.float32(0.2)
    listed = json.loads(call("demos", "ls", "--json").stdout)
    sources = [row["source"] for row in listed]
    assert sources == [*bundled_demos(), "part.npz", "walk.npz", "minari:walk-v0"]
    shown = call("demos", "ls")
    assert "part.npz" in shown.stdout
    assert "120" in shown.stdout


def test_a_table_becomes_demonstrations(file):
    rows = ["run,obs_x,act_u,over", *(f"{i // 4},{i},{i % 2},{int(i % 4 == 3)}" for i in range(8))]
    Path("table.csv").write_text("\n".join(rows))
    options = ("--episode", "run", "--end", "over", "--time-limit", 4, "--discrete", 2)
    done = call("demos", "import", "table.csv", "-o", "table.npz", *options)
    assert done.stderr == ""
    assert done.stdout.splitlines()[:2] == [
        "2 episodes, 8 steps → table.npz",
        "note: table.csv is a CSV table",
    ]
    assert "discrete 2" not in done.stdout
    told = call("demos", "import", "table.csv", "-o", "again.npz", *options[:4])
    assert "if they are indices, import with --discrete 2" in told.stdout
    shown = call("demos", "info", "table.npz").stdout
    assert re.search(r"^observations +1 column$", shown, re.MULTILINE)
    assert re.search(r"^actions +one of 2 discrete ones; here are 0 to 1$", shown, re.MULTILINE)
    found = load_demos("table.npz")
    assert found.spec.discrete_actions == 2
    assert found.trajectories.truncated.sum() == 2
    Path("one.csv").write_text("\n".join(rows[:2]))
    told = call("demos", "import", "one.csv", "-o", "one.npz", *options[:4])
    assert told.stdout.splitlines()[0] == "1 episode, 1 step → one.npz"
    told = call("train", "-o", "x", "--demos", "table.csv", "--env", "CartPole-v1")
    assert "etairl demos import" in told.stderr
    assert told.returncode == 2


def test_ls_explains_what_is_unusable(file):
    Path("broken.npz").write_bytes(b"PK")
    done = call("demos", "ls")
    assert done.returncode == 0
    assert "walk.npz" in done.stdout
    assert "unusable: broken.npz is not an npz file" in done.stdout


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_demo_trains_shows_a_table_and_can_be_asked_again(tmp_path, optimised, times):
    """With programs as a user has them: of the quick tests, the one that runs these for long."""
    small = ("--transitions", 5_000, "--episodes", 2)
    for _ in range(times):
        done = etairl("demo", "-o", tmp_path / "demo", *small, env=optimised)
        assert done.returncode == 0, done.stderr
        assert "behaviour cloning" in done.stdout
        assert "expert, held out" in done.stdout
    assert (tmp_path / "demo/figures/learning.png").stat().st_size > 10_000
    done = call("demo", "-o", tmp_path / "demo", "--transitions", 20_000)
    assert done.returncode == 2
    assert "holds a run with other settings (transitions)" in done.stderr


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "taken").write_text("a file, not a folder")
    done = call("demo", "-o", tmp_path / "taken")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "taken" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--hidden", "10000000", "10000000"), "there is not enough memory (Unable to allocate"),
        (("--episodes=1000000000",), "episodes must lie in [1, 1000000], got 1000000000"),
    ],
)
def test_more_than_there_is_memory_for_is_one_sentence(tmp_path, words, said):
    """Far beyond what any machine can address: nothing is taken before it is refused."""
    begin = ("train", "--env=Pendulum-v1", "--demos=Pendulum-v1-25x200", "-o", tmp_path / "run")
    done = call(*begin, *words)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert said in last
    assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_early():
    command = f"{shlex.quote(str(ETAIRL))} eta uniform --horizon 20000 --json | head -n 2"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr == ""


def test_ctrl_c_is_one_word(tmp_path):
    log = tmp_path / "errors"
    log.touch()
    process = start("bench", folder=tmp_path, output=log)
    deadline = time.monotonic() + 60
    while "timing" not in log.read_text() and time.monotonic() < deadline:
        time.sleep(0.2)  # until it reports progress: past its imports, far from its end
    os.kill(process.pid, signal.SIGINT)
    process.join(30)
    assert process.exitcode == 130
    assert log.read_text().strip().endswith("etairl: interrupted")
    assert "Traceback" not in log.read_text()


def test_a_terminal_gets_a_table_that_fits(file):
    """In a real terminal of 80 columns no line is wider than the terminal."""
    controller, terminal = pty.openpty()
    environment = os.environ | {"COLUMNS": "80", "TERM": "xterm", "NO_COLOR": "1"}
    subprocess.run(
        [ETAIRL, "demos", "info", str(file)], stdout=terminal, env=environment, check=True
    )
    os.close(terminal)
    text = os.read(controller, 65536).decode()
    os.close(controller)
    assert "movement cycle" in text
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    widest = max(len(line.rstrip()) for line in plain.splitlines())
    assert 60 < widest <= 80


def test_narrow_terminals_and_poor_ones(file):
    """60 columns, no Greek, no standard output at all."""
    environment = os.environ | {"COLUMNS": "60", "FORCE_COLOR": "1", "TERM": "xterm"}
    for arguments in (("eta", "uniform"), ("demos", "ls")):
        text = etairl(*arguments, env=environment).stdout
        plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
        assert max(len(line.rstrip()) for line in plain.splitlines()) <= 60
    assert "480" in plain
    poor = etairl("eta", "poisson:5", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert poor.returncode == 0
    closed = subprocess.run(
        ["bash", "-c", f"{shlex.quote(str(ETAIRL))} eta uniform >&-"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert closed.returncode == 0
    assert "Traceback" not in closed.stderr


def test_main_can_be_called_from_python(capsys):
    assert main(["eta", "dirac:0", "--horizon", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["law"] == pytest.approx([0.2] * 5)
