"""The expert files of Stable-Baselines: npz with `episode_starts`."""

from pathlib import Path

import numpy as np

from etairl.demos.npz_contents import read_arrays
from etairl.demos.recordings import Importing, Recording
from etairl.types import InputError

BASELINES_ARRAYS = ("obs", "actions", "episode_starts")


def read_stable_baselines(path: Path, importing: Importing, max_bytes: int) -> Recording:
    """Read the arrays; why an episode ended is not in them."""
    arrays = read_arrays(path, (*BASELINES_ARRAYS, "rewards"), max_bytes)
    starts = arrays["episode_starts"].ravel() != 0
    if len(starts) != len(arrays["obs"]):
        raise InputError(
            f"{path}: there are {len(arrays['obs'])} observations, but {len(starts)} episode_starts"
        )
    if not starts.any():
        raise InputError(f"{path}: episode_starts marks no step, so there are no episodes")
    first = np.flatnonzero(starts)
    notes = ()
    if first[0] > 0:
        notes = (f"the {first[0]} steps before the first mark in episode_starts are left out",)
    kept = slice(int(first[0]), None)
    rewards = arrays.get("rewards")
    return Recording(
        arrays["obs"][kept],
        arrays["actions"][kept],
        np.diff(first, append=len(starts)),
        rewards=None if rewards is None else rewards[kept],
        notes=notes,
    )
