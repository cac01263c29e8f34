"""Demonstrations in an .npz file, which is read without trusting it.

A file is data. Arrays of Python objects are refused, and every declared size and shape is checked
against the others, and against a limit, before anything is read into memory.
"""

import zipfile
from pathlib import Path

import numpy as np

from etairl.demos.dataset import PLAYINGS, Demos, Playing
from etairl.demos.npz_arrays import (
    MAX_BYTES,
    Header,
    array_name,
    check_size,
    opened_npz,
    read_array,
    read_header,
)
from etairl.storage import appearing_whole
from etairl.types import InputError, Spec, Trajectories, offsets_of

_LONGEST_TEXT = 200
# Of each array: the kinds of its numbers, its dimensions, and whether a file must have it.
_EXPECTED = {
    "observations": ("f", 2, True),
    "actions": ("fiu", 2, False),
    "terminals": ("b", 1, True),
    "timeouts": ("b", 1, True),
    "episode_lengths": ("iu", 1, True),
    "rewards": ("f", 1, False),
    "final_observations": ("f", 2, False),
    "tasks": ("f", 2, False),
    "spans": ("iu", 1, False),
    "next_observations": ("f", 2, False),
    "action_low": ("f", 1, False),
    "action_high": ("f", 1, False),
    "discrete_actions": ("iu", 0, False),
    "environment": ("U", 0, False),
    "playing": ("U", 0, False),
    "observation_names": ("U", 1, False),
    "action_names": ("U", 1, False),
}
_PER_STEP = ("actions", "terminals", "timeouts", "rewards", "spans", "next_observations")
_NAMES = ("observation_names", "action_names")
_KIND_NAMES = {
    "f": "floating-point",
    "b": "boolean",
    "iu": "integer",
    "U": "text",
    "fiu": "floating-point or integer",
}


def read_npz(path: Path, max_bytes: int = MAX_BYTES) -> tuple[Trajectories, Spec, Playing | None]:
    """Read and check demonstrations.

    Args:
        path: a file with `observations` [steps, obs], `terminals` and `timeouts` [steps],
            `episode_lengths` [episodes], and optionally `actions` [steps, act], `rewards` [steps],
            `final_observations` [episodes, obs], `tasks` [episodes, task], `action_low` and
            `action_high` [act], `discrete_actions`, `environment`, `playing` ("drawn" or
            "greedy"), `observation_names` [obs] and `action_names` [act]. Thinned episodes have
            `spans` [steps], how many steps each row stands for, and optionally `next_observations`
            [steps, obs].
        max_bytes: refuse files whose arrays declare more than this.

    Returns:
        The checked trajectories, what the file says about their task, and how they were played.
    """
    if not path.is_file():
        raise InputError(f"no such file: {path}")
    with opened_npz(path) as archive:
        headers = _read_headers(archive)
        _check_headers(headers, max_bytes)
        arrays = {name: read_array(archive, header) for name, header in headers.items()}
        trajectories, spec = _to_trajectories(arrays)
        # Whoever compares all steps has them in memory.
        each = trajectories.observations.nbytes // trajectories.steps
        total = each * int(trajectories.durations.sum())
        check_size(total, max_bytes, "all steps that its rows stand for would take")
        return trajectories, spec, _playing(arrays)


def _read_headers(archive: zipfile.ZipFile) -> dict[str, Header]:
    headers = {}
    for member in archive.infolist():
        name = array_name(member)
        if name not in _EXPECTED:
            archive.open(member).close()  # is its name the same in both places of the zip file?
            continue
        if name in headers:
            raise InputError(f"{name} is in the file twice; write it once")
        headers[name] = read_header(archive, member)
    if "spans" not in headers:
        headers.pop("next_observations", None)  # where every step is there they say nothing new
    if "actions" not in headers:
        for name in ("action_low", "action_high", "discrete_actions", "action_names"):
            headers.pop(name, None)
    missing = [name for name, (*_, must) in _EXPECTED.items() if must and name not in headers]
    if missing:
        has = ", ".join(map(str, headers.values())) or "none of the expected arrays"
        ends = "; mark the last step of each episode in one of terminals and timeouts"
        hint = ends if {"terminals", "timeouts"} & {*missing} else ""
        raise InputError(f"missing {', '.join(missing)} (it has {has}){hint}")
    return headers


