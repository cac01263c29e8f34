"""A set of demonstrations: trajectories, the task they belong to, and how to cut them down."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from etairl.types import InputError, Spec, Trajectories, check_range, constant_columns

Playing = Literal["drawn", "greedy"]
"""How a policy acts: actions drawn from it, or the most likely ones."""
PLAYINGS: tuple[Playing, ...] = get_args(Playing)


@dataclass(frozen=True, eq=False)
class Demos:
    """Expert trajectories and what is known about their task; `Demos.of` makes them.

    All actions lie within the bounds of `spec`: a simulator clamps them anyway, and a discriminator
    would tell expert from learner by their range alone. Where actions are not known, `spec` may
    still say what those of the task are.
    """

    trajectories: Trajectories
    spec: Spec
    name: str = "demonstrations"
    clipped: int = 0
    """How many actions (rows) lay outside the bounds before they were clipped."""
    playing: Playing | None = None
    """How the expert acted, where the source says so; `playing_of` guesses it from the data."""
    notes: tuple[str, ...] = ()
    """What was decided while a file of another library was read, in sentences."""

    def __post_init__(self):
        columns = (self.trajectories.obs_dim, self.trajectories.act_dim)
        known = self.spec.act_dim if columns[1] else 0
        if columns != (self.spec.obs_dim, known):
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
        notes: tuple[str, ...] = (),
    ) -> "Demos":
        """Demonstrations of a task, actions outside its bounds clipped and counted."""
        actions, clipped = trajectories.actions, 0
        if trajectories.act_dim == spec.act_dim:
            actions, clipped = _within_bounds(actions, spec)
        return Demos(replace(trajectories, actions=actions), spec, name, clipped, playing, notes)

    @cached_property
    def standardiser(self) -> "Standardiser":
        """Mean and scale of the state-action pairs, for discriminators and for the MMD."""
        return Standardiser.of(self.trajectories.pairs())


def _within_bounds(actions: np.ndarray, spec: Spec) -> tuple[np.ndarray, int]:
    if actions.shape[1] == 0:
        return actions, 0
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
    """only every M-th step of each episode, starting with the first; time indices are kept"""
    no_actions: bool = False
    """leave the actions out, to imitate from observations alone"""

    def __post_init__(self):
        check_range(self, "[1, inf)", "episodes", "steps", "every")

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
        if self.every is not None and self.every > 1:
            trajectories = _every(trajectories, self.every)
        return trajectories.without_actions() if self.no_actions else trajectories


def _first_steps(t: Trajectories, steps: int) -> Trajectories:
    """Cut every episode after `steps` steps. A cut is a truncation.

    What came next is known if it was recorded.
    """
    times, cut = t.times, t.durations > steps
    rows = np.flatnonzero(times < steps)
    lengths = np.bincount(t.episode_numbers[rows])
    last, after = np.cumsum(lengths) - 1, t.offsets[:-1] + lengths
    truncated = t.truncated[rows] | np.isin(np.arange(len(rows)), last[cut])
    spans = None if t.spans is None else np.minimum(t.spans[rows], steps - times[rows])
    final = None
    if all(row < t.steps and times[row] == steps for row in after[cut]):
        if t.final_observations is not None:
            final = t.final_observations.copy()
            final[cut] = t.observations[after[cut]]
        elif cut.all():
            final = t.observations[after]
    return t.at_rows(rows, lengths, truncated=truncated, final_observations=final, spans=spans)


def _every(t: Trajectories, stride: int) -> Trajectories:
    """Keep steps 0, M, 2M, … of every episode, with their time indices.

    Each kept step stands for itself and the steps dropped after it: it carries their rewards, so
    that returns stay what they were, and the last one the episode's end mark. What followed a kept
    step itself is kept, too, if it is known of all of them.
    """
    rows = np.flatnonzero(t.times % stride == 0)
    lengths = np.bincount(t.episode_numbers[rows])
    if (lengths != -(-t.durations // stride)).any():
        raise InputError(
            f"some of the steps 0, {stride}, {2 * stride}, … were not recorded: these "
            "demonstrations are thinned already; keep a multiple of what they keep"
        )
    last = np.cumsum(lengths) - 1
    terminated, truncated = t.terminated[rows], t.truncated[rows]
    terminated[last] = t.terminated[t.last_rows]
    truncated[last] = t.truncated[t.last_rows]
    spans = np.ones(t.steps, np.int64) if t.spans is None else t.spans
    return t.at_rows(
        rows,
        lengths,
        terminated=terminated,
        truncated=truncated,
        rewards=None if t.rewards is None else np.add.reduceat(t.rewards, rows),
        spans=np.add.reduceat(spans, rows),
        next_observations=_following(t, rows),
    )


def _following(t: Trajectories, rows: np.ndarray) -> np.ndarray | None:
    """The observations after the steps of these rows; None if one of them is unknown."""
    if t.spans is not None:
        return None if t.next_observations is None else t.next_observations[rows]
    ends = np.isin(rows, t.last_rows)
    following = t.observations[np.where(ends, rows, rows + 1)]
    if t.final_observations is not None:
        following[ends] = t.final_observations[t.episode_numbers[rows[ends]]]
    return None if t.final_observations is None and ends.any() else following
