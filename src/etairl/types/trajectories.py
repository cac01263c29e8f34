"""Trajectories: episodes of unequal length in flat arrays that are checked once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Num

from etairl.types.checks import check_arrays, checked_spans, whole_offsets
from etairl.types.spec import InputError

_PER_STEP = (
    *("observations", "actions", "terminated", "truncated", "rewards"),
    *("spans", "next_observations"),
)


@dataclass(frozen=True, eq=False)
class Trajectories:
    r"""Episodes of unequal length: one flat array per field, and where each episode starts.

    Episode $i$ is rows `offsets[i]` to `offsets[i + 1]` of every per-step array. The arrays are
    checked once, here, and are read-only afterwards.

    Where an episode was thinned, a row stands for its own step and for those dropped after it:
    `spans` of them. Times, durations and returns are those of the whole episode.
    """

    observations: Float[np.ndarray, "steps obs"]
    actions: Num[np.ndarray, "steps act"]
    """What was done; without columns where only observations are known."""
    terminated: Bool[np.ndarray, " steps"]
    """The world ended the episode after this step: nothing to bootstrap from."""
    truncated: Bool[np.ndarray, " steps"]
    """The recording or the time limit ended the episode after this step."""
    offsets: Int[np.ndarray, " episodes_and_one"]
    rewards: Float[np.ndarray, " steps"] | None = None
    """What the environment paid. For evaluation only: no loss ever sees it."""
    final_observations: Float[np.ndarray, "episodes obs"] | None = None
    """The observation after the last action of each episode, where it is known."""
    tasks: Float[np.ndarray, "episodes task"] | None = None
    """The task vector of each episode in the multi-task setting."""
    spans: Int[np.ndarray, " steps"] | None = None
    """Steps that each row stands for; None where every step was recorded."""
    next_observations: Float[np.ndarray, "steps obs"] | None = None
    """Of thinned episodes: the observation after the step of each row, where it is known."""

    def __post_init__(self):
        arrays = {name: array for name, array in vars(self).items() if array is not None}
        for name, array in (arrays | {"offsets": whole_offsets(np.asarray(self.offsets))}).items():
            object.__setattr__(self, name, _frozen(array))
        check_arrays(self)
        if self.spans is not None:
            object.__setattr__(self, "spans", _frozen(checked_spans(self)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Int[np.ndarray, " episodes"]:
        """Number of rows of each episode."""
        return _frozen(np.diff(self.offsets))

    @property
    def durations(self) -> Int[np.ndarray, " episodes"]:
        """Number of steps of each episode, those that were dropped included."""
        if self.spans is None:
            return self.lengths
        return np.add.reduceat(self.spans, self.offsets[:-1])

    @property
    def steps(self) -> int:
        """Number of rows over all episodes."""
        return len(self.observations)

    @property
    def obs_dim(self) -> int:
        """Columns of an observation."""
        return self.observations.shape[1]

    @property
    def act_dim(self) -> int:
        """Columns of an action; 0 where actions are not known."""
        return self.actions.shape[1]

    @property
    def last_rows(self) -> Int[np.ndarray, " episodes"]:
        """Row of the last step of each episode."""
        return self.offsets[1:] - 1

    @property
    def episode_numbers(self) -> Int[np.ndarray, " steps"]:
        """Number of the episode that each step belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def times(self) -> Int[np.ndarray, " steps"]:
        """Steps since its episode began, for each row."""
        spans = np.ones(self.steps, np.int64) if self.spans is None else self.spans
        before = np.cumsum(spans) - spans
        return before - np.repeat(before[self.offsets[:-1]], self.lengths)

    @property
    def row_of_step(self) -> Int[np.ndarray, " all_steps"]:
        """The row that stands for each step of each episode, those that were dropped included."""
        rows = np.arange(self.steps)
        return rows if self.spans is None else np.repeat(rows, self.spans)

    @property
    def returns(self) -> Float[np.ndarray, " episodes"] | None:
        """Sum of the rewards of each episode, in double precision."""
        if self.rewards is None:
            return None
        return np.add.reduceat(self.rewards.astype(np.float64), self.offsets[:-1])

    def pairs(self, rows: Any = slice(None)) -> Float[np.ndarray, "some dims"]:
        """State-action pairs $(s, a)$ as one array, as an MMD sees them; or states alone."""
        parts = [self.observations[rows], self.actions[rows]]
        return np.concatenate(parts, axis=1, dtype=np.float64)

    def without_actions(self) -> "Trajectories":
        """Observations alone."""
        return replace(self, actions=np.zeros((self.steps, 0), np.float32))

    def repeated(self) -> "Trajectories":
        """With all steps: each row of a thinned episode again for every step it stands for.

        Its rewards are those of the first of them.
        """
        if self.spans is None:
            return self
        rows = self.row_of_step
        first = np.diff(rows, prepend=-1) > 0
        last = np.append(first[1:], True)
        return self.at_rows(
            rows,
            self.durations,
            terminated=self.terminated[rows] & last,
            truncated=self.truncated[rows] & last,
            rewards=None if self.rewards is None else self.rewards[rows] * first,
            spans=None,
            next_observations=None,
        )

    def take(self, episodes: Int[np.ndarray, " chosen"]) -> "Trajectories":
        """The chosen episodes, in the order given; an episode may be chosen twice."""
        if len(episodes) == 0 or episodes.min() < 0 or episodes.max() >= len(self):
            raise InputError(
                f"choose at least one episode, from 0 to {len(self) - 1}, got {episodes.tolist()}"
            )
        lengths = self.lengths[episodes]
        final, tasks = (
            None if array is None else array[episodes]
            for array in (self.final_observations, self.tasks)
        )
        rows = ragged_rows(self.offsets[episodes], lengths)
        return self.at_rows(rows, lengths, final_observations=final, tasks=tasks)

    def at_rows(
        self,
        rows: Int[np.ndarray, " kept"],
        lengths: Int[np.ndarray, " chosen"],
        **changes: np.ndarray | None,
    ) -> "Trajectories":
        """New episodes of these lengths from these rows, with some fields given anew."""
        arrays = {name: getattr(self, name) for name in _PER_STEP}
        kept = {name: array[rows] for name, array in arrays.items() if array is not None}
        return replace(self, **(kept | {"offsets": offsets_of(lengths)} | changes))


