"""The results of a study: a row per finished run, statistics per setting, comparisons by seed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from etairl.algorithms.registry import ALGORITHMS
from etairl.arms import is_base
from etairl.decoding import encode
from etairl.eta import Dirac
from etairl.evaluation.floors import is_hint
from etairl.evaluation.matching import score
from etairl.evaluation.statistics import (
    Paired,
    compare,
    improvement_bounds,
    probability_of_improvement,
    summarise,
    summarise_shares,
)
from etairl.measures import FutureSampler
from etairl.rollouts import UniformPolicy
from etairl.storage import write_json
from etairl.studies.digest import Digest
from etairl.studies.jobs import Job
from etairl.studies.study_folder import Study
from etairl.tasks import make_task
from etairl.training.playing import play
from etairl.training.settings import TrainConfig

ResultRow = dict[str, Any]
Cell = tuple[str, str, str]
"""environment, arm, weighting"""
DISTANCES = ("mmd2_rho", "mmd2_mu")
METRICS = (*DISTANCES, "score", "mmd2_rho_raw", "mmd2_mu_raw", "success")
_HIGHER = ("score", "success")
"""higher is better in these, lower in the others; score: 0 is a random policy, 1 the expert"""
_RANDOM_EPISODES = 50


def result_rows(study: Study) -> list[ResultRow]:
    """Finished runs in the order they were asked for. The same runs make the same rows."""
    levels, digests = _Levels(study.path), study.digests()
    jobs = [job for job in study.jobs if job.name in digests]
    return [_row(job, digests[job.name], levels) for job in jobs]


def _distances(last: Mapping[str, Any], alike: Mapping[str, Any]) -> dict[str, float | None]:
    distances = {
        f"{name}{suffix}": alike[name][key]
        for name in ("mmd2_rho", "mmd2_mu", "mmd2_rho_raw", "mmd2_mu_raw")
        for suffix, key in (("", "value"), ("_low", "low"), ("_high", "high"), ("_floor", "floor"))
    }
    # Before version 0.3 floors were of other sizes, and a hint may be too low: these are none.
    if "beside" not in last or is_hint(alike["mmd2_mu"].get("floor_by")):
        distances |= dict.fromkeys(name for name in distances if name.endswith("_floor"))
    return distances


def _row(job: Job, digest: Digest, levels: "_Levels") -> ResultRow:
    config, result = job.config, digest.result
    last, ninety = result["remaining"], digest.milestone or {}
    # The learner draws its actions: it is compared with an expert that does, where there is one.
    alike = result.get("same_kind") or last
    own, expert, random = last.get("score"), result["expert_return"], None
    if own is None:  # where there are many tasks a run has a score of its own
        random = levels.random_return(job)
        if expert is not None and expert != random:
            own = score(last["return"], expert, random)
    return {
        "run": job.name,
        "env": config.env,
        "arm": job.arm,
        "eta": config.eta,
        "seed": config.seed,
        "algorithm": config.algorithm,
        "sampler": config.sampler,
        "gamma_rl": config.solver.gamma_rl,
        "mode": config.mode,
        "cycles": result["cycles"],
        "transitions": result["transitions"],
        "judged_cycles": last["cycles"],
        "return": last["return"],
        "return_std": last["return_std"],
        "expert_return": expert,
        "random_return": random,
        "beside": alike.get("beside"),
        "score": own,
        "success": last.get("success"),
        **_distances(last, alike),
        "best_cycle": result["best"]["cycle"],
        "best_mmd2_mu": result["best"]["mmd2_mu"],
        "collapsed_share": result["collapsed_share"],
        "stopped": result.get("stopped", {}).get("why"),  # from version 0.4 on
        "recoveries": result.get("recoveries"),
        "collapsed_last_third": result.get("collapsed_last_third"),
        **{f"{key}_to_90": ninety.get(key) for key in ("transitions", "seconds")},
        "lost_after_90": ninety.get("lost"),
        "diagnostics": " ".join(dict.fromkeys(d["name"] for d in result["diagnostics"])),
    }


class _Levels:
    """Returns of a random policy, played once per task and kept."""

    def __init__(self, folder: Path):
        self._file = folder / "random.json"
        self._known: dict[str, float] = {}
        if self._file.is_file():
            self._known = json.loads(self._file.read_text())

    def add(self, other: "_Levels") -> None:
        if not other._known.items() <= self._known.items():
            self._known |= other._known
            write_json(self._file, self._known)

    def random_return(self, job: Job) -> float:
        c = job.config
        key = f"{c.env} {c.mode} {c.horizon}"
        if key not in self._known:
            task = make_task(c.env, 1, horizon=c.horizon, mode=c.mode, threads=1)
            # The level belongs to the task: it must not depend on which run came first.
            played = play(replace(c, seed=0), UniformPolicy(task), _RANDOM_EPISODES, 0).returns
            assert played is not None
            self._known[key] = float(played.mean())
            write_json(self._file, self._known)
        return self._known[key]


def cells(rows: Iterable[ResultRow]) -> dict[Cell, dict[int, ResultRow]]:
    """Rows by environment, arm and weighting, and in each by seed."""
    by_cell: dict[Cell, dict[int, ResultRow]] = {}
    for row in rows:
        by_cell.setdefault((row["env"], row["arm"], row["eta"]), {})[row["seed"]] = row
    return by_cell


def statistics(rows: Sequence[ResultRow], jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Per setting and metric: mean, interquartile mean, intervals, and beside kappa = 0.

    Arms other than the default stand beside that, too, where it has the same weighting.
    """
    settings = {job.cell: job.config for job in jobs}
    by_cell, entries = cells(rows), []
    for number, (cell, seeds) in enumerate(by_cell.items()):
        config = settings[cell]
        entry: dict[str, Any] = dict(zip(("env", "arm", "eta"), cell, strict=True))
        entry["seeds"] = sorted(seeds)
        entry["tv_from_gail"] = tv_from_gail(config, config.horizon)
        base = baseline(by_cell, cell, settings)
        entry["baseline"] = base[2] if base is not None else None
        entry["baseline_arm"] = base[1] if base is not None else None
        beside = {"against_baseline": base, "against_default": _default(by_cell, cell, settings)}
        for index, metric in enumerate(METRICS):
            values = values_of(seeds, metric)
            if not values:
                continue
            rng = np.random.default_rng([17, number, index])
            entry[metric] = asdict(summarise(rng, [np.array(list(values.values()))]))
            for name, other in beside.items():
                paired = None if other is None else paired_seeds(seeds, by_cell[other], metric)
                entry[metric][name] = None if paired is None else asdict(paired)
        entries.append(entry)
    return entries


