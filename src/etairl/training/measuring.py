"""What is measured of a run: a line of metrics per cycle, and the result at its end."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from etairl.algorithms.girl import Cycle, State, as_points
from etairl.buffers import EpisodeBuffer
from etairl.evaluation.diagnostics import collapsed, diagnose
from etairl.evaluation.progress import Progress
from etairl.evaluation.timeline import Expert
from etairl.experience import ExpertBuffer
from etairl.networks import all_finite
from etairl.runs import RunDirectory
from etairl.solvers.learned import save_policy
from etairl.solvers.policy import ActionScaling
from etairl.tasks import without_absorbing
from etairl.training.cloned import clone_policy, keep_clone, make_clone
from etairl.training.deciding import kept, stopped, watched_name
from etairl.training.judging import CLONING, DEMONSTRATIONS, LEARNER, Stage, judge_at_the_end
from etairl.training.multitask import ReturnScale, solved
from etairl.training.preparation import Prepared
from etairl.trees import save_tree
from etairl.types import DivergedError, InputError, Policy, Task, Trajectories

FRESH_EPISODES = 10
"""of each kind, played by the policy at the end of a run"""


def measure(prepared: Prepared, cycle: Cycle, scale: ReturnScale | None) -> dict[str, Any]:
    """A line of metrics; every so many cycles with MMD²."""
    config, state = prepared.config, cycle.state
    # In a cycle of steps those that begin later are cut.
    played = cycle.rolled_out.take(np.arange(config.girl.episodes))
    assert played.returns is not None
    world = without_absorbing(played) if config.mode == "absorbing" else played
    row: dict[str, Any] = {
        "cycle": state.cycles,
        "transitions": state.transitions,
        "return": float(played.returns.mean()),
        "return_std": float(played.returns.std()),
        "length": float(world.lengths.mean()),
        "actions_at_bounds": _at_bounds(prepared.task, world),
    }
    row |= solved(prepared, played, scale)
    if cycle.cost_info is not None:
        row |= {f"cost/{k}": float(v) for k, v in cycle.cost_info._asdict().items()}
    if cycle.solver_info is not None:
        row |= {f"solver/{k}": float(v) for k, v in cycle.solver_info._asdict().items()}
    last = state.transitions >= config.girl.transitions
    if state.cycles % config.measure_every == 0 or last:
        row |= {f"mmd2_{name}": value for name, value in prepared.reference.mmd2(world).items()}
        row |= {} if prepared.watched is None else prepared.watched.columns(world)
    odd = ", ".join(key for key, value in row.items() if not np.isfinite(value))
    if odd:
        raise FloatingPointError(f"NaN or infinity in {odd} after cycle {row['cycle']}")
    return row


def _at_bounds(task: Task, played: Trajectories) -> float:
    """Share of action values within a hundredth of their bounds."""
    if task.spec.discrete_actions is not None:
        return 0.0
    scaled = ActionScaling(task.spec).to_solver(played.actions)
    return float((np.abs(scaled) > 0.98).mean())


def check_finite(prepared: Prepared, cycle: Cycle) -> None:
    """All of both players: the infos of a cycle are from before its last update."""
    state = cycle.state
    if all_finite((state.cost, state.solver, cycle.cost_info)):
        return
    # Whatever broke afterwards: a cost that is not a number comes first.
    t = cycle.rolled_out
    actions = ActionScaling(prepared.task.spec).to_solver(t.actions)
    points = as_points(ExpertBuffer.of(t, actions).transitions())
    try:
        prepared.game.cost.check_points(prepared.cost, points)
    except InputError as error:
        raise DivergedError(str(error)) from None  # there is nothing to resume from in it
    for name, tree in (("cost", state.cost), ("solver", state.solver)):
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
            if not np.isfinite(np.asarray(leaf)).all():
                where = f"{name}{jax.tree_util.keystr(path)}"
                raise FloatingPointError(f"NaN or infinity in {where} after cycle {state.cycles}")


def _remaining(prepared: Prepared, buffer: EpisodeBuffer, cycles: int) -> Trajectories:
    """Whole episodes of the last cycles, in the units of the environment."""
    config, scaling = prepared.config, ActionScaling(prepared.task.spec)
    t = buffer.trajectories(buffer.newest(cycles=cycles, first=config.girl.episodes))
    t = replace(t, actions=scaling.to_task(t.actions))
    return without_absorbing(t) if config.mode == "absorbing" else t


def _stage(prepared: Prepared, solver: Any, path: Path, tell: Callable[[str], object]) -> Stage:
    """The learner, and beside it a clone, which is kept in the folder of the run."""
    policies: dict[str, Policy] = {LEARNER: prepared.game.solver.policy(solver)}
    if prepared.demos.trajectories.act_dim:
        tell("a clone to compare with")
        cloned = make_clone(prepared)
        keep_clone(cloned, path)
        policies[CLONING] = clone_policy(cloned, prepared.demos.spec)
    return Stage(prepared, policies, FRESH_EPISODES)


def final_result(
    prepared: Prepared,
    directory: RunDirectory,
    state: State,
    best: Any,
    buffer: EpisodeBuffer,
    rows: list[dict[str, Any]],
    scale: ReturnScale | None,
    tell: Callable[[str], object] = str,
) -> dict[str, Any]:
    """How the last cycles match: the paper's remaining replay buffer. Weights are written."""
    config, progress = prepared.config, Progress.of(rows)
    solver, which = kept(prepared, state, best, progress)
    _save_weights(prepared, directory.path, state, solver, best if progress.best else None)
    last = rows[-config.girl.remaining_cycles :]
    remaining = _remaining(prepared, buffer, len(last))
    returns, expert = remaining.returns, prepared.demos.trajectories.returns
    assert returns is not None
    stage = _stage(prepared, solver, directory.path, tell)
    tell("playing fresh episodes")
    shown = stage.experts[stage.kinds[0]]
    drawn = stage.experts["drawn"]  # as the learner's actions in its replay
    collapse = collapsed(rows)
    futures = prepared.futures
    tell("comparing with the expert")
    return {
        "cycles": state.cycles,
        "transitions": state.transitions,
        "remaining": {
            "cycles": len(last),
            "return": float(returns.mean()),
            "return_std": float(returns.std()),
            **_compared(shown, remaining, config.seed),
            **_scored(prepared, remaining, scale, drawn),
        },
        "same_kind": None if drawn is shown else _compared(drawn, remaining, config.seed),
        "fresh": [asdict(behaviour) for behaviour in judge_at_the_end(stage)],
        "expert_return": None if expert is None else float(expert.mean()),
        "stopped": stopped(prepared, state, progress),
        "kept": which,
        **_reached(prepared, rows, progress),
        "idle": None if futures is None else asdict(futures),
        "collapsed_share": collapse.share,
        "collapsed_by": collapse.by,
        "diagnostics": [asdict(d) for d in diagnose(rows)],
    }


