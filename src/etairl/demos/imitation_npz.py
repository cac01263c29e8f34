"""The npz files of the project imitation: trajectories one after another, or single transitions."""

from pathlib import Path

import numpy as np

from etairl.demos.npz_contents import read_arrays
from etairl.demos.recordings import Importing, Recording, cut_off, lengths_by_ends
from etairl.types import InputError


def read_imitation_trajectories(path: Path, importing: Importing, max_bytes: int) -> Recording:
    """Read whole trajectories: each has one observation more than actions, `indices` split them."""
    arrays = read_arrays(path, ("obs", "acts", "rews", "terminal", "indices"), max_bytes)
    if lacking := [name for name in ("terminal", "indices") if name not in arrays]:
        raise InputError(f"{path}: trajectories of imitation need {lacking[0]}, too")
    obs, acts, terminal = arrays["obs"], arrays["acts"], arrays["terminal"]
    splits = arrays["indices"]
    if splits.ndim != 1 or splits.dtype.kind not in "iu" or len(splits) > len(acts):
        raise InputError(f"{path}: indices must be whole numbers, one for each later episode")
    lengths = np.diff(splits.astype(np.int64), prepend=0, append=len(acts))
    if (lengths < 1).any():
        raise InputError(f"{path}: indices must rise from above 0 to below {len(acts)}, the steps")
    if len(obs) != len(acts) + len(lengths) or terminal.shape != (len(lengths),):
        raise InputError(
            f"{path}: {len(lengths)} trajectories with {len(acts)} actions need "
            f"{len(acts) + len(lengths)} observations and {len(lengths)} marks `terminal`; there "
            f"are {len(obs)} and {terminal.size}"
        )
    final = np.cumsum(lengths + 1) - 1
    steps = np.delete(np.arange(len(obs)), final)
    return Recording(obs[steps], acts, lengths, terminal != 0, None, arrays.get("rews"), obs[final])


def read_imitation_transitions(path: Path, importing: Importing, max_bytes: int) -> Recording:
    """Read transitions: an episode ends at `dones`, or where `next_obs` is not what comes next."""
    arrays = read_arrays(path, ("obs", "acts", "rews", "dones", "next_obs"), max_bytes)
    obs, acts, following = arrays["obs"], arrays["acts"], arrays.get("next_obs")
    dones = arrays["dones"].ravel() != 0
    if len(dones) != len(obs) or (following is not None and following.shape != obs.shape):
        raise InputError(f"{path}: obs, dones and next_obs must be of one length")
    ends = dones.copy()
    if following is not None and len(obs):
        apart = (following[:-1] != obs[1:]).reshape(len(obs) - 1, -1).any(axis=1)
        ends |= np.append(apart, True)
    lengths, cut = lengths_by_ends(ends)
    last = np.cumsum(lengths) - 1
    return Recording(
        obs,
        acts,
        lengths,
        dones[last],
        None,
        arrays.get("rews"),
        None if following is None else following[last],
        notes=cut_off(lengths, cut),
    )
