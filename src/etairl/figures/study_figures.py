"""The figures of the paper's studies, in its layout: a column per environment.

Points are means over seeds, bars their intervals, small dots single runs, thin dashed lines the
expert's floor. Weightings stand in the order of their parameter, each family by itself.
"""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from etairl.evaluation.matching import METRIC_NAMES
from etairl.figures.panels import BLUE, GREEN, GREY, RED, legend_below, literal, unframed
from etairl.figures.results import FEW_SEEDS, Results, SettingStats, in_order, weighting

_INKS = {"mmd2_rho": BLUE, "mmd2_mu": GREEN, "score": RED}
_DASHES = {"mmd2_rho": "-", "mmd2_mu": "--"}
_Y = "MMD² to the demonstrations"
_FLOOR = "expert's floor"
_WIDTH, _HEIGHT = 3.1, 3.0
_LONGEST_ARM = 30
_MOST_LEVEL = 5  # tick labels that have room beside each other


def weighting_figure(results: Results, arm: str, title: str) -> Figure | None:
    """MMD² of ρ and μ (left axis) and score (right axis) against the weighting: figure 1.

    None where no environment has two weightings in this arm.
    """
    envs = [env for env in results.envs(arm) if len(results.of(env, arm)) > 1]
    if not envs:
        return None
    figure, panels = _columns(envs, title)
    places = _places([e["eta"] for env in envs for e in results.of(env, arm)])
    for axes, env in zip(panels, envs, strict=True):
        # Without rewards there is no score, and no axis for it.
        right = axes.twinx() if results.of(env, arm, "score") else None
        for side, metric, shift in (
            (axes, "mmd2_rho", -0.24),
            (axes, "mmd2_mu", 0.0),
            (right, "score", 0.24),
        ):
            if side is None:
                continue
            entries = results.of(env, arm, metric)
            label, ink = METRIC_NAMES[metric], _INKS[metric]
            for family in _families(entries):
                at = [places[e["eta"]] + shift for e in family]
                _line(side, results, family, metric, at, color=ink, label=label)
            if side is axes:
                _floor(axes, results.floor(env, metric), ink, f"{label[-1]}, ")
        _weighting_axis(axes, places)
        _from_zero(axes)
        if right is None:
            continue
        if env == envs[-1]:
            right.set_ylabel(METRIC_NAMES["score"], color=_INKS["score"], fontsize=8)
        right.tick_params(axis="y", colors=_INKS["score"], labelsize=7)
        right.spines["top"].set_visible(False)
        _from_zero(right)
    _legend(figure)
    return figure


def families_figure(results: Results, arm: str, title: str) -> Figure | None:
    """MMD² of ρ (solid) and μ (dashed): geometric weightings blue, Poisson ones red: figure 2.

    None where no environment has two Poisson weightings in this arm.
    """

    def of(env: str, name: str) -> list[SettingStats]:
        return [e for e in results.of(env, arm) if weighting(e["eta"]).family == name]

    envs = [env for env in results.envs(arm) if len(of(env, "poisson")) > 1]
    if not envs:
        return None
    inks = {"geometric": (BLUE, "geometric"), "poisson": (RED, "Poisson")}
    figure, panels = _columns(envs, title)
    places = _places([e["eta"] for env in envs for name in inks for e in of(env, name)])
    for axes, env in zip(panels, envs, strict=True):
        for metric, shift in (("mmd2_rho", -0.1), ("mmd2_mu", 0.1)):
            for name, (ink, words) in inks.items():
                family = [e for e in of(env, name) if e.get(metric)]
                at = [places[e["eta"]] + shift for e in family]
                style = {"color": ink, "linestyle": _DASHES[metric]}
                _line(
                    axes,
                    results,
                    family,
                    metric,
                    at,
                    label=f"{words}: {METRIC_NAMES[metric]}",
                    **style,
                )
            _floor(axes, results.floor(env, metric), GREY)
        _weighting_axis(axes, places)
        _from_zero(axes)
    _legend(figure)
    return figure