def _save_weights(prepared: Prepared, path: Path, state: State, solver: Any, best: Any) -> None:
    settled = prepared.game.solver.settled(state.solver)
    played, marked = prepared.game.solver.policy, prepared.config.mode == "absorbing"
    save_policy(path / "policy.safetensors", solver, played(solver), marked)
    better = settled
    if best is not None:
        better = settled._replace(actor=best.actor, normaliser=best.normaliser)
    save_policy(path / "best-policy.safetensors", better, played(better), marked)
    cost = prepared.game.cost
    save_tree(path / "cost.safetensors", cost.stored(cost.learned(state.cost, settled)))


def _reached(prepared: Prepared, rows: list[dict[str, Any]], progress: Progress) -> dict[str, Any]:
    """The best cycle, and how often the run was far behind it."""
    cycle, score = rows[-1]["cycle"], rows[-1]["mmd2_mu"]  # with too few measurements: the last
    if progress.best is not None:
        cycle, score = progress.best.cycle, progress.best.score
    fallen = [m.cycle for m in progress.measured if m.fallen]
    return {
        "watched": watched_name(prepared),
        "best": {"cycle": cycle, "mmd2_mu": score},
        "recoveries": progress.recoveries,
        "collapsed_cycles": len(fallen),
        "collapsed_last_third": sum(3 * cycle > 2 * rows[-1]["cycle"] for cycle in fallen),
    }


def _scored(
    prepared: Prepared, played: Trajectories, scale: ReturnScale | None, expert: Expert
) -> dict[str, Any]:
    """The score, and beside whom: where there are many tasks that of the curves."""
    assert played.returns is not None
    metrics: dict[str, Any] = solved(prepared, played, scale)
    if "score" in metrics:
        return metrics | {"score_beside": DEMONSTRATIONS}  # whatever their kind
    return metrics | {
        "score": expert.score(float(played.returns.mean())),
        "score_beside": expert.name,
    }


def _compared(expert: Expert, played: Trajectories, seed: int) -> dict[str, Any]:
    """Distances from an expert, with all steps."""
    row: dict[str, Any] = {"beside": expert.name, "compared": expert.scaled.compared}
    rng, steps = np.random.default_rng([seed, 3]), expert.scaled.seen(played)
    for suffix, reference in (("", expert.scaled), ("_raw", expert.raw)):
        for name, distance in reference.distances(rng, steps).items():
            row[f"mmd2_{name}{suffix}"] = asdict(distance)
    return row
