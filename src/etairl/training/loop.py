"""One run of imitation: from demonstrations and a simulator to a policy, a cost, and a verdict.

The loop is the algorithm's own generator; here it meets the run directory. Everything that is
written per cycle follows from the settings alone: a run that was killed and resumed writes the same
bytes as an unbroken one. Times, which cannot, are kept apart in `timing.jsonl`.
"""

import time
from collections.abc import Generator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from etairl.algorithms.girl import Cycle, Expert, State, girl
from etairl.buffers import EpisodeBuffer
from etairl.costs.frozen import linear_in
from etairl.evaluation.diagnostics import collapsed, diagnose
from etairl.evaluation.matching import MEASURES
from etairl.networks import MLP, Normaliser
from etairl.runs import RunDirectory, every_seconds, read_metrics, save_tree
from etairl.solvers.cloning import CloningConfig, clone
from etairl.solvers.policy import ActionScaling
from etairl.solvers.solver import SolverState
from etairl.tasks import without_absorbing
from etairl.training.augmentation import keep_generator
from etairl.training.events import EventLog
from etairl.training.multitask import Scale, solved
from etairl.training.preparation import Setting
from etairl.training.settings import TrainConfig
from etairl.types import DivergedError, InputError, Task, Trajectories


class Best(NamedTuple):
    """The players just after the cycle whose episodes had the smallest MMD² of mu so far.

    The episodes were played before that cycle's updates, the players are those after them.
    """

    actor: MLP
    normaliser: Normaliser
    score: Float[Array, ""]
    cycle: Float[Array, ""]


class Reached(NamedTuple):
    """How far a run is; what a checkpoint holds."""

    state: State
    best: Best
    resets: list[int]
    """of each copy of the task, after the latest whole cycle"""


class Report(NamedTuple):
    """What a consumer sees of one cycle."""

    row: dict[str, Any]
    """as in metrics.jsonl"""
    transitions: int
    total: int


def begin(setting: Setting) -> tuple[State, Best, EpisodeBuffer]:
    """Untrained players, or an actor that clones the expert, to start from or to stay close to."""
    config = setting.config
    state = setting.game.init(setting.expert)._replace(cost=setting.cost)
    if config.warm_start or config.anchor:
        cloned = _cloned_actor(setting)
        solver = state.solver
        if config.warm_start:
            solver = solver._replace(actor=cloned)
        if config.anchor:
            solver = solver._replace(reference=jax.tree.map(jnp.copy, cloned))
        state = state._replace(solver=solver)
    return state, _keep(state, np.inf, 0), setting.game.make_buffer(setting.task)


def _cloned_actor(setting: Setting) -> MLP:
    config = setting.config
    settings = CloningConfig(hidden=config.sac.hidden, activation=config.sac.activation)
    cloned = clone(setting.demos.trajectories, setting.demos.spec, settings, config.seed).actor
    if config.mode != "absorbing":
        return cloned
    # The mark of the absorbing state is one more input, which says nothing about actions.
    first = jnp.concatenate([cloned.weights[0], jnp.zeros((1, cloned.weights[0].shape[1]))])
    return MLP((first, *cloned.weights[1:]), cloned.biases, cloned.activation)


def run(
    setting: Setting, directory: RunDirectory, checkpoint_seconds: float = 60.0
) -> Generator[Report, None, None]:
    """Train from the latest checkpoint, or from the start, to the end; yields once per cycle."""
    config = setting.config
    keep_generator(setting, directory.path)
    state, best, buffer = begin(setting)
    if directory.has_checkpoint:
        state, best = _resume(setting, directory, state, best, buffer)
    else:
        directory.start_over()
    scale = Scale.of(setting)
    due = every_seconds(checkpoint_seconds, time.monotonic)
    unsaved: list[Trajectories] = []
    rows = read_metrics(directory.path)
    started = time.monotonic()
    reached = Reached(state, best, setting.task.resets.tolist())
    events = EventLog(directory.path / "tensorboard", state.transitions + 1 if rows else 0)
    try:
        cycles = girl(setting.game, setting.task, setting.expert, buffer, state)
        while not _no_better(config, rows):  # also before the first: a stop may come just then
            cycle = next(cycles, None)
            if cycle is None:
                break
            _check_finite(setting, cycle)
            state = cycle.state
            # The updates gave up the memory of the state before: from here on this one counts.
            reached = Reached(state, best, setting.task.resets.tolist())
            unsaved.append(cycle.rolled_out)
            row, best = _measure(setting, cycle, best, scale)
            _check_row(row)
            reached = reached._replace(best=best)
            rows.append(row)
            directory.log(row)
            events.add(row)
            now = time.monotonic()
            directory.log_time({"cycle": state.cycles, "seconds": now - started})
            started = now
            yield Report(row, state.transitions, config.girl.transitions)
            if due():
                _checkpoint(directory, setting, reached, unsaved, buffer)
    except DivergedError as error:
        # There is nothing to go on from in it; the checkpoint before stays.
        raise DivergedError(f"{error} (in cycle {state.cycles + 1})") from None
    except (GeneratorExit, InputError):
        _checkpoint(directory, setting, reached, unsaved, buffer)
        raise
    finally:
        events.close()
    _finish(setting, directory, state, best, buffer, rows, scale)