def discount_figure(results: Results, title: str) -> Figure | None:
    """MMD² of ρ (solid) and μ (dashed) of GAIL against γ_RL, the best MEGAN across: figure 3.

    The best MEGAN is the setting with the smallest mean MMD² of μ among those that were run. None
    where no environment has GAIL with two discounts.
    """
    envs = [env for env in results.envs() if len(results.gail(env)) > 1]
    if not envs:
        return None
    figure, panels = _columns(envs, title)
    gammas = sorted({gamma for env in envs for gamma, _ in results.gail(env)})
    for axes, env in zip(panels, envs, strict=True):
        megan = results.megan(env)
        for metric, shift in (("mmd2_rho", -0.06), ("mmd2_mu", 0.06)):
            family = [(gamma, e) for gamma, e in results.gail(env) if e.get(metric)]
            at = [gammas.index(gamma) + shift for gamma, _ in family]
            entries = [e for _, e in family]
            style, words = {"linestyle": _DASHES[metric]}, METRIC_NAMES[metric]
            _line(axes, results, entries, metric, at, color=BLUE, label=f"GAIL: {words}", **style)
            if megan and megan[0].get(metric):
                _level(axes, results, megan[0], metric, len(gammas) - 0.55 + shift)
            _floor(axes, results.floor(env, metric), GREY)
        if megan:
            label = weighting(megan[0]["eta"]).label
            axes.set_title(
                f"{literal(env)}\nbest MEGAN: {label}, the lowest of {len(megan)}", fontsize=8
            )
        axes.set_xticks(range(len(gammas)), [f"{gamma:g}" for gamma in gammas], fontsize=7)
        axes.set_xlim(-0.4, len(gammas) - 0.3)
        axes.set_xlabel("$\\gamma_{RL}$ of GAIL", fontsize=8)
        unframed(axes)
        _from_zero(axes)
    _legend(figure)
    return figure


def arms_figure(results: Results, metric: str, title: str) -> Figure | None:
    """One metric of every arm and weighting, per environment: means with intervals.

    None where it is known of none.
    """
    every = results.envs()
    envs = [v for v in every if any(results.of(v, arm, metric) for arm in results.arms())]
    if not envs:
        return None
    entries = {env: [e for arm in results.arms() for e in results.of(env, arm)] for env in envs}
    known = {env: [e for e in entries[env] if e.get(metric)] for env in envs}
    figure, panels = _columns(envs, title, 1.3 + 0.17 * max(map(len, known.values())), "")
    ink = _INKS[metric]
    arms = {arm: _short(arm, number) for number, arm in enumerate(results.arms(), start=1)}
    for axes, env in zip(panels, envs, strict=True):
        for row, entry in enumerate(known[env]):
            mean, dots = entry[metric]["mean"], _dots(results, entry, metric)
            axes.plot(dots, [row + 0.22] * len(dots), ".", color=ink, alpha=0.5, markersize=4)
            axes.plot(
                [mean["value"]], [row], "o", color=ink, markersize=4, label=METRIC_NAMES[metric]
            )
            if mean["low"] is not None:
                axes.plot([mean["low"], mean["high"]], [row, row], color=ink, linewidth=1.2)
        level = results.floor(env, metric)
        if level is not None:
            axes.axvline(level, color=GREY, linestyle="--", linewidth=0.8, label=_FLOOR)
        labels = [literal(f"{arms[e['arm']]}, {weighting(e['eta']).label}") for e in known[env]]
        axes.set_yticks(range(len(labels)), labels, fontsize=7)
        axes.invert_yaxis()
        axes.set_xlabel(METRIC_NAMES[metric], fontsize=8)
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]) if axes.dataLim.x0 < 0.0 else 0.0)
        unframed(axes)
    _legend(figure)
    return figure


def _short(arm: str, number: int) -> str:
    """Labels have room for so many letters; the number tells arms apart that begin alike."""
    return arm if len(arm) <= _LONGEST_ARM else f"{arm[: _LONGEST_ARM - 10]}… (arm {number})"


