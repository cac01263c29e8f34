"""What the page of `etairl explain` shows: numbers and words, small enough to be sent around."""

from base64 import b64encode
from dataclasses import replace
from typing import Any

import numpy as np

from etairl.eta import parse_eta
from etairl.evaluation.moments import Check
from etairl.training.cost_curves import Costs
from etairl.training.explaining import ColumnShare, Moment, RunExplanation
from etairl.training.filming import Film, filmed_episodes, shown_episodes
from etairl.training.heat_maps import Plane, plane
from etairl.training.result import Result
from etairl.types import Trajectories, counted, joined

_SHOWN = 8  # columns of a moment
_POINTS = 1000  # of a curve
_LONGEST = 5000  # steps of which the weights are computed again in the page
_FEATURES = 24


def explanation_data(result: Result, found: RunExplanation, film: Film) -> dict[str, Any]:
    """Everything that the page shows, small enough to be sent around."""
    config, horizon = result.config, min(result.config.horizon, _LONGEST)
    chosen = shown_episodes(found, _POINTS)
    eta = parse_eta(str(config.future.eta))
    return {
        "run": result.path.resolve().name,
        "about": _about(result, found),
        "verdicts": [_overall(found), _costliest(found), *_few_columns(found)],
        "horizon": horizon,
        "cut": config.horizon > horizon,
        "window": found.window,
        "sides": {
            name: _side(side, chosen[name], horizon, name, film)
            for name, side in found.sides.items()
        },
        "moments": [_moment(m, found, chosen["learner"]) for m in found.moments],
        "columns": [_column(c) for c in found.columns],
        "weights": {
            "eta": str(eta),
            "name": type(eta).name,
            "numbers": list(eta.numbers)[:1],
            "gamma": config.gamma_irl,
            "method": config.future.method,
            "law": _rounded(found.law[:horizon]),
        },
        "quarters": found.quarters,
        "features": None if found.features is None else found.features[:_FEATURES],
        "more_features": max(0, len(found.features or ()) - _FEATURES),
        "film": {
            "learner": film.learner,
            "demonstrations": film.demonstrations,
            "notes": film.notes,
        },
        "plane": _plane(result, found, chosen, filmed_episodes(found)),
    }


def _about(result: Result, found: RunExplanation) -> str:
    config = result.config
    sides = (found.learner.trajectories, found.demonstrations.trajectories)
    many = [counted(len(t), "episode") for t in sides]
    return (
        f"{config.algorithm.upper()} on {config.env}, η = {config.future.eta}, "
        f"{result.metrics['transitions']:,} transitions. {many[0]} of the learner beside "
        f"{many[1]} of the demonstrations. A high cost: what the learner does and the "
        "demonstrations do not."
    )


def _chance(check: Check) -> str:
    assert check.p is not None
    share = max(100.0 * check.p, 0.1)
    return f"{'less than ' if 100.0 * check.p < 0.1 else ''}{share:.2g} %"


def _verdict(check: Check, what: str, yes: str, no: str) -> dict[str, str]:
    gap = f"{check.gap:+.3g}".replace("-", "\u2212")
    if check.p is None:
        words = f"{what} {gap}; there are too few episodes to say whether that is noise."
        return {"kind": "open", "title": "Too few episodes", "text": words}
    words = f"{what} {gap}; shuffled labels give as much in {_chance(check)} of cases."
    if check.noise:
        return {"kind": "no", "title": "Noise", "text": f"{no} {words}"}
    return {"kind": "yes", "title": "Real", "text": f"{yes} {words}"}


def _overall(found: RunExplanation) -> dict[str, str]:
    return _verdict(
        found.overall,
        "Mean cost of the learner less that of the demonstrations:",
        "The cost tells the learner from the demonstrations.",
        "The cost does not tell the learner from the demonstrations.",
    )


def _costliest(found: RunExplanation) -> dict[str, str]:
    return _verdict(
        found.costliest,
        "How far the costliest moment of an episode is above what is usual at that step, the "
        "learner's mean less the demonstrations':",
        "The learner has costlier moments than the demonstrations.",
        "The demonstrations have moments as costly as the learner's.",
    )


def _few_columns(found: RunExplanation) -> list[dict[str, str]]:
    said = []
    for where, real in (
        ("Over whole episodes", [c.name for c in found.columns if not c.whole.noise]),
        ("At the costliest moments", [c.name for c in found.columns if not c.share.noise]),
    ):
        if real:
            names, more = ", ".join(real[:_SHOWN]), len(real) - _SHOWN
            names += f" and {more} more" if more > 0 else ""
            words = f"{where} the two differ in what they pay for {names}."
            said.append({"kind": "yes", "title": "Columns", "text": words})
        else:
            words = f"{where} no column differs by more than shuffled labels give."
            said.append({"kind": "no", "title": "Columns: noise", "text": words})
    return said