def _measure(
    setting: Setting, cycle: Cycle, best: Best, scale: Scale | None
) -> tuple[dict[str, Any], Best]:
    """A line of metrics; every so many cycles with MMD², and the best players so far."""
    config, state = setting.config, cycle.state
    played = cycle.rolled_out
    assert played.returns is not None
    world = without_absorbing(played) if config.mode == "absorbing" else played
    row: dict[str, Any] = {
        "cycle": state.cycles,
        "transitions": state.transitions,
        "return": float(played.returns.mean()),
        "return_std": float(played.returns.std()),
        "length": float(world.lengths.mean()),
        "actions_at_bounds": _at_bounds(setting.task, played),
    }
    row |= solved(setting, played, scale)
    if cycle.cost_info is not None:
        row |= {f"cost/{k}": float(v) for k, v in cycle.cost_info._asdict().items()}
    row |= {f"solver/{k}": float(v) for k, v in cycle.solver_info._asdict().items()}
    last = state.transitions >= config.girl.transitions
    if state.cycles % config.measure_every == 0 or last:
        for measure in MEASURES:
            row[f"mmd2_{measure}"] = setting.reference.mmd2(world, measure)
        if row["mmd2_mu"] < float(best.score):
            best = _keep(state, row["mmd2_mu"], state.cycles)
    return row, best


def _at_bounds(task: Task, played: Trajectories) -> float:
    """Share of action values within a hundredth of their bounds."""
    if task.spec.discrete_actions is not None:
        return 0.0
    scaled = ActionScaling(task.spec).to_solver(played.actions)
    return float((np.abs(scaled) > 0.98).mean())


def _keep(state: State, score: float, cycle: int) -> Best:
    # Copies: the updates that follow give up the memory of this state.
    parts = (state.solver.actor, state.solver.normaliser)
    actor, normaliser = jax.tree.map(jnp.copy, parts)
    return Best(actor, normaliser, jnp.float32(score), jnp.float32(cycle))


def _check_finite(setting: Setting, cycle: Cycle) -> None:
    """All of both players: the infos of a cycle are from before its last update."""
    state = cycle.state
    if _all_finite((state.cost, state.solver, cycle.cost_info)):
        return
    if (cost := linear_in(setting.game.cost)) is not None:
        # Whatever broke afterwards: a feature that is no number comes first.
        played = Expert.of(cycle.rolled_out, ActionScaling(setting.task.spec))
        cost.basis.check(setting.cost.features, played.points())
    for name, tree in (("cost", state.cost), ("solver", state.solver)):
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
            if not np.isfinite(np.asarray(leaf)).all():
                where = f"{name}{jax.tree_util.keystr(path)}"
                raise FloatingPointError(f"NaN or infinity in {where} after cycle {state.cycles}")


@jax.jit
def _all_finite(tree: Any) -> Bool[Array, ""]:
    return jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(tree)]).all()


def _check_row(row: dict[str, Any]) -> None:
    odd = ", ".join(key for key, value in row.items() if not np.isfinite(value))
    if odd:
        raise FloatingPointError(f"NaN or infinity in {odd} after cycle {row['cycle']}")


def _no_better(config: TrainConfig, rows: list[dict[str, Any]]) -> bool:
    if config.patience is None:
        return False
    scores = [row["mmd2_mu"] for row in rows if "mmd2_mu" in row]
    return bool(scores) and len(scores) - 1 - int(np.argmin(scores)) >= config.patience


