"""When a run had nine tenths of the expert's score, and whether it kept them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SHARE = 0.9
_FEW = 5
"""cycles whose mean counts: a lucky one is not enough"""


@dataclass(frozen=True)
class Milestone:
    """The first cycle that ends five whose mean score, actions drawn, is nine tenths."""

    cycle: int
    transitions: int
    seconds: float | None
    """that the cycles up to it took; None where times were not kept"""
    lost: float
    """share of the cycles after it whose mean return is below half of the expert's score"""


def milestone(
    rows: Sequence[Mapping[str, Any]],
    result: Mapping[str, Any],
    seconds: Mapping[int, float] | None = None,
) -> Milestone | None:
    """Of a finished run; None where it never came so far, or no score can be told.

    Args:
        rows: its metrics.
        result: its result.json.
        seconds: of each cycle.
    """
    scores = _scores(rows, result)
    if scores is None or len(scores) < _FEW:
        return None
    means = np.convolve(scores, np.full(_FEW, 1.0 / _FEW), "valid")
    if not (means >= SHARE).any():
        return None
    first = int(np.argmax(means >= SHARE)) + _FEW - 1
    row, after = rows[first], scores[first + 1 :]
    until = [row["cycle"] for row in rows[: first + 1]]
    took = None
    if seconds is not None and all(cycle in seconds for cycle in until):
        took = float(sum(seconds[cycle] for cycle in until))
    lost = float((after < 0.5).mean()) if len(after) else 0.0
    return Milestone(row["cycle"], row["transitions"], took, lost)


def _scores(rows: Sequence[Mapping[str, Any]], result: Mapping[str, Any]) -> np.ndarray | None:
    """The score of each cycle: its own with many tasks, else by the line through known scores."""
    if all("score" in row for row in rows):
        return np.array([row["score"] for row in rows])
    beside = result["remaining"].get("score_beside")
    known = [
        (row["return_mean"], row["score"])
        for row in result.get("fresh", [])
        if row.get("beside") == beside and row["score"] is not None
    ]
    if len({value for value, _ in known}) < 2:
        return None
    (low, low_score), *_, (high, high_score) = sorted(known)
    slope = (high_score - low_score) / (high - low)
    returns = np.array([row["return"] for row in rows])
    return low_score + slope * (returns - low)
