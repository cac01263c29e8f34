"""The cost of the paper: 1 − score, which is 0 for the expert and 1 for a random policy."""

from collections.abc import Iterable

from etairl.studies.summary import DISTANCES, ResultRow

SHORTFALL = "shortfall"
PAPER_METRICS = (*DISTANCES, SHORTFALL)
"""lower is better in all of them"""
_FLOOR = 0.05
"""a shortfall so near to the expert's 0 is the expert's"""
_FEWEST_CYCLES = 20


def with_shortfall(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """Rows of a study with 1 − score as one more metric, where the score is known."""
    return [
        row
        | {SHORTFALL: None if row["score"] is None else 1.0 - row["score"]}
        | {f"{SHORTFALL}_floor": _FLOOR}
        for row in rows
    ]


def telling_rows(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """Those of runs that have learned long enough to say something."""
    return [row for row in rows if row["cycles"] >= _FEWEST_CYCLES]
