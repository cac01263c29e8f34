"""Finished runs of a study in fresh episodes: made once per run, put together in one table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from etairl.demos.action_kind import BY_A_GUESS
from etairl.evaluation.statistics import mean_interval
from etairl.evaluation.timeline import QUARTERS
from etairl.runs import EVALUATION
from etairl.storage import write_json
from etairl.studies.digest import Digest, kept_rows
from etairl.studies.jobs import Job
from etairl.studies.study_folder import Study
from etairl.training.behaviour import titled
from etairl.training.judging import LEARNER
from etairl.training.preset_changes import without_folders


def _of_quarter(measure: str, number: int) -> Callable[[Mapping[str, Any]], float | None]:
    def value(row: Mapping[str, Any]) -> float | None:
        quarters = row.get(f"quarters_{measure}") or ()
        return quarters[number] if number < len(quarters) else None

    return value


_COLUMNS = {
    "return": lambda row: row["return_mean"],
    "score": lambda row: row["score"],
    "mmd2_rho": lambda row: row["mmd2_rho"]["value"],
    "mmd2_mu": lambda row: row["mmd2_mu"]["value"],
    "survival_twice": lambda row: row.get("survival_twice"),
    "success": lambda row: row["success"],
    "score_all_tasks": lambda row: row["all_tasks"] and row["all_tasks"]["score"],
    "success_all_tasks": lambda row: row["all_tasks"] and row["all_tasks"]["success"],
} | {
    f"mmd2_{measure}_q{number + 1}": _of_quarter(measure, number)
    for measure in ("rho", "mu")
    for number in range(QUARTERS)
}


def evaluate_run(study: Study, job: Job) -> None:
    """Write evaluation.json of a finished run, as `etairl evaluate --json` prints it.

    Twice the horizon is played, too: who is still there then is an outcome of studies.
    """
    if study.evaluate is None or study.evaluated(job):
        return
    from etairl.training.result import Result  # late: it needs JAX

    study.forget_failure(job)
    rows = Result(study.run_path(job), trust=True).evaluate(study.evaluate, longer=True)
    write_json(study.run_path(job) / EVALUATION, [asdict(row) for row in rows])


def evaluation_table(jobs: Sequence[Job], digests: Mapping[str, Digest]) -> list[dict[str, Any]]:
    """A row per setting and kind, then the policies beside them: means over seeds, t-intervals.

    From the fresh episodes at the end of each run where the study asks for no others.

    Clones, random policies and experts depend on task, demonstrations and seed alone, so they are
    taken from one run of each.
    """
    learners: dict[tuple[str, str, str, str], dict[int, Any]] = {}
    others: dict[tuple[str, str, int | None, int, str, str], dict[int, Any]] = {}
    for job in jobs:
        digest, c = digests.get(job.name), job.config
        if digest is None:
            continue
        for row in digest.evaluation or kept_rows(digest.result.get("fresh") or []):
            # Without a kind: evaluated by a version that did not tell drawn from greedy.
            title = titled(row["name"], row.get("playing"))
            if row["name"] == LEARNER:
                learners.setdefault((*job.cell, title), {})[c.seed] = row
            else:
                kind = (c.env, c.demos, c.demonstrations, c.every, c.mode, title)
                others.setdefault(kind, {}).setdefault(c.seed, row)
    table = [_entry(*cell, seeds) for cell, seeds in learners.items()]
    several = [demos for demos, *_ in {kind[1:4] for kind in others}]
    for (env, demos, many, every, _, who), x in others.items():
        part = _part(many, every) if several.count(demos) > 1 else ""
        table.append(_entry(env, without_folders(demos) + part, "", who, x))
    envs = list(dict.fromkeys(entry["env"] for entry in table))
    return sorted(table, key=lambda entry: envs.index(entry["env"]))


def _part(many: int | None, every: int) -> str:
    """How much of a set of demonstrations was used."""
    steps = f", one step in {every}" if every > 1 else ""
    return f", {'all' if many is None else many} of them{steps}"


def _entry(
    env: str, arm: str, eta: str, policy: str, seeds: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any]:
    entry: dict[str, Any] = {"env": env, "arm": arm, "eta": eta, "policy": policy}
    entry |= {"seeds": sorted(seeds)}
    for name, value in _COLUMNS.items():
        known = [x for row in seeds.values() if (x := value(row)) is not None]
        mean = asdict(mean_interval([np.array(known, float)])) if known else {}
        entry[name] = mean | {"runs": known} if known else None
    floors = [x for row in seeds.values() if (x := row["mmd2_mu"]["floor"]) is not None]
    guessed = any((row.get("beside") or "").endswith(BY_A_GUESS) for row in seeds.values())
    states = any(row.get("compared") == "states" for row in seeds.values())
    entry |= {"guessed": guessed, "states_alone": states}
    return entry | {"floor_mu": sum(floors) / len(floors) if floors else None}