def _rounded(values: Any) -> list[float | None]:
    return [None if not np.isfinite(v) else float(f"{v:.4g}") for v in np.asarray(values).tolist()]


def _side(side: Costs, chosen: list[int], horizon: int, name: str, film: Film) -> dict[str, Any]:
    t, rows = side.trajectories, side.trajectories.row_of_step
    starts = np.concatenate([[0], np.cumsum(t.durations)])
    stride = -(-int(t.durations.max()) // _POINTS)
    one = "learner" if name == "learner" else "demonstration"
    filmed = film.learner if name == "learner" else film.demonstrations
    some = 0 < len(filmed) < len(chosen)
    return {
        "stride": stride,
        "by_time": _rounded(side.by_time[:horizon]),
        "alive": _rounded(side.alive[:horizon]),
        "left_out": len(t) - len(chosen),
        "episodes": [
            {
                "number": i,
                "title": f"{one} {i}" + (", with pictures" if some and i in filmed else ""),
                "length": int(t.durations[i]),
                "ended": bool(t.terminated[t.last_rows[i]]),
                "costs": _rounded(side.costs[rows[starts[i] : starts[i + 1] : stride]]),
            }
            for i in chosen
        ],
    }


def _moment(m: Moment, found: RunExplanation, chosen: list[int]) -> dict[str, Any]:
    order = np.argsort(-np.abs(m.shares))[:_SHOWN]
    typical = float(found.demonstrations.smooth.mean())
    return {
        "episode": chosen.index(m.episode),
        "number": m.episode,
        "step": m.step,
        "cost": m.cost,
        "usual": m.usual_cost,
        "typical": typical,
        "columns": [
            {
                "name": found.names[i],
                "share": float(m.shares[i]),
                "deviation": float(m.deviations[i]),
                "usual": bool(m.usual[i]),
            }
            for i in order.tolist()
        ],
    }


def _column(c: ColumnShare) -> dict[str, Any]:
    return {
        "name": c.name,
        "deviation": c.deviation,
        **{
            k: {"gap": v.gap, "p": v.p, "noise": v.noise}
            for k, v in (("there", c.share), ("whole", c.whole))
        },
    }


def _plane(
    result: Result,
    found: RunExplanation,
    chosen: dict[str, list[int]],
    mapped: dict[str, list[int]],
) -> dict[str, Any] | None:
    """Maps as bytes, 0 where nothing can be, by the place of an episode among those shown; ways.

    Maps are large, so that some episodes have none.
    """
    if any(side.trajectories.spans is not None for side in found.sides.values()):
        return None
    shown = {n: s.trajectories.take(np.array(chosen[n])) for n, s in found.sides.items()}
    drawn = {n: s.trajectories.take(np.array(mapped[n])) for n, s in found.sides.items()}
    made = plane(result, joined([_places(t) for t in drawn.values()]))
    if made is None:
        return None
    low, high = np.nanpercentile(made.costs, [1, 99])
    scaled = np.clip((made.costs - low) / max(high - low, 1e-12), 0.0, 1.0)
    codes = np.where(np.isnan(scaled), 0, 1 + np.round(254 * np.nan_to_num(scaled)))
    coded = iter([b64encode(m.astype(np.uint8).tobytes()).decode() for m in codes])
    return {
        "names": [found.names[i] for i in made.columns],
        "low": made.low,
        "high": made.high,
        "cells": made.costs.shape[1],
        "range": [float(low), float(high)],
        "at_rest": made.at_rest,
        "maps": {n: {chosen[n].index(i): next(coded) for i in mapped[n]} for n in found.sides},
        "ways": {name: _ways(t, made) for name, t in shown.items()},
    }


def _places(t: Trajectories) -> Trajectories:
    """Observations alone: what else is known of two sides may differ."""
    bare = replace(t.without_actions(), rewards=None, final_observations=None, tasks=None)
    return replace(bare, next_observations=None)


def _ways(t: Trajectories, made: Plane) -> list[list[list[float | None]]]:
    x = t.observations[:, made.columns]
    parts = np.split(x, t.offsets[1:-1])
    every = [-(-len(part) // _POINTS) for part in parts]
    return [[_rounded(row) for row in part[::n]] for part, n in zip(parts, every, strict=True)]
