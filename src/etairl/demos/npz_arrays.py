"""The arrays of an .npz file, read without trusting it: headers first, nothing that runs code."""

import io
import lzma
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from etairl.types import InputError

MAX_BYTES = 2**31
_LONGEST_HEADER = 10_000


@contextmanager
def opened_npz(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive; whatever is wrong with it becomes one sentence with its name."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (zipfile.BadZipFile, UnicodeDecodeError):
        raise InputError(
            f"{path} is not an npz file, or it is damaged; fetch it again, or name another"
        ) from None
    except MemoryError:
        raise InputError(
            f"{path}: its arrays do not fit into memory; write smaller files"
        ) from None
    except (zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError) as error:
        raise InputError(
            f"{path}: this npz file is damaged ({error}); fetch it again, or write it again"
        ) from None


@dataclass(frozen=True)
class Header:
    """What an array declares of itself."""

    member: zipfile.ZipInfo
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    fortran_order: bool
    data_start: int

    def __str__(self) -> str:
        return f"{self.name} {self.dtype} {list(self.shape)}"

    @property
    def nbytes(self) -> int:
        """Of the array in memory."""
        return math.prod(self.shape) * self.dtype.itemsize


def array_name(member: zipfile.ZipInfo) -> str:
    """What NumPy calls a member of the archive."""
    return member.filename.removesuffix(".npy")


_BAD_HEADER = (
    *(ValueError, KeyError, SyntaxError, TypeError, OverflowError, RecursionError, struct.error),
    *(tokenize.TokenError, MemoryError),
)


def read_header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Header:
    """What an array declares, checked against what the archive holds of it."""
    name = array_name(member)
    if member.flag_bits & 0x1:
        raise InputError(f"{name} is encrypted; store plain arrays")
    readers = {1: (npy.read_array_header_1_0, "<H"), 2: (npy.read_array_header_2_0, "<I")}
    try:
        with archive.open(member) as stream:
            # The length of the header comes from the file: it is checked before it is believed.
            read, length_format = readers[npy.read_magic(stream)[0]]
            raw_length = stream.read(struct.calcsize(length_format))
            (length,) = struct.unpack(length_format, raw_length)
            if length > _LONGEST_HEADER:
                raise InputError(f"{name} has a header of {length} bytes, which no array needs")
            shape, fortran_order, dtype = read(io.BytesIO(raw_length + stream.read(length)))
            data_start = npy.MAGIC_LEN + len(raw_length) + length
    except InputError:
        raise
    except _BAD_HEADER:
        raise InputError(f"{name} is not a plain NumPy array; write it with numpy.savez") from None
    if dtype.hasobject:
        raise InputError(
            f"{name} holds Python objects, which could run code when loaded; "
            "save it as a plain array of numbers"
        )
    if any(size < 0 for size in shape):
        raise InputError(f"{name} declares a negative size: {shape}")
    header = Header(member, name, dtype, shape, fortran_order, data_start)
    if header.nbytes != member.file_size - header.data_start:
        held = member.file_size - header.data_start
        raise InputError(f"{name} declares {header.nbytes} bytes but holds {held}")
    return header


def read_array(archive: zipfile.ZipFile, header: Header) -> np.ndarray:
    """The array; its size was checked before."""
    with archive.open(header.member) as stream:
        stream.read(header.data_start)
        raw = stream.read(header.nbytes)
        stream.read(1)  # the end of the member, where its checksum is compared
    if len(raw) != header.nbytes:
        raise InputError(
            f"{header.name} ends after {len(raw)} of {header.nbytes} bytes; fetch it "
            "again, or write it again"
        )
    order = "F" if header.fortran_order else "C"
    array = np.frombuffer(raw, dtype=header.dtype).reshape(header.shape, order=order)
    return array.astype(header.dtype.newbyteorder("="), order="C", copy=False)


def check_size(total: int, max_bytes: int, what: str = "its arrays declare") -> None:
    """Refuse arrays that declare more bytes than allowed."""
    if total > max_bytes:
        raise InputError(
            f"{what} {total / 2**30:.1f} GiB, more than the limit of "
            f"{max_bytes / 2**30:.1f} GiB; raise the limit (max_bytes, --max-gib) if you trust it"
        )
