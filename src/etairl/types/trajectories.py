"""Trajectories: episodes of unequal length in flat arrays that are checked once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Num

from etairl.types.spec import InputError

_PER_STEP = ("observations", "actions", "terminated", "truncated", "rewards")
_KIND_NAMES = {"f": "float32 or float64", "b": "boolean", "fiu": "float32, float64 or integer"}
_LARGEST = 1e30  # squares and sums of larger values overflow


@dataclass(frozen=True, eq=False)
class Trajectories:
    r"""Episodes of unequal length: one flat array per field, and where each episode starts.

    Episode $i$ is rows `offsets[i]` to `offsets[i + 1]` of every per-step array. The arrays are
    checked once, here, and are read-only afterwards.
    """

    observations: Float[np.ndarray, "steps obs"]
    actions: Num[np.ndarray, "steps act"]
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

    def __post_init__(self):
        arrays = {name: array for name, array in vars(self).items() if array is not None}
        for name, array in (arrays | {"offsets": _whole(np.asarray(self.offsets))}).items():
            object.__setattr__(self, name, _frozen(array))
        _check_arrays(self)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Int[np.ndarray, " episodes"]:
        """Number of steps of each episode."""
        return _frozen(np.diff(self.offsets))

    @property
    def steps(self) -> int:
        """Number of transitions over all episodes."""
        return len(self.observations)

    @property
    def obs_dim(self) -> int:
        """Columns of an observation."""
        return self.observations.shape[1]

    @property
    def act_dim(self) -> int:
        """Columns of an action."""
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
        """Steps since its episode began, for each step."""
        return np.arange(self.steps) - np.repeat(self.offsets[:-1], self.lengths)

    @property
    def returns(self) -> Float[np.ndarray, " episodes"] | None:
        """Sum of the rewards of each episode, in double precision."""
        if self.rewards is None:
            return None
        return np.add.reduceat(self.rewards.astype(np.float64), self.offsets[:-1])

    def pairs(self, rows: Any = slice(None)) -> Float[np.ndarray, "some dims"]:
        """State-action pairs $(s, a)$ as one array, as a discriminator or an MMD sees them."""
        parts = [self.observations[rows], self.actions[rows]]
        return np.concatenate(parts, axis=1, dtype=np.float64)

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


def ragged_rows(
    starts: Int[np.ndarray, " episodes"], counts: Int[np.ndarray, " episodes"], stride: int = 1
) -> Int[np.ndarray, " rows"]:
    """Rows `starts[i], starts[i] + stride, …` (`counts[i]` of them) of every episode in turn."""
    before = np.cumsum(counts) - counts
    within = np.arange(counts.sum()) - np.repeat(before, counts)
    return np.repeat(starts, counts) + stride * within


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


def _whole(offsets: np.ndarray) -> np.ndarray:
    if offsets.dtype.kind not in "iu" or offsets.ndim != 1 or len(offsets) < 2:
        raise InputError("offsets must be a list of whole numbers, one more than episodes")
    return offsets.astype(np.int64)


def _check_arrays(t: Trajectories) -> None:
    for name, array in (("observations", t.observations), ("actions", t.actions)):
        if array.ndim != 2 or array.shape[1] == 0:
            raise InputError(
                f"{name} must be 2-dimensional [steps, size] with at least one column, "
                f"got shape {array.shape}"
            )
    if t.steps == 0:
        raise InputError("there are no steps: a trajectory needs at least one")
    _check_offsets(t.offsets, t.steps)
    if t.tasks is not None and t.tasks.ndim != 2:
        raise InputError(f"tasks must be [episodes, size], got shape {t.tasks.shape}")
    for name, kinds, shape in (
        ("observations", "f", (t.steps, t.obs_dim)),
        ("actions", "fiu", (t.steps, t.act_dim)),
        ("terminated", "b", (t.steps,)),
        ("truncated", "b", (t.steps,)),
        ("rewards", "f", (t.steps,)),
        ("final_observations", "f", (len(t), t.obs_dim)),
        ("tasks", "f", (len(t), 0 if t.tasks is None else t.tasks.shape[1])),
    ):
        if (array := getattr(t, name)) is not None:
            _check_array(name, array, kinds, shape)
    if t.final_observations is not None and t.final_observations.dtype != t.observations.dtype:
        raise InputError(
            f"final_observations are {t.final_observations.dtype}, "
            f"observations {t.observations.dtype}; store both alike"
        )
    _check_ends(t)


def _check_offsets(offsets: np.ndarray, steps: int) -> None:
    lengths = np.diff(offsets)
    if (lengths < 1).any():
        raise InputError(
            f"episode {int(np.argmax(lengths < 1))} is empty: every episode needs at least one step"
        )
    if offsets[0] != 0 or offsets[-1] != steps:
        raise InputError(
            f"the episode lengths sum to {int(lengths.sum())}, but there are {steps} steps"
        )


def _check_array(name: str, array: np.ndarray, kinds: str, shape: tuple[int, ...]) -> None:
    floating = array.dtype.kind == "f"
    if array.dtype.kind not in kinds or (floating and array.dtype.itemsize not in (4, 8)):
        raise InputError(f"{name} must be {_KIND_NAMES[kinds]}, got {array.dtype}")
    if array.shape != shape:
        raise InputError(f"{name} must have shape {shape}, got {array.shape}")
    if floating and (bad := ~(np.abs(array) <= _LARGEST)).any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        value = array[first]
        word = "NaN" if np.isnan(value) else "infinite" if np.isinf(value) else f"{value:.3g}"
        raise InputError(
            f"{name}{list(first)} is {word} ({int(bad.sum())} values are NaN, infinite or beyond "
            f"{_LARGEST:g}); remove those episodes before learning from them"
        )


def _check_ends(t: Trajectories) -> None:
    last = np.zeros(t.steps, dtype=bool)
    last[t.last_rows] = True
    wrong = (t.terminated | t.truncated) != last
    if wrong.any():
        row = int(np.argmax(wrong))
        episode = int(np.searchsorted(t.offsets, row, side="right")) - 1
        what = (
            "has no end mark on its last step: set terminated or truncated there"
            if last[row]
            else f"is marked as ended at step {row - int(t.offsets[episode])}, before its last step"
        )
        raise InputError(f"episode {episode} {what}")


class FutureBatch(NamedTuple):
    r"""State-action pairs $(s_+, a_+)$ drawn from a measure, and the rows they came from."""

    observations: Float[np.ndarray, "batch obs"]
    actions: Num[np.ndarray, "batch act"]
    rows: Int[np.ndarray, " batch"]
