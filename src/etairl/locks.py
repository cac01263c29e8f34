"""One command at a time in a folder, one process at a time on a run."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path

from etairl.types import InputError

try:
    import fcntl
except ImportError:  # not a system with POSIX locks
    fcntl = None

LOCK = ".lock"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Nobody else may hold `folder` meanwhile; it is made if need be.

    The system lets go of the lock when a process ends, however it does: one that was killed leaves
    a file behind, but no lock. Where there are no such locks, nothing is held.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder, which need not exist yet")
    folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    stream = _locked(folder / LOCK)
    try:
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)  # before it is let go: the next makes its own
        stream.close()


@contextmanager
def locked(path: Path, patience: float) -> Iterator[None]:
    """Hold a lock on a file; the system takes it back when the process ends, however it ends."""
    if fcntl is None:
        raise InputError("studies need file locks as Linux and macOS have them")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise InputError(
                        f"another process works on {path.parent.parent / path.name}"
                    ) from None
                time.sleep(0.05)
        yield


def first_free(files: Sequence[Path]) -> tuple[int, TextIOWrapper] | None:
    """Lock the first of these files that nobody holds: its place, and what keeps the lock."""
    if fcntl is None:
        return None
    for place, file in enumerate(files):
        stream = file.open("a")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stream.close()
        else:
            return place, stream
    return None


def _locked(file: Path) -> TextIOWrapper:
    assert fcntl is not None
    while True:
        stream = file.open("a")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.close()
            raise InputError(
                f"{file.parent} is in use by another command; wait until it ends, or choose "
                "another folder"
            ) from None
        except OSError:
            return stream  # a file system without locks
        if _is_open(file, stream):
            return stream
        stream.close()  # its holder removed it just now


def _is_open(file: Path, stream: TextIOWrapper) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False
