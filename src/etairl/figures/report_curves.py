"""Learning curves of a report: settings of an environment side by side, means and bands."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from etairl.arms import is_base
from etairl.figures.levels import levels
from etairl.figures.results import Results, SettingStats, weighting
from etairl.figures.run_curves import Curves, runs_figure

_MOST = 7  # settings in a figure, else one for each arm
_METRICS = ("return", "mmd2_mu")


def learning_figures(
    results: Results,
    curves: Mapping[str, Mapping[str, Any]],
    evaluation: Sequence[Mapping[str, Any]],
) -> list[tuple[str, Figure]]:
    """The figures by the names of their files; `curves` has the points by run and metric."""
    drawn = []
    for env in results.envs():
        every = {arm: results.of(env, arm) for arm in results.arms()}
        groups = {"": [entry for entries in every.values() for entry in entries]}
        if len(groups[""]) > _MOST:
            groups = {arm: entries for arm, entries in every.items() if entries}
        beside = levels(results, evaluation, env)
        clone = {m: x for m in _METRICS if (x := beside[m].get("clone")) is not None}
        for arm, entries in groups.items():
            shown = [c for e in entries if (c := _of_setting(results, e, curves, arm)).runs]
            if not shown:
                continue
            title = env if not arm or is_base(arm) else f"{env}, {arm}"
            expert, floor = beside["return"].get("expert"), beside["mmd2_mu"].get("floor")
            figure = runs_figure(shown, title, expert, {"floor": floor}, clone)
            drawn.append((f"curves-{env}{f'-{arm}' if arm else ''}", figure))
    return drawn


def _of_setting(
    results: Results, entry: SettingStats, curves: Mapping[str, Mapping[str, Any]], arm: str
) -> Curves:
    """Its runs as rows of metrics; the arm is in the label where a figure has several."""
    label = weighting(entry["eta"]).label
    if not arm and len(results.arms()) > 1:
        alone = len({e["eta"] for e in results.settings}) == 1
        label = entry["arm"] if alone else f"{entry['arm']}, {label}"
    runs = []
    for run in results.runs(entry, "run"):
        points = curves.get(str(run), {})
        rows = [{"transitions": t, m: v} for m in _METRICS for t, v in points.get(m, ())]
        runs += [rows] if rows else []
    return Curves(label, runs)
