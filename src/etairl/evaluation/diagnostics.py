"""Warnings about adversarial training that goes wrong."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from etairl.evaluation.progress import MetricRow, Progress

LONG = 10
"""cycles in a row before there is a warning"""


@dataclass(frozen=True)
class Diagnosis:
    """A warning: since when, what it means, what to do."""

    name: str
    cycle: int
    """the cycle in which it had lasted long enough"""
    message: str


_WARNINGS: dict[str, tuple[Callable[[MetricRow], bool], str]] = {
    "discriminator_saturated": (
        # Standardised logits tell pairs apart however sure the discriminator is.
        lambda row: (
            min(row["cost/accuracy_learner"], row["cost/accuracy_expert"]) >= 0.99
            and "cost/logit_spread" not in row
        ),
        "the discriminator tells learner and expert apart without fault, so its cost says little; "
        "hold it back (--gradient-penalty, --spectral-norm, fewer --cost-updates)",
    ),
    "cost_constant": (
        lambda row: abs(row["cost/gan_loss"] - 2.0 * math.log(2.0)) < 0.01,
        "the discriminator cannot tell learner from expert at all: either they match (look at the "
        "MMD) or it is held back too much",
    ),
    "entropy_collapsed": (
        lambda row: row["solver/temperature"] < 1e-4,
        "the temperature is almost 0: the policy has stopped exploring; raise --target-entropy "
        "or fix --temperature",
    ),
    "actions_at_bounds": (
        lambda row: row["actions_at_bounds"] > 0.9,
        "nine of ten action values sit at their bounds; costs may be too large for the entropy",
    ),
}


class Warnings:
    """Warnings while a run goes on: what a row adds costs the same in every cycle."""

    def __init__(self, rows: Sequence[MetricRow] = ()):
        self._lasted = dict.fromkeys(_WARNINGS, 0)
        self._measured: list[MetricRow] = []
        self._collapses = 0
        for row in rows:
            self._streaks(row)
        self._new_collapses()

    def add(self, row: MetricRow) -> list[Diagnosis]:
        """What is wrong since this row and was not before."""
        warnings = self._streaks(row)
        return warnings + self._new_collapses() if "mmd2_mu" in row else warnings

    def _streaks(self, row: MetricRow) -> list[Diagnosis]:
        """What has just lasted `LONG` cycles, for the first time."""
        lasting = []
        if "mmd2_mu" in row:
            self._measured.append(row)
        for name, (is_so, message) in _WARNINGS.items():
            if self._lasted[name] == LONG:
                continue
            try:
                self._lasted[name] = self._lasted[name] + 1 if is_so(row) else 0
            except KeyError:
                continue  # not every cycle updates the cost
            if self._lasted[name] == LONG:
                lasting.append(Diagnosis(name, row["cycle"], message))
        return lasting

    def _new_collapses(self) -> list[Diagnosis]:
        every = _collapses(Progress.of(self._measured))
        new = every[self._collapses :]
        self._collapses = len(every)
        return new


def diagnose(rows: Sequence[MetricRow]) -> list[Diagnosis]:
    """Warnings about what lasted `LONG` cycles in a row, each where it first did; and collapses."""
    watch = Warnings()
    lasting = [warning for row in rows for warning in watch._streaks(row)]
    lasting.sort(key=lambda warning: list(_WARNINGS).index(warning.name))
    return lasting + _collapses(Progress.of(rows))


def _collapses(progress: Progress) -> list[Diagnosis]:
    warnings = []
    for number in progress.collapses:
        now, best = progress.measured[number], progress.until(number).best
        assert best is not None
        message = f"the learner has collapsed: it is far behind cycle {best.cycle}"
        if now.recovered:
            message += "; back to the policy that played then, with half the learning rates"
        else:
            message += "; --recover goes back to the policy that played then"
        warnings.append(Diagnosis("collapsed", now.cycle, message))
    return warnings


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
    sides = ("cost/accuracy_learner", "cost/accuracy_expert")
    right = np.array([min(row.get(side, 0.0) for side in sides) for row in rows])
    return (right >= 0.99) & (np.minimum.accumulate(right) < 0.9)
