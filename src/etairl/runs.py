"""A run directory: what was asked, what came out, and where to go on after a stop.

    config.json  versions.json  metrics.jsonl  result.json
    checkpoints/  replay/  policy.safetensors

Everything is written beside its place and renamed, so a kill at any moment leaves whole files. A
checkpoint costs what the run added since the last one, not what the replay memory holds.
"""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from etairl.buffers import Replay
from etairl.types import InputError

Tree = TypeVar("Tree")
_KEEP = 2
_PACKAGES = (
    "etairl",
    "numpy",
    "jax",
    "jaxlib",
    "equinox",
    "optax",
    "envpool",
    "gymnasium",
    "mujoco",
)
_REPLAY_FIELDS = ("observations", "actions", "rewards", "terminated", "exists")


def write_atomic(path: Path, data: bytes) -> None:
    """The file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.part")
    with beside.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(beside, path)


def write_json(path: Path, value: Any) -> None:
    """JSON that people can read, too."""
    write_atomic(path, (json.dumps(value, indent=2) + "\n").encode())


def versions() -> dict[str, str]:
    """Of everything that numbers may depend on."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def save_tree(path: Path, tree: Any) -> None:
    """The arrays of a PyTree, by name, as safetensors: loading never runs code."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    named = {jax.tree_util.keystr(key): np.asarray(leaf, order="C") for key, leaf in leaves}
    write_atomic(path, save(named))


def load_tree(path: Path, like: Tree) -> Tree:
    """A PyTree of the same names and shapes as `like`."""
    try:
        arrays = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    loaded = []
    for key, leaf in leaves:
        name = jax.tree_util.keystr(key)
        if name not in arrays or arrays[name].shape != np.shape(leaf):
            raise InputError(f"{path}: {name} is missing or of another size; other settings?")
        loaded.append(jax.numpy.asarray(arrays[name]))
    return jax.tree_util.tree_unflatten(structure, loaded)


class RunDirectory:
    """One run on disk."""

    def __init__(self, path: Path):
        self.path = path
        self._saved_rows = 0

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return (self.path / "result.json").is_file()

    def open(self, config: Any, may_change: tuple[str, ...] = ()) -> bool:
        """Claim the folder for a run; True if there is a checkpoint of it to go on from.

        A folder that holds a run with other settings is refused, but for those that `may_change`
        as long as the run is not finished.
        """
        wanted = json.loads(json.dumps(asdict(config)))
        file = self.path / "config.json"
        if file.is_file():
            found = json.loads(file.read_text())
            free = () if self.finished else may_change
            differing = [k for k in wanted if found.get(k) != wanted[k] and k not in free]
            if differing:
                raise InputError(
                    f"{self.path} holds a run with other settings ({', '.join(differing)}); "
                    "choose another folder"
                )
            if not self.finished:
                write_json(file, wanted)
            return self._latest() is not None
        if self.path.exists() and any(self.path.iterdir()):
            raise InputError(f"{self.path} exists and is no run; choose another folder")
        write_json(file, wanted)
        write_json(self.path / "versions.json", versions())
        return False

    def log(self, row: Mapping[str, Any]) -> None:
        """One line of metrics."""
        with (self.path / "metrics.jsonl").open("a") as stream:
            stream.write(json.dumps(row) + "\n")

    def save(
        self, cycle: int, trees: Mapping[str, Any], values: Mapping[str, Any], replay: Replay
    ) -> None:
        """A checkpoint after `cycle`: PyTrees, plain values, and what the replay has gained."""
        self._save_replay(replay)
        place = self.path / "checkpoints" / f"{cycle:08d}"
        if place.exists():
            return  # interrupted just after this very checkpoint was written
        folder = place.with_name(f".{place.name}.part")
        shutil.rmtree(folder, ignore_errors=True)
        for name, tree in trees.items():
            save_tree(folder / f"{name}.safetensors", tree)
        rows = {"replay_added": replay.added, "replay_next": replay.next}
        write_json(folder / "values.json", {"cycle": cycle, **values, **rows})
        os.replace(folder, place)
        for old in sorted((self.path / "checkpoints").glob("[0-9]*"))[:-_KEEP]:
            shutil.rmtree(old)

    def load(
        self, like: Mapping[str, Any], replay: Replay
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The latest checkpoint; fills `replay`, and drops metrics that came after it."""
        folder = self._latest()
        assert folder is not None
        values = json.loads((folder / "values.json").read_text())
        trees = {name: load_tree(folder / f"{name}.safetensors", t) for name, t in like.items()}
        self._load_replay(replay, values["replay_added"], values["replay_next"])
        metrics = self.path / "metrics.jsonl"
        if metrics.is_file():
            rows = [line for line in metrics.read_text().splitlines() if line.endswith("}")]
            kept = [line for line in rows if json.loads(line)["cycle"] <= values["cycle"]]
            write_atomic(metrics, "".join(line + "\n" for line in kept).encode())
        return trees, values

    def finish(self, result: Mapping[str, Any]) -> None:
        """The end: the result is written, what only served to go on is removed."""
        write_json(self.path / "result.json", dict(result))
        for name in ("replay", "checkpoints"):
            shutil.rmtree(self.path / name, ignore_errors=True)

    def _latest(self) -> Path | None:
        found = sorted((self.path / "checkpoints").glob("[0-9]*"))
        return found[-1] if found else None

    def _save_replay(self, replay: Replay) -> None:
        begin, end = max(self._saved_rows, replay.added - replay.rows + 1), replay.added
        if end == self._saved_rows:
            return
        # One row more than was added: the observations that the last transitions led to.
        rows = (replay.next - (end - begin) + np.arange(end - begin + 1)) % replay.rows
        arrays = {name: getattr(replay, name)[rows] for name in _REPLAY_FIELDS}
        path = self.path / "replay" / f"{begin:012d}-{end:012d}.safetensors"
        write_atomic(path, save(arrays))
        self._saved_rows = end
        for old in self.path.glob("replay/*.safetensors"):
            if int(old.stem.split("-")[1]) <= end - replay.rows:
                old.unlink()

    def _load_replay(self, replay: Replay, added: int, following: int) -> None:
        for path in sorted(self.path.glob("replay/*.safetensors")):
            begin, end = (int(part) for part in path.stem.split("-"))
            if end > added:
                path.unlink()  # written after the checkpoint that we go on from
                continue
            try:
                arrays = load_file(path)
            except SafetensorError as error:
                raise InputError(f"{path}: cannot be read ({error})") from None
            rows = (following - (added - begin) + np.arange(end - begin + 1)) % replay.rows
            for name in _REPLAY_FIELDS:
                getattr(replay, name)[rows] = arrays[name]
        replay.added, replay.next = added, following
        self._saved_rows = added


def every_seconds(seconds: float, clock: Callable[[], float]) -> Callable[[], bool]:
    """True when asked for the first time after each stretch of `seconds`."""
    last = clock()

    def due() -> bool:
        nonlocal last
        if clock() - last < seconds:
            return False
        last = clock()
        return True

    return due
