"""CSV tables with a header: a row per step, with observations, actions and ends of episodes."""

import csv
import re
from array import array
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple

import numpy as np

from etairl.demos.npz_arrays import check_size
from etairl.demos.recordings import (
    Importing,
    Recording,
    chosen,
    cut_off,
    first_names,
    lengths_by_ends,
)
from etairl.types import InputError

_EPISODE = (
    *("episode", "episode_id", "episode_index", "episode_number", "ep"),
    *("trajectory", "trajectory_id", "traj", "traj_id"),
)
_TERMINAL = ("terminal", "terminals", "terminated")
_TIMEOUT = ("timeout", "timeouts", "truncated")
_DONE = ("done", "dones", "end", "is_last")
_REWARD = ("reward", "rewards", "rew")
_PREFIXES = {
    "observations": re.compile(
        r"(?:observations?|obs|states?)(?:[_. \[]+(.*?)\]?)?$", re.IGNORECASE
    ),
    "actions": re.compile(r"(?:actions?|act)(?:[_. \[]+(.*?)\]?)?$", re.IGNORECASE),
}
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?$")
_TRUTH = {"true": 1.0, "false": 0.0}
_MOST_COLUMNS = 10_000


class _Plan(NamedTuple):
    """Which column is what; numbers of columns."""

    observations: list[int]
    actions: list[int]
    episode: int | None
    terminal: int | None
    timeout: int | None
    reward: int | None


def read_csv(path: Path, importing: Importing, max_bytes: int) -> Recording:
    """Read a table; the delimiter is a comma, a semicolon or a tab."""
    check_size(path.stat().st_size, max_bytes, f"{path} holds")
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            line = stream.readline(1_000_000)
            delimiter = max(",;\t", key=line.count)
            stream.seek(0)
            rows = csv.reader(stream, delimiter=delimiter, strict=True)
            header = [name.strip() for name in next(rows, [])]
            plan = _plan(header, importing)
            return _recording(*_numbers(rows, header, plan, max_bytes), header, plan)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (csv.Error, UnicodeDecodeError, OSError) as error:
        raise InputError(
            f"{path}: it cannot be read as a CSV table ({error}); write it again, a line a step"
        ) from None
    except MemoryError:
        raise InputError(
            f"{path}: the table does not fit into memory; write smaller ones"
        ) from None


def looks_like_csv(path: Path) -> bool:
    """Is the first line text with a delimiter?"""
    try:
        with path.open(encoding="utf-8-sig") as stream:
            line = stream.readline(1_000_000)
    except (OSError, UnicodeDecodeError):
        return False
    plain = line.strip().replace("\t", " ").isprintable()
    return plain and any(mark in line for mark in ",;\t") and line.lstrip()[:1] not in "{[<\"'"


def _plan(header: list[str], importing: Importing) -> _Plan:
    if len(header) > _MOST_COLUMNS:
        raise InputError(f"the header has {len(header):,} columns, more than {_MOST_COLUMNS:,}")
    if all(_is_number(name) for name in header):
        raise InputError("the first line holds numbers; it must name the columns")
    if len(set(header)) < len(header):
        twice = next(name for i, name in enumerate(header) if name in header[:i])
        raise InputError(f"two columns are called {twice[:60]!r}; give each a name of its own")
    lower = [name.lower() for name in header]

    def find(asked: str | None, names: Sequence[str]) -> int | None:
        if asked is not None:
            return header.index(chosen([asked], header, "column")[0])
        return next((lower.index(name) for name in names if name in lower), None)

    terminal = find(importing.end, (*_TERMINAL, *_DONE))
    timeout = None if importing.end is not None else find(None, _TIMEOUT)
    episode = find(importing.episode, _EPISODE)
    if episode is None and terminal is None and timeout is None:
        raise InputError(
            "no column tells episodes apart; name one that numbers them (--episode NAME) or marks "
            f"their last step (--end NAME); there are {first_names(header)}"
        )
    reward = find(importing.reward, _REWARD)
    observations = _columns(header, importing.observations, "observations")
    actions = _columns(header, importing.actions, "actions")
    return _Plan(observations, actions, episode, terminal, timeout, reward)


