"""Parquet files in the form of LeRobot: a row per frame, with `episode_index` and `frame_index`."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from etairl.demos.arrow_arrays import (
    check_there,
    column_of,
    parquet_columns,
    read_parquet,
    small_json,
)
from etairl.demos.recordings import (
    NO_IMAGES,
    Importing,
    Recording,
    in_number_order,
)
from etairl.types import InputError, column_names

_STATE = "observation.state"
_COUNTS = ("episode_index", "frame_index")
_MARKS = ("next.done", "next.reward")
_MOST_FILES = 1_000_000


def lerobot_files(path: Path) -> list[Path]:
    """The parquet files of a folder, in the order of their numbers; or the one that is named."""
    if path.is_file():
        return [path]
    files = list(islice((path / "data").glob("**/*.parquet"), _MOST_FILES))
    return [Path(name) for name in in_number_order([str(file) for file in files])]


def read_lerobot(path: Path, importing: Importing, max_bytes: int) -> Recording:
    """Read the frames of all files, sorted by episode and frame."""
    files = lerobot_files(path)
    keys = list(importing.observations or (_STATE,))
    names = [*keys, "action", *_COUNTS, *_MARKS]
    features = _features(path)
    parts, left = [], max_bytes
    for file in files:
        columns = read_parquet(file, names, left)
        try:
            _check(columns, keys, parquet_columns(file), features)
            part = {name: column_of(columns, name).values for name in columns}
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
        left -= sum(array.nbytes for array in part.values())
        parts.append(part)
    try:
        return _recording(parts, keys, features)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _check(found: dict[str, Any], keys: list[str], available: list[str], features: Any) -> None:
    kinds = {key: f.get("dtype") for key, f in features.items() if isinstance(f, dict)}
    for key in keys:
        if "image" in key or kinds.get(key) in ("image", "video"):
            raise InputError(f"the observations {key}: {NO_IMAGES}")
    if (
        keys == [_STATE]
        and _STATE not in found
        and any("image" in name for name in [*available, *kinds])
    ):
        raise InputError(f"there is no {_STATE}: {NO_IMAGES}")
    check_there(found, [*keys, "action", *_COUNTS], available)


def _features(path: Path) -> dict[str, Any]:
    info = path / "meta" / "info.json"
    features = small_json(info).get("features") if info.is_file() else None
    return features if isinstance(features, dict) else {}


def _recording(
    parts: list[dict[str, np.ndarray]], keys: list[str], features: dict[str, Any]
) -> Recording:
    shared = set.intersection(*(set(part) for part in parts))
    try:
        columns = {name: np.concatenate([part[name] for part in parts]) for name in shared}
    except ValueError:
        raise InputError(
            "its files differ in the number of columns; use those of one dataset"
        ) from None
    episode, frame = (columns[name].ravel() for name in _COUNTS)
    order = np.lexsort((frame, episode))
    columns = {name: array[order] for name, array in columns.items()}
    episode, frame = episode[order], frame[order]
    _, starts, lengths = np.unique(episode, return_index=True, return_counts=True)
    if (frame != np.arange(len(frame)) - np.repeat(starts, lengths)).any():
        raise InputError("frames are missing: frame_index must count from 0 in every episode")
    last = np.cumsum(lengths) - 1
    done = columns.get("next.done")
    observations = [columns[key].reshape(len(episode), -1) for key in keys]
    widths = [part.shape[1] for part in observations]
    known = [_names(features, key, width) for key, width in zip(keys, widths, strict=True)]
    named = [name for names in known if names for name in names]
    return Recording(
        np.concatenate(observations, axis=1),
        columns["action"],
        lengths,
        None if done is None else done.ravel()[last] != 0,
        None,
        columns.get("next.reward"),
        observation_names=tuple(named) if all(known) else _plain(keys, widths),
        action_names=_names(features, "action", int(np.prod(columns["action"].shape[1:]))),
    )


def _plain(keys: list[str], widths: list[int]) -> tuple[str, ...] | None:
    """Keys name columns where there are several of them; the parts of one are only numbered."""
    return column_names(keys, widths) if len(keys) > 1 else None


def _names(features: dict[str, Any], key: str, width: int) -> tuple[str, ...] | None:
    """What the description of the dataset calls the columns of a key."""
    feature = features.get(key)
    names = feature.get("names") if isinstance(feature, dict) else None
    if isinstance(names, dict):  # {"motors": [...]}
        names = next(iter(names.values()), None)
    if not (isinstance(names, list) and len(names) == width):
        return None
    known = tuple(name for name in names if isinstance(name, str) and name.isprintable())
    return known if len(set(known)) == width else None