def joined(parts: Sequence[Trajectories]) -> Trajectories:
    """The episodes of all of them, one after another; all must know the same things."""
    columns: dict[str, np.ndarray | None] = {}
    for name in (*_PER_STEP, "final_observations", "tasks"):
        arrays = [array for t in parts if (array := getattr(t, name)) is not None]
        if len(arrays) not in (0, len(parts)):
            raise InputError(f"only some of these episodes have {name}")
        columns[name] = np.concatenate(arrays) if arrays else None
    lengths = np.concatenate([t.lengths for t in parts])
    return replace(parts[0], offsets=offsets_of(lengths), **columns)


def offsets_of(lengths: Int[np.ndarray, " episodes"]) -> Int[np.ndarray, " episodes_and_one"]:
    """Where episodes of these lengths start in a flat array, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)])


def last_steps(offsets: Int[np.ndarray, " episodes_and_one"]) -> Bool[np.ndarray, " steps"]:
    """Which rows are the last of an episode."""
    last = np.zeros(offsets[-1], bool)
    last[offsets[1:] - 1] = True
    return last


def ragged_rows(
    starts: Int[np.ndarray, " episodes"], counts: Int[np.ndarray, " episodes"]
) -> Int[np.ndarray, " rows"]:
    """Rows `starts[i], starts[i] + 1, …` (`counts[i]` of them) of every episode in turn."""
    before = np.cumsum(counts) - counts
    within = np.arange(counts.sum()) - np.repeat(before, counts)
    return np.repeat(starts, counts) + within


def constant_columns(x: Float[np.ndarray, "rows dims"]) -> Bool[np.ndarray, " dims"]:
    """Which columns do not vary, up to the rounding of single precision: one rule for all."""
    spread = x.max(axis=0) - x.min(axis=0)
    return spread <= 1e-6 * np.maximum(1.0, np.abs(x).max(axis=0))


def _frozen(array: np.ndarray) -> np.ndarray:
    """An array that nobody else can change: a copy, unless it could not be changed before."""
    array = np.asarray(array)
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


class FutureBatch(NamedTuple):
    r"""State-action pairs $(s_+, a_+)$ drawn from a measure, and the rows they came from."""

    observations: Float[np.ndarray, "batch obs"]
    actions: Num[np.ndarray, "batch act"]
    rows: Int[np.ndarray, " batch"]
