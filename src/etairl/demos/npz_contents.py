"""An .npz file of another library: what it holds, and the arrays of it that are asked for."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from etairl.demos.npz_arrays import (
    array_name,
    check_size,
    opened_npz,
    read_array,
    read_header,
)
from etairl.types import InputError

_MOST_MEMBERS = 10_000


def contents(path: Path) -> dict[str, str]:
    """Names of the arrays of an npz file, each with its type and shape where they can be read."""
    arrays = {}
    with opened_npz(path) as archive:
        for member in archive.infolist()[:_MOST_MEMBERS]:
            try:
                arrays[array_name(member)] = str(read_header(archive, member))
            except InputError as error:
                why = "Python objects" if "objects" in str(error) else "unreadable"
                arrays[array_name(member)] = f"{array_name(member)} ({why})"
    return arrays


def read_arrays(path: Path, names: Sequence[str], max_bytes: int) -> dict[str, np.ndarray]:
    """Those of the arrays that are there; others are not touched, whatever they are."""
    with opened_npz(path) as archive:
        headers = {}
        for member in archive.infolist():
            name = array_name(member)
            if name not in names:
                continue
            if name in headers:
                raise InputError(f"{name} is in the file twice; write it once")
            headers[name] = read_header(archive, member)
            if headers[name].dtype.kind not in "biuf":
                raise InputError(f"{name} must be numbers, it is {headers[name].dtype}")
        check_size(sum(header.nbytes for header in headers.values()), max_bytes)
        return {name: read_array(archive, header) for name, header in headers.items()}
