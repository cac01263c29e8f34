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
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from etairl.arms import DEFAULT
from etairl.studies.jobs import Job, StudyScale, check_count, check_distinct, rescaled, works
from etairl.studies.toml_source import FAILURES, TomlSource, reason
from etairl.tasks.environments import imported
from etairl.training.flat import configure
from etairl.training.presets import preset
from etairl.training.settings import TrainConfig
from etairl.types import InputError, check_seed

_TABLES = ("settings", "grid", "runs")
_KEYS = ("preset", "seeds", "evaluate", *_TABLES)


class StudyFile(NamedTuple):
    """What a study file asks for."""

    jobs: list[Job]
    evaluate: int | None
    """episodes in which each policy is evaluated once its run is finished"""


def read_grid(
    path: Path, scale: StudyScale | None = None, seeds: int | None = None, trust: bool = False
) -> StudyFile:
    """The runs that a TOML file asks for, perhaps resized, perhaps with so many seeds instead.

    Demonstration files in it are looked for beside it.
    """
    source = TomlSource(path)
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
            settings = fixed | kind.settings
            if trust and "env" in settings:
                with source.at("settings", "env"):
                    imported(settings["env"])  # so that its time limit may be asked for
            config = _build(source, kind.start, settings, where)
            if scale is not None:
                config = rescaled(config, scale)
            jobs.append(Job(kind.arm, replace(config, seed=seed), where))
    check_distinct(jobs)
    return StudyFile(jobs, evaluate)


def _evaluate(source: TomlSource) -> int | None:
    episodes = source.content.get("evaluate")
    if episodes is not None and (type(episodes) is not int or not 2 <= episodes <= 10_000):
        why = f"evaluate is a number of episodes from 2 to 10000, got {episodes!r}"
        raise source.refuse(why, "", "evaluate")
    return episodes


def _seeds(source: TomlSource, many: int | None) -> Sequence[int]:
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
    source: TomlSource, table: Mapping[str, Any], name: str, number: int = 0
) -> tuple[dict[str, Any], dict[str, str]]:
    """Checked settings of a table, and where each stands."""
    checked = {key: _value(source, key, value, name, number) for key, value in table.items()}
    return checked, {key: source.line(name, key, number) for key in table}


def _value(source: TomlSource, key: str, value: Any, table: str, number: int = 0) -> Any:
    with source.at(table, key, number):
        if key == "seed":
            raise InputError("give seeds = … at the top instead of seed")
    return source.setting(key, value, table, number)


class _Kind(NamedTuple):
    """What one run of each seed differs in."""

    arm: str
    start: TrainConfig
    settings: dict[str, Any]
    lines: dict[str, str]


def _grid_size(source: TomlSource) -> int:
    """How many combinations a grid has, without making them."""
    table: dict[str, Any] = source.content.get("grid", {})
    if not table and source.content.get("runs"):
        return 0
    return math.prod(len(values) for values in table.values() if isinstance(values, list))


def _combinations(source: TomlSource, start: TrainConfig) -> list[_Kind]:
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


def _further(source: TomlSource, rows: list[dict[str, Any]], start: TrainConfig) -> list[_Kind]:
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
    source: TomlSource, start: TrainConfig, settings: dict[str, Any], lines: Mapping[str, str]
) -> TrainConfig:
    try:
        return configure(start, **settings)
    except FAILURES as error:
        # One setting may be wrong by itself; else it is how they go together.
        alone = {k: lambda k=k, v=v: configure(start, **{k: v}) for k, v in settings.items()}
        guilty = [key for key, build in alone.items() if not works(build, FAILURES)]
        guilty = guilty or [key for key in settings if key in str(error)]
        places = [lines[key] for key in guilty if key in lines] or [lines.get("", str(source.path))]
        raise InputError(f"{places[-1]}: {reason(error)}") from None


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
