"""A run directory: what was asked, what came out, and where to go on after a stop.

    config.json  versions.json  metrics.jsonl  result.json
    checkpoints/  replay/  policy.safetensors

Everything is written beside its place and renamed, so a kill at any moment leaves whole files. The
replay memory is kept as segments that are only ever added: a checkpoint costs what the run gained
since the last one, not what the memory holds.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from etairl.buffers import Replay
from etairl.locks import LOCK
from etairl.types import InputError

Tree = TypeVar("Tree")
_KEEP = 2
_SHOWN = "demonstrations"
TO_GO_ON = ("replay", "checkpoints")
"""what a run needs to go on, and a finished one no more"""
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


def write_atomic(path: Path, data: bytes) -> None:
    """The file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with beside.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(beside, path)


def holds_anything(folder: Path) -> bool:
    """Whether a folder has files, but for a lock and for those that a kill left half-written."""
    if not folder.exists():
        return False
    half = [p.name for p in folder.glob(".*.part")]
    return any(p.name not in (LOCK, *half) for p in folder.iterdir())


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
        raise UnreadableError(f"{path}: cannot be read ({error})") from None
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    loaded = []
    for key, leaf in leaves:
        name = jax.tree_util.keystr(key)
        if name not in arrays or arrays[name].shape != np.shape(leaf):
            raise InputError(f"{path}: {name} is missing or of another size; other settings?")
        loaded.append(jax.numpy.asarray(arrays[name]))
    return jax.tree_util.tree_unflatten(structure, loaded)


class UnreadableError(InputError):
    """A file of a run is damaged, missing, or out of reach."""


