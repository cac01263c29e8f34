"""A set of demonstrations: trajectories, the task they belong to, and how to cut them down."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from etairl.types import InputError, Spec, Trajectories, check_range, constant_columns, ragged_rows

Playing = Literal["drawn", "greedy"]
"""How a policy acts: actions drawn from it, or the most likely ones."""
PLAYINGS: tuple[Playing, ...] = get_args(Playing)


@dataclass(frozen=True, eq=False)
class Demos:
    """Expert trajectories and what is known about their task; `Demos.of` makes them.

    All actions lie within the bounds of `spec`: a simulator clamps them anyway, and a discriminator
    would tell expert from learner by their range alone.
    """

    trajectories: Trajectories
    spec: Spec
    name: str = "demonstrations"
    clipped: int = 0
    """How many actions (rows) lay outside the bounds before they were clipped."""
    playing: Playing | None = None
    """How the expert acted, where the source says so; `playing_of` guesses it from the data."""

    def __post_init__(self):
        columns = (self.trajectories.obs_dim, self.trajectories.act_dim)
        if columns != (self.spec.obs_dim, self.spec.act_dim):
            raise InputError(
                f"observations and actions have {columns[0]} and {columns[1]} columns, "
                f"the task expects {self.spec.obs_dim} and {self.spec.act_dim}"
            )
        _, clipped = _within_bounds(self.trajectories.actions, self.spec)
        if clipped:
            raise InputError(f"{clipped} actions lie outside the bounds; Demos.of clips them")

    @staticmethod
    def of(
        trajectories: Trajectories,
        spec: Spec,
        name: str = "demonstrations",
        playing: Playing | None = None,
    ) -> "Demos":
        """Demonstrations of a task, actions outside its bounds clipped and counted."""
        actions, clipped = trajectories.actions, 0
        if trajectories.act_dim == spec.act_dim:
            actions, clipped = _within_bounds(actions, spec)
        return Demos(replace(trajectories, actions=actions), spec, name, clipped, playing)

    @cached_property
    def standardiser(self) -> "Standardiser":
        """Mean and scale of the state-action pairs, for discriminators and for the MMD."""
        return Standardiser.of(self.trajectories.pairs())


def _within_bounds(actions: np.ndarray, spec: Spec) -> tuple[np.ndarray, int]:
    if spec.discrete_actions is not None:
        bad = (actions != np.floor(actions)) | (actions < 0) | (actions >= spec.discrete_actions)
        if bad.any():
            row = int(np.argmax(bad[:, 0]))
            raise InputError(
                f"action {actions[row, 0]} at row {row} is not one of the "
                f"{spec.discrete_actions} actions 0 to {spec.discrete_actions - 1}"
            )
        return actions.astype(np.int64), 0
    if spec.action_low is None or spec.action_high is None:
        return actions, 0
    if actions.dtype.kind != "f":
        raise InputError(
            f"actions are {actions.dtype}, but have bounds: store them as floats, or say how many "
            "discrete actions there are"
        )
    low, high = (np.asarray(side, actions.dtype) for side in (spec.action_low, spec.action_high))
    outside = int(((actions < low) | (actions > high)).any(axis=1).sum())
    return (np.clip(actions, low, high), outside) if outside else (actions, 0)


@dataclass(frozen=True)
class Standardiser:
    r"""$x \mapsto (x - m)/s$ with the statistics of the demonstrations.

    A dimension that is constant in the demonstrations keeps its own unit ($s = 1$): there is no
    scale to divide by, and a learner that leaves the constant must stay visible.
    """

    mean: Float[np.ndarray, " dims"]
    scale: Float[np.ndarray, " dims"]

    @staticmethod
    def of(x: Float[np.ndarray, "rows dims"]) -> "Standardiser":
        """The statistics of the rows of `x`."""
        mean, std = x.mean(axis=0), x.std(axis=0)
        return Standardiser(mean, np.where(constant_columns(x), 1.0, std))

    def __call__(self, x: Float[np.ndarray, "rows dims"]) -> Float[np.ndarray, "rows dims"]:
        """`x` in units of the demonstrations."""
        return (x - self.mean) / self.scale


@dataclass(frozen=True)
class Selection:
    """Which part of the demonstrations to use. Applied in this order."""

    episodes: int | None = None
    """only the first N episodes"""
    steps: int | None = None
    """only the first T steps of each episode"""
    every: int | None = None
    """only every M-th step of each episode, starting with the first"""

    def __post_init__(self):
        check_range(self, "[1, inf)", *vars(self))

    def __call__(self, trajectories: Trajectories) -> Trajectories:
        """The selected part."""
        if self.episodes is not None:
            if self.episodes > len(trajectories):
                n = len(trajectories)
                raise InputError(
                    f"asked for {self.episodes} episodes, but there are only {n}; ask for at most "
                    f"{n}, in `etairl train` with --demonstrations {n}"
                )
            trajectories = trajectories.take(np.arange(self.episodes))
        if self.steps is not None:
            trajectories = _first_steps(trajectories, self.steps)
        if self.every is not None:
            trajectories = _every(trajectories, self.every)
        return trajectories


def _first_steps(t: Trajectories, steps: int) -> Trajectories:
    """Cut every episode after `steps` steps. A cut is a truncation, and what came next is known."""
    kept = np.minimum(t.lengths, steps)
    rows, after = ragged_rows(t.offsets[:-1], kept), t.offsets[:-1] + kept
    cut = kept < t.lengths
    truncated = t.truncated[rows]
    truncated[(np.cumsum(kept) - 1)[cut]] = True
    final = None
    if t.final_observations is not None:
        final = t.final_observations.copy()
        final[cut] = t.observations[after[cut]]
    elif cut.all():
        final = t.observations[after]
    return t.at_rows(rows, kept, truncated=truncated, final_observations=final)


def _every(t: Trajectories, stride: int) -> Trajectories:
    """Keep steps 0, M, 2M, … of every episode.

    The last kept step carries the episode's end mark, and each kept step the rewards of the steps
    dropped after it, so that returns stay what they were.
    """
    kept = -(-t.lengths // stride)
    rows = ragged_rows(t.offsets[:-1], kept, stride)
    last = np.cumsum(kept) - 1
    terminated, truncated = t.terminated[rows], t.truncated[rows]
    terminated[last] = t.terminated[t.last_rows]
    truncated[last] = t.truncated[t.last_rows]
    rewards = None if t.rewards is None else np.add.reduceat(t.rewards, rows)
    return t.at_rows(rows, kept, terminated=terminated, truncated=truncated, rewards=rewards)
