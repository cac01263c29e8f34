"""Arrow and parquet columns as arrays, read without trusting them; needs pyarrow, an extra."""

import json
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from etairl.demos.npz_arrays import check_size
from etairl.demos.recordings import first_names
from etairl.types import InputError

_LONGEST_JSON = 50_000_000
_RECORD_BATCH = 3  # the number of this kind of message in the format


def pyarrow(module: str = "pyarrow") -> Any:
    """The library, or a sentence about how to get it."""
    try:
        return import_module(module)
    except ImportError:
        raise InputError("this format needs pyarrow: pip install 'etairl[import]'") from None


@contextmanager
def arrow_errors(path: Path) -> Iterator[None]:
    """Whatever is wrong with a file becomes one sentence with its name."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except MemoryError:
        raise InputError(
            f"{path}: its columns do not fit into memory; write smaller files"
        ) from None
    except (pyarrow().ArrowException, OSError, ValueError, KeyError, struct.error) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"{path}: this file is damaged ({said}); fetch it again, or write it again"
        ) from None


def small_json(path: Path) -> dict[str, Any]:
    """A JSON object that describes a folder."""
    try:
        if path.stat().st_size > _LONGEST_JSON:
            raise InputError(
                f"{path} is larger than any description of a dataset; name another folder"
            )
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        raise InputError(
            f"{path} cannot be read as JSON; fetch it again, or write it again"
        ) from None
    if not isinstance(value, dict):
        raise InputError(f"{path} is not a JSON object; fetch it again, or write it again")
    return value


class Column(NamedTuple):
    """Numbers of all rows, and how many each row has where it is a list of unequal length."""

    values: np.ndarray
    lengths: np.ndarray | None = None


def read_stream(path: Path, names: Sequence[str], max_bytes: int) -> list[dict[str, Any]]:
    """Columns of every batch of an Arrow stream; whatever else is in there is not decoded."""
    pa = pyarrow()
    with arrow_errors(path):
        check_size(path.stat().st_size, max_bytes, "it holds")
        with pa.memory_map(str(path)) as source:
            messages = pa.ipc.MessageReader.open_stream(source)
            first = next(iter(messages), None)
            if first is None:
                raise InputError("it is empty; fetch it again, or write it again")
            schema = pa.ipc.read_schema(first)
            batches = []
            for message in messages:
                if message.type != "record batch":
                    raise InputError(f"it holds a {message.type}, which no trajectory needs")
                if _is_compressed(message.metadata.to_pybytes()):
                    raise InputError("its batches are compressed; save the dataset again without")
                batches.append(_checked(pa.ipc.read_record_batch(message, schema), names))
            return batches


def _checked(batch: Any, names: Sequence[str]) -> dict[str, Any]:
    available = batch.schema.names
    columns = {name: batch.column(available.index(name)) for name in names if name in available}
    for column in columns.values():
        column.validate(full=True)
    return columns


def _is_compressed(metadata: bytes) -> bool:
    """Does the header of a batch name a compression? Sizes of what is not are those of the file."""

    def field(table: int, number: int) -> int:
        vtable = table - struct.unpack_from("<i", metadata, table)[0]
        (size,) = struct.unpack_from("<H", metadata, vtable)
        place = 4 + 2 * number
        offset = struct.unpack_from("<H", metadata, vtable + place)[0] if place < size else 0
        return table + offset if offset else 0

    def follow(place: int) -> int:
        return place + struct.unpack_from("<I", metadata, place)[0]

    message = follow(0)
    kind, header = field(message, 1), field(message, 2)
    if not kind or metadata[kind] != _RECORD_BATCH or not header:
        return False
    return field(follow(header), 3) != 0


def parquet_columns(path: Path) -> list[str]:
    """Names of the columns of a parquet file."""
    with arrow_errors(path):
        return list(pyarrow("pyarrow.parquet").read_schema(path).names)


def read_parquet(path: Path, names: Sequence[str], max_bytes: int) -> dict[str, Any]:
    """Those of the columns that are there, once their sizes are checked."""
    with arrow_errors(path), pyarrow("pyarrow.parquet").ParquetFile(path) as file:
        available = [name for name in names if name in file.schema_arrow.names]
        check_size(8 * file.metadata.num_rows * len(available), max_bytes)
        # Its Python classes end the program where the description of a column is damaged; this
        # notices such damage in an orderly way, and takes no memory.
        file.scan_contents(columns=available)
        leaves = [file.schema.column(i).path for i in range(len(file.schema))]
        kept = [i for i, leaf in enumerate(leaves) if _belongs(leaf, available)]
        groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
        # A dictionary of one value may stand for any number of them.
        check_size(8 * sum(g.column(i).num_values for g in groups for i in kept), max_bytes)
        table = file.read(columns=available, use_threads=False)
        table.validate(full=True)
        return {name: table.column(name) for name in available}


def _belongs(leaf: str, names: Sequence[str]) -> bool:
    return any(leaf == name or leaf.startswith(f"{name}.") for name in names)


def as_column(array: Any, ragged: bool = False) -> Column:
    """Numbers of an Arrow array, lists within lists as further dimensions.

    Args:
        array: an array or chunks of one.
        ragged: the outermost lists may differ in length; they are laid end to end.
    """
    types = pyarrow().types
    if isinstance(array, pyarrow().ChunkedArray):
        array = array.combine_chunks()
        array = array if not isinstance(array, pyarrow().ChunkedArray) else array.chunk(0)
    lengths, shape = None, [len(array)]
    while True:
        if array.null_count:
            raise InputError(
                "some of its values are missing (null); fill them in, or remove those episodes"
            )
        kind = array.type
        if types.is_fixed_size_list(kind):
            sizes = np.full(len(array), kind.list_size)
        elif types.is_list(kind) or types.is_large_list(kind):
            sizes = np.asarray(array.value_lengths().to_numpy(zero_copy_only=False), np.int64)
        else:
            break
        array = array.flatten()
        if ragged and lengths is None:
            lengths, shape = sizes, [len(array)]
        elif len(sizes) and (sizes != sizes[0]).any():
            raise InputError(
                f"its lists differ in length ({sizes.min()} to {sizes.max()}); each step "
                "needs as many"
            )
        else:
            shape.append(int(sizes[0]) if len(sizes) else 0)
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise InputError(f"it holds {str(kind)[:60]}, not numbers")
    return Column(np.asarray(array.to_numpy(zero_copy_only=False)).reshape(shape), lengths)


def column_of(found: dict[str, Any], name: str, ragged: bool = False) -> Column:
    """A column by its name, which errors then have, too."""
    try:
        return as_column(found[name], ragged)
    except InputError as error:
        raise InputError(f"column {name}: {error}") from None


def check_there(found: dict[str, Any], needed: Sequence[str], available: Sequence[str]) -> None:
    """Refuse a file without these columns, and say which it has."""
    if lacking := [name for name in needed if name not in found]:
        raise InputError(
            f"no column {' and no '.join(lacking)}; there are {first_names(available)}"
        )
