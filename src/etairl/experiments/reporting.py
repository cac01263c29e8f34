"""Everything that the page about a study shows, as plain data."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from etairl.evaluation.diagnostics import diagnose
from etairl.experiments.findings import findings
from etairl.experiments.flat import flatten
from etairl.experiments.jobs import Job
from etairl.experiments.rules import foretold
from etairl.experiments.settings import read_config
from etairl.experiments.study import Study
from etairl.experiments.summary import check_any, tv_from_gail, write_tables
from etairl.runs import RunDirectory, read_metrics, versions
from etairl.types import InputError

_MOST_POINTS = 120
_CURVES = ("return", "mmd2_mu", "mmd2_rho")
_SMALL_KAPPA = 0.75


def as_study(paths: Sequence[Path], output: Path) -> Study:
    """One study of several studies and single runs; runs of the same name count once.

    A single study stays where it is; else a study of links to the runs is made in `output`.
    """
    if len(paths) == 1 and (paths[0] / "study.json").is_file():
        return Study(paths[0])
    jobs: dict[str, Job] = {}
    places: dict[str, Path] = {}
    for path in paths:
        if (path / "study.json").is_file():
            study = Study(path)
            found = [(job, study.run_path(job)) for job in study.jobs if study.finished(job)]
        else:
            config = read_config(path)
            if not RunDirectory(path).finished:
                raise InputError(f"{path} is not finished yet; go on with: etairl resume {path}")
            found = [(Job("default", config), path)]
        for job, place in found:
            if jobs.setdefault(job.name, job).config != job.config:
                raise InputError(
                    f"{path}: there are two different runs {job.name}; report them apart"
                )
            places[job.name] = place
    name = "+".join(dict.fromkeys(path.name for path in paths))[:80]
    whole = Study.open(output, name, None, list(jobs.values()))
    for job in whole.jobs:
        link = whole.run_path(job)
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.exists() and job.name in places:
            link.symlink_to(places[job.name].resolve())
    return whole


def report_data(study: Study) -> dict[str, Any]:
    """Tables, curves, verdicts and troubles of a study; also writes its tables."""
    rows, settings = write_tables(study)
    check_any(rows, study.path)
    done = {row["run"] for row in rows}
    jobs = [job for job in study.jobs if job.name in done]
    metrics = {job.name: read_metrics(study.run_path(job)) for job in jobs}
    states = [study.progress(job) for job in study.jobs]
    return {
        "name": study.name,
        "scale": study.scale,
        "versions": versions(),
        "counts": {
            s: sum(p.state == s for p in states) for s in dict.fromkeys(p.state for p in states)
        },
        "failures": [{"run": p.name, "why": p.why} for p in states if p.why],
        "rows": rows,
        "settings": settings,
        "across": json.loads((study.path / "statistics.json").read_text())["across_tasks"],
        # Four cycles learn nothing, and say nothing about anybody's claims.
        "findings": [asdict(f) for f in findings(rows, jobs) if study.scale != "smoke"],
        "predictions": _predictions(settings, jobs, metrics),
        "curves": {name: _curve(found) for name, found in metrics.items()},
        "differences": _differences(jobs),
        "diagnostics": [
            {"run": job.name, **asdict(d)} for job in jobs for d in diagnose(metrics[job.name])
        ],
    }


def _curve(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[int, float]]]:
    """A few points of every curve: pairs of transitions and value."""
    found = {}
    for name in _CURVES:
        points = [(row["transitions"], _short(row[name])) for row in rows if name in row]
        step = -(-len(points) // _MOST_POINTS) if points else 1
        kept = points[::step]
        if points and kept[-1] is not points[-1]:
            kept.append(points[-1])
        found[name] = kept
    return found


def _short(x: float) -> float:
    return float(f"{x:.4g}")


def _predictions(
    settings: Sequence[Mapping[str, Any]],
    jobs: Sequence[Job],
    metrics: Mapping[str, Sequence[Mapping[str, Any]]],
) -> list[dict[str, Any]]:
    """What share of the discriminator's data a weighting changes, and how the results differ.

    The share is the total variation between the laws of the time index, for whole episodes and for
    episodes as long as those of the last cycles were. Up to kappa = 0.75 it is a prediction, with a
    verdict. Runs with invented futures, which change the data otherwise, have no baseline.
    """
    found = []
    for entry in settings:
        eta = str(entry["eta"])
        mine = [job for job in jobs if job.cell == (entry["env"], entry["arm"], eta)]
        if entry["baseline"] is None or not eta.startswith("geometric:"):
            continue
        config = mine[0].config
        lengths = [row["length"] for job in mine for row in metrics[job.name][-100:]]
        length = max(1, round(sum(lengths) / len(lengths)))
        small = float(eta.partition(":")[2]) <= _SMALL_KAPPA
        whole, seen = entry["tv_from_gail"], tv_from_gail(config, length)
        changes = {
            metric: entry[metric]["against_baseline"]
            for metric in ("mmd2_rho", "mmd2_mu", "cost")
            if metric in entry
        }
        found.append(
            {
                "env": entry["env"],
                "arm": entry["arm"],
                "eta": eta,
                "small": small,
                "tv": whole,
                "length": length,
                "tv_at_length": seen,
                "changes": changes,
                **foretold(changes, max(whole, seen) if small else None),
            }
        )
    return found


def _differences(jobs: Sequence[Job]) -> dict[str, Any]:
    """Settings that are not the same in all runs, by environment and arm; and the common ones."""
    flat = {job.cell: flatten(job.config) for job in jobs}
    names = next(iter(flat.values()))
    texts = {name: [json.dumps(values[name]) for values in flat.values()] for name in names}
    differing = [name for name in names if name != "seed" and len(set(texts[name])) > 1]
    common = {name: names[name] for name in names if name not in differing and name != "seed"}
    return {
        "names": differing,
        "rows": [
            {"cell": list(cell), "values": [values[name] for name in differing]}
            for cell, values in flat.items()
        ],
        "common": common,
    }
