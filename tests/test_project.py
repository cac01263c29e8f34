"""The project keeps its own rules: style, types, import direction, a lock that fits."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import etairl

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "format", "--check", "."),
        ("ruff", "check", "."),
        ("lint-imports",),
        ("basedpyright", "--level", "error"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_checks_pass(command):
    done = subprocess.run(
        [BIN / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert project["version"] == etairl.__version__
    assert f"version: {etairl.__version__}" in citation
    assert f"## [{etairl.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_lock_holds_every_dependency_and_no_address():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    locked = {line.split("==")[0] for line in lock.splitlines() if "==" in line}
    wanted = [
        *project["dependencies"],
        *project["optional-dependencies"]["dev"],
        *project["optional-dependencies"]["docs"],
    ]
    names = {re.split(r"[\[<>=]", requirement)[0] for requirement in wanted}
    assert names <= locked


def test_every_dependency_range_is_bounded():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [r for group in project["optional-dependencies"].values() for r in group]
    assert {"ray", "docs", "dev"} <= project["optional-dependencies"].keys()
    for requirement in project["dependencies"] + extras:
        assert ">=" in requirement, requirement
        assert "<" in requirement, requirement


def test_the_python_face_is_what_it_lists():
    for name in etairl.__all__:
        assert getattr(etairl, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = etairl.nonsense


def test_no_file_can_run_code_when_loaded():
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    assert not re.search(r"allow_pickle\s*=\s*True|\bpickle\.load|\beval\(|\bexec\(", source)
