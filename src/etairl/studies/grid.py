"""A study of one's own: a small TOML file with settings, a grid of them, and further runs.

    preset = "default"
    seeds = 3
    evaluate = 50           # evaluate each finished run in so many fresh episodes
    [settings]              # of every run, named as on the command line of `etairl train`
    env = "Pendulum-v1"
    [grid]                  # every combination of these
    eta = ["dirac:0", "geometric:0.99"]
    [[runs]]                # and these beside the grid, perhaps with a preset and a name
    arm = "far"
    eta = "poisson:10"

A value may contain environment variables: `demos = "${DATA}/hopper.npz"`. Whatever is wrong is
refused with its line, before anything starts.
"""

import math
import os
import re
import sys
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from etairl.arms import DEFAULT
from etairl.studies.jobs import Job, StudyScale, check_count, check_distinct, rescaled, works
from etairl.studies.toml_lines import Place, key_lines
from etairl.training.flat import check_setting, configure
from etairl.training.presets import preset
from etairl.training.settings import TrainConfig
from etairl.types import InputError, check_seed

_TABLES = ("settings", "grid", "runs")
_KEYS = ("preset", "seeds", "evaluate", *_TABLES)
_FAILURES = (ValueError, OverflowError, RecursionError, OSError)
"""what a value may cause, however odd it is"""


class StudyFile(NamedTuple):
    """What a study file asks for."""

    jobs: list[Job]
    evaluate: int | None
    """episodes in which each policy is evaluated once its run is finished"""


class _Source:
    """The content of a study file, and where each key stands in it."""

    def __init__(self, path: Path):
        self.path = path
        try:
            text = path.read_bytes().decode().replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise InputError(f"{path}: cannot be read ({why})") from None
        try:
            self.content, self._lines = _load(text)
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


def _load(text: str) -> tuple[dict[str, Any], dict[Place, int]]:
    return tomllib.loads(text), key_lines(text)


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
            _load("\n".join(lines[:many]))
        except tomllib.TOMLDecodeError:
            return False
        except _FAILURES:
            return True
        return False

    return bisect_left(range(len(lines)), True, key=breaks)


def read_grid(path: Path, scale: StudyScale | None = None, seeds: int | None = None) -> StudyFile:
    """The runs that a TOML file asks for, perhaps resized, perhaps with so many seeds instead.

    Demonstration files in it are looked for beside it.
    """
    source = _Source(path)
    for key, value in source.content.items():
        if key not in _KEYS:
            raise source.refuse(f"unknown key {key!r}; choose from {', '.join(_KEYS)}", "", key)
        if key in ("settings", "grid") and not isinstance(value, dict):
            raise source.refuse(f"{key} must be a table: [{key}]", "", key)
    rows = source.content.get("runs", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise source.refuse("runs must be a list of tables: [[runs]]", "", "runs")
    with source.at("", "preset"):
        start = preset(str(source.content.get("preset", "default")))
    fixed, lines = _settings(source, source.content.get("settings", {}), "settings")
    many, evaluate = _seeds(source, seeds), _evaluate(source)
    if not any(source.content.get(key) for key in ("preset", *_TABLES)):
        raise source.refuse("it asks for no run: give a preset, [settings], [grid] or [[runs]]", "")
    asked = len(many) * (_grid_size(source) + len(rows))
    with source.at("grid") if source.content.get("grid") else source.at("", "seeds"):
        check_count(asked)
    kinds = [*_combinations(source, start), *_further(source, rows, start)]
    jobs = []
    for seed in many:
        for kind in kinds:
            where = lines | kind.lines
            config = _build(source, kind.start, fixed | kind.settings, where)
            if scale is not None:
                config = rescaled(config, scale)
            jobs.append(Job(kind.arm, replace(config, seed=seed), where))
    check_distinct(jobs)
    return StudyFile(jobs, evaluate)


def _evaluate(source: _Source) -> int | None:
    episodes = source.content.get("evaluate")
    if episodes is not None and (type(episodes) is not int or not 2 <= episodes <= 10_000):
        why = f"evaluate is a number of episodes from 2 to 10000, got {episodes!r}"
        raise source.refuse(why, "", "evaluate")
    return episodes


def _seeds(source: _Source, many: int | None) -> Sequence[int]:
    given = source.content.get("seeds", 3) if many is None else many
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
        if key == "seed":
            raise InputError("give seeds = … at the top instead of seed")
        checked = check_setting(key, _expanded(value))
        beside = source.path.parent / str(checked)
        if key in ("demos", "frozen_cost") and beside.exists():
            return str(beside.resolve())
        return checked


def _expanded(value: Any) -> Any:
    """Text with `${NAME}` replaced by environment variables."""

    def variable(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise InputError(f"the environment variable {match[1]} is not set")
        return os.environ[match[1]]

    return re.sub(r"\$\{(\w+)\}", variable, value) if isinstance(value, str) else value


class _Kind(NamedTuple):
    """What one run of each seed differs in."""

    arm: str
    start: TrainConfig
    settings: dict[str, Any]
    lines: dict[str, str]


def _grid_size(source: _Source) -> int:
    """How many combinations a grid has, without making them."""
    table: dict[str, Any] = source.content.get("grid", {})
    if not table and source.content.get("runs"):
        return 0
    return math.prod(len(values) for values in table.values() if isinstance(values, list))


def _combinations(source: _Source, start: TrainConfig) -> list[_Kind]:
    table: dict[str, Any] = source.content.get("grid", {})
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
    if not table and source.content.get("runs"):
        return []
    lines = {key: source.line("grid", key) for key in table} | {"": source.line("grid")}
    every = (dict(zip(table, values, strict=True)) for values in product(*columns))
    return [_Kind(_arm(settings), start, settings, lines) for settings in every]


def _further(source: _Source, rows: list[dict[str, Any]], start: TrainConfig) -> list[_Kind]:
    kinds = []
    for number, row in enumerate(rows):
        plain = dict(row)
        own = {key: plain.pop(key) for key in ("arm", "preset") if key in row}
        for key, value in own.items():
            if not isinstance(value, str) or not value.strip():
                raise source.refuse(f"{key} takes text, got {value!r}", "runs", key, number)
        with source.at("runs", "preset", number):
            begun = preset(own["preset"]) if "preset" in own else start
        checked, lines = _settings(source, plain, "runs", number)
        lines |= {"": source.line("runs", number=number)}
        arm = own.pop("arm", None) or _arm(own | checked)
        kinds.append(_Kind(arm, begun, checked, lines))
    return kinds


def _build(
    source: _Source, start: TrainConfig, settings: dict[str, Any], lines: Mapping[str, str]
) -> TrainConfig:
    try:
        return configure(start, **settings)
    except _FAILURES as error:
        # One setting may be wrong by itself; else it is how they go together.
        alone = {k: lambda k=k, v=v: configure(start, **{k: v}) for k, v in settings.items()}
        guilty = [key for key, build in alone.items() if not works(build, _FAILURES)]
        guilty = guilty or [key for key in settings if key in str(error)]
        places = [lines[key] for key in guilty if key in lines] or [lines.get("", str(source.path))]
        raise InputError(f"{places[-1]}: {_why(error)}") from None


def _arm(settings: Mapping[str, Any]) -> str:
    """What a run differs in, but for environment and weighting, which have columns of their own."""
    # Each environment has demonstrations of its own; that they differ goes without saying.
    apart = ("env", "eta", "demos") if "env" in settings else ("eta",)
    words = [f"{k}={_short(v)}" for k, v in settings.items() if k not in apart]
    return ",".join(words) or DEFAULT


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
