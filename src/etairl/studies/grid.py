"""A study of one's own: a small TOML file with settings, a grid of them, and further runs.

    preset = "default"
    seeds = 3
    [settings]              # of every run, named as on the command line of `etairl train`
    env = "Pendulum-v1"
    [grid]                  # every combination of these
    eta = ["dirac:0", "geometric:0.99"]
    [[runs]]                # and these beside the grid
    eta = "poisson:10"

Whatever is wrong in it is refused with its line, before anything starts.
"""

import math
import re
import sys
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from etairl.studies.jobs import Job, StudyScale, check_count, check_distinct, rescaled
from etairl.training.flat import check_name, check_value, with_settings
from etairl.training.presets import preset
from etairl.training.settings import TrainConfig
from etairl.types import InputError, check_seed

_TABLES = ("settings", "grid", "runs")
_FAILURES = (ValueError, OverflowError, RecursionError, OSError)
"""what a value may cause, however odd it is"""
_QUOTED = re.compile(
    r"""\"{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*""",
    re.DOTALL,
)
"""text and comments of TOML, in which brackets are no brackets"""
Place = tuple[str, int, str]
"""table, its number where there are several of the name, key; "" is the table itself"""


class _Source:
    """The text of a grid, and where each key stands in it."""

    def __init__(self, path: Path):
        self.path = path
        try:
            text = path.read_bytes().decode().replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
            raise InputError(f"{path}: cannot be read ({why})") from None
        try:
            self.found: dict[str, Any] = tomllib.loads(text)
            self._lines = _places(text)
        except tomllib.TOMLDecodeError as error:
            last = f"line {len(text.splitlines())}"
            why = str(error).replace("at end of document", f"{last}, the end of the file")
            raise InputError(f"{path}: {why}") from None
        except _FAILURES as error:
            raise InputError(f"{path}, line {_breaking(text)}: {_why(error)}") from None

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
        except _FAILURES as error:
            raise self.refuse(_why(error), table, key, number) from None


def _why(error: Exception) -> object:
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
            tomllib.loads("\n".join(lines[:many]))
        except tomllib.TOMLDecodeError:
            return False
        except _FAILURES:
            return True
        return False

    return bisect_left(range(len(lines)), True, key=breaks)


def _statements(text: str) -> Iterator[tuple[int, str, list[int]]]:
    """Headers, and keys with their values: the line, the text, the lines of tables in a list."""
    # Text becomes a pair of brackets: that of many lines then ends where its brackets close.
    plain = _QUOTED.sub(lambda quoted: "[" + "\n" * quoted[0].count("\n") + "]", text)
    lines, first, depth, inner = text.split("\n"), 1, 0, list[int]()
    for row, line in enumerate(plain.split("\n"), start=1):
        for bracket in re.findall(r"[][{}]", line):
            if bracket == "{" and depth == 1:
                inner.append(row)
            depth += 1 if bracket in "[{" else -1
        if depth == 0:
            yield first, "\n".join(lines[first - 1 : row]), inner
            first, inner = row + 1, []


def _places(text: str) -> dict[Place, int]:
    found: dict[Place, int] = {("", 0, ""): 1}
    table, many = "", dict[str, int]()
    for row, statement, inner in _statements(text):
        for key, value in tomllib.loads(statement).items():
            if statement.lstrip().startswith("["):
                table = key
                if isinstance(value, list):
                    many[key], value = many.get(key, -1) + 1, value[0]
            elif table:
                key, value = table, {key: value}
            # Else at the top: a key, `table.key = …`, `table = {key = …}`, or `runs = [{…}]`.
            found.setdefault(("", 0, key), row)
            tables = zip(inner, value, strict=False) if isinstance(value, list) else [(row, value)]
            for number, (line, keys) in enumerate(tables, start=many.get(key, 0)):
                for name in ("", *(keys if isinstance(keys, dict) else ())):
                    found.setdefault((key, number, name), line)
    return found


