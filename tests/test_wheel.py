"""The wheel in clean environments, far from the repository: `make wheel` runs this."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BROUGHT = {
    "import": "pyarrow",
    "mlflow": "mlflow",
    "ray": "ray",
    "render": "mujoco, pygame, imageio_ffmpeg",
    "wandb": "wandb",
}
SMALL = (
    *("--env", "Pendulum-v1", "--demos", "Pendulum-v1-25x200", "--horizon", "20"),
    *("--transitions", "160", "--episodes", "4", "--hidden", "8", "--hidden-d", "8"),
    *("--cost-updates", "2", "--epochs", "1"),
)
LOOK = """
import importlib.resources, etairl
home = importlib.resources.files("etairl")
assert (home / "py.typed").is_file() and (home / "bundled").is_dir()
action, _ = etairl.load("run").predict([1.0, 0.0, 0.0])
print(etairl.__file__, action.shape)
"""


def pythons() -> dict[str, str]:
    """Every Python that the wheel is for and that is found here, by its version."""
    places = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    places += map(str, Path.home().glob(".pyenv/versions/3.*/bin/python"))
    found = {}
    for place in [sys.executable, *filter(None, places)]:
        words = [place, "-c", "import sys, venv, ensurepip; print(*sys.version_info[:2], sep='.')"]
        done = subprocess.run(words, capture_output=True, text=True)
        version = done.stdout.strip()
        if done.returncode == 0 and tuple(map(int, version.split("."))) >= (3, 11):
            found.setdefault(version, place)
    return found


def ask(*words: object, folder: Path) -> str:
    """What a program says that must succeed, without our sources or settings."""
    kept = {k: v for k, v in os.environ.items() if not re.match(r"PYTHON|XLA|JAX", k)}
    done = subprocess.run(
        list(map(str, words)), cwd=folder, env=kept, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """That in dist/, where `make wheel` has built one."""
    built = sorted((ROOT / "dist").glob("*.whl"))
    if not built:
        folder = tmp_path_factory.mktemp("dist")
        words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
        built = list(folder.glob("*.whl"))
    return built[-1]


def install(python: str, wheel: Path, folder: Path, extra: str = "") -> Path:
    """A fresh environment with the wheel in it; where its programs are."""
    ask(python, "-m", "venv", folder / "venv", folder=folder)
    programs = folder / "venv" / "bin"
    what = f"{wheel}[{extra}]" if extra else str(wheel)
    ask(programs / "python", "-m", "pip", "install", "-q", what, folder=folder)
    return programs


def works(programs: Path, folder: Path) -> None:
    """Train, load and look, in an empty folder."""
    folder.mkdir()
    version = ask(programs / "etairl", "--version", folder=folder)
    assert version == f"etairl {PROJECT['version']}\n"
    said = ask(programs / "etairl", "train", *SMALL, "-o", "run", "--json", folder=folder)
    assert json.loads(said)["transitions"] == 160
    home, *shape = ask(programs / "python", "-c", LOOK, folder=folder).split()
    assert Path(home).is_relative_to(programs.parent)
    assert shape == ["(1,)"]


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_every_python_with_and_without_envpool(version, wheel, tmp_path):
    found = pythons()
    if version not in found:
        pytest.skip(f"there is no Python {version} here")
    programs = install(found[version], wheel, tmp_path)
    works(programs, tmp_path / "with")
    ask(programs / "python", "-m", "pip", "uninstall", "-qy", "envpool", folder=tmp_path)
    works(programs, tmp_path / "without")


@pytest.mark.parametrize("extra", BROUGHT)
def test_every_extra(extra, wheel, tmp_path):
    programs = install(sys.executable, wheel, tmp_path, extra)
    ask(programs / "python", "-c", f"import {BROUGHT[extra]}", folder=tmp_path)
    works(programs, tmp_path / "work")


def test_every_extra_is_tried():
    assert set(PROJECT["optional-dependencies"]) == {*BROUGHT, "dev", "docs"}
