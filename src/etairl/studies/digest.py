"""A finished run of a study in a few kilobytes: enough for its tables and its page.

`summary.jsonl` has a line for each; with it, the directory of the run itself may be gone. Version
0.1 kept a file per run in `summary/`, which is still read.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from etairl.decoding import for_json
from etairl.evaluation.diagnostics import diagnose
from etairl.evaluation.floors import is_hint
from etairl.locks import locked
from etairl.runs import EVALUATION, read_metrics, read_result, read_versions, with_score
from etairl.storage import read_json, read_rows, reading, write_atomic
from etairl.studies.milestones import milestone
from etairl.types import InputError

CURVES = ("return", "mmd2_mu", "mmd2_rho", "score")
_MOST_POINTS = 60
_MOST_BYTES = 200_000
_LAST = 100


@dataclass(frozen=True)
class Digest:
    """What is kept of a finished run."""

    result: dict[str, Any]
    """as in result.json"""
    curves: dict[str, list[list[int | float]]]
    """some points of each: transitions and value"""
    length: float
    """of the episodes in the last cycles"""
    diagnostics: list[dict[str, Any]]
    seconds: float | None
    """that its cycles took"""
    config: dict[str, Any] | None = None
    """its settings; None in version 0.1, where they are those in study.json"""
    versions: dict[str, str] | None = None
    """that made it; None where that was not kept"""
    evaluation: list[dict[str, Any]] | None = None
    """learner, clone, random policy and expert in fresh episodes, where a study asks for that"""
    milestone: dict[str, Any] | None = None
    """when it had nine tenths of the expert's score; None where it never had"""

    @property
    def old_yardstick(self) -> bool:
        """Whether it was measured before version 0.3, whose results say whom they stand beside."""
        return "beside" not in self.result["remaining"]


def digest_of(run: Path) -> Digest:
    """Of a finished run directory."""
    with reading(run):
        rows, result, times = read_metrics(run), read_result(run), times_of(run)
        last, ninety = rows[-_LAST:], milestone(rows, result, times)
        digest = Digest(
            result,
            {name: curve for name in CURVES if (curve := _curve(rows, name))},
            sum(row["length"] for row in last) / max(len(last), 1),
            [asdict(warning) for warning in diagnose(rows)],
            seconds_of(run),
            read_json(run / "config.json"),
            {k: v for k, v in read_versions(run).items() if k != "demonstrations"} or None,
            read_evaluation(run),
            None if ninety is None else asdict(ninety),
        )
        _check_json(digest.result, run / "result.json")
        _check_json(asdict(digest), run / "metrics.jsonl")
    return digest


class DigestFile:
    """The digests of a study by the names of its runs."""

    def __init__(self, folder: Path):
        self._folder, self._file = folder, folder / "summary.jsonl"
        self._read: tuple[int, dict[str, str]] = (-1, {})

    def get(self, name: str) -> Digest | None:
        """The digest of a run; None if there is none."""
        lines = self._lines()
        if name in lines:
            return _parse(lines[name], f"{self._file}, the line of {name}")
        old = self._folder / "summary" / f"{name}.json"
        with reading(old):
            return _parse(old.read_text(), str(old)) if old.is_file() else None

    def put(self, digests: Mapping[str, Digest]) -> None:
        """Add or replace some; the file is written only if that changes it."""
        with reading(self._file):
            new = {name: _line(name, digest) for name, digest in digests.items()}
        if new.items() <= self._lines().items():
            return
        with locked(self._folder / "locks" / "summary", 60.0):
            every = self._lines() | new
            write_atomic(self._file, "".join(every.values()).encode())

    def _lines(self) -> dict[str, str]:
        if not self._file.is_file():
            return {}
        changed = self._file.stat().st_mtime_ns
        if self._read[0] != changed:
            with reading(self._file):
                lines = self._file.read_text().splitlines(keepends=True)
                self._read = changed, {_name(line, self._file): line for line in lines}
        return self._read[1]


def _name(line: str, file: Path) -> str:
    try:
        return json.loads(line)["name"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"{file} is damaged at {line[:40]!r}; remove that line") from None


def _line(name: str, digest: Digest) -> str:
    plain = {"name": name} | {k: v for k, v in asdict(digest).items() if v is not None}
    return json.dumps(plain, separators=(",", ":"), allow_nan=False) + "\n"


def _parse(text: str, where: str) -> Digest:
    if len(text) > _MOST_BYTES:
        raise InputError(f"{where} is too large for the digest of a run; remove it")
    try:
        plain = {"seconds": None} | json.loads(text)
        digest = Digest(**{k: v for k, v in plain.items() if k not in ("name", "settings")})
        digest.result["remaining"]["return"]
        digest.result["remaining"] = with_score(digest.result["remaining"])
        _line("", digest)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(f"{where} is damaged ({error}); remove it, and the run is made") from None
    return digest


def seconds_of(run: Path) -> float | None:
    """Time that the cycles took; None where it was not kept."""
    times = times_of(run)
    return None if times is None else float(sum(times.values()))


def times_of(run: Path) -> dict[int, float] | None:
    """Seconds of each cycle; of one that was made again after an interruption, the last ones."""
    file = run / "timing.jsonl"
    if not file.is_file():
        return None
    with reading(file):
        return {row["cycle"]: float(row["seconds"]) for row in read_rows(file)}


def _check_json(value: Any, file: Path) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise InputError(
            f"{file} has a number that is not finite, so the run has no result; move the run "
            "elsewhere to leave it out"
        ) from None


def read_evaluation(run: Path) -> list[dict[str, Any]] | None:
    """Of each policy what a table needs: without single features, and without bounds."""
    file = run / EVALUATION
    if not file.is_file():
        return None
    with reading(file):
        return kept_rows(json.loads(file.read_text()))


def _in_time(row: Mapping[str, Any]) -> dict[str, Any]:
    """MMD² quarter by quarter, and who is still there after twice the horizon, where known."""
    line, longer = row.get("timeline"), row.get("longer")
    columns: dict[str, Any] = {"quarters_rho": None, "quarters_mu": None, "survival_twice": None}
    if line is not None:
        for measure in ("rho", "mu"):
            distances = [quarter[f"mmd2_{measure}"] for quarter in line["quarters"]]
            columns[f"quarters_{measure}"] = [d and d["value"] for d in distances]
    if longer is not None:
        columns["survival_twice"] = 1.0 - longer["ended_early"]
    return columns


def kept_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of each policy what a table needs."""
    plain, kept_of_each = ("name", "episodes", "return_mean", "score", "success"), []
    for row in rows:
        kept = {key: for_json(row[key]) for key in plain}
        kept |= {key: row.get(key) for key in ("playing", "beside", "compared")}
        for key in ("mmd2_rho", "mmd2_mu"):
            hint = is_hint(row[key].get("floor_by"))  # no floor to compare settings with
            kept[key] = {"value": row[key]["value"], "floor": None if hint else row[key]["floor"]}
        wide = row["generalisation"]
        kept |= _in_time(row)
        kept["all_tasks"] = wide and {key: wide[key] for key in ("success", "score")}
        kept_of_each.append(kept)
    return kept_of_each


def _curve(rows: Sequence[Mapping[str, Any]], name: str) -> list[list[int | float]]:
    """A few points: pairs of transitions and value, with the last."""
    points = [[row["transitions"], float(f"{row[name]:.4g}")] for row in rows if name in row]
    kept = points[:: -(-len(points) // _MOST_POINTS) or 1]
    if points and kept[-1] is not points[-1]:
        kept.append(points[-1])
    return kept
