"""HDF5 files of robomimic: `data/demo_k` with a group of observations, actions, rewards, dones."""

from pathlib import Path

import h5py
import numpy as np

from etairl.demos.hdf5_arrays import check_declared, has, member, members, numbers, opened_hdf5
from etairl.demos.recordings import (
    NO_IMAGES,
    Importing,
    Recording,
    chosen,
    in_number_order,
)
from etairl.types import InputError, column_names, is_image


def is_robomimic(file: h5py.File) -> bool:
    """Does an HDF5 file have demos in a group `data`?"""
    if not has(file, "data", h5py.Group):
        return False
    return any(name.startswith("demo") for name in members(member(file, "data", h5py.Group)))


def read_robomimic(path: Path, importing: Importing, max_bytes: int) -> Recording:
    """Read the demos in the order of their numbers, the keys of observations side by side.

    Keys stand in the order asked for; without a wish in that of the alphabet, which is that of a
    Dict space of Gymnasium.
    """
    with opened_hdf5(path) as file:
        data = member(file, "data", h5py.Group)
        names = in_number_order([n for n in members(data) if n.startswith("demo")])
        demos = [member(data, name, h5py.Group) for name in names]
        keys = _keys(demos[0], importing)
        parts = {demo.name: _arrays(demo, keys) for demo in demos}
        check_declared((a for arrays in parts.values() for a in arrays.values()), max_bytes)
        return _recording([_read(arrays, keys) for arrays in parts.values()], parts, keys)


def _keys(demo: h5py.Group, importing: Importing) -> list[str]:
    group = member(demo, "obs", h5py.Group)
    available = sorted(members(group))
    keys = chosen(importing.observations, available, "key of observations")
    images = [k for k in keys if is_image(numbers(group, k).shape[1:], numbers(group, k).dtype)]
    if images:
        plain = " ".join(key for key in available if key not in images)
        hint = f"; the others: --observations {plain}" if plain else ""
        raise InputError(f"the observations {', '.join(images)}: {NO_IMAGES}{hint}")
    return keys


def _arrays(demo: h5py.Group, keys: list[str]) -> dict[str, h5py.Dataset]:
    obs = member(demo, "obs", h5py.Group)
    arrays = {f"obs/{key}": numbers(obs, key) for key in keys}
    arrays["actions"] = numbers(demo, "actions")
    arrays |= {name: numbers(demo, name) for name in ("rewards", "dones") if has(demo, name)}
    if has(demo, "next_obs", h5py.Group):
        following = member(demo, "next_obs", h5py.Group)
        if all(has(following, key) for key in keys):
            arrays |= {f"next_obs/{key}": numbers(following, key) for key in keys}
    steps = arrays["actions"].shape[:1]
    for name, array in arrays.items():
        if array.shape[:1] != steps or 0 in array.shape:
            raise InputError(
                f"{demo.name}/{name} has shape {list(array.shape)}, but there are {steps} actions"
            )
    return arrays


def _read(arrays: dict[str, h5py.Dataset], keys: list[str]) -> dict[str, np.ndarray]:
    """One demo in memory; of what came next only the last row."""
    read = {name: np.asarray(arrays[name][()]) for name in ("actions",)}
    read["obs"] = _side_by_side([arrays[f"obs/{key}"][()] for key in keys])
    for name in ("rewards", "dones"):
        if name in arrays:
            read[name] = np.asarray(arrays[name][()]).ravel()
    if f"next_obs/{keys[0]}" in arrays:
        read["final"] = _side_by_side([arrays[f"next_obs/{key}"][-1:] for key in keys])
    return read


def _side_by_side(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def _recording(
    demos: list[dict[str, np.ndarray]], parts: dict[str, dict[str, h5py.Dataset]], keys: list[str]
) -> Recording:
    def all_of(name: str) -> np.ndarray | None:
        parts = [demo[name] for demo in demos if name in demo]
        return np.concatenate(parts) if len(parts) == len(demos) else None

    first = next(iter(parts.values()))
    widths = [int(np.prod(first[f"obs/{key}"].shape[1:])) for key in keys]
    lengths = np.array([len(demo["actions"]) for demo in demos])
    dones = all_of("dones")
    if len({demo["obs"].shape[1] for demo in demos}) > 1:
        raise InputError(
            "the demos have observations of different sizes; name those that all have, "
            "with --observations"
        )
    return Recording(
        np.concatenate([demo["obs"] for demo in demos]),
        np.concatenate([demo["actions"] for demo in demos]),
        lengths,
        None if dones is None else dones[np.cumsum(lengths) - 1] != 0,
        None,
        all_of("rewards"),
        all_of("final"),
        observation_names=column_names(keys, widths),
        notes=(f"observations are {', '.join(keys)}, in this order",),
    )
