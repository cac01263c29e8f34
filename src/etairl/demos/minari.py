"""Minari datasets, the standard of the field, read as demonstrations.

Only local HDF5 datasets are touched: nothing is downloaded, no environment is built.
"""

import json
import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import h5py
import minari
import numpy as np
from minari.dataset.minari_dataset import parse_dataset_id
from minari.serialization import deserialize_space

from etairl.demos.dataset import PLAYINGS, Playing
from etairl.demos.hdf5_arrays import DAMAGED, check_declared, member, numbers
from etairl.demos.recordings import refuse_images
from etairl.types import InputError, Spec, Trajectories, offsets_of, space_names

EXTRAS_KEY = "etairl"
"""the key of our own part of the metadata"""
_ACTION_SPACES = (gymnasium.spaces.Box, gymnasium.spaces.Discrete)


def minari_root() -> Path:
    """Where Minari keeps its local datasets."""
    root = os.environ.get("MINARI_DATASETS_PATH")
    return Path(root) if root else Path.home() / ".minari" / "datasets"


def list_minari() -> list[str]:
    """Names of the local datasets."""
    if not minari_root().is_dir():
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a broken dataset is reported when it is asked for
        return sorted(minari.list_local_datasets())


def read_minari(dataset_id: str, max_bytes: int) -> tuple[Trajectories, Spec, Playing | None]:
    """Read a local Minari dataset; Dict observations are flattened in Gymnasium's order.

    How it was played is known of datasets that were exported from here.

    The HDF5 file is read directly, with the layout of Minari: only what is used, and nothing that
    lies outside the file, wherever it points to.
    """
    check_dataset_name(dataset_id)
    data = minari_root() / dataset_id / "data"
    if not data.is_dir():
        known = ", ".join(list_minari()) or "none"
        raise InputError(
            f"minari:{dataset_id}: no such local dataset (there are: {known}); fetch it first: "
            f"minari download {dataset_id}"
        )
    try:
        metadata = _read_metadata(data / "metadata.json")
        space = deserialize_space(metadata["observation_space"])
        action_space = deserialize_space(metadata["action_space"])
        extras = Extras.read(metadata.get(EXTRAS_KEY))
        with h5py.File(data / "main_data.hdf5", "r") as file:
            episodes = _find_episodes(file, metadata["total_episodes"], space, action_space)
            arrays = [a for e in episodes for a in (*e.observations, *e.actions, *e[2:])]
            check_declared(arrays, max_bytes)
            trajectories = _to_trajectories(episodes, extras)
        spec = _to_spec(action_space, trajectories, extras, _environment(metadata))
        spec = replace(spec, **_names(space, action_space, spec, extras))
        return trajectories, spec, extras.playing
    except InputError as error:
        raise InputError(f"minari:{dataset_id}: {error}") from None
    except DAMAGED as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(
            f"minari:{dataset_id}: cannot be read ({said}); fetch it again, or write it again"
        ) from None


def check_dataset_name(dataset_id: str) -> None:
    """Refuse what is not the name of a Minari dataset."""
    try:
        parse_dataset_id(dataset_id)
    except (ValueError, TypeError):
        raise InputError(
            f"minari:{dataset_id}: not the name of a dataset; it ends in a version, like walk-v0"
        ) from None


def _read_metadata(path: Path) -> dict[str, Any]:
    try:
        metadata = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        raise InputError(
            "its metadata.json cannot be read; fetch it again, or write it again"
        ) from None
    if not isinstance(metadata, dict):
        raise InputError(
            "its metadata.json is not a JSON object; fetch it again, or write it again"
        )
    if metadata.get("data_format", "hdf5") != "hdf5":
        raise InputError(
            f"stored as {metadata['data_format']}, only hdf5 is supported; write it so, with Minari"
        )
    # Without spaces Minari would build the environment the file names: code chosen by a file.
    if not {"observation_space", "action_space", "total_episodes"} <= metadata.keys():
        raise InputError(
            "its metadata lacks observation space, action space or total_episodes; write "
            "them with Minari"
        )
    return metadata


def _environment(metadata: dict[str, Any]) -> str | None:
    if "env_spec" not in metadata:
        return None
    return str(json.loads(metadata["env_spec"])["id"])


@dataclass(frozen=True)
class Extras:
    """What a Minari dataset has no field for; absent in datasets that others made."""

    rewards: bool = True
    final_observations: bool = True
    actions: bool = True
    tasks: list[list[float]] | None = None
    task_dtype: str | None = None
    environment: str | None = None
    action_low: list[float] | None = None
    action_high: list[float] | None = None
    playing: Playing | None = None
    ours: bool = False
    observation_names: list[str] | None = None
    action_names: list[str] | None = None

    @staticmethod
    def read(value: Any) -> "Extras":
        """Check what a file says."""
        if value is None:
            return Extras()
        try:
            extras = Extras(**value)
            known = (extras.rewards, extras.final_observations, extras.actions)
            assert all(isinstance(x, bool) for x in known)
            assert extras.task_dtype in (None, "float32", "float64")
            assert extras.environment is None or isinstance(extras.environment, str)
            assert extras.playing in (None, *PLAYINGS)
            for words in (extras.observation_names, extras.action_names):
                assert words is None or all(isinstance(x, str) for x in words)
            for numbers in (extras.action_low, extras.action_high, *(extras.tasks or ())):
                assert numbers is None or all(isinstance(x, float) for x in numbers)
        except (TypeError, AssertionError):
            raise InputError(
                "what etairl wrote into its metadata has been changed; export it again"
            ) from None
        return extras