class RunDirectory:
    """One run on disk."""

    def __init__(self, path: Path):
        self.path = path

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is something to go on from."""
        return self._latest() is not None

    @property
    def kept_cycle(self) -> int | None:
        """The cycle of the latest checkpoint."""
        latest = self._latest()
        return None if latest is None else int(latest.name)

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return (self.path / "result.json").is_file()

    def open(
        self, config: Any, may_change: tuple[str, ...] = (), digest: str | None = None
    ) -> bool:
        """Claim the folder for a run; True if there is a checkpoint of it to go on from.

        A folder that holds a run with other settings is refused, but for those that `may_change`
        as long as the run is not finished, and for those that it was begun without. `digest` is
        that of the demonstrations, if there are any.
        """
        shown = {} if digest is None else {_SHOWN: digest}
        wanted = json.loads(json.dumps(asdict(config)))
        file = self.path / "config.json"
        if file.is_file():
            found = read_json(file)
            free = () if self.finished else may_change
            differing = [
                k for k in wanted if k in found and found[k] != wanted[k] and k not in free
            ]
            if differing:
                raise InputError(
                    f"{self.path} holds a run with other settings ({', '.join(differing)}); "
                    "choose another folder"
                )
            if not self.finished:
                write_json(file, wanted)
            if not (self.path / "versions.json").is_file():  # killed before it was written
                write_json(self.path / "versions.json", versions() | shown)
            return self.has_checkpoint
        if holds_anything(self.path):
            raise InputError(f"{self.path} exists and is no run; choose another folder")
        write_json(file, wanted)
        write_json(self.path / "versions.json", versions() | shown)
        return False

    def check_versions(self) -> None:
        """A run goes on only with the versions that began it: other ones make other numbers."""
        file = self.path / "versions.json"
        if not file.is_file() and not self.has_checkpoint:
            return  # not begun yet
        began, now = read_json(file), versions()
        other = [f"{k} {began.get(k)} → {now.get(k)}" for k in now if began.get(k) != now.get(k)]
        if other:
            raise InputError(
                f"{self.path} was begun with other versions ({', '.join(other)}) and would not end "
                "with the same numbers; go on with those, or start a new run"
            )

    def check_shown(self, digest: str) -> None:
        """A run goes on only with the demonstrations that began it."""
        file = self.path / "versions.json"
        began = read_json(file) if file.is_file() else {}
        if began.get(_SHOWN, digest) != digest:
            raise InputError(
                f"the demonstrations are not those that {self.path} was begun with; bring them "
                "back, or start a new run"
            )

    def log(self, row: Mapping[str, Any]) -> None:
        """One line of metrics."""
        with (self.path / "metrics.jsonl").open("a") as stream:
            stream.write(json.dumps(row) + "\n")

    def start_over(self) -> None:
        """Forget what a run wrote before its first checkpoint: it begins anew."""
        for name in ("metrics.jsonl", "timing.jsonl"):
            (self.path / name).unlink(missing_ok=True)
        for name in ("replay", "tensorboard"):
            shutil.rmtree(self.path / name, ignore_errors=True)

    def log_time(self, row: Mapping[str, Any]) -> None:
        """Seconds, apart from the metrics: these are the same in every repetition."""
        with (self.path / "timing.jsonl").open("a") as stream:
            stream.write(json.dumps(row) + "\n")

    def save(
        self, cycle: int, trees: Mapping[str, Any], values: Mapping[str, Any], since: int
    ) -> None:
        """A checkpoint after `cycle`: PyTrees and plain values, with the replay from `since` on.

        The one before it stays, and what it needs of the replay.
        """
        place = self.path / "checkpoints" / f"{cycle:08d}"
        if place.exists():
            return  # interrupted just after this very checkpoint was written
        folder = place.with_name(f".{place.name}.part")
        shutil.rmtree(folder, ignore_errors=True)
        for name, tree in trees.items():
            save_tree(folder / f"{name}.safetensors", tree)
        write_json(folder / "values.json", {**values, "cycle": cycle, "since": max(0, since)})
        os.replace(folder, place)
        for old in self._checkpoints()[:-_KEEP]:
            shutil.rmtree(old)
        self._drop_segments(self._since(self._checkpoints()[0]))

    def save_segment(self, begin: int, end: int, arrays: Mapping[str, np.ndarray]) -> None:
        """What the replay gained from `begin` to `end`, in its own count."""
        write_atomic(
            self.path / "replay" / f"{begin:012d}-{end:012d}.safetensors", save(dict(arrays))
        )

    def segments_end(self) -> int:
        """Up to where the replay is on disk."""
        return max((int(p.stem.split("-")[1]) for p in self._segments()), default=0)

    def load(self, like: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The latest checkpoint: PyTrees and values. Metrics that came after it are dropped."""
        folder = self._latest()
        assert folder is not None
        try:
            values = read_json(folder / "values.json")
            trees = {name: load_tree(folder / f"{name}.safetensors", t) for name, t in like.items()}
        except UnreadableError as error:
            if len(self._checkpoints()) == 1:
                raise InputError(f"{error}, and there is no checkpoint before it") from None
            raise InputError(
                f"{error}; move {folder} elsewhere to go on from the checkpoint before it"
            ) from None
        metrics = self.path / "metrics.jsonl"
        if metrics.is_file():
            rows = [line for line in metrics.read_text().splitlines() if line.endswith("}")]
            kept = [line for line in rows if json.loads(line)["cycle"] <= values["cycle"]]
            write_atomic(metrics, "".join(line + "\n" for line in kept).encode())
        return trees, values

    def load_segments(self, end: int) -> Iterator[tuple[int, int, dict[str, np.ndarray]]]:
        """What the latest checkpoint has of the replay, which ends at `end`, oldest first.

        Later segments have no checkpoint, and are removed.
        """
        latest = self._latest()
        assert latest is not None
        reached = self._since(latest)
        for path in self._segments():
            first, last = (int(part) for part in path.stem.split("-"))
            if last > end:
                path.unlink()
            if not reached < last <= end:
                continue
            if first > reached + 1:  # the oldest row of a full memory is as good as overwritten
                break
            try:
                yield first, last, load_file(path)
            except (OSError, SafetensorError) as error:
                raise UnreadableError(f"{path}: cannot be read ({error})") from None
            reached = last
        if reached < end:
            raise InputError(
                f"{self.path / 'replay'}: what the checkpoint {latest.name} remembers from "
                f"{reached} to {end} is gone; bring it back, or start a new run"
            )

    def finish(self, result: Mapping[str, Any]) -> None:
        """The end: the result is written, what only served to go on is removed."""
        write_json(self.path / "result.json", dict(result))
        self.clear()

    def clear(self) -> None:
        """Remove what a finished run has left over, also where a kill was in between."""
        assert self.finished
        for name in TO_GO_ON:
            shutil.rmtree(self.path / name, ignore_errors=True)

    def _segments(self) -> list[Path]:
        return sorted(self.path.glob("replay/*.safetensors"))

    def _drop_segments(self, before: int) -> None:
        """Remove what the replay has forgotten: segments that end at `before` or earlier."""
        for old in self._segments():
            if int(old.stem.split("-")[1]) <= before:
                old.unlink()

    @staticmethod
    def _since(checkpoint: Path) -> int:
        """Where the replay of a checkpoint begins; 0, all there is, if that cannot be read."""
        try:
            return read_json(checkpoint / "values.json").get("since", 0)
        except InputError:
            return 0

    def _checkpoints(self) -> list[Path]:
        return sorted((self.path / "checkpoints").glob("[0-9]" * 8))

    def _latest(self) -> Path | None:
        found = self._checkpoints()
        return found[-1] if found else None


def save_replay(directory: RunDirectory, replay: Replay) -> None:
    """Write what a replay gained since it was last written."""
    begin = max(directory.segments_end(), replay.added - replay.rows + 1)
    if replay.added > begin:
        directory.save_segment(begin, replay.added, replay.segment(begin))


def load_replay(directory: RunDirectory, replay: Replay, added: int) -> None:
    """Fill a replay with what it held when so many rows had been added."""
    for begin, end, arrays in directory.load_segments(added):
        replay.restore(begin, end, arrays)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """All lines of metrics of a run; none if there are none yet."""
    return read_rows(path / "metrics.jsonl")


def read_rows(file: Path) -> list[dict[str, Any]]:
    """A file of JSON lines, if there is one; lines that a kill has broken are left out."""
    found = []
    for line in file.read_text().splitlines() if file.is_file() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def read_json(path: Path) -> Any:
    """What a file of ours holds; a file that somebody has damaged is named."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UnreadableError(f"{path}: cannot be read ({why})") from None


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
