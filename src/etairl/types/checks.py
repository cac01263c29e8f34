"""What the arrays of trajectories must be like."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from etairl.types.spec import InputError

if TYPE_CHECKING:
    from etairl.types.trajectories import Trajectories

_KIND_NAMES = {
    "f": "float32 or float64",
    "b": "boolean",
    "iu": "integer",
    "fiu": "float32, float64 or integer",
}
_SMALLEST_IMAGE = 8 * 8 * 3  # numbers
_LARGEST = 1e30  # squares and sums of larger values overflow
_LONGEST = 1_000_000  # steps of an episode that was thinned: tables of time indices are as long


def is_image(shape: Sequence[int], dtype: Any) -> bool:
    """Does an observation look like an image: bytes in rows and columns, or in many more?"""
    return (len(shape) >= 2 and dtype == np.uint8) or (
        len(shape) >= 3 and math.prod(shape) >= _SMALLEST_IMAGE
    )


def whole_offsets(offsets: np.ndarray) -> np.ndarray:
    """As plain integers; refused where they are none."""
    if offsets.dtype.kind not in "iu" or offsets.ndim != 1 or len(offsets) < 2:
        raise InputError("offsets must be a list of whole numbers, one more than episodes")
    return offsets.astype(np.int64)


def check_arrays(t: "Trajectories") -> None:
    """Refuse arrays that do not fit together, or hold what nobody can learn from."""
    for name, array in (("observations", t.observations), ("actions", t.actions)):
        if array.ndim != 2 or (name == "observations" and array.shape[1] == 0):
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
        ("spans", "iu", (t.steps,)),
        ("next_observations", "f", (t.steps, t.obs_dim)),
        ("final_observations", "f", (len(t), t.obs_dim)),
        ("tasks", "f", (len(t), 0 if t.tasks is None else t.tasks.shape[1])),
    ):
        if (array := getattr(t, name)) is not None:
            _check_array(name, array, kinds, shape)
    for name in ("final_observations", "next_observations"):
        array = getattr(t, name)
        if array is not None and array.dtype != t.observations.dtype:
            raise InputError(
                f"{name} are {array.dtype}, observations {t.observations.dtype}; store both alike"
            )
    if t.next_observations is not None and t.spans is None:
        raise InputError("next_observations belong to thinned episodes: give their spans, too")
    _check_ends(t)


def checked_spans(t: "Trajectories") -> np.ndarray:
    """As plain integers; refused where time tables of such episodes would be too long."""
    assert t.spans is not None
    if (wrong := (t.spans < 1) | (t.spans > _LONGEST)).any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"spans[{row}] is {t.spans[row]}: a row stands for 1 to {_LONGEST:,} steps"
        )
    spans = t.spans.astype(np.int64)
    durations = np.add.reduceat(spans, t.offsets[:-1])
    if durations.max() > _LONGEST:
        raise InputError(
            f"the spans of episode {int(np.argmax(durations))} sum to {durations.max():,} steps; "
            f"the longest thinned episode has {_LONGEST:,}"
        )
    return spans


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
        many = "1 value is" if bad.sum() == 1 else f"{bad.sum()} values are"
        word = "NaN" if np.isnan(value) else "infinite" if np.isinf(value) else f"{value:.3g}"
        raise InputError(
            f"{name}{list(first)} is {word} ({many} NaN, infinite or beyond {_LARGEST:g}); remove "
            "those episodes before learning from them"
        )


def _check_ends(t: "Trajectories") -> None:
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
