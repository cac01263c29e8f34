"""`etairl expert`: train on the true cost, record demonstrations, say how good they are."""

import shlex
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from etairl.algorithms.expert import ExpertConfig
from etairl.cli.console import out, parse, print_json, working
from etairl.cli.running import play_through
from etairl.demos import Demos, save_demos
from etairl.rollouts import collect
from etairl.runs import versions
from etairl.storage import write_json
from etairl.tasks import make_task, planned_expert
from etairl.tasks.catalogue import planned_names
from etairl.tasks.environments import imported
from etairl.training.expert_session import open_expert
from etairl.training.experts import load_expert
from etairl.training.multitask import success_rate
from etairl.training.stoppable import Report
from etairl.types import InputError, Policy, Task, Trajectories, check_range


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
            raise InputError(f"{config.train.env} has no planner; there is one for {known}")
        return _record(config, arguments, policy)
    if config.policy is not None:
        return _record(config, arguments, load_expert(config.policy, config.trust))
    with ExitStack() as stack:
        with working("loading the simulator"):
            expert = open_expert(config.train, config.output, config.checkpoint_seconds)
            run = stack.enter_context(expert)
        if run.resumed and not run.finished and not config.json:
            out().print(f"resuming from step {run.transitions:,}")
        if not run.finished:
            again = "the same command resumes it"
            play_through(run, f"training on {config.train.env}", config.train.steps, _note, again)
        return _record(config, arguments, load_expert(config.output, trust=True))


def _note(report: Report, speed: float) -> str:
    del speed
    return f"return {report.row['return']:.0f}" if "return" in report.row else ""


def _record(config: Config, arguments: list[str], policy: Policy) -> int:
    with working("recording demonstrations"):
        recorded, task = _collected(config, policy)
    train = config.train
    name = task.spec.environment or train.env
    playing = "drawn" if config.stochastic else "greedy"
    title = name.replace("/", "-") + ("-drawn" if config.stochastic else "")
    path = config.output / f"{title}-{config.episodes}x{task.horizon}.npz"
    save_demos(Demos.of(recorded, task.spec, name, playing), path, overwrite=True)
    returns = recorded.returns
    assert returns is not None
    rate = success_rate(task, recorded)
    solved = {} if rate is None else {"success": rate}
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
    )
    return 0


def _collected(config: Config, policy: Policy) -> tuple[Trajectories, Task]:
    """Fresh episodes of a policy."""
    train = config.train
    horizon = train.horizon if config.record_steps is None else config.record_steps
    copies = min(config.episodes, 25)
    # Seeds of its own: demonstrations are not replays of training episodes.
    task = make_task(train.env, copies, horizon=horizon, seed=train.seed + 1_000_003)
    rng = np.random.default_rng([train.seed, 7])
    return collect(rng, task, policy, config.episodes, stochastic=config.stochastic), task