def _checkpoint(
    directory: RunDirectory,
    setting: Setting,
    reached: Reached,
    unsaved: list[Trajectories],
    buffer: EpisodeBuffer,
) -> None:
    """Episodes since the last checkpoint, then the players: in this order a kill loses nothing."""
    if not unsaved:
        return
    state, best, resets = reached
    scaling = ActionScaling(setting.task.spec)
    arrays = {
        "observations": np.concatenate([t.observations for t in unsaved]),
        "actions": np.concatenate([scaling.to_solver(t.actions) for t in unsaved]),
        "rewards": np.concatenate([t.rewards for t in unsaved if t.rewards is not None]),
        "terminated": np.concatenate([t.terminated for t in unsaved]),
        "final": np.concatenate(
            [t.final_observations for t in unsaved if t.final_observations is not None]
        ),
        "lengths": np.concatenate([t.lengths for t in unsaved]),
    }
    directory.save_segment(state.cycles - len(unsaved), state.cycles, arrays)
    trees = {"cost": state.cost, "solver": state.solver, "best": best}
    values = {"transitions": state.transitions, "resets": resets}
    directory.save(state.cycles, trees, values, since=state.cycles - len(buffer))
    unsaved.clear()


def _resume(
    setting: Setting, directory: RunDirectory, state: State, best: Best, buffer: EpisodeBuffer
) -> tuple[State, Best]:
    like = {"cost": state.cost, "solver": state.solver, "best": best}
    trees, values = directory.load(like)
    if (cost := linear_in(setting.game.cost)) is not None:
        cost.basis.check_same(setting.cost.features, trees["cost"].features)
    each = setting.config.girl.episodes
    for _, _, arrays in directory.load_segments(values["cycle"]):
        offsets = np.concatenate([[0], np.cumsum(arrays["lengths"])])
        last = np.zeros(offsets[-1], bool)
        last[offsets[1:] - 1] = True
        whole = Trajectories(
            observations=arrays["observations"],
            actions=arrays["actions"],
            terminated=arrays["terminated"],
            truncated=last & ~arrays["terminated"],
            offsets=offsets,
            rewards=arrays["rewards"],
            final_observations=arrays["final"],
        )
        for first in range(0, len(whole), each):
            part = whole.take(np.arange(first, first + each))
            buffer.extend(part, part.actions)
    setting.task.replay(np.asarray(values["resets"]))
    again = State(trees["cost"], trees["solver"], values["cycle"], values["transitions"])
    return again, trees["best"]


def _finish(
    setting: Setting,
    directory: RunDirectory,
    state: State,
    best: Best,
    buffer: EpisodeBuffer,
    rows: list[dict[str, Any]],
    scale: Scale | None,
) -> None:
    """Weights, and the verdict on the last cycles: the paper's remaining replay buffer."""
    config = setting.config
    save_policy(directory.path / "policy.safetensors", state.solver)
    save_tree(directory.path / "cost.safetensors", setting.game.cost.stored(state.cost))
    save_tree(directory.path / "best-policy.safetensors", (best.actor, best.normaliser))
    last = rows[-config.girl.remaining_cycles :]
    remaining = buffer.trajectories(buffer.newest(cycles=len(last)))
    scaling = ActionScaling(setting.task.spec)
    remaining = replace(remaining, actions=scaling.to_task(remaining.actions))
    if config.mode == "absorbing":
        remaining = without_absorbing(remaining)
    returns, expert = remaining.returns, setting.demos.trajectories.returns
    assert returns is not None
    rng = np.random.default_rng([config.seed, 3])
    distances = {
        f"mmd2_{measure}{'' if scaled else '_raw'}": asdict(
            setting.reference.distance(rng, remaining, measure, scaled)
        )
        for measure in MEASURES
        for scaled in (True, False)
    }
    collapse = collapsed(rows)
    directory.finish(
        {
            "cycles": state.cycles,
            "transitions": state.transitions,
            "remaining": {
                "cycles": len(last),
                "return": float(returns.mean()),
                "return_std": float(returns.std()),
                **solved(setting, remaining, scale),
                **distances,
            },
            "expert_return": None if expert is None else float(expert.mean()),
            "best": {"cycle": int(best.cycle), "mmd2_mu": float(best.score)},
            "idle": None if setting.futures is None else asdict(setting.futures),
            "collapsed_share": collapse.share,
            "collapsed_by": collapse.by,
            "diagnostics": [asdict(d) for d in diagnose(rows)],
        }
    )


def save_policy(path: Path, solver: SolverState) -> None:
    """The actor, and what it expects of its inputs."""
    save_tree(path, (solver.actor, solver.normaliser))
