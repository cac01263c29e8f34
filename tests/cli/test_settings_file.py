"""`--config FILE`, `--dry-run`, `--quiet`, `--json` and `--track` of `etairl train`."""

import json
import sys
from pathlib import Path

import pytest
from programs import call

from etairl.algorithms.registry import ALGORITHMS
from etairl.cli import running
from etairl.cli.settings_file import as_toml, read_settings
from etairl.training.flat import configure
from etairl.training.presets import PRESETS

PENDULUM = {"env": "Pendulum-v1", "demos": "Pendulum-v1-25x200"}
SMALL = (
    *("--env", "Pendulum-v1", "--demos", "Pendulum-v1-25x200", "--demonstrations", "4"),
    *("--horizon", "20", "--transitions", "160", "--episodes", "4", "--hidden", "8"),
    *("--hidden-d", "8", "--cost-updates", "2", "--epochs", "1", "--measure-every", "1"),
)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_survives_the_file(name, tmp_path):
    config = configure(name)
    file = tmp_path / "settings.toml"
    file.write_text(as_toml(config))
    assert read_settings(file) == config


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_survives_the_file(name, tmp_path):
    config = configure(algorithm=name, seed=3, **PENDULUM)
    file = tmp_path / "settings.toml"
    file.write_text(as_toml(config))
    assert read_settings(file) == config


def test_a_dry_run_prints_what_the_file_takes_and_starts_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call("train", *SMALL, "--dry-run")
    assert done.returncode == 0, done.stderr
    Path("mine.toml").write_text(done.stdout)
    config = read_settings(Path("mine.toml"))
    assert (config.horizon, config.girl.transitions) == (20, 160)
    again = call("train", "--config", "mine.toml", "--dry-run", "-o", "run")
    assert again.stdout == done.stdout
    other = call("train", "--config", "mine.toml", "--dry-run", "--algorithm", "airl")
    assert 'algorithm = "airl"' in other.stdout  # the command line wins, and brings its costs
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("horzion = 5", "mine.toml, line 1: unknown setting 'horzion'; did you mean horizon?"),
        ("\nseed = -1", "mine.toml, line 2: the seed must be >= 0"),
        ("seed = ", "mine.toml: Invalid value (line 1, the end of the file)"),
        ("preset = 'hard'", "mine.toml, line 1: unknown preset 'hard'; choose from default"),
        ("[settings]\nseed = 1", "mine.toml, line 1: unknown setting 'settings'"),
        ("algorithm = 'gail'\neta = 'uniform'", "mine.toml"),
        ("demos = 'nowhere.npz'", "nowhere.npz"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_is_wrong_in_a_file_is_one_sentence(text, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(text)
    done = call("train", "--config", "mine.toml", "--dry-run")
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--config", "none.toml", "-o", "x"),
            "no such file: none.toml; etairl train --dry-run prints one",
        ),
        (
            ("--config", "a", "--preset", "default", "-o", "x"),
            "--preset and --config both say where",
        ),
        (("--seed", "1"), "missing: -o FOLDER, --output FOLDER; see etairl train --help"),
        (("-o", "x", "--track", "wandb"), "pip install 'etairl[wandb]'"),
    ],
)
def test_what_does_not_go_together_is_refused(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "wandb", None)  # as where it is not installed
    done = call("train", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


class TestTrust:
    """A file that names code is read only with the user's word."""

    @pytest.fixture(autouse=True)
    def module(self, tmp_path, monkeypatch):
        (tmp_path / "evil.py").write_text(
            "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"
        )
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(tmp_path)
        yield
        sys.modules.pop("evil", None)

    @pytest.mark.parametrize(
        "text", ["env = 'evil:Own-v0'", "algorithm = 'emma'\nfeatures = 'evil:f'"]
    )
    def test_it_is_refused_and_nothing_is_imported(self, text):
        Path("mine.toml").write_text(text)
        done = call("train", "--config", "mine.toml", "-o", "run")
        assert done.returncode == 2
        assert "is code that would be imported; if you trust it, say --trust" in done.stderr
        assert not Path("ran").exists()

    def test_with_the_word_it_is_imported(self):
        Path("mine.toml").write_text("env = 'evil:Own-v0'")
        assert read_settings(Path("mine.toml"), trust=True).env == "evil:Own-v0"
        assert Path("ran").exists()


class Dashboard:
    """A service in memory."""

    id = "dashboard-1"

    def __init__(self):
        self.rows, self.ends = [], []

    def add(self, row):
        self.rows.append(row)

    def close(self, finished):
        self.ends.append(finished)


def test_json_is_one_object_and_a_dashboard_sees_every_row(tmp_path, monkeypatch):
    seen = Dashboard()
    monkeypatch.setattr(running, "tracker", lambda *_: seen)
    monkeypatch.setattr(running, "check_service", lambda _: None)
    done = call("train", *SMALL, "-o", tmp_path / "run", "--json", "--track", "wandb")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["run"] == str(tmp_path / "run")
    assert result["transitions"] == 160
    assert "megan on Pendulum-v1: first episodes, compiling" in done.stderr
    assert [row["cycle"] for row in seen.rows] == list(range(1, result["cycles"] + 1))
    assert seen.ends == [True]
    again = call("resume", tmp_path / "run", "--quiet")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_quiet_says_nothing(tmp_path):
    done = call("train", *SMALL, "-o", tmp_path / "run", "--quiet")
    assert (done.returncode, done.stdout) == (0, "")
    assert "megan on" not in done.stderr
    assert (tmp_path / "run" / "result.json").is_file()