def _check_headers(headers: dict[str, Header], max_bytes: int) -> None:
    check_size(sum(header.nbytes for header in headers.values()), max_bytes)
    for name, header in headers.items():
        kinds, dimensions, _ = _EXPECTED[name]
        if header.dtype.kind not in kinds:
            raise InputError(f"{name} must be {_KIND_NAMES[kinds]}, it is {header.dtype}")
        if kinds == "U" and header.dtype.itemsize > 4 * _LONGEST_TEXT:
            raise InputError(
                f"{name} is longer than {_LONGEST_TEXT} characters; choose a shorter one"
            )
        if len(header.shape) != dimensions:
            raise InputError(
                f"{name} must have {dimensions} dimensions, its shape is {list(header.shape)}"
            )
    for name in ("observations", "actions"):
        if name in headers and 0 in headers[name].shape:
            raise InputError(f"{name} is empty: its shape is {list(headers[name].shape)}")
    _check_sizes_agree(headers)


def _check_sizes_agree(headers: dict[str, Header]) -> None:
    sizes = {
        "steps": (headers["observations"], _PER_STEP, 0),
        "episodes": (headers["episode_lengths"], ("final_observations", "tasks"), 0),
        "observation columns": (
            *(headers["observations"], ("final_observations", "next_observations"), 1),
        ),
        "names of observations": (headers["observations"], ("observation_names",), -1),
    }
    if "actions" in headers:
        sizes |= {"action columns": (headers["actions"], ("action_low", "action_high"), -1)}
        sizes |= {"names of actions": (headers["actions"], ("action_names",), -1)}
    many, steps = headers["episode_lengths"].shape[0], headers["observations"].shape[0]
    if many > steps:  # before they become a list of Python's numbers
        raise InputError(f"episode_lengths names {many} episodes, but there are {steps} steps")
    for what, (reference, others, axis) in sizes.items():
        for name in others:
            if name in headers and headers[name].shape[axis] != reference.shape[axis]:
                raise InputError(
                    f"{name} has {headers[name].shape[axis]} {what}, "
                    f"{reference.name} has {reference.shape[axis]}"
                )


def _to_trajectories(arrays: dict[str, np.ndarray]) -> tuple[Trajectories, Spec]:
    lengths = arrays["episode_lengths"].tolist()  # Python's numbers do not overflow
    steps = len(arrays["observations"])
    if any(length < 1 for length in lengths):
        episode = next(i for i, length in enumerate(lengths) if length < 1)
        raise InputError(
            f"episode {episode} has length {lengths[episode]}: an episode needs at least one step"
        )
    if sum(lengths) != steps:
        raise InputError(f"the episode lengths sum to {sum(lengths)}, but there are {steps} steps")
    trajectories = Trajectories(
        observations=arrays["observations"],
        actions=arrays.get("actions", np.zeros((steps, 0), np.float32)),
        terminated=arrays["terminals"],
        truncated=arrays["timeouts"],
        offsets=offsets_of(np.array(lengths, np.int64)),
        rewards=arrays.get("rewards"),
        final_observations=arrays.get("final_observations"),
        tasks=arrays.get("tasks"),
        spans=arrays.get("spans"),
        next_observations=arrays.get("next_observations"),
    )
    low, high = arrays.get("action_low"), arrays.get("action_high")
    spec = Spec(
        obs_dim=trajectories.obs_dim,
        act_dim=trajectories.act_dim,
        action_low=None if low is None else tuple(low.tolist()),
        action_high=None if high is None else tuple(high.tolist()),
        discrete_actions=int(arrays["discrete_actions"]) if "discrete_actions" in arrays else None,
        environment=str(arrays["environment"]) if "environment" in arrays else None,
        **{name: tuple(arrays[name].tolist()) for name in _NAMES if name in arrays},
    )
    return trajectories, spec


def _playing(arrays: dict[str, np.ndarray]) -> Playing | None:
    said = str(arrays["playing"]) if "playing" in arrays else None
    if said not in (None, *PLAYINGS):
        raise InputError(f"playing must be {' or '.join(PLAYINGS)}, it is {said!r}")
    return said


def write_npz(demos: Demos, path: Path) -> None:
    """Write demonstrations; the file appears whole or not at all. Equal demos, equal bytes."""
    t, spec = demos.trajectories, demos.spec
    arrays = {
        "observations": t.observations,
        "actions": t.actions if t.act_dim else None,
        "rewards": t.rewards,
        "terminals": t.terminated,
        "timeouts": t.truncated,
        "episode_lengths": t.lengths,
        "final_observations": t.final_observations,
        "tasks": t.tasks,
        "spans": t.spans,
        "next_observations": t.next_observations,
        "action_low": spec.action_low,
        "action_high": spec.action_high,
        "discrete_actions": spec.discrete_actions,
        "environment": spec.environment,
        "playing": demos.playing,
        "observation_names": spec.observation_names,
        "action_names": spec.action_names,
    }
    known = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
    try:
        with appearing_whole(path) as stream:
            np.savez_compressed(stream, allow_pickle=False, **known)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror or error}); choose another place"
        ) from None
