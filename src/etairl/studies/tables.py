"""The tables of a study: a row per run, and statistics of all of them."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from etairl.storage import write_atomic, write_json
from etairl.studies.study_folder import Study
from etairl.studies.summary import METRICS, ResultRow, across_tasks, result_rows, statistics


def write_tables(study: Study) -> tuple[list[ResultRow], dict[str, Any]]:
    """Write results.csv, results.json and statistics.json into the study; returns their content.

    Without a finished run nothing is written: what is there may be all that is left of others.
    """
    rows = result_rows(study)
    across = {metric: across_tasks(rows, study.jobs, metric) for metric in METRICS[:3]}
    stats = {"settings": statistics(rows, study.jobs), "across_tasks": across}
    if rows:
        write_atomic(study.path / "results.csv", as_csv(rows).encode())
        write_json(study.path / "results.json", rows)
        write_json(study.path / "statistics.json", stats)
    return rows, stats


def as_csv(rows: Sequence[ResultRow]) -> str:
    """A table with a header; empty where a value is unknown."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()
