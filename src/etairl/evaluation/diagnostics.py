"""What goes wrong in adversarial training, said early and in words."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MetricRow = Mapping[str, Any]
LONG = 10
"""cycles in a row before something is called a trouble"""


@dataclass(frozen=True)
class Diagnosis:
    """A trouble: since when, what it means, what to do."""

    name: str
    cycle: int
    """where it had lasted long enough to be called so"""
    message: str


def _saturated(row: MetricRow) -> bool:
    return min(row["cost/accuracy_learner"], row["cost/accuracy_expert"]) >= 0.99


def _constant(row: MetricRow) -> bool:
    return abs(row["cost/gan_loss"] - 2.0 * math.log(2.0)) < 0.01


def _no_entropy(row: MetricRow) -> bool:
    return row["solver/temperature"] < 1e-4


def _at_bounds(row: MetricRow) -> bool:
    return row["actions_at_bounds"] > 0.9


_TROUBLES: dict[str, tuple[Callable[[MetricRow], bool], str]] = {
    "discriminator_saturated": (
        _saturated,
        "the discriminator tells learner and expert apart without fault, so its cost says little; "
        "hold it back (--gradient-penalty, --spectral-norm, fewer --cost-updates)",
    ),
    "cost_constant": (
        _constant,
        "the discriminator cannot tell learner from expert at all: either they match (look at the "
        "MMD) or it is held back too much",
    ),
    "entropy_collapsed": (
        _no_entropy,
        "the temperature is almost 0: the policy has stopped to explore; raise --target-entropy "
        "or fix --temperature",
    ),
    "actions_at_bounds": (
        _at_bounds,
        "nine of ten action values sit at their bounds; costs may be too large for the entropy",
    ),
}


def diagnose(rows: Sequence[MetricRow]) -> list[Diagnosis]:
    """Troubles that lasted `LONG` cycles in a row, each where it first did."""
    found = []
    for name, (is_so, message) in _TROUBLES.items():
        lasted = 0
        for row in rows:
            try:
                lasted = lasted + 1 if is_so(row) else 0
            except KeyError:
                continue  # not every cycle updates the cost
            if lasted == LONG:
                found.append(Diagnosis(name, row["cycle"], message))
                break
    return found


@dataclass(frozen=True)
class Collapse:
    """How many cycles lost half of what had been gained."""

    share: float | None
    """of the cycles since something was gained; None where nothing can be told"""
    by: str | None
    """what was looked at: return, or mmd2_mu where returns say nothing"""


def collapsed(rows: Sequence[MetricRow]) -> Collapse:
    """Share of cycles that are under half of the best so far, counted from the first cycle.

    "Half" is measured from the first, untrained cycle, so that it has a meaning where returns are
    negative. Cycles before the return has gained twice its first spread, and a twentieth of the
    largest, do not count: a learner that begins as a clone has little to gain. Where all returns
    are equal, minus the MMD² of mu takes their place, a tenth of it must be gained first, and a
    discriminator that is never wrong, having been so before, is a collapse, too.
    """
    returns = np.array([row["return"] for row in rows])
    if len(returns) and np.ptp(returns) > 0.0:
        least = max(2.0 * float(rows[0]["return_std"]), 0.05 * float(np.abs(returns).max()))
        lost, counted = _lost(returns, least)
        return Collapse(float(lost[counted].mean()) if counted.any() else 0.0, "return")
    measured = [row for row in rows if row.get("mmd2_mu") is not None]
    if len(measured) < 2:
        return Collapse(None, None)
    distances = np.array([row["mmd2_mu"] for row in measured])
    lost, counted = _lost(-distances, 0.1 * abs(distances[0]))
    lost |= _certain_again(measured)
    return Collapse(float(lost[counted].mean()) if counted.any() else 0.0, "mmd2_mu")


def _lost(values: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    gained = values - values[0]
    best = np.maximum.accumulate(gained)
    return gained < 0.5 * best, best > max(least, 1e-9)


def _certain_again(rows: Sequence[MetricRow]) -> np.ndarray:
    right = np.array(
        [
            min(row.get("cost/accuracy_learner", 0.0), row.get("cost/accuracy_expert", 0.0))
            for row in rows
        ]
    )
    return (right >= 0.99) & (np.minimum.accumulate(right) < 0.9)
