"""Heat maps of a learned cost of 2-D navigation (the paper's Figures 9 and 10)."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.figure import Figure

from etairl.figures.lake_map import LAKE, draw_lakes
from etairl.tasks.navigation_world import LakeWorld

_COLUMNS = 3
_TARGET = "#c82828"
_SHOWN = (1.0, 99.0)  # per cent of the values; a few may lie far out


def cost_maps_figure(
    targets: Mapping[str, tuple[float, float]],
    costs: Float[np.ndarray, "targets rows columns"],
    title: str,
) -> Figure:
    """A panel per target, all with the same colours: the brighter, the lower the cost.

    `costs` are on a grid over the box, rows from the bottom up; NaN where it has none.
    """
    world = LakeWorld()
    side = world.half_side
    columns = min(len(targets), _COLUMNS)
    rows = -(-len(targets) // columns)
    figure = Figure(figsize=(3.0 * columns + 1.0, 3.0 * rows + 0.5), layout="constrained")
    figure.suptitle(title, fontsize=11)
    colours = colormaps["inferno_r"].with_extremes(bad=LAKE)  # cells that lie partly in a lake
    low, high = np.nanpercentile(costs, _SHOWN)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    picture = None
    for axes, (name, place), cost in zip(panels, targets.items(), costs, strict=False):
        draw_lakes(axes, world)
        extent = (-side, side, -side, side)
        picture = axes.imshow(
            cost, extent=extent, origin="lower", cmap=colours, vmin=low, vmax=high
        )
        axes.plot(*place, "o", color=_TARGET, markeredgecolor="white", markersize=8)
        axes.set_title(name, fontsize=10)
        axes.set(xticks=[], yticks=[])
    for axes in panels[len(targets) :]:
        axes.set_axis_off()
    assert picture is not None
    bar = figure.colorbar(picture, ax=list(panels), extend="both", shrink=0.8)
    bar.set_label("cost, bright is low")
    return figure
