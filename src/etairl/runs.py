"""A run directory: what was asked, what came out, and where to resume after a stop.

    config.json  versions.json  metrics.jsonl  result.json
    checkpoints/  replay/  policy.safetensors

Everything is written beside its place and renamed, so a kill at any moment leaves whole files.
"""

import json
import os
import shutil
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from etairl.checkpoints import Checkpoints
from etairl.storage import (
    UnreadableError,
    checksum,
    holds_anything,
    read_json,
    read_rows,
    reading,
    remove_parts,
    write_json,
)
from etairl.types import InputError

_DEMONSTRATIONS = "demonstrations"
EVALUATION = "evaluation.json"
"""policies in fresh episodes, where a study asked for that"""
_RESULT = ("cycles", "transitions", "remaining", "expert_return", "best")
RESUME_FOLDERS = ("replay", "checkpoints")
"""what a run is resumed from; a finished one needs them no more"""
_PACKAGES = (
    *("etairl", "numpy", "jax", "jaxlib", "equinox", "optax"),
    *("envpool", "gymnasium", "mujoco"),
)


def versions() -> dict[str, str]:
    """Of every package that numbers may depend on."""
    installed = {}
    for name in _PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def no_run(path: Path) -> str:
    """Why a folder is not that of a run, and which one may have been meant."""
    if path.is_file():
        return f"{path} is not a run directory but a file; name the folder that it is in"
    inside = _runs_in(path)
    if inside:
        return f"{path} is not a run directory, but holds some; name one: {_first(inside)}"
    if path.exists():
        return f"{path} is not a run directory: it has no config.json; name one of etairl train -o"
    near = {run.name: run for run in _runs_in(path.parent)}
    close = get_close_matches(path.name, near, n=1)
    hint = f"did you mean {near[close[0]]}?" if close else "name one that etairl train -o has made"
    return f"{path} is not a run directory: there is no such folder; {hint}"


def _runs_in(folder: Path) -> list[Path]:
    files = folder.glob("*/config.json") if folder.is_dir() else ()
    return sorted(file.parent for file in files)


def _first(runs: list[Path]) -> str:
    return ", ".join(map(str, runs[:5])) + (", …" if len(runs) > 5 else "")


