"""Folders that imitation writes with Hugging Face datasets: Arrow files, a row per trajectory."""

from pathlib import Path
from typing import Any

import numpy as np

from etairl.demos.arrow_arrays import column_of, read_stream, small_json
from etairl.demos.npz_arrays import check_size
from etairl.demos.recordings import Importing, Recording, first_names
from etairl.types import InputError

_NEEDED = ("obs", "acts", "terminal")
_COLUMNS = (*_NEEDED, "rews")


def read_huggingface(path: Path, importing: Importing, max_bytes: int) -> Recording:
    """Read trajectories; `infos` are left alone."""
    files = _files(path)
    check_size(sum(file.stat().st_size for file in files), max_bytes, "its files hold")
    parts = [
        _part(batch, path) for file in files for batch in read_stream(file, _COLUMNS, max_bytes)
    ]
    parts = [part for part in parts if len(part["lengths"])]
    if not parts:
        raise InputError(f"{path}: the dataset has no trajectories; name another one")
    try:
        names = parts[0].keys()
        joined = {n: np.concatenate([part[n] for part in parts if n in part]) for n in names}
    except ValueError:
        raise InputError(
            f"{path}: its trajectories differ in the size of a step; use those of one environment"
        ) from None
    lengths, obs = joined["lengths"], joined["obs"]
    final = np.cumsum(lengths + 1) - 1
    return Recording(
        obs[np.delete(np.arange(len(obs)), final)],
        joined["acts"],
        lengths,
        joined["terminal"] != 0,
        None,
        joined.get("rews"),
        obs[final],
    )


def _files(folder: Path) -> list[Path]:
    """The Arrow files that the folder names, within it."""
    listed = small_json(folder / "state.json").get("_data_files")
    try:
        names = [str(entry["filename"]) for entry in listed or ()]
    except (TypeError, KeyError):
        raise InputError(
            f"{folder / 'state.json'} does not name the files of the dataset"
        ) from None
    present = {file.name for file in folder.iterdir() if file.is_file()}
    for name in names:
        if name not in present:
            raise InputError(
                f"{folder}: its file {name[:100]!r} is missing, or is not in the folder; "
                "copy the whole folder, or name another"
            )
    if not names:
        raise InputError(f"{folder / 'state.json'} names no files")
    return [folder / name for name in names]


def _part(found: dict[str, Any], folder: Path) -> dict[str, np.ndarray]:
    """The trajectories of one batch, laid end to end."""
    if lacking := [name for name in _NEEDED if name not in found]:
        raise InputError(
            "a dataset of trajectories has columns obs, acts, terminal and perhaps rews, a row "
            f"for each; this one lacks {', '.join(lacking)}{_instead(folder)}"
        )
    obs, acts = column_of(found, "obs", ragged=True), column_of(found, "acts", ragged=True)
    if obs.lengths is None or acts.lengths is None:
        raise InputError("its rows are not trajectories: obs and acts must be lists")
    if (obs.lengths != acts.lengths + 1).any() or (acts.lengths < 1).any():
        raise InputError("a trajectory needs at least one action, and one more observation")
    part = {
        "obs": obs.values,
        "acts": acts.values,
        "lengths": acts.lengths.astype(np.int64),
        "terminal": column_of(found, "terminal").values,
    }
    if "rews" in found:
        part["rews"] = column_of(found, "rews", ragged=True).values
    return part


def _instead(folder: Path) -> str:
    """Which columns there are, where the folder says it."""
    file = folder / "dataset_info.json"
    features = small_json(file).get("features") if file.is_file() else None
    return f"; there are {first_names(list(features))}" if isinstance(features, dict) else ""
