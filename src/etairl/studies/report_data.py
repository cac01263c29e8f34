"""Everything that the page about a study shows, as plain data, and its tables."""

import csv
import io
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any

from etairl.arms import DEFAULT
from etairl.runs import RunDirectory
from etairl.storage import reading, write_atomic, write_json
from etairl.studies.digest import Digest, digest_of
from etairl.studies.evaluated import evaluation_table
from etairl.studies.jobs import Job, check_seeds
from etairl.studies.study_folder import Study
from etairl.studies.summary import (
    METRICS,
    ResultRow,
    across_tasks,
    copy_levels,
    result_rows,
    statistics,
)
from etairl.studies.wording import measured_before
from etairl.training.config_files import read_config
from etairl.training.flat import flatten
from etairl.training.preset_changes import differing, preset_changes, without_folders
from etairl.types import InputError

_LONGEST_ARM = 60


def as_study(paths: Sequence[Path], output: Path | None, trust: bool = False) -> Study:
    """What to report on: one study in its place, or a study of digests in `output`.

    In `output` there is then all that a report needs, and that `etairl study --reuse` needs; runs
    that it knew before stay. Runs of the same name count once. With `trust`, code that they name
    may be imported.
    """
    if output is None and len(paths) == 1 and (paths[0] / "study.json").is_file():
        return Study(paths[0], trust)
    output = output or Path("report")
    studies = [Study(path, trust) for path in paths if (path / "study.json").is_file()]
    if any(study.path.resolve() == output.resolve() for study in studies):
        if len(paths) == 1:
            return studies[0]
        raise InputError(f"{output} is one of the studies; choose another folder with -o")
    if (output / "runs").is_dir():
        raise InputError(f"{output} has runs of its own; choose another folder with -o")
    jobs = [job for study in studies for job in study.jobs]
    digests = {job.name: d for s in studies for job in s.jobs if (d := s.look(job))}
    alone = [path for path in paths if not (path / "study.json").is_file()]
    for job, digest in _single_runs(alone, trust):
        jobs.append(job)
        digests[job.name] = digest
    distinct: dict[str, Job] = {}
    for job in jobs:
        if distinct.setdefault(job.name, job).config != job.config:
            raise InputError(f"there are two different runs {job.name}; report them apart")
    check_seeds(distinct.values())
    names = dict.fromkeys(
        [*(study.name for study in studies), *["runs"][: len(paths) - len(studies)]]
    )
    scales = {study.scale for study in studies} if len(studies) == len(paths) else {None}
    scale = scales.pop() if len(scales) == 1 else None
    _check_any(digests, output)
    whole = Study.open(output, "+".join(names)[:80], scale, list(distinct.values()))
    whole.keep(digests)
    for job in distinct.values():
        whole.copy_failure(job, [] if whole.finished(job) else studies)
    copy_levels(whole, studies)
    return whole


def _single_runs(paths: Sequence[Path], trust: bool) -> list[tuple[Job, Digest]]:
    """Runs that belong to no study; what they differ in, but for the seed, tells them apart."""
    configs = [read_config(path, trust) for path in paths]
    flat = [flatten(config) for config in configs]
    # Each environment has demonstrations of its own; that they differ goes without saying.
    apart = {"seed", "env", "eta"} | ({"demos"} if len({c.env for c in configs}) > 1 else set())
    names = differing(flat, apart)
    runs, called = [], dict[str, str]()
    for path, config, settings in zip(paths, configs, flat, strict=True):
        if not RunDirectory(path).finished:
            raise InputError(f"{path} is not finished yet; resume it with: etairl resume {path}")
        arm = ",".join(f"{name}={settings[name]}" for name in names if name in settings)
        if len(arm) > _LONGEST_ARM:  # too much differs to say: by the folder of the first of them
            arm = called.setdefault(arm, _unused(path.resolve().name, called.values()))
        runs.append((Job(arm or DEFAULT, config), digest_of(path)))
    return runs