class _Episode(NamedTuple):
    observations: list[h5py.Dataset]
    actions: list[h5py.Dataset]
    rewards: h5py.Dataset
    terminated: h5py.Dataset
    truncated: h5py.Dataset


def _find_episodes(
    file: h5py.File, total: Any, space: gymnasium.Space, action_space: gymnasium.Space
) -> list[_Episode]:
    if not isinstance(total, int) or total != sum(
        str(name).startswith("episode_") for name in file
    ):
        raise InputError(
            f"its metadata speaks of {total} episodes, its data do not; fetch it again, "
            "or write it again"
        )
    if total == 0:
        raise InputError("it holds no episodes; name another dataset")
    groups = [member(file, f"episode_{i}", h5py.Group) for i in range(total)]
    return [
        _Episode(
            _leaves(group, "observations", space, (gymnasium.spaces.Box,)),
            _leaves(group, "actions", action_space, _ACTION_SPACES),
            *(numbers(group, name) for name in ("rewards", "terminations", "truncations")),
        )
        for group in groups
    ]


def _leaves(
    group: h5py.Group, name: str, space: gymnasium.Space, kinds: tuple[type, ...]
) -> list[h5py.Dataset]:
    """The arrays of a space, a Dict laid out by its keys in order."""
    if isinstance(space, gymnasium.spaces.Dict):
        inner = member(group, name, h5py.Group)
        return [leaf for key, part in space.items() for leaf in _leaves(inner, key, part, kinds)]
    if not isinstance(space, kinds):
        raise InputError(
            f"{name} of type {type(space).__name__} are not supported; record a Box "
            "instead, with a wrapper"
        )
    array = numbers(group, name)
    refuse_images(name, array.shape[1:], array.dtype)
    return [array]


def _to_trajectories(episodes: list[_Episode], extras: Extras) -> Trajectories:
    observations = [_rows(e.observations) for e in episodes]
    for i, (episode, rows) in enumerate(zip(episodes, observations, strict=True)):
        if len(rows) != len(episode.rewards) + 1:
            raise InputError(
                f"episode {i} has {len(rows)} observations for {len(episode.rewards)} steps; "
                "Minari stores one more than steps"
            )
    rewards = np.concatenate([e.rewards[:] for e in episodes])
    if rewards.dtype.kind != "f":
        rewards = rewards.astype(np.float64)
    final = np.stack([rows[-1] for rows in observations])
    trajectories = Trajectories(
        observations=np.concatenate([rows[:-1] for rows in observations]),
        actions=np.concatenate([_rows(e.actions) for e in episodes]),
        terminated=np.concatenate([e.terminated[:] for e in episodes]),
        truncated=np.concatenate([e.truncated[:] for e in episodes]),
        offsets=offsets_of(np.array([len(e.rewards) for e in episodes])),
        rewards=rewards if extras.rewards else None,
        final_observations=final if extras.final_observations else None,
        tasks=None if extras.tasks is None else np.array(extras.tasks, dtype=extras.task_dtype),
    )
    return trajectories if extras.actions else trajectories.without_actions()


def _rows(leaves: list[h5py.Dataset]) -> np.ndarray:
    return np.concatenate([leaf[:].reshape(len(leaf), -1) for leaf in leaves], axis=1)


def _names(
    space: gymnasium.Space, action_space: gymnasium.Space, spec: Spec, extras: Extras
) -> dict[str, tuple[str, ...]]:
    """What columns are called: as we wrote it, or by the keys of Dict spaces."""
    names = {}
    for what, said, given in (
        ("observation_names", extras.observation_names, space),
        ("action_names", extras.action_names, action_space),
    ):
        if said is not None:
            names[what] = tuple(said)
        elif isinstance(given, gymnasium.spaces.Dict):
            names[what] = space_names(given)
    return names if spec.act_dim else {k: v for k, v in names.items() if k != "action_names"}


def _to_spec(
    space: gymnasium.Space, t: Trajectories, extras: Extras, environment: str | None
) -> Spec:
    if t.act_dim == 0:
        return Spec(t.obs_dim, 0, environment=extras.environment)
    if isinstance(space, gymnasium.spaces.Discrete):
        if space.start != 0:
            raise InputError(f"discrete actions must start at 0, these start at {space.start}")
        name = extras.environment if extras.ours else environment
        return Spec(t.obs_dim, t.act_dim, None, None, int(space.n), name)
    if extras.ours:
        low, high = extras.action_low, extras.action_high
        bounds = (None, None) if low is None or high is None else (tuple(low), tuple(high))
        return Spec(t.obs_dim, t.act_dim, *bounds, None, extras.environment)
    unbounded = Spec(t.obs_dim, t.act_dim, environment=environment)
    if not isinstance(space, gymnasium.spaces.Box) or t.actions.dtype.kind != "f":
        return unbounded
    low, high = (np.ravel(side).astype(np.float64) for side in (space.low, space.high))
    if np.isinf(low).all() and np.isinf(high).all():
        return unbounded
    return replace(unbounded, action_low=tuple(low.tolist()), action_high=tuple(high.tolist()))
