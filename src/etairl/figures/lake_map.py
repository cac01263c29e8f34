"""The map of 2-D navigation, with recorded walks on it (the paper's Figure 6)."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from etairl.tasks.navigation_world import LakeWorld
from etairl.types import InputError, Trajectories

LAKE, LAND = "#4287ca", "0.87"
_MARK = {"markeredgecolor": "black", "linestyle": "none"}
MARKS: dict[str, dict[str, Any]] = {
    "start": {"marker": "o", "color": "white", **_MARK},
    "target": {"marker": "s", "color": "#c82828", **_MARK},
}
"""told apart by their shapes: red and green look alike to many"""


def navigation_figure(walks: Trajectories) -> Figure:
    """Where the lakes are, and how episodes with tasks went from their starts to their targets."""
    if walks.tasks is None:
        raise InputError("walks without tasks have no targets to draw")
    figure = Figure(figsize=(5.2, 5.0), layout="constrained")
    axes = figure.add_subplot()
    draw_lakes(axes, LakeWorld())
    for i, target in enumerate(walks.tasks):
        rows = slice(walks.offsets[i], walks.offsets[i + 1])
        path = walks.observations[rows, :2]
        axes.plot(*path.T, color="0.25", linewidth=1.1, marker=".", markersize=3)
        first = {"start": path[0], "target": target}
        for name, place in first.items():
            label = name if i == 0 else None
            axes.plot(*place, **MARKS[name], markersize=7, label=label, clip_on=False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def draw_lakes(axes: Axes, world: LakeWorld) -> None:
    """Box and lakes."""
    side = world.half_side
    axes.set_facecolor(LAND)
    for x, y, radius in world.lakes:
        axes.add_patch(Circle((x, y), radius, color=LAKE, linewidth=0))
    ticks = [-side, -side / 2, 0.0, side / 2, side]
    axes.set(xlim=(-side, side), ylim=(-side, side), xticks=ticks, yticks=ticks, aspect="equal")
