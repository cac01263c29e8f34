"""The formats of other libraries that can be read, and how a file is told to be in one of them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import h5py

from etairl.demos import stable_baselines
from etairl.demos.csv_tables import looks_like_csv, read_csv
from etairl.demos.d4rl import D4RL_ARRAYS, is_d4rl, read_d4rl_hdf5, read_d4rl_npz
from etairl.demos.hdf5_arrays import described, has, opened_hdf5
from etairl.demos.huggingface import read_huggingface
from etairl.demos.imitation_npz import read_imitation_trajectories, read_imitation_transitions
from etairl.demos.lerobot import lerobot_files, read_lerobot
from etairl.demos.npz_contents import contents
from etairl.demos.recordings import (
    NO_IMAGES,
    Found,
    Importing,
    Recording,
    first_names,
    to_found,
)
from etairl.demos.robomimic import is_robomimic, read_robomimic
from etairl.demos.stable_baselines import read_stable_baselines
from etairl.types import InputError

OURS_ALONE = {"episode_lengths", "final_observations", "action_low", "spans", "playing", "tasks"}
"""arrays of our own npz files that no other format has"""
_MAGIC = {
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
    b"\x89HDF\r\n\x1a\n": "hdf5",
    b"PAR1": "parquet",
    b"\x1f\x8b": "gzip",
    b"\x89PNG": "image",
    b"\xff\xd8\xff": "image",
    b"\x93NUMPY": "npy",
}
_REFUSED = {
    "gzip": "it is compressed with gzip; unpack it first",
    "image": f"it is an image: {NO_IMAGES}",
    "npy": "it holds one array without a name; save observations, actions and ends together, with "
    "numpy.savez",
    "pickle": "it is a pickle, which could run code when loaded; save its arrays with numpy.savez, "
    "in a program that you trust it with",
}


class Holding(NamedTuple):
    """What is in a file or a folder, as far as it takes to tell its format."""

    path: Path
    kind: str
    """npz, hdf5, parquet, folder, text, or one that is refused"""
    names: frozenset[str] = frozenset()
    """of arrays, files or marks of a format"""
    shown: tuple[str, ...] = ()
    """the same for people, with shapes"""


@dataclass(frozen=True)
class Format:
    """A format of another library."""

    name: str
    kind: str
    """of the file or folder"""
    recognised_by: str
    """in words"""
    recognises: Callable[[Holding], bool]
    read: Callable[[Path, Importing, int], Recording]
    names_observations: bool = False
    """--observations chooses among its keys or columns"""
    names_columns: bool = False
    """so do --actions, --reward, --episode and --end"""


def _has(kind: str, *names: str, without: set[str] | None = None) -> Callable[[Holding], bool]:
    def recognises(holding: Holding) -> bool:
        others = holding.names & (without or set())
        return holding.kind == kind and holding.names.issuperset(names) and not others

    return recognises


FORMATS = (
    Format(
        "D4RL-style npz",
        "npz",
        "observations, actions, rewards, terminals; no episode_lengths",
        _has("npz", *D4RL_ARRAYS, "rewards", without=OURS_ALONE),
        read_d4rl_npz,
    ),
    Format(
        "D4RL-style HDF5",
        "hdf5",
        "observations, actions, terminals",
        _has("hdf5", "(d4rl)"),
        read_d4rl_hdf5,
    ),
    Format(
        "trajectories of imitation",
        "npz",
        "obs, acts, terminal, indices",
        _has("npz", "obs", "acts", "terminal"),
        read_imitation_trajectories,
    ),
    Format(
        "transitions of imitation",
        "npz",
        "obs, acts, dones",
        _has("npz", "obs", "acts", "dones"),
        read_imitation_transitions,
    ),
    Format(
        "a Hugging Face dataset of trajectories",
        "folder",
        "dataset_info.json, state.json and Arrow files",
        _has("folder", "state.json", "dataset_info.json"),
        read_huggingface,
    ),
    Format(
        "expert data of Stable-Baselines",
        "npz",
        "obs, actions, episode_starts",
        _has("npz", *stable_baselines.BASELINES_ARRAYS),
        read_stable_baselines,
    ),
    Format(
        "robomimic HDF5",
        "hdf5",
        "groups data/demo_0, …",
        _has("hdf5", "(robomimic)"),
        read_robomimic,
        names_observations=True,
    ),
    Format(
        "LeRobot parquet",
        "folder",
        "data/chunk-000/….parquet",
        lambda holding: holding.kind == "parquet" or "(parquet)" in holding.names,
        read_lerobot,
        names_observations=True,
    ),
    Format("a CSV table", "text", "text with a header", _has("text"), read_csv, True, True),
)


def foreign_format(path: Path) -> Format | None:
    """The format of another library that a file is in; None where it is to be read as our npz."""
    holding = look_at(path)
    if path.suffix == ".npz" and holding.kind in ("text", "unknown"):
        return None  # what calls itself npz and is none is answered as such
    known = format_of(holding)
    ours = holding.kind == "npz" and {"observations", *OURS_ALONE} & holding.names
    if known is None and not ours:
        raise InputError(f"{path}: {_unknown(holding)}")
    return known


def read_recording(path: Path, known: Format, importing: Importing, max_bytes: int) -> Found:
    """Demonstrations in the format of another library; a note says which."""
    asked = [] if known.names_columns else importing.of_tables
    for option, given, can in (
        ("--observations", importing.observations, known.names_observations),
        ("--actions", importing.actions, known.names_columns),
        *((option, True, False) for option in asked),
    ):
        if given and not can:
            raise InputError(f"{path} is {known.name}, where {option} has nothing to choose from")
    try:
        read = to_found(known.read(path, importing, max_bytes), importing, path.stem)
    except InputError as error:
        said = str(error)
        raise InputError(said if said.startswith(str(path)) else f"{path}: {said}") from None
    return read._replace(notes=(f"{path} is {known.name}", *read.notes))


def format_of(holding: Holding) -> Format | None:
    """The first format that recognises a file."""
    return next((known for known in FORMATS if known.recognises(holding)), None)


def look_at(path: Path) -> Holding:
    """Look into a file or a folder, whatever its name ends in."""
    if path.is_dir():
        return _folder(path)
    try:
        with path.open("rb") as stream:
            start = stream.read(16)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror or error}); allow it, or name another"
        ) from None
    kind = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    if kind == "npz":
        arrays = contents(path)
        return Holding(path, kind, frozenset(arrays), tuple(arrays.values()))
    if kind == "hdf5":
        return _hdf5(path)
    if kind is None and start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        kind = "pickle"
    if kind is None:
        kind = "text" if start and looks_like_csv(path) else "unknown"
    return Holding(path, kind)


def _hdf5(path: Path) -> Holding:
    with opened_hdf5(path) as file:
        marks = {
            "(d4rl)": is_d4rl(file),
            "(robomimic)": is_robomimic(file),
            "(minari)": has(file, "episode_0", h5py.Group),
        }
        names = frozenset(name for name, is_marked in marks.items() if is_marked)
        return Holding(path, "hdf5", names, tuple(described(file)))


def _folder(path: Path) -> Holding:
    try:
        names = sorted(entry.name for entry in path.iterdir())
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror or error}); allow it, or name another"
        ) from None
    marks = {"(parquet)"} if next(iter(lerobot_files(path)), None) else set()
    return Holding(path, "folder", frozenset(names) | marks, tuple(names))


def _unknown(holding: Holding) -> str:
    """Why a file cannot be read, and what it holds."""
    if holding.kind in _REFUSED:
        return _REFUSED[holding.kind]
    if "(minari)" in holding.names or {"data", "main_data.hdf5"} & holding.names:
        return (
            "it looks like a part of a Minari dataset; name the dataset, minari:NAME, with "
            "MINARI_DATASETS_PATH set to the folder that holds it"
        )
    if "dataset_dict.json" in holding.names:
        parts = [name for name in holding.shown if (holding.path / name).is_dir()]
        return f"it is a set of Hugging Face datasets; name one of them: {first_names(parts)}"
    what = {"npz": "an npz file", "hdf5": "an HDF5 file", "folder": "a folder"}.get(holding.kind)
    if what is None:
        return _strange(holding.path)
    if holding.kind == "folder" and any(name.endswith(".npz") for name in holding.shown):
        return f"it is a folder; name one .npz file in it (see: etairl demos ls {holding.path})"
    wanted = "; ".join(
        f"{known.name}: {known.recognised_by}" for known in FORMATS if known.kind == holding.kind
    )
    return (
        f"{what} in no known format; it holds {first_names(holding.shown, 15)}. Known are {wanted}"
    )


def _strange(path: Path) -> str:
    """Why a file is in none of the formats."""
    if path.stat().st_size == 0:
        return "it is empty; name a file that holds demonstrations"
    if path.suffix.lower() in (".csv", ".tsv", ".txt"):
        return (
            "it is not a CSV table: write text in UTF-8, columns separated by commas, and their "
            "names in the first line"
        )
    return "its format is not known; npz, HDF5, parquet, Arrow folders and CSV can be read"
