"""Checkpoints of a run and its replay on disk; every file has a checksum that is verified.

    metrics.jsonl  checkpoints/CYCLE/{checkpoint.json, NAME.safetensors}
    replay/BEGIN-END-CHECKSUM.safetensors

The replay is kept as segments that are only ever added: a checkpoint costs what the run gained
since the last one, not what the replay holds.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import save

from etairl.buffers import Replay
from etairl.storage import (
    UnreadableError,
    checksum,
    read_bytes,
    read_json,
    reading,
    write_atomic,
    write_json,
)
from etairl.trees import arrays_from, tree_bytes, tree_from
from etairl.types import InputError

_KEEP = 2
_MANIFEST = "checkpoint.json"


class Manifest(NamedTuple):
    """What a checkpoint consists of."""

    values: dict[str, Any]
    """plain numbers, with `cycle`, and where the replay begins and ends: `since`, `until`"""
    files: dict[str, str]
    """checksums of the files beside it"""
    metrics: dict[str, Any]
    """how many bytes metrics.jsonl had, and their checksum"""

    def write(self, folder: Path) -> None:
        """With a checksum of itself."""
        plain = self._asdict()
        write_json(folder / _MANIFEST, plain | {"sha256": _own_checksum(plain)})

    @staticmethod
    def read(folder: Path) -> "Manifest":
        """Refuse one that is damaged."""
        path = folder / _MANIFEST
        plain = read_json(path)
        own = plain.pop("sha256", None)
        if set(plain) != set(Manifest._fields) or own != _own_checksum(plain):
            raise UnreadableError(f"{path}: its checksum is wrong")
        manifest = Manifest(**plain)
        with reading(path):
            values, logged = manifest.values, manifest.metrics
            numbers = (*(values[name] for name in ("cycle", "since", "until")), logged["bytes"])
            if any(type(number) is not int or number < 0 for number in numbers):
                raise UnreadableError(f"{path}: its numbers are not whole, or below 0")
            if set(manifest.files) != {file.name for file in folder.glob("*.safetensors")}:
                raise UnreadableError(f"{path}: it has not the files that are beside it")
            if values["cycle"] != int(folder.name):
                raise UnreadableError(f"{path}: it is of cycle {values['cycle']}")
        return manifest


def _own_checksum(plain: Mapping[str, Any]) -> str:
    return checksum(json.dumps(plain, sort_keys=True).encode())


class Checkpoints:
    """The checkpoints in a run directory, and the replay that they need."""

    settings: str | None = None
    """checksum of the settings of the run, once it is open"""

    def __init__(self, run: Path):
        self.run = run

    @property
    def any(self) -> bool:
        """Whether there is something to resume from."""
        return self._latest() is not None

    @property
    def cycle(self) -> int | None:
        """The cycle of the latest checkpoint."""
        latest = self._latest()
        return None if latest is None else int(latest.name)

    def save(
        self, cycle: int, trees: Mapping[str, Any], values: Mapping[str, Any], since: int
    ) -> None:
        """A checkpoint after `cycle`: PyTrees and plain values, with the replay from `since` on.

        The one before it stays, and what it needs of the replay.
        """
        place = self.run / "checkpoints" / f"{cycle:08d}"
        if place.exists():
            return  # interrupted just after this very checkpoint was written
        folder = place.with_name(f".{place.name}.part")
        shutil.rmtree(folder, ignore_errors=True)
        files = {}
        for name, tree in trees.items():
            data = tree_bytes(tree)
            files[f"{name}.safetensors"] = checksum(data)
            write_atomic(folder / f"{name}.safetensors", data)
        metrics = self.run / "metrics.jsonl"
        logged = metrics.read_bytes() if metrics.is_file() else b""
        Manifest(
            {
                **values,
                "cycle": cycle,
                "since": max(0, since),
                "until": self.segments_end(),
                "settings": self.settings,
            },
            files,
            {"bytes": len(logged), "sha256": checksum(logged)},
        ).write(folder)
        os.replace(folder, place)
        for old in self._checkpoints()[:-_KEEP]:
            shutil.rmtree(old)
        since = self._since(self._checkpoints()[0])
        for segment in self._segments():
            if _span(segment)[1] <= since:  # the replay has forgotten it
                segment.unlink()

    def load(self, like: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The latest checkpoint: PyTrees and values. Metrics that came after it are dropped."""
        folder = self._latest()
        assert folder is not None
        manifest = Manifest.read(folder)
        if self.settings not in (None, manifest.values.get("settings")):
            raise InputError(
                f"{self.run / 'config.json'} is not as it was when the run was stopped; "
                "restore it, or start a new run"
            )
        trees = {}
        for name, tree in like.items():
            file = folder / f"{name}.safetensors"
            trees[name] = tree_from(file, _verified(file, manifest), tree)
        write_atomic(self.run / "metrics.jsonl", self._logged(manifest))
        return trees, manifest.values

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics up to the latest checkpoint, verified."""
        latest = self._latest()
        assert latest is not None
        logged = self._logged(Manifest.read(latest))
        with reading(self.run / "metrics.jsonl"):
            rows = [json.loads(line) for line in logged.splitlines()]
            if not all(isinstance(row, dict) for row in rows):
                raise UnreadableError(f"{self.run / 'metrics.jsonl'}: a line is not an object")
        return rows

    def _logged(self, manifest: Manifest) -> bytes:
        """The metrics that there were when the checkpoint was written."""
        metrics = self.run / "metrics.jsonl"
        if not manifest.metrics["bytes"] and not metrics.is_file():
            return b""
        logged = read_bytes(metrics)[: manifest.metrics["bytes"]]
        if checksum(logged) != manifest.metrics["sha256"]:
            raise UnreadableError(f"{metrics}: its checksum is wrong")
        return logged

    def settle(self) -> str | None:
        """Move a damaged latest checkpoint aside where the one before it is whole.

        The caller holds the lock. Returns a sentence about it; None where the latest is whole.
        """
        *older, latest = self._checkpoints()
        damage = self._damage(latest)
        if damage is None:
            return None
        if not older or self._damage(older[-1]) is not None:
            raise InputError(
                f"{damage}; no older checkpoint is whole: restore the file, or start a new run"
            )
        aside = latest.with_name(f"damaged-{latest.name}")
        shutil.rmtree(aside, ignore_errors=True)
        os.replace(latest, aside)
        return (
            f"{damage}; the run is resumed from the checkpoint before it, of cycle "
            f"{int(older[-1].name)}, and the damaged one is kept in {aside}"
        )

    def _damage(self, folder: Path) -> UnreadableError | None:
        """What is wrong with a checkpoint, or with what it needs."""
        try:
            manifest = Manifest.read(folder)
            for name in manifest.files:
                _verified(folder / name, manifest)
            self._logged(manifest)
            list(self._read_segments(manifest.values["since"], manifest.values["until"]))
        except UnreadableError as error:
            return error
        return None

    def remove_parts(self) -> None:
        """Remove checkpoints that a killed process left half-written."""
        for part in (self.run / "checkpoints").glob(".*.part"):
            shutil.rmtree(part) if part.is_dir() else part.unlink()

    def save_segment(self, begin: int, end: int, arrays: Mapping[str, np.ndarray]) -> None:
        """What the replay gained from `begin` to `end`; the name has the checksum."""
        data = save(dict(arrays))
        name = f"{begin:012d}-{end:012d}-{checksum(data)[:16]}.safetensors"
        write_atomic(self.run / "replay" / name, data)

    def segments_end(self) -> int:
        """Up to where the replay is on disk."""
        return max((_span(p)[1] for p in self._segments()), default=0)

    def load_segments(self, end: int) -> Iterator[tuple[int, int, dict[str, np.ndarray]]]:
        """The replay of the latest checkpoint, which ends at `end`, oldest first.

        Later segments have no checkpoint, and are removed.
        """
        latest = self._latest()
        assert latest is not None
        for path in self._segments():
            if _span(path)[1] > end:
                path.unlink()
        yield from self._read_segments(self._since(latest), end)

    def _read_segments(
        self, begin: int, end: int
    ) -> Iterator[tuple[int, int, dict[str, np.ndarray]]]:
        reached = begin
        for path in self._segments():
            first, last = _span(path)
            if not reached < last <= end:
                continue
            if first > reached:
                break
            data = read_bytes(path)
            if checksum(data)[:16] != path.stem.split("-")[2]:
                raise UnreadableError(f"{path}: its checksum is wrong")
            yield first, last, arrays_from(path, data)
            reached = last
        if reached < end:
            raise UnreadableError(
                f"{self.run / 'replay'}: the part from {reached} to {end} is missing"
            )

    def _segments(self) -> list[Path]:
        return sorted(self.run.glob("replay/[0-9]*-[0-9]*-*.safetensors"))

    @staticmethod
    def _since(checkpoint: Path) -> int:
        """Where the replay of a checkpoint begins; 0, all there is, if that cannot be read."""
        try:
            return int(Manifest.read(checkpoint).values["since"])
        except InputError:
            return 0

    def _checkpoints(self) -> list[Path]:
        return sorted((self.run / "checkpoints").glob("[0-9]" * 8))

    def _latest(self) -> Path | None:
        return next(reversed(self._checkpoints()), None)


def _verified(file: Path, manifest: Manifest) -> bytes:
    """The bytes of a file beside a manifest, as they were written."""
    data = read_bytes(file)
    if checksum(data) != manifest.files.get(file.name):
        raise UnreadableError(f"{file}: its checksum is wrong")
    return data


def _span(segment: Path) -> tuple[int, int]:
    begin, end, _ = segment.stem.split("-")
    return int(begin), int(end)


def save_replay(checkpoints: Checkpoints, replay: Replay) -> int:
    """Write what a replay gained since it was last written; returns where the replay begins."""
    oldest = max(0, replay.added - replay.rows + 1)
    begin = max(checkpoints.segments_end(), oldest)
    if replay.added > begin:
        checkpoints.save_segment(begin, replay.added, replay.segment(begin))
    return oldest


def load_replay(checkpoints: Checkpoints, replay: Replay, added: int) -> None:
    """Fill a replay with what it held when so many rows had been added."""
    for begin, end, arrays in checkpoints.load_segments(added):
        replay.restore(begin, end, arrays)
