"""Scores of policies, while they learned and once they had (the paper's Figure 4)."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etairl.arms import is_base
from etairl.figures.panels import BLUE, COLOURS, GREEN, GREY, RED, legend_below, literal, unframed
from etairl.figures.results import weighting

TaskCurve = Float[np.ndarray, "_ 2"]
"""transitions, and the score there"""
_INKS = (RED, BLUE, GREEN, *COLOURS[3:])
_SETTINGS = (BLUE, COLOURS[4])


def evaluation_figures(
    evaluation: Sequence[Mapping[str, Any]],
    curves: Mapping[str, Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
) -> list[tuple[str, Figure]]:
    """The figures that a report can draw of scores, by the names of their files.

    `evaluation` has a row per setting or policy, `curves` the points by run and metric.
    """
    drawn = []
    lines: dict[str, dict[str, list[TaskCurve]]] = {}
    for row in rows:
        if points := curves.get(row["run"], {}).get("score"):
            names = lines.setdefault(row["env"], {})
            names.setdefault(_setting(row), []).append(np.array(points, float))
    if lines:
        drawn.append(("score-curves", curves_figure(lines)))
    kinds: tuple[Literal["score", "success"], ...] = ("score", "success")
    for what in kinds:
        panels: dict[str, dict[str, dict[str, list[float]]]] = {}
        for entry in evaluation:
            name = _setting(entry) if entry["eta"] else entry["policy"]
            sides = {"learned": entry[what], "all tasks": entry[f"{what}_all_tasks"]}
            known = {side: x["runs"] for side, x in sides.items() if x is not None}
            if known and entry["policy"] != "random":
                panels.setdefault(entry["env"], {}).setdefault(name, known)
        if panels:
            drawn.append((f"evaluation-{what}", bars_figure(panels, what)))
    return drawn


def _setting(entry: Mapping[str, Any]) -> str:
    label = weighting(entry["eta"]).label
    return label if is_base(entry["arm"]) else f"{entry['arm']}, {label}"


def curves_figure(panels: Mapping[str, Mapping[str, Sequence[TaskCurve]]]) -> Figure:
    """Score over transitions: the mean over seeds, and a band from worst to best.

    `panels` has by title, then by setting, a curve for each seed.
    """
    figure, every = _grid(len(panels), (4.8, 3.2))
    names = list(dict.fromkeys(name for settings in panels.values() for name in settings))
    for axes, (title, settings) in zip(every, panels.items(), strict=True):
        for name, curves in settings.items():
            ink = _INKS[names.index(name) % len(_INKS)]  # the same in all panels
            at, values = _together(curves)
            low, high = values.min(axis=0), values.max(axis=0)
            axes.fill_between(at / 1e6, low, high, color=ink, alpha=0.18, linewidth=0)
            axes.plot(at / 1e6, values.mean(axis=0), color=ink, linewidth=1.5, label=literal(name))
        _levels(axes)
        axes.set(xlabel="million transitions", ylabel="score")
        axes.set_title(literal(title), fontsize=10)
        axes.margins(x=0)
    legend_below(figure, 5, fontsize=9)
    return figure


def bars_figure(
    panels: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]],
    what: Literal["score", "success"],
) -> Figure:
    """Policies side by side on learned and on all tasks: bars are means, dots are seeds.

    `panels` has by title, then by policy, then by tasks, a value for each seed.
    """
    most = max(len(policies) for policies in panels.values())
    figure, every = _grid(len(panels), (1.4 + 1.1 * most, 3.2))
    for axes, (title, policies) in zip(every, panels.items(), strict=True):
        sides = list(dict.fromkeys(side for values in policies.values() for side in values))
        width = 0.8 / len(sides)
        for number, side in enumerate(sides):
            shift = (number - 0.5 * (len(sides) - 1)) * width
            drawn = {
                i + shift: values[side]
                for i, values in enumerate(policies.values())
                if side in values
            }
            ink = _SETTINGS[number % len(_SETTINGS)]
            means = [float(np.mean(values)) for values in drawn.values()]
            axes.bar(list(drawn), means, 0.9 * width, color=ink, label=side)
            for x, values in drawn.items():
                axes.plot([x] * len(values), values, ".", color="0.15", markersize=5)
        axes.set_xticks(
            range(len(policies)), [literal(fill(name, 14)) for name in policies], fontsize=8
        )
        if what == "score":
            _levels(axes)
            axes.set_ylabel("score")
        else:
            axes.set(ylabel="share of tasks solved", ylim=(0.0, 1.04))
        axes.set_title(literal(title), fontsize=10)
    legend_below(figure, 5, fontsize=9)
    return figure


def _grid(count: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    columns = min(count, 2)
    rows = -(-count // columns)
    shape = (size[0] * columns, size[1] * rows + 0.4)
    figure = Figure(figsize=shape, layout="constrained")
    every = [figure.add_subplot(rows, columns, i + 1) for i in range(count)]
    unframed(*every)
    return figure, every


def _together(curves: Sequence[TaskCurve]) -> tuple[np.ndarray, np.ndarray]:
    """All seeds at the transitions of the first, as far as all of them came."""
    end = min(curve[-1, 0] for curve in curves)
    at = curves[0][:, 0]
    at = at[at <= end]
    return at, np.stack([np.interp(at, curve[:, 0], curve[:, 1]) for curve in curves])


def _levels(axes: Axes) -> None:
    for level, dashes, name in ((1.0, "--", "expert"), (0.0, ":", "random")):
        axes.axhline(level, color=GREY, linewidth=1.0, linestyle=dashes, label=name)
