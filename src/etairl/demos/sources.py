"""Where demonstrations come from: a bundled name, `file.npz`, or `minari:dataset-v0`."""

import os
import re
import shlex
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from etairl.demos.dataset import Demos, Selection
from etairl.demos.noise import NO_CONTINUOUS, Noise
from etairl.demos.npz import read_npz, write_npz
from etairl.demos.npz_arrays import MAX_BYTES
from etairl.demos.recordings import Found, Importing, chosen_part
from etairl.types import InputError, Spec

_MINARI = "minari:"
_RECORDED = re.compile(r"(.+)-\d+x\d+")
_SUFFIXES = (".npz", ".csv", ".tsv", ".h5", ".hdf5", ".parquet")
_NAMING = "name a file by its path from the current folder, or one of etairl demos ls"
BUNDLED = Path(__file__).parents[1] / "bundled"


def load_demos(
    source: str | Path,
    *,
    select: Selection | None = None,
    bounds: tuple[float, float] | None = None,
    max_bytes: int = MAX_BYTES,
    importing: Importing | None = None,
    noise: Noise | None = None,
) -> Demos:
    """Load and check demonstrations.

    Args:
        source: path of an .npz file, `minari:DATASET` for a local Minari dataset, or the name of
            demonstrations that come with the package (see `bundled_demos`).
        select: which part to keep.
        bounds: smallest and largest value of every action column; actions outside are clipped.
            Overrides bounds that come with the data.
        max_bytes: refuse sources whose arrays declare more than this.
        importing: how to read files of other libraries, which are refused without. What was
            decided while reading stands in the `notes` of the result.
        noise: to add before a part is taken.

    Returns:
        Trajectories and task description.
    """
    read = _read(source, max_bytes, importing)
    try:
        trajectories, spec, notes = read.trajectories, read.spec, read.notes
        if bounds is not None:
            low, high = ((float(bound),) * spec.act_dim for bound in bounds)
            spec = replace(spec, action_low=low, action_high=high)
        playing = read.playing
        if noise is not None and noise.note is not None:
            if noise.noise_on == "actions" and spec.discrete_actions is not None:
                raise InputError(NO_CONTINUOUS)
            trajectories, notes = noise(trajectories), (*notes, noise.note)
            playing = "drawn" if noise.noise_on == "actions" else playing
        if select is not None:
            trajectories = select(trajectories)
        if trajectories.act_dim == 0:
            names = spec.observation_names
            spec = Spec(spec.obs_dim, 0, environment=spec.environment, observation_names=names)
        return Demos.of(trajectories, spec, read.name, playing, notes)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _read(source: str | Path, max_bytes: int, importing: Importing | None) -> Found:
    """All of a source, whatever it is; of ours, what `importing` asks for."""
    text = str(source)
    if text.startswith(_MINARI):
        from etairl.demos.minari import read_minari

        name = text.removeprefix(_MINARI)
        return _ours(Found(*read_minari(name, max_bytes), name), importing, text)
    path = BUNDLED / f"{text}.npz" if text in bundled_demos() else _existing(Path(source))
    from etairl.demos.formats import foreign_format, read_recording

    foreign = foreign_format(path)
    if foreign is None:
        return _ours(Found(*read_npz(path, max_bytes), Path(source).stem), importing, text)
    if importing is None:
        quoted = shlex.quote(text), shlex.quote(f"{path.stem}.npz")
        raise InputError(
            f"{path} is {foreign.name}; bring it into our form first: etairl demos import "
            f"{quoted[0]} -o {quoted[1]}"
        )
    return read_recording(path, foreign, importing, max_bytes)


def _ours(found: Found, importing: Importing | None, source: str) -> Found:
    try:
        return found if importing is None else chosen_part(found, importing)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def bundled_demos() -> list[str]:
    """Names of the bundled demonstrations, recorded by experts of our own."""
    return sorted(path.stem for path in BUNDLED.glob("*.npz"))


def located(source: str) -> str:
    """The same source from any folder: the whole path of a file, every other name as it is."""
    if source.startswith(_MINARI) or source in bundled_demos() or not os.path.isfile(source):
        return source
    return str(Path(source).resolve())


def is_missing(source: str) -> bool:
    """Whether a source is a file or a folder that is not there."""
    named = source.startswith(_MINARI) or source in bundled_demos()
    return not named and not os.path.exists(source)  # whose name may be too long


def _existing(path: Path) -> Path:
    """A file or a folder that is there; else the name that may have been meant."""
    if os.path.exists(path):
        return path
    siblings = path.parent.iterdir() if os.path.isdir(path.parent) else ()
    siblings = [sibling for sibling in siblings if sibling.suffix in _SUFFIXES]
    known = {sibling.name: str(path.parent / sibling.name) for sibling in siblings}
    known |= {name: name for name in bundled_demos()}
    near = _alike(path.name, list(known))
    close = get_close_matches(path.name, near, n=1) or [
        name for name in near if (part := _RECORDED.match(name)) and _close(path.name, part[1])
    ]
    hint = f"did you mean {known[close[0]]}?" if close else _NAMING
    raise InputError(f"no such file: {path}; {hint}")


def _close(name: str, environment: str) -> bool:
    """Is a name that of an environment, or nearly so, with or without its version?"""
    return bool(get_close_matches(name, [environment, environment.rpartition("-v")[0]], cutoff=0.8))


def _alike(name: str, known: list[str]) -> list[str]:
    """Of names like Hopper-v5-25x500 those of (nearly) the same environment; of others all."""
    parts = {other: _RECORDED.match(other) for other in known}
    asked = _RECORDED.match(name)
    if asked is None:
        return known
    environments = [part[1] for part in parts.values() if part]
    close = get_close_matches(asked[1], environments, n=len(known) + 1, cutoff=0.8)
    return [other for other, part in parts.items() if part is None or part[1] in close]


def save_demos(demos: Demos, target: str | Path, *, overwrite: bool = False) -> None:
    """Save demonstrations as an .npz file or a new Minari dataset (`minari:DATASET`)."""
    text = str(target)
    if text.startswith(_MINARI):
        from etairl.demos.minari_export import write_minari

        write_minari(demos, text.removeprefix(_MINARI))
        return
    path = Path(target)
    if path.suffix != ".npz":
        raise InputError(f"{path}: write to a name that ends in .npz, or to minari:NAME-v0")
    if path.exists() and not overwrite:
        raise InputError(
            f"{path} exists already; choose another name, or overwrite it (--overwrite)"
        )
    write_npz(demos, path)


def find_demos(folder: Path) -> list[str]:
    """List what `load_demos` can read: bundled, .npz files of a folder, local Minari datasets."""
    from etairl.demos.minari import list_minari

    if not folder.is_dir():
        raise InputError(f"no such folder: {folder}")
    files = [str(path) for path in sorted(folder.glob("*.npz"))]
    return [*bundled_demos(), *files, *(_MINARI + name for name in list_minari())]