def paired_seeds(
    ours: Mapping[int, ResultRow],
    others: Mapping[int, ResultRow],
    metric: str,
    wanted: float = 0.25,
) -> Paired | None:
    """Two settings by the seeds that both have, a share of the other; None without such a seed."""
    floor = floor_of(others, metric)
    paired = compare(values_of(ours, metric), values_of(others, metric), wanted, floor=floor)
    if paired is None or metric not in _HIGHER:
        return paired
    bounds = paired.improvement_bounds
    flipped = None if bounds is None else (1.0 - bounds[1], 1.0 - bounds[0])
    return replace(paired, improvement=1.0 - paired.improvement, improvement_bounds=flipped)


def tv_from_gail(config: TrainConfig, horizon: int) -> float:
    r"""Share of the discriminator's frames that are others than with kappa = 0 (errata (l)).

    The total variation between the laws of the time index in episodes of `horizon` steps, both
    with the run's own $\gamma_{IRL}$ and sampler.
    """
    gail = FutureSampler(Dirac(0), config.gamma_irl, config.sampler)
    return float(0.5 * np.abs(config.future.law(horizon) - gail.law(horizon)).sum())


def floor_of(seeds: Mapping[int, ResultRow], metric: str) -> float:
    """The level that the expert has beside itself; below it a share of a value says nothing."""
    floors = [row.get(f"{metric}_floor") for row in seeds.values()]
    known = [floor for floor in floors if floor is not None]
    return max(0.0, float(np.mean(known))) if known else 0.0


