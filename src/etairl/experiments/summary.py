"""The results of a study: a row per finished run, statistics per setting, comparisons by seed."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from etairl.eta import Dirac
from etairl.evaluation.matching import normalised_cost
from etairl.evaluation.statistics import compare, probability_of_improvement, summarise
from etairl.experiments.jobs import Job
from etairl.experiments.result import play
from etairl.experiments.study import Study
from etairl.measures import FutureSampler, summarise_law
from etairl.rollouts import UniformPolicy
from etairl.runs import write_atomic, write_json
from etairl.tasks import make_task
from etairl.types import InputError

Row = dict[str, Any]
METRICS = ("mmd2_rho", "mmd2_mu", "cost", "mmd2_rho_raw", "mmd2_mu_raw")
"""smaller is better; cost is normalised: 0 the expert, 1 a random policy"""
_RANDOM_EPISODES = 50


def result_rows(study: Study) -> list[Row]:
    """Finished runs in the order they were asked for. The same runs make the same rows."""
    levels = _Levels(study.path)
    rows = []
    for job in study.jobs:
        digest = study.digest(job)
        if digest is not None:
            rows.append(_row(job, digest.result, levels.random_return(job)))
    return rows


def _row(job: Job, result: Mapping[str, Any], random: float) -> Row:
    config, last = job.config, result["remaining"]
    expert, cost = result["expert_return"], None
    if expert is not None and expert != random:
        cost = normalised_cost(last["return"], expert, random)
    distances = {
        f"{name}{suffix}": last[name][key]
        for name in ("mmd2_rho", "mmd2_mu", "mmd2_rho_raw", "mmd2_mu_raw")
        for suffix, key in (("", "value"), ("_low", "low"), ("_high", "high"), ("_floor", "floor"))
    }
    return {
        "run": job.name,
        "env": config.env,
        "arm": job.arm,
        "eta": config.eta,
        "seed": config.seed,
        "algorithm": config.algorithm,
        "sampler": config.sampler,
        "gamma_rl": config.sac.gamma_rl,
        "mode": config.mode,
        "cycles": result["cycles"],
        "transitions": result["transitions"],
        "judged_cycles": last["cycles"],
        "return": last["return"],
        "return_std": last["return_std"],
        "expert_return": expert,
        "random_return": random,
        "cost": cost,
        **distances,
        "best_cycle": result["best"]["cycle"],
        "best_mmd2_mu": result["best"]["mmd2_mu"],
        "collapsed_share": result["collapsed_share"],
        "diagnostics": " ".join(d["name"] for d in result["diagnostics"]),
    }


class _Levels:
    """Returns of a random policy, played once per task and kept."""

    def __init__(self, folder: Path):
        self._file = folder / "random.json"
        self._found: dict[str, float] = {}
        if self._file.is_file():
            self._found = json.loads(self._file.read_text())

    def add(self, other: "_Levels") -> None:
        if not other._found.items() <= self._found.items():
            self._found |= other._found
            write_json(self._file, self._found)

    def random_return(self, job: Job) -> float:
        c = job.config
        key = f"{c.env} {c.mode} {c.horizon}"
        if key not in self._found:
            task = make_task(c.env, 1, horizon=c.horizon, mode=c.mode, threads=1)
            # The level belongs to the task: it must not depend on which run came first.
            played = play(replace(c, seed=0), UniformPolicy(task), _RANDOM_EPISODES, 0).returns
            assert played is not None
            self._found[key] = float(played.mean())
            write_json(self._file, self._found)
        return self._found[key]


def cells(rows: Iterable[Row]) -> dict[tuple[str, str, str], dict[int, Row]]:
    """Rows by environment, arm and weighting, and in each by seed."""
    found: dict[tuple[str, str, str], dict[int, Row]] = {}
    for row in rows:
        found.setdefault((row["env"], row["arm"], row["eta"]), {})[row["seed"]] = row
    return found


def statistics(rows: Sequence[Row], jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Per setting and metric: mean, interquartile mean, intervals, and beside kappa = 0."""
    settings = {job.cell: job.config for job in jobs}
    by_cell, found = cells(rows), []
    for number, (cell, seeds) in enumerate(by_cell.items()):
        config = settings[cell]
        law = FutureSampler(config.future.eta, config.gamma_irl, config.sampler)
        entry: dict[str, Any] = dict(zip(("env", "arm", "eta"), cell, strict=True))
        entry["seeds"] = sorted(seeds)
        entry["tv_from_gail"] = summarise_law(law.law(config.horizon))["tv_from_uniform"]
        base = baseline(by_cell, cell, settings)
        entry["baseline"] = base[2] if base is not None else None
        for index, metric in enumerate(METRICS):
            values = values_of(seeds, metric)
            if not values:
                continue
            rng = np.random.default_rng([17, number, index])
            summary = summarise(rng, [np.array(list(values.values()))])
            paired = None
            if base is not None:
                paired = compare(values, values_of(by_cell[base], metric))
            entry[metric] = asdict(summary) | {
                "against_baseline": None if paired is None else asdict(paired)
            }
        found.append(entry)
    return found


def values_of(seeds: Mapping[int, Row], metric: str) -> dict[int, float]:
    """A metric by seed, where it is known."""
    return {seed: row[metric] for seed, row in sorted(seeds.items()) if row[metric] is not None}


def baseline(
    found: Mapping[tuple[str, str, str], Any],
    cell: tuple[str, str, str],
    settings: Mapping[tuple[str, str, str], Any],
) -> tuple[str, str, str] | None:
    """The setting with kappa = 0 and all else equal; for that itself None.

    A sampler says nothing about kappa = 0, so its arm falls back on the default.
    """
    if settings[cell].future.eta == Dirac(0):
        return None
    for arm in (cell[1], "default"):
        for other in found:
            if other[:2] == (cell[0], arm) and settings[other].future.eta == Dirac(0):
                return other
    return None


def across_tasks(rows: Sequence[Row], jobs: Sequence[Job], metric: str) -> list[dict[str, Any]]:
    """Each arm and weighting over its environments, as strata, in shares of kappa = 0.

    Distances of different tasks have different scales, so each is divided by the mean of that
    task's runs with kappa = 0. Environments without such runs are left out.
    """
    settings = {job.cell: job.config for job in jobs}
    by_cell, found = cells(rows), []
    kinds = dict.fromkeys(cell[1:] for cell in by_cell)
    for number, kind in enumerate(kinds):
        ours, others = [], []
        for cell in by_cell:
            base = baseline(by_cell, cell, settings) if cell[1:] == kind else None
            if base is None:
                continue
            mine, theirs = (
                np.array(list(values_of(by_cell[c], metric).values())) for c in (cell, base)
            )
            if len(mine) and len(theirs) and theirs.mean() > 0.0:
                ours.append(mine / theirs.mean())
                others.append(theirs / theirs.mean())
        if not ours:
            continue
        summary = summarise(np.random.default_rng([19, number]), ours)
        improvement = probability_of_improvement(ours, others)
        entry = {"arm": kind[0], "eta": kind[1], "tasks": len(ours)}
        found.append(entry | asdict(summary) | {"improvement": improvement})
    return found


def copy_levels(study: Study, others: Iterable[Study]) -> None:
    """Take the returns of random policies from other studies, instead of playing them again."""
    every = _Levels(study.path)
    for other in others:
        every.add(_Levels(other.path))


def write_tables(study: Study) -> tuple[list[Row], list[dict[str, Any]]]:
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
        {"settings": found, "across_tasks": across},
    )
    return rows, found


def as_csv(rows: Sequence[Row]) -> str:
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
