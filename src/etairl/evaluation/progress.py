"""Is a run good, no better any more, or far from its best? Told by its metrics, never by rewards.

Every few cycles a run measures how far it is from the expert. Its score then is the mean of the
last three MMD² of mu, or the newest of them if that is larger: neither a lucky cycle nor a cycle
after good ones counts for more than it is. All that is decided follows from the rows of
metrics.jsonl, so a run that is resumed decides alike.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

MetricRow = Mapping[str, Any]
Why = Literal["transitions", "patience", "matches"]
_SMOOTHED = 3
"""measurements that a score takes the mean of, and that a collapse must last"""
BETTER = 0.05
"""share by which a score must fall to be an improvement"""
NEAR = 0.02
"""MMD² that is near in any case: with few episodes chance alone makes as much"""
SHORTER = 0.1
"""share of the expert's length that does not matter"""


class Measurement(NamedTuple):
    """One row that was measured."""

    cycle: int
    score: float
    """infinite until there are three of them, counted from the start and from each recovery"""
    floor: float
    """of the expert against itself; 0 where it is not known"""
    fallen: bool
    """whether it is far behind the best so far"""
    recovered: bool
    """whether the run went back to its best policy after it"""


@dataclass(frozen=True)
class Progress:
    """The measurements of a run so far."""

    measured: tuple[Measurement, ...]

    @staticmethod
    def of(rows: Sequence[MetricRow]) -> "Progress":
        """From the rows of metrics.jsonl."""
        rows = [row for row in rows if "mmd2_mu" in row]
        recovered = ["recovered" in row for row in rows]
        floors = [row.get("watched/floor", 0.0) for row in rows]
        distances = [row.get("watched/mmd2_mu", row["mmd2_mu"]) for row in rows]
        gaps = [row.get("watched/length_gap", 0.0) for row in rows]
        scores = _scores(distances, recovered)
        fallen = _fallen(scores, distances, floors, gaps)
        cycles = [row["cycle"] for row in rows]
        columns = zip(cycles, scores, floors, fallen, recovered, strict=True)
        return Progress(tuple(Measurement(*column) for column in columns))

    @property
    def best(self) -> Measurement | None:
        """The one with the smallest score, the first of equals; None until there is a score."""
        scored = [m for m in self.measured if m.score < math.inf]
        return min(scored, key=lambda m: m.score) if scored else None

    @property
    def collapses(self) -> list[int]:
        """Numbers of the measurements in which three in a row had fallen, each row of them once."""
        numbers, lasted = [], 0
        for number, measurement in enumerate(self.measured):
            lasted = lasted + 1 if measurement.fallen else 0
            if lasted == _SMOOTHED:
                numbers.append(number)
            if measurement.recovered:
                lasted = 0
        return numbers

    @property
    def recoveries(self) -> int:
        """How often the run went back to its best policy."""
        return sum(m.recovered for m in self.measured)

    def until(self, number: int) -> "Progress":
        """As it was at a measurement."""
        return Progress(self.measured[: number + 1])

    def stop(self, patience: int | None) -> Why | None:
        """Why to stop now, if there is a reason: no better, or as near as the expert to itself."""
        if patience is None:
            return None
        last = self.measured[-patience:]
        if len(last) == patience and all(m.score < m.floor > 0.0 for m in last):
            return "matches"
        best, since = math.inf, 0
        for m in self.measured:
            if m.score < math.inf:
                better = best == math.inf or m.score < best - BETTER * max(abs(best), m.floor)
                best, since = (m.score, 0) if better else (best, since + 1)
            since = 0 if m.recovered else since
        return "patience" if since >= patience else None


def _scores(values: Sequence[float], recovered: Sequence[bool]) -> list[float]:
    scores, window = [], []
    for value, back in zip(values, recovered, strict=True):
        window = [*window, value][-_SMOOTHED:]
        scores.append(max(value, sum(window) / _SMOOTHED) if len(window) == _SMOOTHED else math.inf)
        window = [] if back else window
    return scores


def _fallen(
    scores: Sequence[float],
    distances: Sequence[float],
    floors: Sequence[float],
    gaps: Sequence[float],
) -> list[bool]:
    """Whether distance, or length, is far behind that of the measurement with the best score.

    Beside an earlier length alone it would say little: a learner may stand before it walks.
    """
    fallen, best = [], 0
    for now, score in enumerate(scores):
        best = now if score < scores[best] else best
        told = scores[best] < math.inf
        far = distances[now] > _limit(distances[0], scores[best], max(floors[now], NEAR))
        long = gaps[now] > _limit(gaps[0], gaps[best], SHORTER)
        fallen.append(told and now != best and (far or long))
    return fallen


def _limit(first: float, best: float, floor: float) -> float:
    """Half of the way back from the best to the first, and at least twice the best or the floor."""
    return max((first + best) / 2, 2 * max(best, floor))
