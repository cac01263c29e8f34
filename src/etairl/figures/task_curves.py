"""Many tasks: how runs learned, and how algorithms compare (the paper's Figure 4)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

TaskCurve = Float[np.ndarray, "_ 2"]
"""transitions, and the normalised cost there"""
_INKS = ("#b8322a", "#1b6ca8", "#2a8c5a", "#8a5fb0", "#c98a1b")
_SETTINGS = ("#1b6ca8", "#e0a030")
_GREY = "0.45"
_COLUMNS = 2


def curves_figure(panels: Mapping[str, Mapping[str, Sequence[TaskCurve]]]) -> Figure:
    """Normalised cost over transitions: the mean over seeds, and a band from best to worst.

    Args:
        panels: by title, then by algorithm: a curve for each seed.
    """
    figure, every = _grid(len(panels), (4.8, 3.2))
    names = _names(panels)
    for axes, (title, algorithms) in zip(every, panels.items(), strict=True):
        for name, curves in algorithms.items():
            ink = _INKS[names.index(name) % len(_INKS)]
            at, values = _together(curves)
            low, high = values.min(axis=0), values.max(axis=0)
            axes.fill_between(at / 1e6, low, high, color=ink, alpha=0.18, linewidth=0)
            axes.plot(at / 1e6, values.mean(axis=0), color=ink, linewidth=1.5, label=name)
        _levels(axes)
        axes.set(xlabel="million transitions", ylabel="normalised cost")
        axes.set_title(title, fontsize=10)
        axes.margins(x=0)
    _legend(figure, every)
    return figure


def bars_figure(
    panels: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]],
    what: Literal["cost", "success"],
) -> Figure:
    """Algorithms side by side in two settings: bars are means, dots are seeds.

    Args:
        panels: by title, then by algorithm, then by setting: a value for each seed.
        what: the values are normalised costs, or shares of tasks solved.
    """
    most = max(len(algorithms) for algorithms in panels.values())
    figure, every = _grid(len(panels), (1.4 + 1.1 * most, 3.2))
    for axes, (title, algorithms) in zip(every, panels.items(), strict=True):
        settings = list(dict.fromkeys(s for found in algorithms.values() for s in found))
        width = 0.8 / len(settings)
        for number, setting in enumerate(settings):
            shift = (number - 0.5 * (len(settings) - 1)) * width
            drawn = {
                i + shift: found[setting]
                for i, found in enumerate(algorithms.values())
                if setting in found
            }
            ink = _SETTINGS[number % len(_SETTINGS)]
            means = [float(np.mean(values)) for values in drawn.values()]
            axes.bar(list(drawn), means, 0.9 * width, color=ink, label=setting)
            for x, values in drawn.items():
                axes.plot([x] * len(values), values, ".", color="0.15", markersize=5)
        axes.set_xticks(range(len(algorithms)), list(algorithms), fontsize=8)
        if what == "cost":
            _levels(axes)
            axes.set_ylabel("normalised cost")
        else:
            axes.set(ylabel="share of tasks solved", ylim=(0.0, 1.04))
        axes.set_title(title, fontsize=10)
    _legend(figure, every)
    return figure


def _grid(count: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    shape = (size[0] * columns, size[1] * rows + 0.4)
    figure = Figure(figsize=shape, layout="constrained")
    every = [figure.add_subplot(rows, columns, i + 1) for i in range(count)]
    for axes in every:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, every


def _names(panels: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """An algorithm has the same colour in all panels."""
    return list(dict.fromkeys(name for found in panels.values() for name in found))


def _together(curves: Sequence[TaskCurve]) -> tuple[np.ndarray, np.ndarray]:
    """All seeds at the transitions of the first, as far as all of them came."""
    end = min(curve[-1, 0] for curve in curves)
    at = curves[0][:, 0]
    at = at[at <= end]
    return at, np.stack([np.interp(at, curve[:, 0], curve[:, 1]) for curve in curves])


def _levels(axes: Axes) -> None:
    for level, dashes, name in ((0.0, "--", "expert"), (1.0, ":", "random")):
        axes.axhline(level, color=_GREY, linewidth=1.0, linestyle=dashes, label=name)


def _legend(figure: Figure, every: Sequence[Axes]) -> None:
    """One for all panels."""
    found = {}
    for axes in every:
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True)) | found
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside lower center",
        ncols=len(found),
        frameon=False,
        fontsize=9,
    )
