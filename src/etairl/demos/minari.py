"""Minari datasets, the field's standard, as demonstrations and back.

Only local HDF5 datasets are touched: nothing is downloaded, no environment is built.
"""

import json
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import h5py
import minari
import numpy as np
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_dataset import parse_dataset_id

from etairl.demos.dataset import Demos
from etairl.types import InputError, Spec, Trajectories

_OURS = "etairl"  # what a Minari dataset has no field for, in its metadata


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


def read_minari(dataset_id: str, max_bytes: int) -> tuple[Trajectories, Spec]:
    """Read a local Minari dataset; Dict observations are flattened in Gymnasium's order."""
    metadata = _checked_metadata(dataset_id, max_bytes)
    try:
        dataset = minari.load_dataset(dataset_id)
        episodes = list(dataset.iterate_episodes())
        environment = dataset.env_spec.id if dataset.env_spec else None
    except (OSError, ValueError, KeyError, AssertionError, TypeError) as error:
        raise InputError(f"minari:{dataset_id}: cannot be read ({error})") from None
    if not episodes:
        raise InputError(f"minari:{dataset_id}: it holds no episodes")
    try:
        ours = metadata.get(_OURS, {})
        trajectories = _to_trajectories(dataset, episodes, ours)
        spec = _to_spec(dataset.action_space, trajectories, ours.get("environment", environment))
        return trajectories, spec
    except InputError as error:
        raise InputError(f"minari:{dataset_id}: {error}") from None


def _checked_metadata(dataset_id: str, max_bytes: int) -> dict[str, Any]:
    _check_name(dataset_id)
    data = minari_root() / dataset_id / "data"
    if not data.is_dir():
        known = ", ".join(list_minari()) or "none"
        raise InputError(f"minari:{dataset_id}: no such local dataset (there are: {known})")
    try:
        metadata = json.loads((data / "metadata.json").read_text())
        assert isinstance(metadata, dict)
    except (OSError, ValueError, AssertionError):
        raise InputError(f"minari:{dataset_id}: its metadata.json cannot be read") from None
    if metadata.get("data_format", "hdf5") != "hdf5":
        raise InputError(
            f"minari:{dataset_id}: stored as {metadata['data_format']}, only hdf5 is supported"
        )
    # Without spaces Minari would build the environment the file names: code chosen by a file.
    if not {"observation_space", "action_space"} <= metadata.keys():
        raise InputError(f"minari:{dataset_id}: its metadata lacks observation and action spaces")
    _check_sizes(dataset_id, data / "main_data.hdf5", max_bytes)
    return metadata


def _check_name(dataset_id: str) -> None:
    try:
        parse_dataset_id(dataset_id)
    except ValueError as error:
        raise InputError(f"minari:{dataset_id}: not a dataset name ({error})") from None


def _check_sizes(dataset_id: str, path: Path, max_bytes: int) -> None:
    total = 0

    def add(name: str, item: h5py.Dataset | h5py.Group) -> None:
        nonlocal total
        if isinstance(item, h5py.Dataset):
            total += item.size * item.dtype.itemsize

    try:
        with h5py.File(path, "r") as file:
            file.visititems(add)
    except OSError as error:
        raise InputError(f"minari:{dataset_id}: its data cannot be read ({error})") from None
    if total > max_bytes:
        raise InputError(
            f"minari:{dataset_id}: its arrays declare {total / 2**30:.1f} GiB, more than the "
            f"limit of {max_bytes / 2**30:.1f} GiB; "
            "raise the limit (max_bytes, --max-gib) if you trust it"
        )


def _to_trajectories(dataset: Any, episodes: list[Any], ours: dict[str, Any]) -> Trajectories:
    observations = [_flat(e.observations, dataset.observation_space) for e in episodes]
    for episode, rows in zip(episodes, observations, strict=True):
        if len(rows) != len(episode.rewards) + 1:
            raise InputError(
                f"episode {episode.id} has {len(rows)} observations for "
                f"{len(episode.rewards)} steps; Minari stores one more than steps"
            )
    tasks = ours.get("tasks")
    return Trajectories(
        observations=np.concatenate([rows[:-1] for rows in observations]),
        actions=np.concatenate([_flat(e.actions, dataset.action_space) for e in episodes]),
        terminated=np.concatenate([e.terminations for e in episodes]),
        truncated=np.concatenate([e.truncations for e in episodes]),
        offsets=np.concatenate([[0], np.cumsum([len(e.rewards) for e in episodes])]),
        rewards=np.concatenate([e.rewards for e in episodes])
        if ours.get("rewards", True)
        else None,
        final_observations=np.stack([rows[-1] for rows in observations])
        if ours.get("final_observations", True)
        else None,
        tasks=None if tasks is None else np.array(tasks, dtype=ours.get("task_dtype", "float32")),
    )