def _unused(name: str, others: Collection[str]) -> str:
    """A name that none of the others has."""
    numbers = (name if n == 1 else f"{name}-{n}" for n in range(1, len(others) + 2))
    return next(text for text in numbers if text not in others)


def report_data(study: Study) -> dict[str, Any]:
    """Tables, curves and warnings of a study; also writes its tables."""
    digests = study.digests()
    _check_any(digests, study.path)
    with reading(study.path / "summary.jsonl"):
        return _report_data(study, digests)


def _report_data(study: Study, digests: Mapping[str, Digest]) -> dict[str, Any]:
    rows, stats = write_tables(study)
    jobs = [job for job in study.jobs if job.name in digests]
    states = [study.progress(job) for job in study.jobs]
    return {
        "name": study.name,
        "scale": study.scale,
        "versions": _versions(list(digests.values())),
        "yardstick": measured_before(
            sum(digest.old_yardstick for digest in digests.values()), len(digests)
        ),
        "counts": dict(Counter(p.state for p in states)),
        "missing": [p.name for p in states if p.state != "finished"],
        "failures": [{"run": p.name, "why": p.why} for p in states if p.why],
        "rows": rows,
        "settings": stats["settings"],
        "across": stats["across_tasks"],
        "evaluation": evaluation_table(jobs, digests),
        "curves": {name: digest.curves for name, digest in digests.items()},
        "differences": _differences(jobs),
        "diagnostics": [
            {"run": name, **warning}
            for name, digest in digests.items()
            for warning in digest.diagnostics
        ],
    }


def write_tables(study: Study) -> tuple[list[ResultRow], dict[str, Any]]:
    """Write results.csv, results.json and statistics.json into the study; returns their content.

    Without a finished run nothing is written: what is there may be all that is left of others.
    """
    rows = result_rows(study)
    across = {metric: across_tasks(rows, study.jobs, metric) for metric in METRICS[:3]}
    stats = {"settings": statistics(rows, study.jobs), "across_tasks": across}
    if rows:
        table = io.StringIO()
        writer = csv.DictWriter(table, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_atomic(study.path / "results.csv", table.getvalue().encode())
        write_json(study.path / "results.json", rows)
        write_json(study.path / "statistics.json", stats)
    return rows, stats


def _check_any(digests: Sized, path: Path) -> None:
    """Refuse to report on nothing."""
    if not len(digests):
        raise InputError(f"{path} has no finished run yet; see etairl study status {path}")


def _versions(digests: Sequence[Digest]) -> dict[str, str]:
    """That made the runs, all of them where runs differ, and how many runs do not say."""
    known = [digest.versions for digest in digests if digest.versions]
    names = dict.fromkeys(name for versions in known for name in versions)
    words = {n: " or ".join(sorted({v.get(n, "none") for v in known})) for n in names}
    if len(known) < len(digests):
        words["unknown"] = f"for {len(digests) - len(known)} of {len(digests)} runs"
    return words


def _differences(jobs: Sequence[Job]) -> dict[str, Any]:
    """Settings that are not the same in all runs, by environment and arm; and the common ones."""
    flat = {job.cell: flatten(job.config) for job in jobs}
    names, apart = dict.fromkeys(n for values in flat.values() for n in values), ("seed",)
    differ = differing([*flat.values()], apart)
    first, near = next(iter(flat.values())), preset_changes(jobs[0].config)
    changes = [[n, *pair] for n, pair in near.changes.items() if n not in differ]
    differences = {
        "names": differ,
        "rows": [
            {"cell": list(cell), "values": [values.get(n) for n in differ]}
            for cell, values in flat.items()
        ],
        "common": {n: first.get(n) for n in names if n not in (*differ, *apart)},
        "preset": {"name": near.preset, "changes": changes},
    }
    return without_folders(differences)  # a page is sent around