def _columns(header: list[str], asked: Sequence[str], what: str) -> list[int]:
    """The columns that were asked for, or those whose names say it; numbered ones in order."""
    if asked:
        return [header.index(name) for name in chosen(asked, header, "column")]
    columns = [i for i, name in enumerate(header) if _PREFIXES[what].match(name)]
    if not columns and what == "observations":
        raise InputError(
            "no column is called obs_…; name the observations (--observations NAME …); there are "
            f"{first_names(header)}"
        )
    if not columns:
        raise InputError(
            "no column is called act_…; name the actions (--actions NAME …), there are "
            f"{first_names(header)}"
        )
    numbers = [_bare(header[i], what) for i in columns]
    if all(number.isdecimal() for number in numbers):
        columns.sort(key=lambda i: int(_bare(header[i], what)))
    return columns


def _bare(name: str, what: str) -> str:
    match = _PREFIXES[what].match(name)
    return (match[1] or "") if match else name


def _names(header: list[str], columns: list[int], what: str) -> tuple[str, ...] | None:
    """What columns are called, without obs_ and act_; mere numbers are not names."""
    names = [_bare(header[i], what) for i in columns]
    numbered = all(name.isdecimal() or not name for name in names)
    unusable = len(set(names)) < len(names) or any(not 0 < len(n) <= 100 for n in names)
    return None if numbered or unusable else tuple(names)


def _numbers(
    rows: Iterator[list[str]], header: list[str], plan: _Plan, max_bytes: int
) -> tuple[np.ndarray, list[int]]:
    """The numbers of the columns that are used, and at which rows an episode begins."""
    used = [*plan.observations, *plan.actions]
    used += [i for i in (plan.terminal, plan.timeout, plan.reward) if i is not None]
    numbers, starts, seen, before = array("d"), [], set(), None
    for count, row in enumerate(row for row in rows if row):
        if len(row) != len(header):
            raise InputError(
                f"line {count + 2} has {len(row)} values, but the header has "
                f"{len(header)} columns; "
                "write a value for each"
            )
        for i in used:
            numbers.append(_number(row[i], count + 2, header[i]))
        if plan.episode is not None and row[plan.episode] != before:
            before = row[plan.episode]
            if before in seen:
                raise InputError(
                    f"line {count + 2}: episode {before[:60]!r} appears again after another one; "
                    "sort the rows by episode and time"
                )
            seen.add(before)
            starts.append(count)
        if not count % 10_000:
            check_size(8 * len(numbers), max_bytes, "its numbers take")
    return np.frombuffer(numbers, np.float64).reshape(-1, len(used)), starts


def _number(cell: str, line: int, column: str) -> float:
    text, where = cell.strip(), f"line {line}, column {column}"
    if _is_number(text):
        if not isfinite(float(text)):
            raise InputError(
                f"{where}: {text[:40]} is not finite; fill it in, or remove that episode"
            )
        return float(text)
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    if not text:
        raise InputError(f"{where}: there is nothing; fill it in, or remove that episode")
    hint = "write decimals with a point" if _DECIMAL_COMMA.match(text) else "write words as numbers"
    raise InputError(f"{where}: {cell[:40]!r} is not a number; {hint}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _recording(numbers: np.ndarray, starts: list[int], header: list[str], plan: _Plan) -> Recording:
    steps, width = len(numbers), len(plan.observations)
    rest = iter(range(width + len(plan.actions), numbers.shape[1]))
    terminal, timeout, reward = (
        None if i is None else numbers[:, next(rest)]
        for i in (plan.terminal, plan.timeout, plan.reward)
    )
    notes: tuple[str, ...] = ()
    marks = [np.asarray(m != 0) for m in (terminal, timeout) if m is not None]
    if plan.episode is not None and steps:
        lengths = np.diff(starts, append=steps)
    else:
        lengths, cut = lengths_by_ends(np.any(marks, axis=0) if marks else np.zeros(steps, bool))
        notes = cut_off(lengths, cut)
    last = np.cumsum(lengths) - 1
    actions = numbers[:, width : width + len(plan.actions)]
    return Recording(
        numbers[:, :width].astype(np.float32),
        actions.astype(np.float32),
        lengths,
        None if terminal is None else terminal[last] != 0,
        None if timeout is None else timeout[last] != 0,
        reward,
        observation_names=_names(header, plan.observations, "observations"),
        action_names=_names(header, plan.actions, "actions"),
        notes=(*notes, *_said(header, plan)),
    )


def _said(header: list[str], plan: _Plan) -> tuple[str, ...]:
    used = {*plan.observations, *plan.actions, *plan[2:]}
    unused = [name or "one without a name" for i, name in enumerate(header) if i not in used]
    shown = [
        f"{what} are {first_names([header[i] for i in columns], 10)}, in this order"
        for what, columns in (("observations", plan.observations), ("actions", plan.actions))
        if columns
    ]
    return (*shown, *((f"not used: {first_names(unused)}",) if unused else ()))
