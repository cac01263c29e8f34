"""How numbers become verdicts on claims, and the words for them.

A claimed fall is *replicated* where the whole interval lies on the claimed side of no change and
the value reaches the claimed size; *not replicated* where the whole interval falls short of that
size. That one setting is the best is *replicated* where it is better than each of the others, *not
replicated* where one of them is better, both by paired t-tests with Holm's correction. Anything
else is *undecided*; so is what has less than two seeds, a share of a base that is already at the
expert's floor, and a better one among settings of which the worse is there already.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from etairl.evaluation.matching import METRIC_NAMES
from etairl.evaluation.ratios import AT_FLOOR, Change
from etairl.evaluation.significance import holm, power_of
from etairl.evaluation.statistics import Interval, Paired, compare
from etairl.studies.summary import DISTANCES, ResultRow
from etairl.studies.wording import number, percent
from etairl.types import counted

StudyVerdict = Literal["replicated", "not replicated", "undecided"]
SHORTFALL = "shortfall"
"""the cost of the paper, 1 − score: 0 for the expert, 1 for a random policy"""
PAPER_METRICS = (*DISTANCES, SHORTFALL)
"""lower is better in all of them"""
SYMBOLS = METRIC_NAMES | {SHORTFALL: "1 − score", "collapsed_share": "collapsed cycles"}
SIMILAR = 0.25
_ALPHA = 0.05
_NO_FLOOR = float("-inf")
_SHORTFALL_FLOOR = 0.05
"""a shortfall so near to the expert's 0 is the expert's"""
_FEWEST_CYCLES = 20


@dataclass(frozen=True)
class Finding:
    """One claim on one task."""

    claim: str
    env: str
    arm: str
    verdict: StudyVerdict
    sentence: str


def with_shortfall(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """Rows of a study with 1 − score as one more metric, where the score is known."""
    return [
        row
        | {SHORTFALL: None if row["score"] is None else 1.0 - row["score"]}
        | {f"{SHORTFALL}_floor": _SHORTFALL_FLOOR}
        for row in rows
    ]


def telling_rows(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """Those of runs that have learned long enough to say something."""
    return [row for row in rows if row["cycles"] >= _FEWEST_CYCLES]


def decide(change: Interval | Change, wanted: float) -> StudyVerdict:
    """A fall by at least the share `wanted`; with 0, any fall."""
    if change.value is None or change.low is None or change.high is None:
        return "undecided"
    if change.high < 0.0 and change.value <= -wanted:
        return "replicated"
    return "not replicated" if change.low > -wanted else "undecided"


def decide_similar(change: Interval | Change, better_counts: bool) -> StudyVerdict:
    """Within 25 % of each other, or (where that counts) better."""
    if change.low is None or change.high is None:
        return "undecided"
    if change.high < SIMILAR and (better_counts or change.low > -SIMILAR):
        return "replicated"
    apart = change.low > SIMILAR or (not better_counts and change.high < -SIMILAR)
    return "not replicated" if apart else "undecided"


@dataclass(frozen=True)
class Rival:
    """One of the settings that another one stands beside."""

    name: str
    paired: Paired
    p: float | None
    """of the paired t-test, after Holm; None with less than two common seeds"""
    power: float | None
    """probability that so many seeds show a change of 25 %, at the level of Holm's first step"""


def best_of(
    ours: Mapping[int, float], others: Mapping[str, Mapping[int, float]], floor: float = _NO_FLOOR
) -> tuple[StudyVerdict, list[Rival]]:
    """Is a setting better than each of the others, by the seeds that all of them have?

    Below the expert's own level, `floor`, nobody is the worse.
    """
    common = set(ours).intersection(*others.values())
    mine = {seed: ours[seed] for seed in common}
    pairs = {name: compare(mine, {s: x[s] for s in common}) for name, x in others.items()}
    known = {name: paired for name, paired in pairs.items() if paired is not None}
    if len(common) < 2:
        return "undecided", [Rival(name, paired, None, None) for name, paired in known.items()]
    # Differences that do not vary have no test, and count as none.
    raised = holm([1.0 if paired.p_t is None else paired.p_t for paired in known.values()])
    rivals = [
        Rival(name, paired, p, _power(mine, others[name], len(known), max(0.0, floor)))
        for (name, paired), p in zip(known.items(), raised, strict=True)
    ]
    sure = [r.paired for r in rivals if r.p is not None and r.p < _ALPHA]
    if any(pair.difference.value > 0.0 and pair.ours > floor for pair in sure):
        return "not replicated", rivals
    beaten = [pair for pair in sure if pair.difference.value < 0.0 and pair.other > floor]
    return "replicated" if len(beaten) == len(rivals) else "undecided", rivals


