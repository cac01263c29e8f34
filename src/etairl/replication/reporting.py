"""Everything that the page about a study shows, as plain data."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from etairl.replication.findings import findings
from etairl.replication.rules import foretold
from etairl.runs import RunDirectory
from etairl.studies.digest import Digest, digest_of
from etairl.studies.jobs import Job
from etairl.studies.study_folder import Study, check_seeds
from etairl.studies.summary import FEWEST_CYCLES, copy_levels, tv_from_gail
from etairl.studies.tables import check_any, write_tables
from etairl.training.flat import flatten
from etairl.training.settings import read_config
from etairl.types import InputError

_SMALL_KAPPA = 0.75


def as_study(paths: Sequence[Path], output: Path | None) -> Study:
    """What to report on: one study in its place, or a study of digests in `output`.

    In `output` there is then all that a report needs, and that `etairl study` needs to go on; runs
    that it knew before stay. Runs of the same name count once.
    """
    if output is None and len(paths) == 1 and (paths[0] / "study.json").is_file():
        return Study(paths[0])
    output = output or Path("report")
    studies = [Study(path) for path in paths if (path / "study.json").is_file()]
    if any(study.path.resolve() == output.resolve() for study in studies):
        if len(paths) == 1:
            return studies[0]
        raise InputError(f"{output} is one of the studies; choose another folder with -o")
    if (output / "runs").is_dir():
        raise InputError(f"{output} has runs of its own; choose another folder with -o")
    jobs = [job for study in studies for job in study.jobs]
    digests = {job.name: d for s in studies for job in s.jobs if (d := s.look(job))}
    for job, digest in _single_runs(
        [path for path in paths if not (path / "study.json").is_file()]
    ):
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
    check_any(digests, output)
    whole = Study.open(output, "+".join(names)[:80], scale, list(distinct.values()))
    for job in distinct.values():
        if job.name in digests:
            whole.keep(job, digests[job.name])
        whole.copy_failure(job, [] if whole.finished(job) else studies)
    copy_levels(whole, studies)
    return whole


def _single_runs(paths: Sequence[Path]) -> list[tuple[Job, Digest]]:
    """Runs that belong to no study; what they differ in, but for the seed, tells them apart."""
    configs = [read_config(path) for path in paths]
    flat = [flatten(config) for config in configs]
    # Each environment has demonstrations of its own; that they differ goes without saying.
    apart = {"seed", "env", "eta"} | ({"demos"} if len({c.env for c in configs}) > 1 else set())
    names = [
        n
        for n in (flat[0] if flat else ())
        if n not in apart and len({str(f[n]) for f in flat}) > 1
    ]
    found = []
    for path, config, settings in zip(paths, configs, flat, strict=True):
        if not RunDirectory(path).finished:
            raise InputError(f"{path} is not finished yet; go on with: etairl resume {path}")
        arm = ",".join(f"{name}={settings[name]}" for name in names) or "default"
        found.append((Job(arm, config), digest_of(path, config)))
    return found


def report_data(study: Study) -> dict[str, Any]:
    """Tables, curves, verdicts and troubles of a study; also writes its tables."""
    digests = {job.name: digest for job in study.jobs if (digest := study.digest(job))}
    check_any(digests, study.path)
    rows, settings = write_tables(study)
    together = json.loads((study.path / "statistics.json").read_text())
    jobs = [job for job in study.jobs if job.name in digests]
    states = [study.progress(job) for job in study.jobs]
    # Few cycles learn nothing, and say nothing about anybody's claims.
    telling = [row for row in rows if row["cycles"] >= FEWEST_CYCLES]
    return {
        "name": study.name,
        "scale": study.scale,
        "versions": _versions(list(digests.values())),
        "counts": {
            s: sum(p.state == s for p in states) for s in dict.fromkeys(p.state for p in states)
        },
        "missing": [p.name for p in states if p.state != "finished"],
        "failures": [{"run": p.name, "why": p.why} for p in states if p.why],
        "rows": rows,
        "settings": settings,
        "across": together["across_tasks"],
        "trends": together["trends"],
        "findings": [asdict(f) for f in findings(telling, jobs)],
        "predictions": _predictions(settings, jobs, digests),
        "curves": {name: digest.curves for name, digest in digests.items()},
        "differences": _differences(jobs),
        "diagnostics": [
            {"run": job.name, **trouble}
            for job in jobs
            for trouble in digests[job.name].diagnostics
        ],
    }


def _versions(digests: Sequence[Digest]) -> dict[str, str]:
    """That made the runs, all of them where runs differ, and how many runs do not say."""
    known = [digest.versions for digest in digests if digest.versions]
    names = dict.fromkeys(name for versions in known for name in versions)
    found = {n: " or ".join(sorted({v.get(n, "none") for v in known})) for n in names}
    if len(known) < len(digests):
        found["unknown"] = f"for {len(digests) - len(known)} of {len(digests)} runs"
    return found


def _predictions(
    settings: Sequence[Mapping[str, Any]],
    jobs: Sequence[Job],
    digests: Mapping[str, Digest],
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
        lengths = [digests[job.name].length for job in mine]
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
