"""The figures of the paper's studies, in its layout: a column per environment, from result rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

Entry = Mapping[str, Any]
_INKS = {"mmd2_rho": "#1b6ca8", "mmd2_mu": "#2a8c5a", "cost": "#b8322a"}
_LABELS = {"mmd2_rho": "MMD² of ρ", "mmd2_mu": "MMD² of μ", "cost": "normalised cost"}


def weighting_figure(settings: Sequence[Entry], arm: str, title: str) -> Figure | None:
    """MMD² of ρ and μ (left axis) and cost (right axis) against the weighting, per environment.

    None where no environment has two weightings in this arm.
    """
    mine = [e for e in settings if e["arm"] == arm]
    envs = [env for env in _environments(mine) if sum(e["env"] == env for e in mine) > 1]
    if not envs:
        return None
    figure = Figure(figsize=(4.6 * len(envs), 3.8), layout="constrained")
    figure.suptitle(title, fontsize=11)
    for axes, env in zip(figure.subplots(1, len(envs), squeeze=False)[0], envs, strict=True):
        entries = [e for e in mine if e["env"] == env]
        right = axes.twinx()
        lines = [
            _line(side, entries, metric, shift)
            for side, metric, shift in (
                (axes, "mmd2_rho", -0.08),
                (axes, "mmd2_mu", 0.0),
                (right, "cost", 0.08),
            )
            if all(metric in e for e in entries)
        ]
        axes.set(title=env, ylabel="MMD² to the demonstrations", xlabel="weighting η")
        axes.set_xticks(range(len(entries)), [short(e["eta"]) for e in entries], fontsize=8)
        right.set_ylabel("normalised cost", color=_INKS["cost"])
        right.tick_params(axis="y", colors=_INKS["cost"])
        axes.spines["top"].set_visible(False)
        right.spines["top"].set_visible(False)
        axes.yaxis.set_major_locator(MaxNLocator(6))
        for side in (axes, right):  # from 0: a small difference must look small
            side.set_ylim(bottom=min(0.0, side.get_ylim()[0]))
        axes.legend(handles=lines, frameon=False, fontsize=8)
    return figure


def arms_figure(settings: Sequence[Entry], metric: str, title: str) -> Figure:
    """One metric of every arm and weighting, per environment: means with intervals."""
    envs = _environments(settings)
    most = max(sum(e["env"] == env for e in settings) for env in envs)
    figure = Figure(figsize=(5.0 * len(envs), 1.2 + 0.26 * most), layout="constrained")
    figure.suptitle(title, fontsize=11)
    for axes, env in zip(figure.subplots(1, len(envs), squeeze=False)[0], envs, strict=True):
        entries = [e for e in settings if e["env"] == env and metric in e]
        for row, entry in enumerate(entries):
            mean = entry[metric]["mean"]
            axes.plot([mean["value"]], [row], "o", color=_INKS[metric], markersize=5)
            if mean["low"] is not None:
                axes.plot([mean["low"], mean["high"]], [row, row], color=_INKS[metric])
        labels = [f"{e['arm']}, {short(e['eta'])}" for e in entries]
        axes.set_yticks(range(len(entries)), labels, fontsize=8)
        axes.invert_yaxis()
        axes.set(title=env, xlabel=_LABELS[metric])
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _environments(settings: Sequence[Entry]) -> list[str]:
    return list(dict.fromkeys(e["env"] for e in settings))


def _line(axes: Axes, entries: Sequence[Entry], metric: str, shift: float) -> Any:
    at = [i + shift for i in range(len(entries))]
    means = [e[metric]["mean"] for e in entries]
    values = [m["value"] for m in means]
    ink, label = _INKS[metric], _LABELS[metric]
    (line,) = axes.plot(at, values, "o-", color=ink, linewidth=1.4, markersize=4, label=label)
    for x, m in zip(at, means, strict=True):
        if m["low"] is not None:
            axes.plot([x, x], [m["low"], m["high"]], color=ink, linewidth=1.2)
    return line


def short(eta: str) -> str:
    """A weighting as the paper writes it."""
    name, _, rest = eta.partition(":")
    return {"geometric": f"κ={rest}", "poisson": f"λ={rest}"}.get(name, eta)
