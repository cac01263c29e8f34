"""Where weightings carry signal: MMD² beside GAIL, next to what halves differ by."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etairl.evaluation.where import EtaMap, MapCell
from etairl.figures.panels import BLUE, GREY, unframed

_LEAST = 1e-6
"""weightings of the same steps are nearer to each other than a learner is to its expert"""


def eta_map_figure(found: EtaMap) -> Figure:
    """A panel for each discount: a dot for each weighting, a bar up to its floor."""
    cells = [cell for cell in found.cells if cell.gail is not None]
    gammas = list(dict.fromkeys(cell.gamma_irl for cell in cells))
    names = list(dict.fromkeys((cell.eta, cell.sampler) for cell in cells))
    size = (4.6 * len(gammas), 1.9 + 0.27 * len(names))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(gammas), sharex=True, sharey=True, squeeze=False)[0]
    for axes, gamma in zip(panels, gammas, strict=True):
        _panel(axes, [cell for cell in cells if cell.gamma_irl == gamma], names)
        axes.axvline(max(found.early_late.mmd2, _LEAST), color=GREY, linestyle=":", linewidth=1.0)
        axes.set(xlabel="MMD² beside GAIL", title=f"γ_IRL = {gamma:g}")
    labels = [eta if sampler == "exact" else f"{eta}, {sampler}" for eta, sampler in names]
    panels[0].set_yticks(range(len(names)), labels, fontsize=9)
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    figure.suptitle(
        f"{found.demos}: bars are what halves of the demonstrations differ by,\n"
        "dotted: the first beside the last quarter of the episodes",
        fontsize=10,
    )
    return figure


def _panel(axes: Axes, cells: list[MapCell], names: list[tuple[str, str]]) -> None:
    for signal, fill in ((True, BLUE), (False, "white")):
        kept = [c for c in cells if c.signal == signal and c.gail is not None]
        at = [names.index((c.eta, c.sampler)) for c in kept]
        values = [max(c.gail.mmd2, _LEAST) for c in kept if c.gail is not None]
        label = "carries signal" if signal else "no signal"
        axes.plot(values, at, "o", color=BLUE, markerfacecolor=fill, markersize=6, label=label)
    at = [names.index((c.eta, c.sampler)) for c in cells]
    floors = np.array([c.gail.floor for c in cells if c.gail is not None])
    axes.barh(at, np.maximum(floors, _LEAST), height=0.7, color="0.88", zorder=0)
    axes.set_xscale("log")
    unframed(axes)