def _power(
    ours: Mapping[int, float], other: Mapping[int, float], tests: int, floor: float
) -> float | None:
    pairs = np.array([[ours[seed], other[seed]] for seed in ours])
    base, spread = float(pairs[:, 1].mean()), float(np.std(pairs[:, 0] - pairs[:, 1], ddof=1))
    if base <= floor or spread == 0.0:
        return None
    return power_of(len(pairs), SIMILAR * base / spread, _ALPHA / tests)


def in_words(paired: Paired, ours: str, other: str) -> str:
    """Both values, the change with its interval, and what so many seeds could have shown."""
    change = paired.relative
    text = f"{number(paired.ours)} with {ours}, {number(paired.other)} with {other}: "
    if change.value is None:
        text += (
            f"{other} is already at the expert's floor, so a share of it says nothing; the "
            f"difference is {number(paired.difference.value)}{bounds_in_words(paired.difference)}"
        )
    else:
        text += percent(change.value)
        if change.low is not None and change.high is not None:
            text += f" [{percent(change.low)}, {percent(change.high)}]"
        elif change.note is not None and change.note != AT_FLOOR:
            text += f" ({change.note})"
    text += f", {counted(paired.seeds, 'seed')}"
    if paired.p_t is not None and paired.effect is not None:
        text += f", paired t-test p = {paired.p_t:.2g}, effect size {_signed(paired.effect)}"
    text += f", better in {100 * paired.improvement:.0f} % of pairs of runs"
    if paired.improvement_bounds is not None:
        low, high = paired.improvement_bounds
        text += f" [{100 * low:.0f} %, {100 * high:.0f} %]"
    if paired.power is not None:
        enough = "" if paired.needed is None else f"; {paired.needed} seeds would with 80 %"
        text += (
            f". So many seeds show a change of {100 * paired.wanted:.0f} % with probability "
            f"{100 * paired.power:.0f} %{enough}"
        )
    return text


def bounds_in_words(interval: Interval) -> str:
    """The bounds in brackets, if there are any."""
    if interval.low is None or interval.high is None:
        return ""
    return f" [{number(interval.low)}, {number(interval.high)}]"


def _signed(effect: float) -> str:
    return f"{effect:+.2f}".replace("-", "−")


def rivals_in_words(ours: str, rivals: list[Rival], floor: float = _NO_FLOOR) -> str:
    """The value of a setting, and those of all others with their differences and tests."""
    mine = rivals[0].paired
    parts = [f"{number(r.paired.other)} with {r.name}{_test_in_words(r)}" for r in rivals]
    means = {ours: mine.ours} | {r.name: r.paired.other for r in rivals}
    settled = [name for name, mean in means.items() if mean <= floor]
    text = (
        f"{number(mine.ours)} with {ours}; {', '.join(parts)}. {counted(mine.seeds, 'seed')} in "
        "common; in brackets the difference, its effect size, p of the paired t-test after Holm, "
        f"and the probability that so many seeds show a change of {100 * SIMILAR:.0f} % at Holm's "
        f"level of {100 * _ALPHA / len(rivals):.1f} %."
    )
    if settled:
        text += f" Already at the expert's floor of {number(floor)}: {'; '.join(settled)}."
    return text


def _test_in_words(rival: Rival) -> str:
    difference, effect = rival.paired.difference, rival.paired.effect
    words = [f"{number(difference.value)}{bounds_in_words(difference)}"]
    words += [] if effect is None else [f"effect {_signed(effect)}"]
    words += [] if rival.p is None else [f"p = {rival.p:.2g}"]
    words += [] if rival.power is None else [f"power {100 * rival.power:.0f} %"]
    return f" ({', '.join(words)})"
