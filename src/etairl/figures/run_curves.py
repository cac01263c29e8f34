"""Learning curves of runs side by side: return and MMD² over transitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etairl.figures.panels import COLOURS, GREY, LEAST, itself, legend_below, literal, unframed

_INKS = (*COLOURS, "black")
_DASHES = ("-", "--", ":")
_PARTS = 50  # a curve is smoothed over such a part of its cycles
_POINTS = 400


@dataclass(frozen=True)
class Curves:
    """Runs of one setting, each with a seed of its own."""

    label: str
    runs: Sequence[Sequence[Mapping[str, Any]]]
    """the rows of metrics of each run"""
    expert: float | None = None
    """return of their own expert, where settings have several"""


def runs_figure(
    settings: Sequence[Curves],
    title: str,
    expert: float | None = None,
    floor: Mapping[str, Any] | None = None,
    clone: Mapping[str, float] | None = None,
) -> Figure:
    """A panel for the return and one for MMD², where it was measured; a colour for each setting.

    Args:
        settings: with more than seven the line is dashed, too.
        title: over both panels.
        expert: its return, if that is known.
        floor: the distance of the last cycles, with that of the expert against itself.
        clone: return and MMD² of a behaviour-cloned policy.
    """
    name = "success" if all("success" in r for s in settings for run in s.runs for r in run) else ""
    drawn = [
        metric
        for metric in (name or "return", "mmd2_mu")
        if any(metric in row for s in settings for run in s.runs for row in run)
    ]
    figure = Figure(figsize=(4.5 * len(drawn), 4.2), layout="constrained")
    figure.suptitle(literal(title), fontsize=11)
    for metric, axes in zip(drawn, figure.subplots(1, len(drawn), squeeze=False)[0], strict=True):
        for number, curves in enumerate(settings):
            ink, dashes = _INKS[number % len(_INKS)], _DASHES[number // len(_INKS) % len(_DASHES)]
            _draw(axes, curves, metric, ink, dashes)
        if metric == "mmd2_mu":
            axes.set(ylabel="MMD² of μ to the demonstrations", yscale="log")
            if floor is not None and floor.get("floor"):
                _level(axes, floor["floor"], ":", itself(floor))
        else:
            axes.set(ylabel="share of tasks solved" if name else "return")
            if expert is not None and not name:
                _level(axes, expert, "--", "expert")
            for number, curves in enumerate(settings):
                if curves.expert is not None and not name:
                    label = f"expert of {literal(curves.label)}"
                    _level(axes, curves.expert, "--", label, _INKS[number % len(_INKS)])
        if clone is not None and (value := clone.get(metric)) is not None:
            _level(axes, max(value, LEAST) if metric == "mmd2_mu" else value, "-.", "clone")
        axes.set(xlabel="transitions")
        unframed(axes)
        axes.xaxis.set_major_formatter(lambda value, _: _short(value))
        axes.margins(x=0.02)
    legend_below(figure, 3, 9, last="itself")
    return figure


def _level(axes: Axes, value: float, dashes: str, label: str, ink: str = GREY) -> None:
    axes.axhline(value, color=ink, linewidth=1.2, linestyle=dashes, label=label)


def _draw(axes: Axes, curves: Curves, name: str, colour: str, dashes: str) -> None:
    """The mean of the runs, and a band from the lowest to the highest."""
    lines = [points for run in curves.runs if (points := _points(run, name)) is not None]
    if not lines:
        return
    seeds = f", {len(lines)} seeds" if len(lines) > 1 else ""
    label = literal(curves.label) + seeds
    if len(lines) == 1:
        at, values = lines[0]
        axes.plot(
            at,
            values,
            marker="." if len(at) < 5 else None,
            color=colour,
            ls=dashes,
            lw=1.6,
            label=label,
        )
        return
    first = max(at[0] for at, _ in lines)
    last = min(at[-1] for at, _ in lines)
    at = np.linspace(first, max(first, last), _POINTS)
    each = np.stack([np.interp(at, *points) for points in lines])
    axes.fill_between(at, each.min(0), each.max(0), color=colour, alpha=0.18, linewidth=0)
    axes.plot(at, each.mean(0), color=colour, linestyle=dashes, linewidth=1.6, label=label)


def _points(run: Sequence[Mapping[str, Any]], name: str) -> tuple[np.ndarray, np.ndarray] | None:
    rows = [row for row in run if name in row]
    if not rows:
        return None
    at = np.array([row["transitions"] for row in rows], float)
    values = np.array([row[name] for row in rows], float)
    if name == "mmd2_mu":
        return at, np.maximum(values, LEAST)
    width = max(1, len(rows) // _PARTS)
    sums = np.cumsum(np.concatenate([[0.0], values]))
    begin = np.maximum(np.arange(1, len(rows) + 1) - width, 0)
    end = np.arange(1, len(rows) + 1)
    return at, (sums[end] - sums[begin]) / (end - begin)


def _short(value: float) -> str:
    """As 500 k, or 1.5 M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g} {letter}"
    return f"{value:g}"