def read_grid(path: Path, scale: StudyScale | None = None, seeds: int | None = None) -> list[Job]:
    """The runs that a TOML file asks for.

    Args:
        path: the file. Demonstration files in it are looked for beside it.
        scale: resize every run; as the file says if left out.
        seeds: this many instead of those in the file.
    """
    source = _Source(path)
    for key, value in source.found.items():
        if key not in ("preset", "seeds", *_TABLES):
            known = ", ".join(("preset", "seeds", *_TABLES))
            raise source.refuse(f"unknown key {key!r}; choose from {known}", "", key)
        if key in ("settings", "grid") and not isinstance(value, dict):
            raise source.refuse(f"{key} must be a table: [{key}]", "", key)
    rows = source.found.get("runs", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise source.refuse("runs must be a list of tables: [[runs]]", "", "runs")
    start = _start(source)
    fixed, lines = _settings(source, source.found.get("settings", {}), "settings")
    many = _seeds(source, seeds)
    if not any(source.found.get(key) for key in ("preset", *_TABLES)):
        raise source.refuse("it asks for no run: give a preset, [settings], [grid] or [[runs]]", "")
    asked = len(many) * (_combined(source) + len(rows))
    with source.at("grid") if source.found.get("grid") else source.at("", "seeds"):
        check_count(asked)
    combos, numbers = [*_combinations(source), *_further(source, rows)], list(many)
    jobs = []
    for seed in numbers:
        for combo, places in combos:
            where = lines | places
            config = _build(source, start, fixed | combo, where)
            if scale is not None:
                config = rescaled(config, scale)
            jobs.append(Job(_arm(combo), replace(config, seed=seed), where))
    check_distinct(jobs)
    return jobs


def _start(source: _Source) -> TrainConfig:
    name = source.found.get("preset", "default")
    with source.at("", "preset"):
        return preset(str(name))


def _seeds(source: _Source, many: int | None) -> Sequence[int]:
    given = source.found.get("seeds", 3) if many is None else many
    listed = range(min(given, sys.maxsize)) if type(given) is int else given
    if isinstance(listed, range) and listed:
        return listed
    with source.at("", "seeds"):
        if (
            not isinstance(listed, list)
            or not listed
            or any(type(seed) is not int or seed < 0 for seed in listed)
            or len(set(listed)) < len(listed)
        ):
            raise InputError(
                f"seeds is how many (at least 1), or a list of different ones, got {given!r}"
            )
        return [check_seed(seed) for seed in listed]


def _settings(
    source: _Source, table: Mapping[str, Any], name: str, number: int = 0
) -> tuple[dict[str, Any], dict[str, str]]:
    """Checked settings of a table, and where each stands."""
    checked = {key: _value(source, key, value, name, number) for key, value in table.items()}
    return checked, {key: source.line(name, key, number) for key in table}


def _value(source: _Source, key: str, value: Any, table: str, number: int = 0) -> Any:
    with source.at(table, key, number):
        check_name(key)
        if key == "seed":
            raise InputError("give seeds = … at the top instead of seed")
        checked = check_value(key, value)
        beside = source.path.parent / str(checked)
        if key in ("demos", "frozen_cost") and beside.exists():
            return str(beside.resolve())
        return checked


def _combined(source: _Source) -> int:
    """How many combinations a grid has, without making them."""
    table: dict[str, Any] = source.found.get("grid", {})
    if not table and source.found.get("runs"):
        return 0
    return math.prod(len(values) for values in table.values() if isinstance(values, list))


Combination = tuple[dict[str, Any], dict[str, str]]


def _combinations(source: _Source) -> list[Combination]:
    table: dict[str, Any] = source.found.get("grid", {})
    columns: list[list[Any]] = []
    for key, values in table.items():
        with source.at("grid", key):
            if not isinstance(values, list) or not values:
                raise InputError(f"{key} must be a list of values, got {values!r}")
        checked = [_value(source, key, value, "grid") for value in values]
        for index, value in enumerate(checked):
            if value in checked[:index]:
                again = f"{key} has {value!r} twice: the same run would be made twice"
                raise source.refuse(again, "grid", key)
        columns.append(checked)
    if not table and source.found.get("runs"):
        return []
    lines = {key: source.line("grid", key) for key in table} | {"": source.line("grid")}
    return [(dict(zip(table, values, strict=True)), lines) for values in product(*columns)]


def _further(source: _Source, rows: list[dict[str, Any]]) -> list[Combination]:
    found = []
    for number, row in enumerate(rows):
        checked, lines = _settings(source, row, "runs", number)
        found.append((checked, lines | {"": source.line("runs", number=number)}))
    return found


def _build(
    source: _Source, start: TrainConfig, settings: dict[str, Any], lines: Mapping[str, str]
) -> TrainConfig:
    try:
        return with_settings(start, settings)
    except _FAILURES as error:
        # One setting may be wrong by itself; else it is how they go together.
        guilty = _alone(start, settings) or [key for key in settings if key in str(error)]
        places = [lines[key] for key in guilty if key in lines] or [lines.get("", str(source.path))]
        raise InputError(f"{places[-1]}: {_why(error)}") from None


def _alone(start: TrainConfig, settings: Mapping[str, Any]) -> list[str]:
    def fails(build: Callable[[], Any]) -> bool:
        try:
            build()
        except _FAILURES:
            return True
        return False

    return [k for k, v in settings.items() if fails(lambda k=k, v=v: with_settings(start, {k: v}))]


def _arm(combination: Mapping[str, Any]) -> str:
    """What a run differs in, but for environment and weighting, which have columns of their own."""
    # Each environment has demonstrations of its own; that they differ goes without saying.
    apart = ("env", "eta", "demos") if "env" in combination else ("eta",)
    words = [f"{k}={_short(v)}" for k, v in combination.items() if k not in apart]
    return ",".join(words) or "default"


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
