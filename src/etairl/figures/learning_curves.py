"""How a run learned: return and MMD² over transitions, from its metrics."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etairl.figures.panels import BLUE, GREEN, GREY, LEAST, itself, literal, unframed


def learning_figure(
    rows: Sequence[Mapping[str, Any]], result: Mapping[str, Any] | None, title: str
) -> Figure:
    """The return beside the expert's, and MMD², once it is measured, beside the expert's floor."""
    measured = [row for row in rows if "mmd2_mu" in row]
    figure = Figure(figsize=(9.0 if measured else 4.5, 3.6), layout="constrained")
    figure.suptitle(literal(title), fontsize=11)
    left, *others = figure.subplots(1, 1 + bool(measured), squeeze=False)[0]
    steps = np.array([row["transitions"] for row in rows]) / 1e6
    mean = np.array([row["return"] for row in rows])
    spread = np.array([row["return_std"] for row in rows])
    left.fill_between(steps, mean - spread, mean + spread, color=BLUE, alpha=0.15, linewidth=0)
    left.plot(steps, mean, color=BLUE, linewidth=1.6, label="learner")
    if result is not None and result["expert_return"] is not None:
        level = result["expert_return"]
        left.axhline(level, color=GREY, linewidth=1.2, linestyle="--", label="expert")
    left.set(xlabel="million transitions", ylabel="return")
    for right in others:
        _draw_distances(right, measured, result)
    unframed(left, *others)
    for axes in (left, *others):
        axes.legend(frameon=False, fontsize=9)
        axes.margins(x=0)
    return figure


def _draw_distances(
    axes: Axes, measured: Sequence[Mapping[str, Any]], result: Mapping[str, Any] | None
) -> None:
    at = [row["transitions"] / 1e6 for row in measured]
    for name, colour, label in (("mmd2_mu", BLUE, "μ"), ("mmd2_rho", GREEN, "ρ")):
        values = [max(row[name], LEAST) for row in measured]
        axes.plot(at, values, color=colour, linewidth=1.6, label=f"MMD² of {label}")
    floor = {} if result is None else result["remaining"]["mmd2_mu"]
    if floor.get("floor"):
        label = f"{itself(floor)} (μ)"
        axes.axhline(floor["floor"], color=GREY, linewidth=1.2, linestyle="--", label=label)
    axes.set(xlabel="million transitions", ylabel="MMD² to the demonstrations", yscale="log")