def _columns(
    envs: Sequence[str], title: str, height: float = _HEIGHT, label: str = _Y
) -> tuple[Figure, list[Axes]]:
    """A figure with a panel per environment; a long title gets several lines."""
    width = _WIDTH * len(envs) + 0.4
    words = literal(fill(title, int(13 * width)))
    figure = Figure(figsize=(width, height + 0.16 * words.count("\n")), layout="constrained")
    figure.suptitle(words, fontsize=9)
    panels = list(figure.subplots(1, len(envs), squeeze=False)[0])
    panels[0].set_ylabel(label, fontsize=8)
    for axes, env in zip(panels, envs, strict=True):
        axes.set_title(literal(env), fontsize=9)
        axes.tick_params(labelsize=7)
    return figure, panels


def _places(etas: Sequence[str]) -> dict[str, float]:
    """Where each weighting stands; a gap between families."""
    places: dict[str, float] = {}
    at, before = 0.0, None
    for eta in in_order(etas):
        family = weighting(eta).family
        at += 0.0 if before is None else 1.0 if family == before else 1.7
        places[eta], before = at, family
    return places


def _weighting_axis(axes: Axes, places: dict[str, float]) -> None:
    words = [weighting(eta).label for eta in places]
    axes.set_xticks(list(places.values()), words, fontsize=7)
    if len(words) > _MOST_LEVEL or max(map(len, words)) > 8:
        axes.tick_params(axis="x", rotation=90)
    axes.set_xlabel("weighting η", fontsize=8)
    axes.set_xlim(-0.5, max(places.values()) + 0.5)
    axes.spines["top"].set_visible(False)


def _families(entries: Sequence[SettingStats]) -> list[list[SettingStats]]:
    by_family: dict[str, list[SettingStats]] = {}
    for entry in entries:
        by_family.setdefault(weighting(entry["eta"]).family, []).append(entry)
    return list(by_family.values())


def _line(
    axes: Axes,
    results: Results,
    entries: Sequence[SettingStats],
    metric: str,
    at: Sequence[float],
    **style: Any,
) -> None:
    means = [e[metric]["mean"] for e in entries]
    axes.plot(at, [m["value"] for m in means], marker="o", linewidth=1.3, markersize=3.5, **style)
    bars = [
        (x, m["low"], m["high"]) for x, m in zip(at, means, strict=True) if m["low"] is not None
    ]
    if bars:
        axes.vlines(*zip(*bars, strict=True), colors=style["color"], linewidth=1.2)
    dots = [
        (x + 0.1, y) for x, e in zip(at, entries, strict=True) for y in _dots(results, e, metric)
    ]
    if dots:
        axes.plot(*zip(*dots, strict=True), ".", color=style["color"], alpha=0.5, markersize=3)


def _level(axes: Axes, results: Results, entry: SettingStats, metric: str, at: float) -> None:
    """A mean with its interval across the whole panel."""
    mean, dots = entry[metric]["mean"], _dots(results, entry, metric)
    label = f"best MEGAN: {METRIC_NAMES[metric]}"
    axes.axhline(mean["value"], color=RED, linestyle=_DASHES[metric], linewidth=1.3, label=label)
    if mean["low"] is not None:
        axes.axhspan(mean["low"], mean["high"], color=RED, alpha=0.1, linewidth=0)
    axes.plot([at] * len(dots), dots, ".", color=RED, alpha=0.5, markersize=4)


def _floor(axes: Axes, level: float | None, ink: str, of: str = "") -> None:
    if level is not None:
        axes.axhline(level, color=ink, linestyle="--", linewidth=0.7, label=f"{of}{_FLOOR}")


def _dots(results: Results, entry: SettingStats, metric: str) -> list[float]:
    runs = results.runs(entry, metric)
    return runs if len(runs) < FEW_SEEDS else []


def _from_zero(axes: Axes) -> None:
    """From 0: a small difference must look small. Below it only where something was drawn."""
    low = axes.get_ylim()[0]
    axes.set_ylim(bottom=low if axes.dataLim.y0 < 0.0 else 0.0)
    axes.yaxis.set_major_locator(MaxNLocator(6))


def _legend(figure: Figure) -> None:
    """The floors come last; the figure grows with the rows of its legend."""
    columns = max(1, int(figure.get_figwidth() / 1.7))
    names = legend_below(figure, columns, 7, last=_FLOOR)
    figure.set_figheight(figure.get_figheight() + 0.14 * (-(-names // columns) - 1))
