"""Minari datasets, the field's standard, as demonstrations and back.

Only local HDF5 datasets are touched: nothing is downloaded, no environment is built.
"""

import json
import os
import shutil
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import h5py
import minari
import numpy as np
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_dataset import parse_dataset_id
from minari.serialization import deserialize_space

from etairl.demos.dataset import Demos
from etairl.types import InputError, Spec, Trajectories

_OURS = "etairl"  # the key of our own part of the metadata
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


def read_minari(dataset_id: str, max_bytes: int) -> tuple[Trajectories, Spec]:
    """Read a local Minari dataset; Dict observations are flattened in Gymnasium's order.

    The HDF5 file is read directly, with the layout of Minari: only what is used, and nothing that
    lies outside the file, wherever it points to.
    """
    _check_name(dataset_id)
    data = minari_root() / dataset_id / "data"
    if not data.is_dir():
        known = ", ".join(list_minari()) or "none"
        raise InputError(f"minari:{dataset_id}: no such local dataset (there are: {known})")
    try:
        metadata = _read_metadata(data / "metadata.json")
        space = deserialize_space(metadata["observation_space"])
        action_space = deserialize_space(metadata["action_space"])
        ours = _Ours.read(metadata.get(_OURS))
        with h5py.File(data / "main_data.hdf5", "r") as file:
            episodes = _find_episodes(file, metadata["total_episodes"], space, action_space)
            _check_size(episodes, max_bytes)
            trajectories = _to_trajectories(episodes, ours)
        spec = _to_spec(action_space, trajectories, ours, _environment(metadata))
        return trajectories, spec
    except InputError as error:
        raise InputError(f"minari:{dataset_id}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
        raise InputError(
            f"minari:{dataset_id}: cannot be read ({type(error).__name__}: {error})"
        ) from None


def _check_name(dataset_id: str) -> None:
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
        raise InputError("its metadata.json cannot be read") from None
    if not isinstance(metadata, dict):
        raise InputError("its metadata.json is no JSON object")
    if metadata.get("data_format", "hdf5") != "hdf5":
        raise InputError(f"stored as {metadata['data_format']}, only hdf5 is supported")
    # Without spaces Minari would build the environment the file names: code chosen by a file.
    if not {"observation_space", "action_space", "total_episodes"} <= metadata.keys():
        raise InputError("its metadata lacks observation space, action space or total_episodes")
    return metadata


def _environment(metadata: dict[str, Any]) -> str | None:
    if "env_spec" not in metadata:
        return None
    return str(json.loads(metadata["env_spec"])["id"])


@dataclass(frozen=True)
class _Ours:
    """What a Minari dataset has no field for; absent in datasets that others made."""

    rewards: bool = True
    final_observations: bool = True
    tasks: list[list[float]] | None = None
    task_dtype: str | None = None
    environment: str | None = None
    action_low: list[float] | None = None
    action_high: list[float] | None = None
    ours: bool = False

    @staticmethod
    def read(value: Any) -> "_Ours":
        if value is None:
            return _Ours()
        try:
            found = _Ours(**value)
            assert all(isinstance(x, bool) for x in (found.rewards, found.final_observations))
            assert found.task_dtype in (None, "float32", "float64")
            assert found.environment is None or isinstance(found.environment, str)
            for numbers in (found.action_low, found.action_high, *(found.tasks or ())):
                assert numbers is None or all(isinstance(x, float) for x in numbers)
        except (TypeError, AssertionError):
            raise InputError("what etairl wrote into its metadata has been changed") from None
        return found


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
        raise InputError(f"its metadata speaks of {total} episodes, its data do not")
    if total == 0:
        raise InputError("it holds no episodes")
    found = []
    for i in range(total):
        group = _member(file, f"episode_{i}", h5py.Group)
        found.append(
            _Episode(
                _leaves(group, "observations", space, (gymnasium.spaces.Box,)),
                _leaves(group, "actions", action_space, _ACTION_SPACES),
                *(_numbers(group, name) for name in ("rewards", "terminations", "truncations")),
            )
        )
    return found


def _member(group: h5py.Group, name: str, kind: type) -> Any:
    """A part of the file itself: a link could lead to any file of this machine."""
    link = group.get(name, getlink=True)
    if not isinstance(link, h5py.HardLink) or not isinstance(group[name], kind):
        raise InputError(f"{group.name}/{name} is missing, a link, or of another kind")
    return group[name]


def _numbers(group: h5py.Group, name: str) -> h5py.Dataset:
    array = _member(group, name, h5py.Dataset)
    if array.external is not None or array.is_virtual or array.dtype.kind not in "biuf":
        raise InputError(f"{array.name} is not a plain array of numbers within the file")
    return array


def _leaves(
    group: h5py.Group, name: str, space: gymnasium.Space, kinds: tuple[type, ...]
) -> list[h5py.Dataset]:
    """The arrays of a space, a Dict laid out by its keys in order."""
    if isinstance(space, gymnasium.spaces.Dict):
        inner = _member(group, name, h5py.Group)
        return [leaf for key, part in space.items() for leaf in _leaves(inner, key, part, kinds)]
    if not isinstance(space, kinds):
        raise InputError(f"{name} of type {type(space).__name__} are not supported")
    return [_numbers(group, name)]


def _check_size(episodes: list[_Episode], max_bytes: int) -> None:
    arrays = [a for e in episodes for a in (*e.observations, *e.actions, *e[2:])]
    total = sum(array.size * array.dtype.itemsize for array in arrays)
    if total > max_bytes:
        raise InputError(
            f"its arrays declare {total / 2**30:.1f} GiB, more than the limit of "
            f"{max_bytes / 2**30:.1f} GiB; raise the limit (max_bytes, --max-gib) if you trust it"
        )


def _to_trajectories(episodes: list[_Episode], ours: _Ours) -> Trajectories:
    observations = [_rows(e.observations) for e in episodes]
    for i, (episode, rows) in enumerate(zip(episodes, observations, strict=True)):
        if len(rows) != len(episode.rewards) + 1:
            raise InputError(
                f"episode {i} has {len(rows)} observations for {len(episode.rewards)} steps; "
                "Minari stores one more than steps"
            )
    rewards = np.concatenate([e.rewards[:] for e in episodes]) if ours.rewards else None
    if rewards is not None and rewards.dtype.kind != "f":
        rewards = rewards.astype(np.float64)
    return Trajectories(
        observations=np.concatenate([rows[:-1] for rows in observations]),
        actions=np.concatenate([_rows(e.actions) for e in episodes]),
        terminated=np.concatenate([e.terminated[:] for e in episodes]),
        truncated=np.concatenate([e.truncated[:] for e in episodes]),
        offsets=np.concatenate([[0], np.cumsum([len(e.rewards) for e in episodes])]),
        rewards=rewards,
        final_observations=np.stack([rows[-1] for rows in observations])
        if ours.final_observations
        else None,
        tasks=None if ours.tasks is None else np.array(ours.tasks, dtype=ours.task_dtype),
    )


def _rows(leaves: list[h5py.Dataset]) -> np.ndarray:
    return np.concatenate([leaf[:].reshape(len(leaf), -1) for leaf in leaves], axis=1)


def _to_spec(space: gymnasium.Space, t: Trajectories, ours: _Ours, environment: str | None) -> Spec:
    if isinstance(space, gymnasium.spaces.Discrete):
        if space.start != 0:
            raise InputError(f"discrete actions must start at 0, these start at {space.start}")
        name = ours.environment if ours.ours else environment
        return Spec(t.obs_dim, t.act_dim, None, None, int(space.n), name)
    if ours.ours:
        low, high = ours.action_low, ours.action_high
        bounds = (None, None) if low is None or high is None else (tuple(low), tuple(high))
        return Spec(t.obs_dim, t.act_dim, *bounds, None, ours.environment)
    unbounded = Spec(t.obs_dim, t.act_dim, environment=environment)
    if not isinstance(space, gymnasium.spaces.Box) or t.actions.dtype.kind != "f":
        return unbounded
    low, high = (np.ravel(side).astype(np.float64) for side in (space.low, space.high))
    if np.isinf(low).all() and np.isinf(high).all():
        return unbounded
    return replace(unbounded, action_low=tuple(low.tolist()), action_high=tuple(high.tolist()))


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
                _OURS: asdict(
                    _Ours(
                        rewards=t.rewards is not None,
                        final_observations=t.final_observations is not None,
                        tasks=None if t.tasks is None else t.tasks.tolist(),
                        task_dtype=None if t.tasks is None else str(t.tasks.dtype),
                        environment=spec.environment,
                        action_low=None if spec.action_low is None else list(spec.action_low),
                        action_high=None if spec.action_high is None else list(spec.action_high),
                        ours=True,
                    )
                )
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