class RunDirectory:
    """One run on disk.

    Attributes:
        notes: what a user should know of how it was opened.
    """

    def __init__(self, path: Path):
        self.path = path
        self.checkpoints = Checkpoints(path)
        self.notes: list[str] = []

    @property
    def begun(self) -> bool:
        """Whether the folder holds a run."""
        return (self.path / "config.json").is_file()

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return os.path.isfile(self.path / "result.json")  # its name may be too long

    def open(
        self,
        config: Mapping[str, Any],
        may_change: tuple[str, ...] = (),
        demonstrations: str | None = None,
    ) -> bool:
        """Claim the folder for a run; True if there is a checkpoint of it to resume from.

        A folder that holds a run with other settings is refused, except for those that
        `may_change` as long as the run is not finished. The caller holds the lock.

        Args:
            config: the settings, as config.json keeps them.
            may_change: names of settings that may differ from those of the run in the folder.
            demonstrations: their checksum, if there are any.
        """
        wanted = json.loads(json.dumps(config))
        lasting = {name: value for name, value in wanted.items() if name not in may_change}
        self.checkpoints.settings = checksum(json.dumps(lasting, sort_keys=True).encode())
        file = self.path / "config.json"
        began_with = versions() | ({_DEMONSTRATIONS: demonstrations} if demonstrations else {})
        if not file.is_file():
            if holds_anything(self.path):
                raise InputError(f"{self.path} exists and is not a run; choose another folder")
            write_json(file, wanted)
            write_json(self.path / "versions.json", began_with)
            return False
        self.refuse_others(read_json(file), wanted, () if self.finished else may_change)
        remove_parts(self.path)
        remove_parts(self.path / "replay")
        self.checkpoints.remove_parts()
        if not self.finished:
            write_json(file, wanted)
        if not (self.path / "versions.json").is_file():  # killed before it was written
            write_json(self.path / "versions.json", began_with)
        if self.finished or not self.checkpoints.any:
            return self.checkpoints.any
        if (note := self.checkpoints.settle()) is not None:
            self.notes.append(note)
        return True

    def refuse_others(
        self, stored: Mapping[str, Any], wanted: Mapping[str, Any], free: tuple[str, ...] = ()
    ) -> None:
        """Refuse settings that are not those of the run, except for some; they are named."""
        names = [name for name in _differing(stored, wanted) if name not in free]
        if names:
            raise InputError(
                f"{self.path} holds a run with other settings ({', '.join(names)}); choose another "
                "folder"
            )

    def check_versions(self) -> None:
        """A run is resumed only with the versions that began it: others make other numbers."""
        file = self.path / "versions.json"
        if not file.is_file() and not self.checkpoints.any:
            return  # not begun yet
        began, now = read_json(file), versions()
        other = [f"{k} {began.get(k)} → {now.get(k)}" for k in now if began.get(k) != now.get(k)]
        if other:
            raise InputError(
                f"{self.path} was begun with other versions ({', '.join(other)}) and would not end "
                "with the same numbers; resume it with those, or start a new run"
            )

    def check_demonstrations(self, digest: str) -> None:
        """A run is resumed only with the demonstrations that began it."""
        file = self.path / "versions.json"
        if file.is_file() and read_json(file).get(_DEMONSTRATIONS) != digest:
            raise InputError(
                f"the demonstrations are not those that {self.path} was begun with; restore them, "
                "or start a new run"
            )

    def log(self, row: Mapping[str, Any]) -> None:
        """One line of metrics."""
        self._append("metrics.jsonl", row)

    def log_time(self, row: Mapping[str, Any]) -> None:
        """Seconds, apart from the metrics: these are the same in every repetition."""
        self._append("timing.jsonl", row)

    def _append(self, name: str, row: Mapping[str, Any]) -> None:
        with (self.path / name).open("a") as stream:
            stream.write(json.dumps(row) + "\n")

    def start_over(self) -> None:
        """Forget what a run wrote before its first checkpoint: it begins anew."""
        for name in ("metrics.jsonl", "timing.jsonl"):
            (self.path / name).unlink(missing_ok=True)
        for name in ("replay", "tensorboard"):
            shutil.rmtree(self.path / name, ignore_errors=True)

    def finish(self, result: Mapping[str, Any]) -> None:
        """The end: the result is written, what only served to resume is removed."""
        write_json(self.path / "result.json", dict(result))
        self.clear()

    def clear(self) -> None:
        """Remove what a finished run has left over, also where a kill was in between."""
        if not read_json(self.path / "result.json"):
            raise UnreadableError(f"{self.path / 'result.json'}: it is empty; nothing was removed")
        for name in RESUME_FOLDERS:
            shutil.rmtree(self.path / name, ignore_errors=True)
        remove_parts(self.path)


def _differing(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Names of settings that differ, at any depth."""
    names = []
    for name in sorted(set(stored) | set(wanted)):
        old, new = stored.get(name), wanted.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            names += _differing(old, new)
        elif old != new:
            names.append(name)
    return names


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """All lines of metrics of a run; none if there are none yet. Of 0.1, `score` is made up for."""
    file = path / "metrics.jsonl"
    with reading(file):
        return [with_score(row) for row in read_rows(file)]


def read_result(path: Path) -> dict[str, Any]:
    """The result of a finished run, also of one by version 0.1, which had a normalised cost."""
    file = path / "result.json"
    result = read_json(file)
    missing = [name for name in _RESULT if name not in result]
    if missing or not isinstance(result["remaining"], dict):
        raise UnreadableError(f"{file}: it is damaged ({', '.join(missing or ['remaining'])})")
    with reading(file):
        return result | {"remaining": with_score(result["remaining"])}


def read_versions(path: Path) -> dict[str, Any]:
    """What a run was made with, and the digest of its demonstrations; nothing if it says none."""
    file = path / "versions.json"
    return read_json(file) if file.is_file() else {}


def with_score(row: dict[str, Any]) -> dict[str, Any]:
    """As it is, but for those of version 0.1, which had a normalised cost."""
    if "normalised_cost" not in row:
        return row
    return {k: v for k, v in row.items() if k != "normalised_cost"} | {
        "score": 1.0 - row["normalised_cost"]
    }
