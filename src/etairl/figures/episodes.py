"""Where in the episode behaviours differ: who is still alive, scores and MMD² by quarters."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etairl.training.behaviour import Behaviour, Quarter

_INKS = ("#1b6ca8", "#d1861a", "#2a8c5a", "0.55", "#8a5aa8", "#b8322a")
_LEAST = 1e-5
"""an unbiased value may be negative; a logarithm has no place for that"""


def episodes_figure(behaviours: Sequence[Behaviour]) -> Figure:
    """A row of panels for the horizon, and one for twice the horizon where that was played."""
    shown = [v for v in behaviours if v.playing in (behaviours[0].playing, None)]
    longer = [v for v in shown if v.longer is not None]
    rows = 2 if longer else 1
    figure = Figure(figsize=(11.0, 3.1 * rows), layout="constrained")
    panels = figure.subplots(rows, 3, squeeze=False)
    inks = dict(zip((v.title for v in shown), _INKS, strict=False))
    _row(panels[0], shown, inks, lambda v: v.quarters)
    if longer:
        _row(panels[1], longer, inks, lambda v: v.longer or [])
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return figure


def _row(
    panels: Sequence[Axes],
    shown: Sequence[Behaviour],
    inks: dict[str, str],
    quarters: Callable[[Behaviour], list[Quarter]],
) -> None:
    alive, scores, distances = panels
    for v in shown:
        found, ink = quarters(v), inks[v.title]
        middle = [(q.begin + q.end) / 2 for q in found]
        horizon = found[-1].end
        if found is v.quarters:
            times = np.linspace(0, horizon, len(v.survival) + 1)[:-1]
            alive.step(times, v.survival, where="post", color=ink, label=v.title)
        else:
            share = [q.alive for q in found]
            alive.step([q.begin for q in found], share, where="post", color=ink, label=v.title)
        known = [(x, q.score) for x, q in zip(middle, found, strict=True) if q.score is not None]
        if known:
            scores.plot(*zip(*known, strict=True), "o-", color=ink)
        at = [(x, q.mmd2_mu) for x, q in zip(middle, found, strict=True) if q.mmd2_mu is not None]
        distances.plot([x for x, _ in at], [max(d.value, _LEAST) for _, d in at], "o-", color=ink)
        if v is shown[0]:
            floors = [(x, d.floor) for x, d in at if d.floor is not None]
            if floors:
                distances.plot(*zip(*floors, strict=True), "--", color="0.3", label="floor")
    for axes, label in zip(
        panels,
        ("share still alive", "score in the quarter", "MMD² of μ in the quarter"),
        strict=True,
    ):
        axes.set(xlabel="step of the episode", ylabel=label)
        axes.spines[["top", "right"]].set_visible(False)
    alive.set_ylim(-0.03, 1.03)
    distances.set_yscale("log")
    if distances.get_legend_handles_labels()[1]:
        distances.legend(frameon=False, fontsize=8)
