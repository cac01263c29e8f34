"""A TOML file that a user wrote: whatever is wrong in it is refused with its line."""

import os
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from etairl.studies.toml_lines import Place, key_lines
from etairl.training.flat import check_setting
from etairl.types import InputError

FAILURES = (ValueError, OverflowError, RecursionError, OSError)
"""what a value may cause, however odd it is"""


class TomlSource:
    """The content of the file, and where each key stands in it."""

    def __init__(self, path: Path):
        self.path = path
        if not path.exists():
            raise InputError(
                f"no such file: {path}; etairl train --dry-run prints one to begin with"
            )
        try:
            text = path.read_bytes().decode().replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise InputError(f"{path}: cannot be read ({why}); allow it, or name another") from None
        try:
            self.content, self._lines = _load(text)
        except tomllib.TOMLDecodeError as error:
            last = f"line {len(text.splitlines())}"
            why = str(error).replace("at end of document", f"{last}, the end of the file")
            raise InputError(f"{path}: {why}") from None
        except FAILURES as error:
            raise InputError(f"{path}, line {_breaking(text)}: {reason(error)}") from None

    def line(self, table: str, key: str = "", number: int = 0) -> str:
        """Where a key was given, in words."""
        for place in ((table, number, key), (table, number, ""), (table, 0, "")):
            if place in self._lines:
                return f"{self.path}, line {self._lines[place]}"
        return str(self.path)

    def refuse(self, error: object, table: str, key: str = "", number: int = 0) -> InputError:
        """An error that names the line."""
        return InputError(f"{self.line(table, key, number)}: {error}")

    @contextmanager
    def at(self, table: str, key: str = "", number: int = 0) -> Iterator[None]:
        """Whatever fails in here is refused with the line."""
        try:
            yield
        except FAILURES as error:
            raise self.refuse(reason(error), table, key, number) from None

    def setting(self, key: str, value: Any, table: str = "", number: int = 0) -> Any:
        """A checked setting; what lies beside this file is named by its whole path."""
        with self.at(table, key, number):
            checked = check_setting(key, expanded(value))
        beside = self.path.parent / str(checked)
        # os.path: a name may be too long for a file.
        named = key in ("demos", "frozen_cost") and os.path.exists(beside)
        return str(beside.resolve()) if named else checked


def _load(text: str) -> tuple[dict[str, Any], dict[Place, int]]:
    return tomllib.loads(text), key_lines(text)


def reason(error: Exception) -> object:
    """What is wrong, in words of ours where those of the library are odd."""
    if isinstance(error, RecursionError):
        return "this is nested too deep"
    if "set_int_max_str_digits" in str(error):
        return "this number has too many digits"
    return error.strerror if isinstance(error, OSError) else error


def _breaking(text: str) -> int:
    """The first line with which the reader fails in another way than at bad TOML."""
    lines = text.split("\n")

    def breaks(many: int) -> bool:
        try:
            _load("\n".join(lines[:many]))
        except tomllib.TOMLDecodeError:
            return False
        except FAILURES:
            return True
        return False

    return bisect_left(range(len(lines)), True, key=breaks)


def expanded(value: Any) -> Any:
    """Text with `${NAME}` replaced by environment variables."""

    def variable(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise InputError(f"the environment variable {match[1]} is not set; give it a value")
        return os.environ[match[1]]

    return re.sub(r"\$\{(\w+)\}", variable, value) if isinstance(value, str) else value
