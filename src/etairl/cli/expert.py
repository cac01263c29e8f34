"""`etairl expert`: train on the true cost, record demonstrations, say how good they are."""

import shlex
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from etairl.algorithms.expert import (
    ExpertConfig,
    ExpertCycle,
    ExpertProgress,
    Simulators,
    begin,
    make_expert_task,
    make_solver,
    train_expert,
)
from etairl.checkpoints import load_replay, save_replay
from etairl.cli.console import Meter, out, parse, patient_interrupt, print_json
from etairl.decoding import encode
from etairl.demos import Demos, save_demos
from etairl.locks import held
from etairl.rollouts import collect
from etairl.runs import RunDirectory, every_seconds, versions
from etairl.solvers.learned import save_policy
from etairl.solvers.sac import SAC
from etairl.storage import write_json
from etairl.tasks import make_task, planned_expert
from etairl.tasks.catalogue import planned_names
from etairl.tasks.environments import imported
from etairl.training.experts import load_expert
from etairl.types import (
    DivergedError,
    InputError,
    Policy,
    RejoinableTask,
    Task,
    Trajectories,
    check_range,
)


@dataclass(frozen=True)
class Config:
    """Train an expert with soft actor-critic on the true cost, then record demonstrations.

    Run the same command again to resume where it stopped; the number of steps may differ.
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
    planner: bool = False
    """do not train: record a policy that plans, for environments that have one (2-D navigation:
    the shortest path; FetchReach: straight to the goal)"""
    policy: Annotated[str | None, tyro.conf.arg(metavar="SOURCE")] = None
    """do not train: record the bundled expert of an environment, or that of another run"""
    trust: bool = False
    """import code that this run names as its environment"""
    checkpoint_seconds: float = 60.0
    """time between checkpoints"""
    json: bool = False
    """print the card of the demonstrations as JSON"""

    def __post_init__(self):
        check_range(self, "[1, inf)", "episodes", "record_steps")
        check_range(self, "[0, inf)", "checkpoint_seconds")


def run(arguments: list[str]) -> int:
    """Train, or resume; then record demonstrations."""
    config = parse(Config, arguments, "expert")
    if config.planner:
        policy = planned_expert(imported(config.train.env))
        if policy is None:
            known = ", ".join(planned_names())
            raise InputError(f"{config.train.env} has no planner (there is one for {known})")
        return _record(config, arguments, policy)
    if config.policy is not None:
        return _record(config, arguments, load_expert(config.policy, config.trust))
    if config.train.steps <= config.train.warmup:
        raise InputError(
            f"all {config.train.steps} steps are warm-up, and nothing would be learned; give more "
            "--steps, or less --warmup"
        )
    task = make_expert_task(config.train)
    solver = make_solver(config.train, task)
    directory = RunDirectory(config.output)
    if not directory.finished:
        directory.check_versions()
    with held(config.output):
        resumed = directory.open(encode(config.train), may_change=("steps",))
        if not directory.finished:
            _train(config, directory, resumed, task, solver)
        return _record(config, arguments, load_expert(config.output, trust=True))


def _train(
    config: Config, directory: RunDirectory, resumed: bool, task: RejoinableTask, solver: SAC
) -> None:
    progress, returns = begin(config.train, task, solver), []
    if resumed:
        progress, returns = _load(directory, progress)
        if not config.json:
            out().print(f"resuming from step {progress.steps:,}")
    else:
        directory.start_over()
    if progress.steps < config.train.steps:
        cycles = train_expert(config.train, task, solver, progress)
        progress, returns = _follow(config, directory, cycles, returns)
    best, last = progress.best, progress.solver
    # A run that ends within its warm-up was never judged.
    kept = best if np.isfinite(best.score) else last
    played = solver.policy(last._replace(actor=kept.actor, normaliser=kept.normaliser))
    save_policy(config.output / "policy.safetensors", kept, played)
    mean = float(np.mean(returns)) if returns else None
    judged = float(best.score) if np.isfinite(best.score) else None
    result = {"steps": progress.steps, "training_return": mean, "best_judged_return": judged}
    directory.finish(result)


def _follow(
    config: Config, directory: RunDirectory, cycles: Iterator[ExpertCycle], returns: list[float]
) -> tuple[ExpertProgress, list[float]]:
    """Train to the end, or to Ctrl-C; the last progress, and the latest returns."""
    train = config.train
    due = every_seconds(config.checkpoint_seconds, time.monotonic)
    cycle = None
    with Meter(f"training on {train.env}", train.steps) as meter, patient_interrupt() as stop:
        try:
            for cycle in cycles:
                returns = (returns + cycle.returns)[-20:]
                if cycle.returns or cycle.judged is not None:
                    directory.log(_metrics(cycle, returns))
                mean = f"return {np.mean(returns):.0f}" if returns else ""
                meter.update(cycle.progress.steps, mean)
                stopped = stop()
                if due() or stopped:
                    _save(directory, cycle.progress, returns)
                if stopped:
                    raise KeyboardInterrupt(
                        f"{config.output} is kept at step {cycle.progress.steps:,}; the same "
                        "command resumes it"
                    )
        except DivergedError as error:
            kept = "the last checkpoint stays" if directory.checkpoints.any else "nothing is kept"
            raise InputError(f"{error}; {kept} in {config.output}") from None
        except InputError:
            # A simulator failed: what was learned up to the last cycle is whole.
            if cycle is not None:
                _save(directory, cycle.progress, returns)
            raise
    assert cycle is not None
    return cycle.progress, returns


def _save(directory: RunDirectory, progress: ExpertProgress, returns: list[float]) -> None:
    """A checkpoint; the replay may have gone on since, and is taken back."""
    progress.replay.rewind(progress.world.added)
    since = save_replay(directory.checkpoints, progress.replay)
    trees = {"solver": progress.solver, "best": progress.best}
    values = {"steps": progress.steps, "returns": returns, "world": progress.world._asdict()}
    directory.checkpoints.save(progress.cycles, trees, values, since)


def _load(directory: RunDirectory, fresh: ExpertProgress) -> tuple[ExpertProgress, list[float]]:
    """The latest checkpoint, with the latest returns."""
    trees, values = directory.checkpoints.load({"solver": fresh.solver, "best": fresh.best})
    world = Simulators(**values["world"])
    load_replay(directory.checkpoints, fresh.replay, world.added)
    progress = fresh._replace(**trees, steps=values["steps"], cycles=values["cycle"], world=world)
    return progress, values["returns"]


def _metrics(cycle: ExpertCycle, returns: list[float]) -> dict[str, int | float]:
    row: dict[str, int | float] = {"cycle": cycle.progress.cycles, "steps": cycle.progress.steps}
    if cycle.judged is not None:
        row["judged_return"] = cycle.judged
    info = {} if cycle.info is None else {k: float(v) for k, v in cycle.info._asdict().items()}
    mean = {"return": float(np.mean(returns))} if returns else {}
    return row | mean | info


def _record(config: Config, arguments: list[str], policy: Policy) -> int:
    train = config.train
    horizon = train.horizon if config.record_steps is None else config.record_steps
    copies = min(config.episodes, 25)
    # Seeds of its own: demonstrations are not replays of training episodes.
    task = make_task(train.env, copies, horizon=horizon, seed=train.seed + 1_000_003)
    rng = np.random.default_rng([train.seed, 7])
    recorded = collect(rng, task, policy, config.episodes, stochastic=config.stochastic)
    name = task.spec.environment or train.env
    playing = "drawn" if config.stochastic else "greedy"
    title = name.replace("/", "-") + ("-drawn" if config.stochastic else "")
    path = config.output / f"{title}-{config.episodes}x{task.horizon}.npz"
    save_demos(Demos.of(recorded, task.spec, name, playing), path, overwrite=True)
    returns = recorded.returns
    assert returns is not None
    solved = _solved(task, recorded)
    card = {
        "command": shlex.join(["etairl", "expert", *arguments]),
        "environment": name,
        "episodes": len(recorded),
        "steps": recorded.steps,
        "return_mean": float(returns.mean()),
        "return_std": float(returns.std()),
        **solved,
        "terminated": int(recorded.terminated.sum()),
        "playing": playing,
        "training": None if config.planner or config.policy else asdict(train),
        "versions": versions(),
    }
    write_json(path.with_suffix(".json"), card)
    if config.json:
        print_json({"file": str(path), **card})
        return 0
    share = f", {100 * solved['success']:.0f} % of the tasks solved" if solved else ""
    out().print(
        f"{len(recorded)} episodes of up to {task.horizon} steps: return {returns.mean():.1f} ± "
        f"{returns.std():.1f}{share}, {card['terminated']} ended early → {path}",
        markup=False,
    )
    return 0


def _solved(task: Task, recorded: Trajectories) -> dict[str, float]:
    """Share of the tasks that were solved, where there are many."""
    if task.multi is None or recorded.final_observations is None:
        return {}
    return {"success": float(task.multi.success(recorded.final_observations).mean())}