def values_of(seeds: Mapping[int, ResultRow], metric: str) -> dict[int, float]:
    """A metric by seed, where it is known."""
    return {seed: row[metric] for seed, row in sorted(seeds.items()) if row[metric] is not None}


def baseline(
    known: Iterable[Cell], cell: Cell, settings: Mapping[Cell, TrainConfig]
) -> Cell | None:
    """The setting with kappa = 0 and all else equal; for that itself None.

    A sampler says nothing about kappa = 0, so an arm that differs from the default in nothing else
    falls back on it.
    """
    if settings[cell].future.eta == Dirac(0):
        return None
    gail = [c for c in known if c[0] == cell[0] and settings[c].future.eta == Dirac(0)]
    own = [c for c in gail if c[1] == cell[1]]
    base = [c for c in gail if is_base(c[1])]
    for others, but in ((own, ()), (base, ("sampler",))):
        for other in others:
            if _alike(settings[other], settings[cell], but):
                return other
    return None


def _alike(a: TrainConfig, b: TrainConfig, but: Sequence[str]) -> bool:
    """Do two runs differ in nothing but weighting and seed, and perhaps these settings?"""
    plain = [encode(config) for config in (a, b)]
    for settings in plain:
        for name in ("eta", "seed", *but):
            del settings[name]
        settings["algorithm"] = ALGORITHMS[settings["algorithm"]].general
    return plain[0] == plain[1]


def _default(
    known: Iterable[Cell], cell: Cell, settings: Mapping[Cell, TrainConfig]
) -> Cell | None:
    """The arm that others stand beside, with the same weighting; None for that itself."""
    if is_base(cell[1]):
        return None
    eta = settings[cell].future.eta
    alike = (c for c in known if c[0] == cell[0] and is_base(c[1]))
    return next((c for c in alike if settings[c].future.eta == eta), None)


def across_tasks(
    rows: Sequence[ResultRow], jobs: Sequence[Job], metric: str
) -> list[dict[str, Any]]:
    """Each arm and weighting over its environments, as strata, in shares of kappa = 0.

    Values of different tasks have different scales, so each is divided by the mean of that task's
    runs with kappa = 0 and the same seeds, whose noise the intervals include. Environments without
    such runs are left out, and by name those where kappa = 0 is at the expert's floor.
    """
    settings = {job.cell: job.config for job in jobs}
    by_cell, entries = cells(rows), []
    sign = -1.0 if metric in _HIGHER else 1.0
    kinds = dict.fromkeys(cell[1:] for cell in by_cell)
    for number, kind in enumerate(kinds):
        ours, others, at_floor = [], [], []
        for cell in by_cell:
            base = baseline(by_cell, cell, settings) if cell[1:] == kind else None
            if base is None:
                continue
            x, y = (values_of(by_cell[c], metric) for c in (cell, base))
            both = sorted(x.keys() & y.keys())
            theirs = np.array([y[seed] for seed in both])
            if both and theirs.mean() <= floor_of(by_cell[base], metric):
                at_floor.append(cell[0])
            elif both:
                ours.append(np.array([x[seed] for seed in both]))
                others.append(theirs)
        if not ours:
            continue
        rng = np.random.default_rng([19, number])
        entry = {"arm": kind[0], "eta": kind[1], "tasks": len(ours), "left_out": at_floor}
        entry |= asdict(summarise_shares(rng, ours, others))
        better = [sign * x for x in ours], [sign * y for y in others]
        entry["improvement"] = probability_of_improvement(*better)
        entry["improvement_bounds"] = improvement_bounds(rng, *better)
        entries.append(entry)
    return entries


def copy_levels(study: Study, others: Iterable[Study]) -> None:
    """Take the returns of random policies from other studies, instead of playing them again."""
    every = _Levels(study.path)
    for other in others:
        every.add(_Levels(other.path))
