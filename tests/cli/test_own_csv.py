"""A table of demonstrations and an environment of one's own: the example, in a clean folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import call

EXAMPLE = Path(__file__).parents[2] / "examples" / "12_own_csv.sh"
SMALL = ("--hidden", 8, "--hidden-d", 8)


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A folder with a program `etairl` that only writes down what it is asked."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in (
        ("etairl", '#!/bin/sh\nprintf "%s\\t" "$@" >> asked\necho >> asked\n'),
        ("python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def test_a_table_and_an_environment_of_ones_own_in_three_commands(
    tmp_path: Path, stand_in: Path, monkeypatch: pytest.MonkeyPatch
):
    """The script makes its files; its three commands then run in this process, which is quicker."""
    folder = tmp_path / "clean"
    folder.mkdir()
    path = {"PATH": f"{stand_in}:{os.environ['PATH']}"}
    script = ["sh", str(EXAMPLE), "400"]
    subprocess.run(script, cwd=folder, env=os.environ | path, check=True)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    asked = [line.split("\t")[:-1] for line in Path("asked").read_text().splitlines()]
    assert [words[0] for words in asked] == ["demos", "train", "evaluate"]
    quick = {
        "demos": (),
        "train": (*("--episodes", 4, "--cost-updates", 2, "--epochs", 1, "--quiet"), *SMALL),
        "evaluate": ("--episodes", 2),
    }
    for words in asked:
        done = call(*words, *quick[words[0]])
        assert done.returncode == 0, done.stderr
    for shown in ("learner, greedy", "behaviour cloning, greedy", "random", "score"):
        assert shown in done.stdout
    sys.modules.pop("rail", None)
