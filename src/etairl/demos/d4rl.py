"""D4RL-style files, HDF5 or npz: flat arrays, episodes told apart by `terminals` and `timeouts`."""

from pathlib import Path

import h5py
import numpy as np

from etairl.demos.hdf5_arrays import check_declared, has, numbers, opened_hdf5
from etairl.demos.npz_contents import read_arrays
from etairl.demos.recordings import Importing, Recording, cut_off, lengths_by_ends
from etairl.types import InputError

D4RL_ARRAYS = ("observations", "actions", "terminals")
_ARRAYS = (*D4RL_ARRAYS, "timeouts", "rewards", "next_observations")


def read_d4rl_npz(path: Path, importing: Importing, max_bytes: int) -> Recording:
    """Read an npz file."""
    return _recording(read_arrays(path, _ARRAYS, max_bytes))


def read_d4rl_hdf5(path: Path, importing: Importing, max_bytes: int) -> Recording:
    """Read an HDF5 file; groups such as `infos` and `metadata` are left alone."""
    with opened_hdf5(path) as file:
        arrays = {name: numbers(file, name) for name in _ARRAYS if has(file, name)}
        check_declared(arrays.values(), max_bytes)
        return _recording({name: np.asarray(array[()]) for name, array in arrays.items()})


def is_d4rl(file: h5py.File) -> bool:
    """Does an HDF5 file have its arrays?"""
    return all(has(file, name) for name in D4RL_ARRAYS)


def _recording(arrays: dict[str, np.ndarray]) -> Recording:
    observations = arrays["observations"]
    terminals = _marks(arrays["terminals"], "terminals", len(observations))
    timeouts = np.zeros_like(terminals)
    notes: tuple[str, ...] = ()
    if "timeouts" in arrays:
        timeouts = _marks(arrays["timeouts"], "timeouts", len(observations))
    else:
        notes = ("the file has no timeouts: episodes end at terminals alone",)
    lengths, cut = lengths_by_ends(terminals | timeouts)
    last = np.cumsum(lengths) - 1
    following = arrays.get("next_observations")
    if following is not None and following.shape != observations.shape:
        raise InputError(
            f"next_observations have shape {list(following.shape)}, observations "
            f"{list(observations.shape)}"
        )
    return Recording(
        observations,
        arrays["actions"],
        lengths,
        terminals[last],
        timeouts[last],
        arrays.get("rewards"),
        None if following is None else following[last],
        notes=(*notes, *cut_off(lengths, cut)),
    )


def _marks(array: np.ndarray, name: str, steps: int) -> np.ndarray:
    if array.size != steps:
        raise InputError(
            f"there are {steps} rows of observations, but {name} have the shape "
            f"{list(array.shape)}; put the steps of all episodes below each other, a row per step"
        )
    return array.reshape(steps) != 0
