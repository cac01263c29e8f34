"""The tables of a study: a row per run, and what all of them say together."""

import csv
import io
from collections.abc import Sequence, Sized
from pathlib import Path
from typing import Any

from etairl.replication.frame_trends import trends
from etairl.runs import write_atomic, write_json
from etairl.studies.study_folder import Study
from etairl.studies.summary import METRICS, ResultRow, across_tasks, result_rows, statistics
from etairl.types import InputError


def write_tables(study: Study) -> tuple[list[ResultRow], list[dict[str, Any]]]:
    """Write results.csv, results.json and statistics.json into the study; returns their rows.

    Without a finished run nothing is written: what is there may be all that is left of others.
    """
    rows = result_rows(study)
    found = statistics(rows, study.jobs)
    if not rows:
        return rows, found
    across = {metric: across_tasks(rows, study.jobs, metric) for metric in METRICS[:3]}
    write_atomic(study.path / "results.csv", as_csv(rows).encode())
    write_json(study.path / "results.json", rows)
    write_json(
        study.path / "statistics.json",
        {"settings": found, "across_tasks": across, "trends": trends(rows, study.jobs)},
    )
    return rows, found


def as_csv(rows: Sequence[ResultRow]) -> str:
    """A table with a header; empty where a value is unknown."""
    if not rows:
        return ""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def check_any(found: Sized, path: Path) -> None:
    """Refuse to report on nothing."""
    if not len(found):
        raise InputError(f"{path} has no finished run yet; see etairl study status {path}")
