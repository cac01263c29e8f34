"""Environments with the libraries that etairl is compared with: made, used, and removed.

None of them is ever a dependency of etairl. Where packages come from is pip's business: its own
settings (its configuration files, `PIP_…`) decide.
"""

import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from etairl.types import InputError

Tell = Callable[[str], object]
GIGABYTES = 2.5
"""for one environment, and what pip unpacks on the way"""


class Peers(NamedTuple):
    """Libraries that can share an environment."""

    title: str
    packages: tuple[str, ...]
    alone: tuple[str, ...] = ()
    """installed without what they ask for: it is in `packages` already, but for what only other
    parts of them need"""

    @property
    def mark(self) -> str:
        """Other packages or another Python make another environment."""
        wanted = " ".join((sys.version, *self.packages, *self.alone))
        return f"{zlib.crc32(wanted.encode()):08x}"


TORCH = "torch==2.13.0"
"""where pip finds the build for the CPU it takes that; the other one has gigabytes of CUDA"""
BASELINES = Peers(
    "Stable-Baselines3 and SBX",
    (
        *(TORCH, "stable-baselines3==2.9.2", "sbx-rl==0.28.0"),
        *("jax==0.10.2", "gymnasium[mujoco]==1.4.0", "mujoco==4.0.0"),
    ),
)
IMITATION = Peers(
    "imitation",
    (
        *(TORCH, "stable-baselines3==2.2.1", "gymnasium[mujoco]==0.29.1", "mujoco==3.3.0"),
        *("datasets==5.2.0", "huggingface-sb3==2.1.0", "seals==0.2.1", "tensorboard<3", "tqdm"),
    ),
    ("imitation==1.0.1",),
)


@contextmanager
def place(keep: Path | None) -> Iterator[Path]:
    """Where environments are made: a folder that stays, or one that is removed afterwards."""
    if keep is not None:
        try:
            keep.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{keep} cannot be made: {error.strerror}") from None
        yield keep.resolve()
        return
    with TemporaryDirectory(prefix="etairl-peers-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def python_of(peers: Peers, folder: Path, tell: Tell) -> Path:
    """The Python of an environment with these libraries; it is made if it is not there."""
    home = folder / f"{'-'.join(peers.title.split()[::2]).lower()}-{peers.mark}"
    python, ready = home / "bin" / "python", home / "ready"
    if ready.is_file() and python.is_file():
        return python
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free / 1e9
    if free < GIGABYTES:
        raise InputError(
            f"an environment with {peers.title} needs {GIGABYTES} GB, and {folder} has "
            f"{free:.1f}; make room, or name another place with --keep FOLDER"
        )
    shutil.rmtree(home, ignore_errors=True)
    tell(f"making an environment for {peers.title}")
    _run([sys.executable, "-m", "venv", str(home)], peers, tell)
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    _run([*pip, *peers.packages], peers, tell)
    if peers.alone:
        _run([*pip, "--no-deps", *peers.alone], peers, tell)
    ready.touch()
    return python


def _run(command: list[str], peers: Peers, tell: Tell) -> None:
    """Run a command, say what it is at, and explain in a sentence what went wrong."""
    own = os.environ | {"PYTHONPATH": "", "PYTHONUNBUFFERED": "1"}
    own.pop("__PYVENV_LAUNCHER__", None)
    last = list[str]()
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=own,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                last = [*last[-200:], line.strip()]
                if line.startswith("Collecting "):
                    tell(f"{peers.title}: {line.split()[1]}")
                elif line.startswith("Installing "):
                    tell(f"{peers.title}: unpacking")
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise InputError(
            f"an environment with {peers.title} could not be made: {why_pip_failed(last)}"
        )


def why_pip_failed(lines: list[str]) -> str:
    """Why pip failed, in words of a user, from what it said."""
    text = "\n".join(lines)
    if "No space left" in text or "Errno 28" in text:
        return "there is no space left; make room, or name another place with --keep FOLDER"
    away = ("NewConnectionError", "Failed to establish", "Temporary failure in name", "timed out")
    away += ("ConnectionError", "ProxyError", "SSLError", "(from versions: none)")
    if any(words in text for words in away):
        return "pip cannot reach where packages come from; it needs a network (or pip's settings)"
    if "ensurepip" in text:
        return "this Python cannot make environments; install its venv package"
    said = [line for line in lines if line.startswith("ERROR:")] or [x for x in lines if x]
    return f"pip said: {said[-1].removeprefix('ERROR: ')}" if said else "pip said nothing"
