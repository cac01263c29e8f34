"""Weights as safetensors: loading them runs no code."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from etairl.storage import UnreadableError, read_bytes, write_atomic
from etairl.types import InputError

Tree = TypeVar("Tree")


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
