"""Sampled futures along recorded walks (the paper's Figures 5, 7 and 8)."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.axes3d import Axes3D

from etairl.figures.lake_map import MARKS, draw_lakes
from etairl.figures.panels import legend_below
from etairl.tasks.navigation_world import LakeWorld
from etairl.types import InputError

_COLUMNS = 3
_PATH, _SAMPLE = "black", "#142a8c"
_CENTIMETRES = 100.0


class Walk(NamedTuple):
    """One recorded walk, and what was sampled along it."""

    path: Float[np.ndarray, "steps place"]
    target: Float[np.ndarray, " place"]
    samples: Float[np.ndarray, "n place"]
    title: str


def futures_figure(walks: Sequence[Walk], world: LakeWorld | None = None) -> Figure:
    """A panel per walk: its path, its start, its target, and the sampled places around it.

    Args:
        walks: with places of two numbers, or of three in metres, which are drawn in centimetres
            from the start of the walk.
        world: the map below places of two numbers; none if left out.
    """
    dim = _dimension(walks)
    if world is not None and dim != 2:
        raise InputError(f"places of {dim} numbers do not lie on a map; leave the world out")
    columns = min(len(walks), _COLUMNS)
    rows = -(-len(walks) // columns)
    size = 3.4 if dim == 2 else 4.2
    figure = Figure(figsize=(size * columns, size * rows + 0.4), layout="constrained")
    for number, walk in enumerate(walks):
        if dim == 2:
            axes = figure.add_subplot(rows, columns, number + 1)
            _draw_flat(axes, walk, world)
        else:
            axes = figure.add_subplot(rows, columns, number + 1, projection="3d")
            _draw_deep(cast(Axes3D, axes), walk)
        axes.set_title(walk.title, fontsize=10, y=1.0 if dim == 2 else 0.97)
    legend_below(figure, 4, fontsize=9)
    return figure


def _dimension(walks: Sequence[Walk]) -> int:
    """Of all places; refused where they differ or cannot be drawn."""
    if not walks:
        raise InputError("there are no walks to draw")
    dims = {a.shape[-1] for walk in walks for a in (walk.path, walk.target, walk.samples)}
    if len(dims) > 1:
        kinds = ", ".join(str(dim) for dim in sorted(dims))
        raise InputError(f"places have {kinds} numbers; all walks of a figure need the same")
    (dim,) = dims
    if dim not in (2, 3):
        raise InputError(f"only places of 2 or 3 numbers can be drawn, but these have {dim}")
    return dim


def _draw_flat(axes: Axes, walk: Walk, world: LakeWorld | None) -> None:
    if world is None:
        axes.set_aspect("equal", adjustable="datalim")
    else:
        draw_lakes(axes, world)
    _draw(axes, walk.path, walk.samples, walk.target)


def _draw_deep(axes: Axes3D, walk: Walk) -> None:
    start = walk.path[:1]
    places = [(a - start) * _CENTIMETRES for a in (walk.path, walk.samples, walk.target)]
    _draw(axes, *places)
    axes.set(xlabel="x [cm]", ylabel="y [cm]", zlabel="z [cm]")
    every = np.concatenate(places)
    low, high = every.min(axis=0), every.max(axis=0)
    half = 0.5 * max(float((high - low).max()), 1e-6)
    for name, middle in zip("xyz", 0.5 * (low + high), strict=True):
        axes.set(**{f"{name}lim": (middle - half, middle + half)})  # one centimetre is as long
    # Labels stay inside of the panel; its types know whole numbers only.
    axes.set_box_aspect((1.0, 1.0, 1.0), zoom=0.88)  # pyright: ignore[reportArgumentType]
    axes.locator_params(nbins=5)
    axes.tick_params(labelsize=8, pad=0)


def _draw(axes: Any, path: np.ndarray, samples: np.ndarray, target: np.ndarray) -> None:
    """In any number of dimensions; the path lies above the samples, both ends above all."""
    triangles = {"marker": "^", "linestyle": "", "markersize": 4, "alpha": 0.45}
    axes.plot(*samples.T, color=_SAMPLE, markeredgewidth=0, label="sampled", zorder=2, **triangles)
    axes.plot(*path.T, color=_PATH, linewidth=1.2, label="expert", zorder=3)
    inside = path.shape[-1] > 2  # on a map the ends are whole at the borders, too
    for name, place in (("start", path[0]), ("target", target)):
        ends = np.atleast_2d(place).T
        axes.plot(*ends, **MARKS[name], markersize=8, label=name, zorder=4, clip_on=inside)
