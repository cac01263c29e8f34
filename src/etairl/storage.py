"""Files of ours: written whole or not at all, read without running code, checked before use."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from etairl.locks import LOCK
from etairl.types import InputError


class UnreadableError(InputError):
    """A file is damaged, missing, or out of reach."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Whatever a damaged file leads to in here becomes one sentence that names it."""
    try:
        yield
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"[:120]
        raise UnreadableError(f"{path}: it is damaged, or of another version ({why})") from None


@contextmanager
def appearing_whole(path: Path) -> Iterator[BinaryIO]:
    """A stream into a file that appears under its name once all is written, or never."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, path)
    finally:
        with suppress(OSError):  # whatever went wrong is told by its own error
            beside.unlink(missing_ok=True)


def write_atomic(path: Path, data: bytes) -> None:
    """The file appears whole or not at all."""
    with appearing_whole(path) as stream:
        stream.write(data)


def remove_parts(folder: Path) -> None:
    """Remove files that a killed process left half-written; the caller holds the lock."""
    for part in folder.glob(".*.part"):
        if part.is_file():
            part.unlink()


def holds_anything(folder: Path) -> bool:
    """Whether a folder has files, apart from a lock and from half-written ones."""
    if not folder.exists():
        return False
    parts = {p.name for p in folder.glob(".*.part")}
    return any(p.name != LOCK and p.name not in parts for p in folder.iterdir())


def write_json(path: Path, value: Any) -> None:
    """JSON that people can read, too."""
    write_atomic(path, (json.dumps(value, indent=2) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; a damaged file is named."""
    return parse_json(path, read_bytes(path))


def parse_json(path: Path, data: bytes) -> dict[str, Any]:
    """The JSON object that a file holds; `path` is for the message."""
    try:
        value = json.loads(data)
    except RecursionError:
        raise UnreadableError(f"{path}: cannot be read (nested too deep)") from None
    except ValueError as error:
        raise UnreadableError(f"{path}: cannot be read ({error})") from None
    if not isinstance(value, dict):
        raise UnreadableError(f"{path}: cannot be read (it is not a JSON object)")
    return value


def read_bytes(path: Path) -> bytes:
    """All of a file; one that cannot be opened is named."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read ({error.strerror})") from None


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines, if there is one; broken lines are left out."""
    rows = []
    for line in read_bytes(path).splitlines() if path.is_file() else ():
        try:
            rows.append(parse_json(path, line))
        except UnreadableError:
            continue
    return rows


def checksum(data: bytes) -> str:
    """SHA-256, by which a changed file is noticed."""
    return hashlib.sha256(data).hexdigest()
