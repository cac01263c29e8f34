"""Costs of a study of transfer.toml in changed worlds: fresh policies on them, and the table.

    python benchmarks/transfer.py retrain STUDY [--expert FOLDER]
    python benchmarks/transfer.py table STUDY [--expert FOLDER] [--episodes 100]

`retrain` trains, on the cost of every finished run, a fresh policy in its own world and one in the
changed world; it goes on where it stopped. `table` plays all policies. A score is 0 for a random
policy and 1 for the expert of the world that is played in, on its true cost: the planner on a map,
the expert in FOLDER (a run of `etairl expert --env etairl/LameAnt-v0`) for the lame Ant.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import etairl
from etairl.demos import find_demos
from etairl.rollouts import UniformPolicy, collect
from etairl.runs import RunDirectory
from etairl.studies.jobs import Job
from etairl.studies.study_folder import Study
from etairl.tasks import make_task, planned_expert
from etairl.tasks.lame import LAME_ANT
from etairl.tasks.navigation_world import NAVIGATION, SHIFTED_NAVIGATION
from etairl.training.cloned import clone_policy, kept_clone
from etairl.training.experts import load_expert
from etairl.training.preparation import prepare
from etairl.types import Policy, Trajectories

CHANGED = {NAVIGATION: SHIFTED_NAVIGATION, "Ant-v5": LAME_ANT}
WALKS = "etairl-ShiftedNavigation-v0-100x50"
MEASURED_LITTLE = ("--remaining-cycles", "5", "--measure-every", "20")  # `table` does that
SEED = 7_000_003  # of episodes: no training had it


class World(NamedTuple):
    """Where policies are played."""

    env: str
    horizon: int
    mode: str


def finished(study: Study) -> list[Job]:
    """Runs whose cost can be carried."""
    return [job for job in study.jobs if RunDirectory(study.run_path(job)).finished]


def fresh(study: Study, job: Job, changed: bool) -> Path:
    """The run of a fresh policy on the cost of another."""
    return study.path / "retrained" / f"{job.name}-{'changed' if changed else 'same'}"


def retrain(study: Study, expert: Path | None) -> None:
    """Fresh policies on all costs, one after the other."""
    for changed, job in product((True, False), finished(study)):
        target, words = fresh(study, job, changed), [*MEASURED_LITTLE]
        if changed:
            demos = _demonstrations(job.config.env, expert)
            if demos is None:
                print(f"{job.name}: no expert of {CHANGED[job.config.env]}, left out")
                continue
            words += ["--env", CHANGED[job.config.env], "--demos", demos]
            words += ["--horizon", str(job.config.horizon)]
        if RunDirectory(target).finished:
            continue
        begun = (target / "config.json").is_file()
        start = ["train", "-o", str(target), "--cost", str(study.run_path(job)), *words]
        command = ["resume", str(target)] if begun else start
        subprocess.run([sys.executable, "-m", "etairl", *command], check=True)


def _demonstrations(env: str, expert: Path | None) -> str | None:
    """Of the changed world: what a fresh policy is measured beside, never what it learns from."""
    if env == NAVIGATION:
        return WALKS
    found = [] if expert is None else find_demos(expert)
    return next((str(file) for file in map(Path, found) if file.suffix == ".npz"), None)


def policies(study: Study, job: Job) -> dict[tuple[str, bool], Policy]:
    """Who plays, and whether in the changed world."""
    run = study.run_path(job)
    learned = etairl.load(run).network
    prepared = prepare(job.config, threads=1, copies=1)
    clone = clone_policy(kept_clone(prepared, run), prepared.demos.spec)
    found: dict[tuple[str, bool], Policy] = {}
    for changed in (False, True):
        found["learned with the cost", changed] = learned
        found["behaviour cloning", changed] = clone
        if RunDirectory(fresh(study, job, changed)).finished:
            found["fresh, on the frozen cost", changed] = etairl.load(
                fresh(study, job, changed)
            ).network
    return found


def play(world: World, policy: Policy | None, episodes: int, drawn: bool) -> Trajectories:
    """Episodes with starts, and tasks, that are the same for everyone."""
    task = make_task(
        world.env, min(episodes, 25), horizon=world.horizon, mode=world.mode, seed=SEED
    )
    rng = np.random.default_rng(SEED)
    return collect(rng, task, policy or UniformPolicy(task), episodes, stochastic=drawn)


def scale(world: World, expert: Path | None, episodes: int) -> Callable[[Trajectories, bool], Any]:
    """What a return is worth in a world, for either kind of acting."""
    best = planned_expert(world.env)
    if best is None:
        source = expert if world.env == LAME_ANT else world.env
        assert source is not None
        known = load_expert(source)
        marked = world.mode == "absorbing"

        def best(rng: np.random.Generator | None, seen: np.ndarray) -> np.ndarray:
            return known(rng, seen[:, :-1] if marked else seen)

    low = float(play(world, None, episodes, True).returns.mean())
    high = {k: float(play(world, best, episodes, k).returns.mean()) for k in (False, True)}
    return lambda t, drawn: (float(t.returns.mean()) - low) / (high[drawn] - low)


def measure(study: Study, expert: Path | None, episodes: int) -> list[dict[str, Any]]:
    """A row for each policy of each run that has learned, whether or not it has measured itself."""
    rows, scales = list[dict[str, Any]](), dict[World, Callable[[Trajectories, bool], Any]]()
    for job in study.jobs:
        if not (study.run_path(job) / "policy.safetensors").is_file():
            continue
        c = job.config
        for (name, changed), policy in policies(study, job).items():
            world = World(CHANGED[c.env] if changed else c.env, c.horizon, c.mode)
            if world.env == LAME_ANT and expert is None:
                continue
            if world not in scales:
                scales[world] = scale(world, expert, episodes)
            row: dict[str, Any] = {"env": world.env, "arm": job.arm, "seed": c.seed, "policy": name}
            for drawn, kind in ((False, "greedy"), (True, "drawn")):
                played = play(world, policy, episodes, drawn)
                row |= {f"score_{kind}": round(scales[world](played, drawn), 4)}
                row |= {f"return_{kind}": round(float(played.returns.mean()), 2)}
                task = make_task(world.env, 1, horizon=world.horizon).multi
                if task is not None:
                    ends = played.final_observations
                    row |= {f"solved_{kind}": float(task.success(ends).mean())}
            rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> None:
    """In Markdown, a number for each seed."""
    columns = ("score_greedy", "score_drawn", "solved_greedy")
    print("| world | cost of | policy | score, greedy | score, drawn | solved, greedy |")
    print("|---|---|---|---|---|---|")
    cells: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda r: r["seed"]):
        cells[row["env"], row["arm"], row["policy"]].append(row)
    for (env, arm, policy), seeds in sorted(cells.items()):
        each = (" ".join(f"{s[c]:.2f}" for s in seeds if c in s) for c in columns)
        print(f"| {env} | {arm} | {policy} | " + " | ".join(each) + " |")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("retrain", "table"))
    parser.add_argument("study", type=Path)
    parser.add_argument("--expert", type=Path, help="an expert of the lame Ant")
    parser.add_argument("--episodes", type=int, default=100)
    asked = parser.parse_args()
    study = Study(asked.study, trust=True)
    if asked.what == "retrain":
        retrain(study, asked.expert)
        return
    rows = measure(study, asked.expert, asked.episodes)
    (asked.study / "transfer.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    table(rows)


if __name__ == "__main__":
    main()
