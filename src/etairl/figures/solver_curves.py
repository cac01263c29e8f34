"""Two solvers where the weighting decides: the criterion of what each plays while it learns."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from etairl.figures.panels import BLUE, DARK_RED, GREY, unframed

_INKS = (DARK_RED, BLUE)


class SolverPanel(NamedTuple):
    """One world."""

    title: str
    curves: Mapping[str, Float[np.ndarray, "seeds cycles"]]
    """the criterion of each cycle, by solver"""
    each: int
    """transitions in a cycle"""
    planned: float
    """of the γ-optimal policy"""
    best: float
    """of the η-optimal stationary policy"""


def pay_early_figure(panels: Sequence[SolverPanel]) -> Figure:
    """A panel per world: one line per solver and seed, and the two values they can end at."""
    figure = Figure(figsize=(4.5 * len(panels), 3.6), layout="constrained")
    for axes, panel in zip(np.ravel(figure.subplots(1, len(panels))), panels, strict=True):
        cycles = next(iter(panel.curves.values())).shape[1]
        steps = panel.each * np.arange(1, cycles + 1)
        for (name, curves), colour in zip(panel.curves.items(), _INKS, strict=True):
            for number, curve in enumerate(curves):
                label = name if number == 0 else None
                axes.plot(steps, curve, color=colour, linewidth=1.2, alpha=0.8, label=label)
        room = 0.15 * abs(panel.planned - panel.best)
        for value, words, place in (
            (panel.planned, "γ-optimal", 4),
            (panel.best, "η-optimal", -13),
        ):
            axes.axhline(value, color=GREY, linewidth=1.0, linestyle=":")
            text, shift = f"{words}: {value:.4g}", {"xytext": (0, place), "ha": "right"}
            axes.annotate(text, (steps[-1], value), textcoords="offset points", **shift)
        axes.set(ylim=(panel.best - room, panel.planned + room))
        axes.set(title=panel.title, xlabel="transitions", xlim=(0, steps[-1]))
        unframed(axes)
        axes.legend(loc="center right", frameon=False, fontsize=9)
        axes.set_ylabel("criterion $J_η$ (lower is better)")
    return figure
