"""Where in the episode behaviours differ: who is still alive, scores and MMD² by quarters."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etairl.evaluation.timeline import Timeline
from etairl.figures.panels import COLOURS, LEAST, literal, unframed


def timelines_figure(
    lines: Mapping[str, Timeline], longer: Mapping[str, Timeline] | None = None
) -> Figure:
    """A row of panels for the horizon, and one for twice the horizon where that was played."""
    rows = [lines, longer] if longer else [lines]
    figure = Figure(figsize=(11.0, 3.1 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), 3, squeeze=False)
    inks = dict(zip(lines, itertools.cycle(COLOURS), strict=False))
    for row, shown in zip(panels, rows, strict=True):
        _row(list(row), shown, inks)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return figure


def _row(panels: Sequence[Axes], lines: Mapping[str, Timeline], inks: Mapping[str, str]) -> None:
    alive, scores, distances = panels
    floors: dict[float, float] = {}
    for title, line in lines.items():
        ink = inks[title]
        times = np.linspace(0, line.horizon, len(line.survival) + 1)[:-1]
        alive.step(times, line.survival, where="post", color=ink, label=literal(title))
        middles = [(q.begin + q.end) / 2 for q in line.quarters]
        both = list(zip(middles, line.quarters, strict=True))
        scored = [(x, q.score) for x, q in both if q.score is not None]
        scores.plot([x for x, _ in scored], [y for _, y in scored], "o-", color=ink)
        at = [(x, q.mmd2_mu) for x, q in both if q.mmd2_mu is not None]
        distances.plot([x for x, _ in at], [max(d.value, LEAST) for _, d in at], "o-", color=ink)
        for x, d in at:
            if d.floor is not None:
                floors.setdefault(x, max(d.floor, LEAST))
    if floors:
        distances.plot(list(floors), list(floors.values()), "--", color="0.3", label="floor")
        distances.legend(frameon=False, fontsize=8)
    labels = ("share still alive", "score in the quarter", "MMD² of μ in the quarter")
    for axes, label in zip(panels, labels, strict=True):
        axes.set(xlabel="step of the episode", ylabel=label)
        axes.set_xlim(0, max(line.horizon for line in lines.values()))
    unframed(*panels)
    alive.set_ylim(-0.03, 1.03)
    distances.set_yscale("log")
