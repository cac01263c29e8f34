"""Arrays of an HDF5 file, found without trusting it: no links, no other files, no false sizes."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

from etairl.demos.npz_arrays import check_size
from etairl.types import InputError

_TIGHTEST = 1100
"""deflate makes at most 1,032 bytes of one"""
_MOST_MEMBERS = 1_000_000
DAMAGED = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, AssertionError),
    *(RuntimeError, OverflowError, MemoryError),
)
"""what h5py raises where a file is not what it says; RecursionError is a RuntimeError"""


@contextmanager
def opened_hdf5(path: Path) -> Iterator[h5py.File]:
    """The file; whatever is wrong with it becomes one sentence with its name."""
    try:
        with h5py.File(path, "r") as file:
            yield file
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except DAMAGED as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"{path}: this HDF5 file is damaged ({said}); fetch it again, or write it again"
        ) from None


def members(group: h5py.Group) -> list[str]:
    """Names of what a group holds."""
    if len(group) > _MOST_MEMBERS:
        raise InputError(f"{group.name} has {len(group):,} members, more than {_MOST_MEMBERS:,}")
    return [str(name) for name in group]


def member(group: h5py.Group, name: str, kind: type) -> Any:
    """A part of the file itself: a link could lead to any file of this machine."""
    link = group.get(name, getlink=True)
    if not isinstance(link, h5py.HardLink) or not isinstance(group[name], kind):
        raise InputError(
            f"{group.name}/{name} is missing, a link, or of another kind; write it as an array"
        )
    return group[name]


def has(group: h5py.Group, name: str, kind: type = h5py.Dataset) -> bool:
    """Is there such a part, in the file itself?"""
    link = group.get(name, getlink=True)
    return isinstance(link, h5py.HardLink) and isinstance(group[name], kind)


def numbers(group: h5py.Group, name: str) -> h5py.Dataset:
    """An array of numbers, not yet read."""
    array = member(group, name, h5py.Dataset)
    if array.external is not None or array.is_virtual or array.dtype.kind not in "biuf":
        raise InputError(
            f"{array.name} is not a plain array of numbers within the file; write it as one"
        )
    return array


def check_declared(arrays: Iterable[h5py.Dataset], max_bytes: int) -> None:
    """Refuse arrays that declare more than allowed, or more than the file can hold of them."""
    total = 0
    for array in arrays:
        declared = math.prod(array.shape or (0,)) * array.dtype.itemsize
        total += declared
        check_size(total, max_bytes)
        stored = array.id.get_storage_size()
        held = array.file.id.get_filesize()
        if stored > held:
            raise InputError(f"{array.name} declares {stored:,} bytes, but the file has {held:,}")
        if declared > stored * (1 if array.chunks is None else _TIGHTEST):
            raise InputError(f"{array.name} declares {declared:,} bytes, but holds {stored:,}")
        chunk = math.prod(array.chunks or (0,)) * array.dtype.itemsize
        check_size(chunk, max_bytes, f"a chunk of {array.name} declares")


def described(file: h5py.File) -> list[str]:
    """What a file holds, two levels deep: names, types and shapes."""
    lines = []
    for name in members(file)[:40]:
        if has(file, name):
            array: Any = file[name]
            lines.append(f"{name} {array.dtype} {list(array.shape or ())}")
        elif has(file, name, h5py.Group):
            inner = members(member(file, name, h5py.Group))
            lines.append(f"{name}/ ({', '.join(inner[:5])}{', …' if len(inner) > 5 else ''})")
    return lines
