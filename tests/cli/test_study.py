"""`etairl study` before anything starts."""

import pytest

from etairl.cli.app import main

GRID = """\
[settings]
env = "Pendulum-v1"
demos = "Pendulum-v1-25x200"
horizon = 50
"""


@pytest.fixture
def grid(tmp_path, monkeypatch):
    """A folder to be in, with a grid."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(GRID)
    return tmp_path


def test_a_dry_run_writes_nothing(grid, capsys):
    assert main(["study", "grid.toml", "--dry-run"]) == 0
    assert "3 runs; nothing was started" in capsys.readouterr().out
    assert [path.name for path in grid.iterdir()] == ["grid.toml"]


def test_a_dry_run_refuses_a_folder_that_is_no_study(grid, capsys):
    (grid / "mine").mkdir()
    (grid / "mine" / "notes.txt").write_text("mine")
    assert main(["study", "grid.toml", "--dry-run", "-o", "mine"]) == 2
    assert "mine exists and is not a study" in capsys.readouterr().err
    assert [path.name for path in (grid / "mine").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["figure1", "grid.toml"])
@pytest.mark.parametrize("seeds", [11_000, 10**30])
def test_too_many_seeds_are_refused_at_once(grid, capsys, name, seeds):
    assert main(["study", name, f"--seeds={seeds}", "--dry-run"]) == 2
    assert "runs are too many; the most is 10,000" in capsys.readouterr().err
