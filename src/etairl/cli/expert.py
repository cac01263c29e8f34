"""`etairl expert`: train on the true cost, record demonstrations, say how good they are."""

import shlex
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import jax
import numpy as np
import tyro

from etairl.algorithms.expert import (
    Cycle,
    ExpertConfig,
    begin,
    make_expert_task,
    make_solver,
    train_expert,
)
from etairl.cli.console import Meter, out, parse, patient_interrupt
from etairl.demos import Demos, save_demos
from etairl.rollouts import collect
from etairl.runs import (
    RunDirectory,
    every_seconds,
    load_replay,
    load_tree,
    save_replay,
    save_tree,
    versions,
    write_json,
)
from etairl.solvers.sac import SAC
from etairl.tasks import make_task
from etairl.types import InputError, Task


@dataclass(frozen=True)
class Config:
    """Train an expert with soft actor-critic on the true cost, then record demonstrations.

    Run the same command again to go on where it stopped; the number of steps may differ.
    """

    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")]
    """the run directory"""
    train: tyro.conf.OmitArgPrefixes[ExpertConfig] = field(default_factory=ExpertConfig)
    episodes: int = 25
    """demonstrations to record"""
    record_steps: int | None = None
    """steps of a demonstration; the training horizon if left out"""
    stochastic: bool = False
    """record drawn actions instead of the most likely ones"""
    checkpoint_seconds: float = 60.0
    """time between checkpoints"""


def run(arguments: list[str]) -> int:
    """The command."""
    config = parse(Config, arguments, "expert")
    directory = RunDirectory(config.output)
    going_on = directory.open(config.train, may_change=("steps",))
    task = make_expert_task(config.train)
    solver = make_solver(config.train, task)
    if not directory.finished:
        _train(config, directory, going_on, task, solver)
    return _record(config, solver, arguments)


def _train(
    config: Config, directory: RunDirectory, going_on: bool, task: Task, solver: SAC
) -> None:
    train = config.train
    progress = begin(train, task, solver)
    if going_on:
        like = {"solver": progress.solver, "best": progress.best}
        trees, values = directory.load(like)
        load_replay(directory, progress.replay, values["replay_added"])
        progress = progress._replace(**trees, steps=values["steps"], cycles=values["cycle"])
        out().print(f"going on from step {progress.steps:,}")
    due = every_seconds(config.checkpoint_seconds, time.monotonic)
    returns: list[float] = []
    cycle = None
    if progress.steps >= train.steps:
        raise InputError(
            f"{config.output} is at step {progress.steps:,} already; ask for more steps"
        )
    with Meter(f"training on {train.env}", train.steps) as meter, patient_interrupt() as stop:
        try:
            for cycle in train_expert(train, task, solver, progress):
                returns = (returns + cycle.returns)[-20:]
                if cycle.returns or cycle.judged is not None:
                    directory.log(_metrics(cycle, returns))
                mean = f"return {np.mean(returns):.0f}" if returns else ""
                meter.update(cycle.progress.steps, mean)
                if due() or stop():
                    _checkpoint(directory, cycle)
                if stop():
                    raise KeyboardInterrupt
        except InputError:
            # A simulator failed while acting: what was learned before is whole. (Within updates
            # it would not be: they give up the memory of the old state.)
            if cycle is not None:
                _checkpoint(directory, cycle)
            raise
    assert cycle is not None
    best, last = cycle.progress.best, cycle.progress.solver
    # A run that ends within its warm-up was never judged.
    kept = best if np.isfinite(best.score) else last
    save_tree(config.output / "policy.safetensors", (kept.actor, kept.normaliser))
    mean = float(np.mean(returns)) if returns else None
    judged = float(best.score) if np.isfinite(best.score) else None
    result = {"steps": cycle.progress.steps, "training_return": mean, "best_judged_return": judged}
    directory.finish(result)


def _checkpoint(directory: RunDirectory, cycle: Cycle) -> None:
    progress = cycle.progress
    save_replay(directory, progress.replay)
    trees = {"solver": progress.solver, "best": progress.best}
    values = {"steps": progress.steps, "replay_added": progress.replay.added}
    directory.save(progress.cycles, trees, values)


def _metrics(cycle: Cycle, returns: list[float]) -> dict[str, int | float]:
    row: dict[str, int | float] = {"cycle": cycle.progress.cycles, "steps": cycle.progress.steps}
    if cycle.judged is not None:
        row["judged_return"] = cycle.judged
    info = {} if cycle.info is None else {k: float(v) for k, v in cycle.info._asdict().items()}
    mean = {"return": float(np.mean(returns))} if returns else {}
    return row | mean | info


def _record(config: Config, solver: SAC, arguments: list[str]) -> int:
    train = config.train
    fresh = solver.init(jax.random.key(0))
    actor, normaliser = load_tree(
        config.output / "policy.safetensors", (fresh.actor, fresh.normaliser)
    )
    policy = solver.policy(fresh._replace(actor=actor, normaliser=normaliser))
    horizon = config.record_steps or train.horizon
    copies = min(config.episodes, 25)
    # Seeds of its own: demonstrations are not replays of training episodes.
    task = make_task(train.env, copies, horizon=horizon, seed=train.seed + 1_000_003)
    rng = np.random.default_rng([train.seed, 7])
    recorded = collect(rng, task, policy, config.episodes, stochastic=config.stochastic)
    path = config.output / f"{train.env}-{config.episodes}x{task.horizon}.npz"
    save_demos(Demos(recorded, task.spec, train.env), path, overwrite=True)
    returns = recorded.returns
    assert returns is not None
    card = {
        "command": shlex.join(["etairl", "expert", *arguments]),
        "environment": train.env,
        "episodes": len(recorded),
        "steps": recorded.steps,
        "return_mean": float(returns.mean()),
        "return_std": float(returns.std()),
        "terminated": int(recorded.terminated.sum()),
        "actions": "drawn" if config.stochastic else "most likely",
        "training": asdict(train),
        "versions": versions(),
    }
    write_json(path.with_suffix(".json"), card)
    out().print(
        f"{len(recorded)} episodes of up to {task.horizon} steps: return {returns.mean():.1f} ± "
        f"{returns.std():.1f}, {card['terminated']} ended early → {path}",
        markup=False,
    )
    return 0
