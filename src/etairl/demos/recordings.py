"""What files of other libraries hold, made into demonstrations: the same steps for all formats."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from etairl.demos.dataset import Playing
from etairl.types import InputError, Spec, Trajectories, check_range, is_image, offsets_of

NO_IMAGES = (
    "images are not supported. Leave them out, or put numbers in their place (the features of an "
    "encoder), here and in the environment"
)
_OBSERVED = ("observations", "final_observations", "next_observations")
_ENDS_UNKNOWN = (
    "the file does not say why its episodes end: every end counts as a timeout; with --time-limit "
    "T those of fewer than T steps were ended by the world"
)


@dataclass(frozen=True)
class Importing:
    """How to read a file of another library."""

    observations: tuple[str, ...] = ()
    """which keys or columns are observations, in this order, if not all that are there"""
    actions: tuple[str, ...] = ()
    """which columns of a table are actions, in this order"""
    reward: str | None = None
    """which column of a table is the reward"""
    episode: str | None = None
    """which column of a table numbers the episodes"""
    end: str | None = None
    """which column of a table marks the last step of an episode"""
    time_limit: int | None = None
    """the time limit behind the episodes: one of so many steps ended by it, a shorter one by the
    world"""
    discrete: int | None = None
    """actions are indices of so many, 0 to this less 1"""

    def __post_init__(self):
        check_range(self, "[1, inf)", "time_limit", "discrete")

    @property
    def of_tables(self) -> list[str]:
        """Options that were given and that tables alone have."""
        named = {"--reward": self.reward, "--episode": self.episode, "--end": self.end}
        return [option for option, value in named.items() if value is not None]


class Recording(NamedTuple):
    """The episodes of a file, one after another, as they are there."""

    observations: np.ndarray
    """[steps, …]"""
    actions: np.ndarray
    """[steps, …]"""
    lengths: np.ndarray
    """[episodes]"""
    terminated: np.ndarray | None = None
    """[episodes] of them those that the world ended; None where the file does not say"""
    truncated: np.ndarray | None = None
    """[episodes] of them those that a limit ended; the others if left out"""
    rewards: np.ndarray | None = None
    final_observations: np.ndarray | None = None
    observation_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    """what was decided while reading, for the user to know"""


def lengths_by_ends(ends: np.ndarray) -> tuple[np.ndarray, bool]:
    """Lengths of episodes from marks of their last steps, and whether the last one lacks it."""
    if not len(ends):
        raise InputError("there are no steps: an episode needs at least one")
    cut = not bool(ends[-1])
    last = np.append(np.flatnonzero(ends), [len(ends) - 1] if cut else []).astype(np.int64)
    return np.diff(last, prepend=-1), cut


def cut_off(lengths: np.ndarray, cut: bool) -> tuple[str, ...]:
    """The note about a last episode without an end."""
    if not cut:
        return ()
    if len(lengths) == 1:
        return (f"no step is marked as an end: all {lengths[0]} steps count as one episode",)
    return (
        f"the last episode is cut off after {lengths[-1]} steps, without a mark of its end: it is "
        "kept, and ends in a timeout",
    )


class Found(NamedTuple):
    """What was read from a source; actions may lie outside their bounds."""

    trajectories: Trajectories
    spec: Spec
    playing: Playing | None
    name: str
    notes: tuple[str, ...] = ()


def to_found(recording: Recording, importing: Importing, name: str) -> Found:
    """Checked trajectories, and what is to be said about them."""
    r, steps = recording, len(recording.observations)
    for what, array in (("actions", r.actions), ("rewards", r.rewards)):
        if array is not None and len(array) != steps:
            raise InputError(
                f"there are {steps} observations, but {len(array)} {what}; each step needs one"
            )
    if r.rewards is not None and r.rewards.size != steps:
        raise InputError(f"rewards have shape {list(r.rewards.shape)}: one number a step is needed")
    terminated, truncated, notes = _ends(recording, importing)
    last = np.cumsum(r.lengths) - 1
    ends = np.zeros((2, steps), bool)
    if not len(last) or last[-1] != steps - 1 or (r.lengths < 1).any():
        raise InputError(f"its episodes sum to {int(r.lengths.sum())} steps, but there are {steps}")
    ends[0, last], ends[1, last] = terminated, truncated
    final = r.final_observations
    observations = _floats(_rows("observations", r.observations))
    trajectories = Trajectories(
        observations,
        _actions(r.actions, importing),
        ends[0],
        ends[1],
        offsets_of(r.lengths),
        None if r.rewards is None else _floats(np.asarray(r.rewards)).reshape(steps),
        None if final is None else _rows("observations", final).astype(observations.dtype),
    )
    spec = Spec(
        trajectories.obs_dim,
        trajectories.act_dim,
        discrete_actions=importing.discrete,
        observation_names=r.observation_names,
        action_names=r.action_names,
    )
    return Found(trajectories, spec, None, name, (*r.notes, *notes))


def chosen_part(found: Found, importing: Importing) -> Found:
    """The columns that are asked for, of demonstrations that are in our form already."""
    if importing.of_tables:
        raise InputError(f"{importing.of_tables[0]} is for tables; this is in our form already")
    t, spec = found.trajectories, found.spec
    for what in ("observations", "actions"):
        asked, names = getattr(importing, what), getattr(spec, f"{what[:-1]}_names")
        if not asked:
            continue
        if names is None:
            raise InputError(f"its {what} have no names to choose by: leave out --{what}")
        kept = [names.index(name) for name in chosen(asked, names, f"column of {what}")]
        t, spec = _with_columns(t, spec, what, kept)
    if importing.discrete is not None:
        spec = replace(spec, action_low=None, action_high=None, discrete_actions=importing.discrete)
    if importing.time_limit is None:
        return found._replace(trajectories=t, spec=spec)
    terminated, truncated = np.zeros((2, t.steps), bool)
    terminated[t.last_rows], truncated[t.last_rows] = _by_limit(
        t.durations, t.terminated[t.last_rows], importing.time_limit
    )
    t = replace(t, terminated=terminated, truncated=truncated)
    return found._replace(trajectories=t, spec=spec)


def _with_columns(t: Trajectories, spec: Spec, what: str, kept: list[int]) -> tuple:
    arrays = ("actions",) if what == "actions" else _OBSERVED
    changed = {n: getattr(t, n)[:, kept] for n in arrays if getattr(t, n) is not None}
    names = getattr(spec, f"{what[:-1]}_names")
    values: dict[str, Any] = {f"{what[:-1]}_names": tuple(names[i] for i in kept)}
    if what == "observations":
        return replace(t, **changed), replace(spec, obs_dim=len(kept), **values)
    for name in ("action_low", "action_high"):
        side = getattr(spec, name)
        values[name] = None if side is None else tuple(side[i] for i in kept)
    return replace(t, **changed), replace(spec, act_dim=len(kept), **values)


def _by_limit(
    lengths: np.ndarray, terminated: np.ndarray | None, limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Which episodes the world ended, and which the time limit."""
    if (lengths > limit).any():
        episode = int(np.argmax(lengths > limit))
        raise InputError(
            f"episode {episode} has {lengths[episode]} steps, more than --time-limit {limit}"
        )
    by_world = (lengths < limit) & (True if terminated is None else terminated)
    return by_world, ~by_world


