"""Files of ours: written whole or not at all, read without running code, checked before use."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from etairl.locks import LOCK
from etairl.types import InputError

Tree = TypeVar("Tree")


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


def write_atomic(path: Path, data: bytes) -> None:
    """The file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with beside.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(beside, path)


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


def tree_bytes(tree: Any) -> bytes:
    """The arrays of a PyTree, by name, as safetensors: loading never runs code."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return save({jax.tree_util.keystr(key): np.asarray(leaf, order="C") for key, leaf in leaves})


def save_tree(path: Path, tree: Any) -> None:
    """Write the arrays of a PyTree."""
    write_atomic(path, tree_bytes(tree))


def load_tree(path: Path, like: Tree) -> Tree:
    """A PyTree with the names and shapes of `like`, from a file."""
    return tree_from(path, read_bytes(path), like)


def tree_from(path: Path, data: bytes, like: Tree) -> Tree:
    """A PyTree with the names and shapes of `like`, from the bytes of a file."""
    return tree_of(path, arrays_from(path, data), like)


def tree_of(path: Path, arrays: Mapping[str, np.ndarray], like: Tree) -> Tree:
    """A PyTree with the names and shapes of `like`, from arrays; `path` is for the message."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    loaded = []
    for key, leaf in leaves:
        name = jax.tree_util.keystr(key)
        if name not in arrays or arrays[name].shape != np.shape(leaf):
            raise InputError(  # the file is whole
                f"{path}: {name} is missing or has another shape; was it made with other settings?"
            )
        loaded.append(jax.numpy.asarray(arrays[name]))
    return jax.tree_util.tree_unflatten(structure, loaded)


def arrays_from(path: Path, data: bytes) -> dict[str, np.ndarray]:
    """The arrays in the bytes of a safetensors file."""
    try:
        return load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise UnreadableError(f"{path}: cannot be read ({error})") from None
