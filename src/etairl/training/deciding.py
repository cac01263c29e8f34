"""What a run decides about itself: which policy it keeps, when it goes back, and why it stopped."""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from etairl.algorithms.girl import Girl, State
from etairl.evaluation.progress import BETTER, Progress
from etairl.networks import MLP, Normaliser
from etairl.solvers.solver import SolverState
from etairl.training.preparation import Prepared
from etairl.training.watching import IN_USE

MOST_RECOVERIES = 3
SLOWER = 0.5
"""what is left of the solver's learning rates after each of them"""


class Player(NamedTuple):
    """A policy: an actor, and what it expects of its inputs."""

    actor: MLP
    normaliser: Normaliser


def copy_player(prepared: Prepared, state: State) -> Any:
    """The policy as it plays now, with all of its solver where the run may come back to it.

    A copy: the updates that follow give up the memory of this state.
    """
    solver = state.solver
    if not prepared.config.recover:
        solver = Player(solver.actor, solver.normaliser)
    return jax.tree.map(jnp.copy, solver)


def recovers(prepared: Prepared, progress: Progress) -> bool:
    """Whether to go back now: the newest measurement makes it a collapse, and there is a best."""
    best, last = progress.best, len(progress.measured) - 1
    return (
        prepared.config.recover
        and last in progress.collapses
        and progress.recoveries < MOST_RECOVERIES
        and best is not None
        and not best.fallen
    )


def gone_back(state: State, best: Any) -> State:
    """The state with the solver of the best cycle.

    The cost stays as it is: it has seen where the policy went, and what it would pay before led
    there. The critics soon follow, since every batch is paid with the current cost.
    """
    return state._replace(solver=jax.tree.map(jnp.copy, best))


def slowed(game: Girl, recoveries: int) -> Girl:
    """The game after so many recoveries."""
    return replace(game, solver=game.solver.slowed(SLOWER**recoveries)) if recoveries else game


def kept(
    prepared: Prepared, state: State, best: Any, progress: Progress
) -> tuple[SolverState, dict[str, Any]]:
    """The solver with the policy to keep; and which it is, of which cycle, and why."""
    last = prepared.game.solver.settled(state.solver)
    if prepared.config.keep == "last":
        why = "the settings keep the last one"
    elif progress.best is None:
        why = "there were too few measurements to tell which was the best"
    else:
        why = f"MMD² of mu, smoothed, was the smallest: {progress.best.score:.5f}"
        which = {"policy": "best", "cycle": progress.best.cycle, "why": why}
        return last._replace(actor=best.actor, normaliser=best.normaliser), which
    return last, {"policy": "last", "cycle": state.cycles, "why": why}


def stopped(prepared: Prepared, state: State, progress: Progress) -> dict[str, Any]:
    """Why a run came to its end, in a word and in a sentence."""
    config = prepared.config
    why = progress.stop(config.patience) or "transitions"
    what = f"MMD² of mu to {watched_name(prepared)}"
    times = f"for {config.patience} measurements"
    if why == "matches":
        floor = progress.measured[-1].floor
        message = f"{what} was below {floor:.5f}, that of the expert against itself, {times}"
    elif why == "patience":
        message = f"{what} has not improved by {100 * BETTER:.0f} % {times}"
    else:
        message = f"all {config.girl.transitions:,} transitions were made"
    return {
        "why": why,
        "message": message,
        "cycle": state.cycles,
        "transitions": state.transitions,
    }


def watched_name(prepared: Prepared) -> str:
    """Which demonstrations all this is measured against."""
    return IN_USE if prepared.watched is None else prepared.watched.name