def _ends(r: Recording, importing: Importing) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Why each episode ended, and what is to be said about it."""
    limit, none = importing.time_limit, np.zeros(len(r.lengths), bool)
    if limit is None:
        if r.terminated is None:
            return none, ~none, [_ENDS_UNKNOWN]
        truncated = ~r.terminated if r.truncated is None else r.truncated
        return r.terminated, truncated | ~r.terminated, _suspicion(r)
    return *_by_limit(r.lengths, r.terminated, limit), []


def _suspicion(r: Recording) -> list[str]:
    """Many libraries mark a time limit as an end of the world."""
    longest = r.lengths.max()
    at_longest = r.lengths == longest
    if r.terminated is None or at_longest.sum() < 2 or not r.terminated[at_longest].all():
        return []
    return [
        f"{at_longest.sum()} of {len(r.lengths)} episodes are marked as ended by the world at the "
        f"longest length, {longest} steps; if that is a time limit, import with --time-limit "
        f"{longest}"
    ]


def refuse_images(name: str, shape: Sequence[int], dtype: np.dtype) -> None:
    """Say what to do about images; `shape` is that of one step."""
    if is_image(shape, dtype):
        raise InputError(f"{name} are {dtype} of shape {list(shape)} at each step: {NO_IMAGES}")


def _rows(name: str, array: np.ndarray) -> np.ndarray:
    refuse_images(name, array.shape[1:], array.dtype)
    return array.reshape(len(array), int(np.prod(array.shape[1:])))


def _floats(array: np.ndarray) -> np.ndarray:
    kept = array.dtype.kind == "f" and array.dtype.itemsize in (4, 8)
    return array.astype(array.dtype.newbyteorder("=") if kept else np.float32, copy=False)


def _actions(array: np.ndarray, importing: Importing) -> np.ndarray:
    rows = _rows("actions", array)
    if importing.discrete is not None:
        if rows.shape[1] != 1:
            raise InputError(
                f"--discrete takes one column of indices, but actions have {rows.shape[1]} columns"
            )
        return rows if rows.dtype.kind in "iuf" else rows.astype(np.int64)
    # Whole numbers in one column may be indices: the environment knows.
    whole = rows.dtype.kind in "biu"
    return rows.astype(np.int64) if whole and rows.shape[1] == 1 else _floats(rows)


def chosen(asked: Sequence[str], available: Sequence[str], what: str) -> list[str]:
    """The asked-for keys if they are there; all that are there if none is asked for."""
    for name in asked:
        if name not in available:
            close = get_close_matches(name, available, n=1)
            question = f"; did you mean {first_names(close)}?" if close else ""
            known = first_names(available)
            raise InputError(f"there is no {what} {name!r}{question}; there are {known}")
    if len(set(asked)) < len(asked):
        raise InputError(f"a {what} is asked for twice: {', '.join(asked)}")
    return list(asked or available)


def first_names(names: Sequence[str], most: int = 40) -> str:
    """A list for a sentence, cut where it would fill the screen; line breaks and the like shown."""
    shown = [name if name.isprintable() else ascii(name) for name in names[:most]]
    shown = [name if len(name) <= 60 else f"{name[:57]}…" for name in shown]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(shown) or "none") + more


def in_number_order(names: Sequence[str]) -> list[str]:
    """Sorted, with the numbers in them compared as numbers: demo_2 before demo_10."""
    return sorted(names, key=lambda name: re.sub(r"\d+", lambda m: m[0].zfill(20), name))
