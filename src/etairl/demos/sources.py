"""Where demonstrations come from: a bundled name, `file.npz`, or `minari:dataset-v0`."""

import re
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from etairl.demos.dataset import Demos, Selection
from etairl.demos.npz import MAX_BYTES, read_npz, write_npz
from etairl.types import InputError, Spec

_MINARI = "minari:"
_RECORDED = re.compile(r"(.+)-\d+x\d+")
BUNDLED = Path(__file__).parents[1] / "bundled"


def load_demos(
    source: str | Path,
    *,
    select: Selection | None = None,
    bounds: tuple[float, float] | None = None,
    max_bytes: int = MAX_BYTES,
) -> Demos:
    """Load and check demonstrations.

    Args:
        source: path of an .npz file, `minari:DATASET` for a local Minari dataset, or the name of
            demonstrations that come with the package (see `bundled_demos`).
        select: which part to keep.
        bounds: smallest and largest value of every action column; actions outside are clipped.
            Overrides bounds that come with the data.
        max_bytes: refuse sources whose arrays declare more than this.

    Returns:
        Trajectories and task description.
    """
    text = str(source)
    if text.startswith(_MINARI):
        from etairl.demos.minari import read_minari

        name = text.removeprefix(_MINARI)
        trajectories, spec, playing = read_minari(name, max_bytes)
    else:
        name = Path(source).stem
        path = BUNDLED / f"{text}.npz" if text in bundled_demos() else _existing(Path(source))
        trajectories, spec, playing = read_npz(path, max_bytes)
    if bounds is not None:
        low, high = ((float(bound),) * spec.act_dim for bound in bounds)
        spec = replace(spec, action_low=low, action_high=high)
    try:
        if select is not None:
            trajectories = select(trajectories)
        if trajectories.act_dim == 0:
            spec = Spec(spec.obs_dim, 0, environment=spec.environment)
        return Demos.of(trajectories, spec, name, playing)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def bundled_demos() -> list[str]:
    """Names of the bundled demonstrations, recorded by experts of our own."""
    return sorted(path.stem for path in BUNDLED.glob("*.npz"))


def located(source: str) -> str:
    """The same source from any folder: the whole path of a file, every other name as it is."""
    if source.startswith(_MINARI) or source in bundled_demos() or not Path(source).is_file():
        return source
    return str(Path(source).resolve())


def _existing(path: Path) -> Path:
    if path.is_dir():
        raise InputError(
            f"{path} is a folder; name one .npz file in it (see: etairl demos ls {path})"
        )
    if not path.is_file():
        siblings = path.parent.glob("*.npz") if path.parent.is_dir() else ()
        known = {sibling.name: str(path.parent / sibling.name) for sibling in siblings}
        known |= {name: name for name in bundled_demos()}
        close = get_close_matches(path.name, _alike(path.name, list(known)), n=1)
        hint = f"; did you mean {known[close[0]]}?" if close else ""
        raise InputError(f"no such file: {path}{hint}")
    return path


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
