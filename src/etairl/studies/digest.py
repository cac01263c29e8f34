"""What is kept of a finished run of a study: small, and enough for its tables and its page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from etairl.evaluation.diagnostics import diagnose
from etairl.runs import read_json, read_metrics, read_rows
from etairl.studies.jobs import same_run
from etairl.training.settings import TrainConfig
from etairl.types import InputError

CURVES = ("return", "mmd2_mu", "mmd2_rho")
_MOST_POINTS = 60
_MOST_BYTES = 200_000
_LAST = 100


@dataclass(frozen=True)
class Digest:
    """A finished run in a few kilobytes; with it a study goes on where the run itself is gone."""

    settings: str
    """of what run it is: the same for settings that make the same bytes"""
    result: dict[str, Any]
    """as in result.json"""
    curves: dict[str, list[list[int | float]]]
    """some points of each: transitions and value"""
    length: float
    """of the episodes in the last cycles"""
    diagnostics: list[dict[str, Any]]
    seconds: float | None
    """that its cycles took"""
    versions: dict[str, str] | None = None
    """that made it; None where that was not kept"""


def fingerprint(config: TrainConfig) -> str:
    """Of a run: equal for settings that make the same bytes."""
    return sha256(same_run(config).encode()).hexdigest()


def digest_of(run: Path, config: TrainConfig) -> Digest:
    """Of a finished run directory."""
    rows = read_metrics(run)
    last = rows[-_LAST:]
    digest = Digest(
        fingerprint(config),
        read_json(run / "result.json"),
        {name: _curve(rows, name) for name in CURVES},
        sum(row["length"] for row in last) / max(len(last), 1),
        [asdict(trouble) for trouble in diagnose(rows)],
        seconds_of(run),
        _versions(run / "versions.json"),
    )
    _check_finite(digest.result, run / "result.json")
    _check_finite(asdict(digest), run / "metrics.jsonl")
    return digest


def read_digest(file: Path) -> Digest | None:
    """A digest that was kept; None if there is none."""
    if not file.is_file():
        return None
    if file.stat().st_size > _MOST_BYTES:
        raise InputError(f"{file} is too large for the digest of a run; remove it")
    try:
        found = Digest(**json.loads(file.read_text()))
        found.result["remaining"]["return"]
        as_text(found)
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{file} is damaged ({error}); remove it, and the run is made") from None
    return found


def as_text(digest: Digest) -> str:
    """One line of JSON."""
    plain = asdict(digest)
    if digest.versions is None:
        del plain["versions"]
    return json.dumps(plain, separators=(",", ":"), allow_nan=False) + "\n"


def seconds_of(run: Path) -> float | None:
    """Time that the cycles took, those of an interrupted stretch that were made again left out."""
    file = run / "timing.jsonl"
    if not file.is_file():
        return None
    return float(sum({row["cycle"]: row["seconds"] for row in read_rows(file)}.values()))


def _check_finite(found: Any, file: Path) -> None:
    try:
        json.dumps(found, allow_nan=False)
    except ValueError:
        raise InputError(
            f"{file} has a number that is not finite, so the run has no result; move the run "
            "elsewhere to leave it out"
        ) from None


def _versions(file: Path) -> dict[str, str] | None:
    """Of packages; the file also says which demonstrations were used."""
    if not file.is_file():
        return None
    return {name: v for name, v in read_json(file).items() if name != "demonstrations"}


def _curve(rows: Sequence[Mapping[str, Any]], name: str) -> list[list[int | float]]:
    """A few points: pairs of transitions and value, with the last."""
    points = [[row["transitions"], float(f"{row[name]:.4g}")] for row in rows if name in row]
    step = -(-len(points) // _MOST_POINTS) if points else 1
    kept = points[::step]
    if points and kept[-1] is not points[-1]:
        kept.append(points[-1])
    return kept