def _flat(value: Any, space: gymnasium.Space) -> np.ndarray:
    """Rows of a Box, Discrete, or Dict of them, as a 2-dimensional array."""
    if isinstance(space, gymnasium.spaces.Dict):
        return np.concatenate([_flat(value[key], part) for key, part in space.items()], axis=1)
    if not isinstance(space, gymnasium.spaces.Box | gymnasium.spaces.Discrete):
        raise InputError(f"spaces of type {type(space).__name__} are not supported")
    array = np.asarray(value)
    return array.reshape(len(array), -1)


def _to_spec(space: gymnasium.Space, t: Trajectories, environment: str | None) -> Spec:
    if isinstance(space, gymnasium.spaces.Discrete):
        if space.start != 0:
            raise InputError(f"discrete actions must start at 0, these start at {space.start}")
        return Spec(t.obs_dim, t.act_dim, None, None, int(space.n), environment)
    box = isinstance(space, gymnasium.spaces.Box)
    if not box or not space.is_bounded() or t.actions.dtype.kind != "f":
        return Spec(t.obs_dim, t.act_dim, environment=environment)
    low, high = (tuple(np.ravel(side).tolist()) for side in (space.low, space.high))
    return Spec(t.obs_dim, t.act_dim, low, high, None, environment)


def write_minari(demos: Demos, dataset_id: str) -> None:
    """Store demonstrations as a new local Minari dataset. An existing one is not touched."""
    _check_name(dataset_id)
    folder = minari_root() / dataset_id
    if folder.exists():
        raise InputError(f"minari:{dataset_id} exists already; choose another name or version")
    t, spec = demos.trajectories, demos.spec
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about missing authors and environments
            dataset = minari.create_dataset_from_buffers(
                dataset_id,
                [_buffer(demos, i) for i in range(len(t))],
                observation_space=_box(t.observations, None, None),
                action_space=gymnasium.spaces.Discrete(spec.discrete_actions)
                if spec.discrete_actions
                else _box(t.actions, spec.action_low, spec.action_high),
                description=f"exported by etairl from {demos.name}",
                data_format="hdf5",
                jpeg_encoding=False,
            )
        dataset.storage.update_metadata(
            {
                _OURS: {
                    "rewards": t.rewards is not None,
                    "final_observations": t.final_observations is not None,
                    "tasks": None if t.tasks is None else t.tasks.tolist(),
                    "task_dtype": None if t.tasks is None else str(t.tasks.dtype),
                    "environment": spec.environment,
                }
            }
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _buffer(demos: Demos, episode: int) -> EpisodeBuffer:
    t = demos.trajectories
    rows = slice(int(t.offsets[episode]), int(t.offsets[episode + 1]))
    # Minari wants the observation after the last action; where unknown, the last one fills in,
    # and the metadata says so.
    final = (
        t.observations[rows][-1] if t.final_observations is None else t.final_observations[episode]
    )
    actions = t.actions[rows]
    rewards = np.zeros(len(actions), np.float32) if t.rewards is None else t.rewards[rows]
    return EpisodeBuffer(
        id=episode,
        observations=np.concatenate([t.observations[rows], final[None]]),  # pyright: ignore[reportArgumentType]
        actions=actions[:, 0] if demos.spec.discrete_actions else actions,  # pyright: ignore[reportArgumentType]
        rewards=rewards,  # pyright: ignore[reportArgumentType]
        terminations=t.terminated[rows],  # pyright: ignore[reportArgumentType]
        truncations=t.truncated[rows],  # pyright: ignore[reportArgumentType]
    )


def _box(rows: np.ndarray, low: tuple | None, high: tuple | None) -> gymnasium.spaces.Box:
    kind: Any = rows.dtype.type
    if rows.dtype.kind != "f":
        limits = np.iinfo(kind)
        return gymnasium.spaces.Box(limits.min, limits.max, rows.shape[1:], kind)
    return gymnasium.spaces.Box(
        np.full(rows.shape[1], -np.inf, kind) if low is None else np.array(low, kind),
        np.full(rows.shape[1], np.inf, kind) if high is None else np.array(high, kind),
        dtype=kind,
    )
