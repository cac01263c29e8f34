"""What the paper claims of many tasks (appendices C and D), and what a study says about it.

The rows of a study have the last cycles of the training, on the demonstrated tasks. The paper's
bars are of the best policy, and the claim about all tasks needs episodes that no row has.
"""

from collections.abc import Mapping

import numpy as np

from etairl.arms import PENALISED
from etairl.evaluation.statistics import Interval, mean_interval
from etairl.replication.rules import (
    SHORTFALL,
    SIMILAR,
    SYMBOLS,
    Finding,
    StudyVerdict,
    best_of,
    bounds_in_words,
    rivals_in_words,
)
from etairl.studies.summary import ResultRow, values_of
from etairl.studies.wording import number
from etairl.types import counted

MANY_TASKS = ("FetchReach-v4", "etairl/Navigation-v0")
_HALF = 0.5
"""who solves less than this share of the tasks struggles"""
_WITH = "MEGAN with Idle"


def on_many_tasks(
    env: str,
    gail: Mapping[int, ResultRow],
    megan: Mapping[int, ResultRow],
    idle: Mapping[int, ResultRow],
) -> list[Finding]:
    """Claims about GAIL, MEGAN (kappa = 0.7) and MEGAN with Idle, as far as rows speak to them."""
    plain = {"GAIL": gail, "MEGAN without Idle": megan}
    said = []
    if gail and megan:
        said.append(_struggle(env, plain))
    if gail and megan and idle:
        claim = "with Idle, MEGAN does better than GAIL and than MEGAN without it"
        said.append(_better(env, claim, SHORTFALL, idle, plain))
        claim = "Idle stabilises the training"
        said.append(_better(env, claim, "collapsed_share", idle, plain))
        said.append(_expert_like(env, idle, plain))
    if idle:
        sentence = (
            "Not measured: the runs of a study have no episodes on all tasks. `etairl evaluate "
            "RUN` plays them."
        )
        claim = "with Idle, MEGAN does comparably well on all tasks, with twice the horizon"
        said.append(Finding(claim, env, "idle", "undecided", sentence))
    return said


def _known(seeds: Mapping[int, ResultRow], metric: str) -> Interval | None:
    values = np.array(list(values_of(seeds, metric).values()), float)
    return mean_interval([values]) if len(values) else None


def _words(name: str, seeds: Mapping[int, ResultRow], metric: str) -> str:
    mean = _known(seeds, metric)
    if mean is None:
        return f"{name}: unknown"
    text = f"{name}: {number(mean.value)}{bounds_in_words(mean)}"
    return f"{text}, {counted(len(values_of(seeds, metric)), 'seed')}"


def _struggle(env: str, plain: Mapping[str, Mapping[int, ResultRow]]) -> Finding:
    """Both solve less than half of the tasks, with their whole intervals."""
    intervals = [_known(seeds, "success") for seeds in plain.values()]
    verdict: StudyVerdict = "undecided"
    known = [i for i in intervals if i is not None and i.low is not None and i.high is not None]
    if any(i.low is not None and i.low > _HALF for i in known):
        verdict = "not replicated"
    elif len(known) == 2 and all(i.high is not None and i.high < _HALF for i in known):
        verdict = "replicated"
    words = "; ".join(_words(name, seeds, "success") for name, seeds in plain.items())
    said = (
        f"Share of tasks solved in the last cycles. {words}. To struggle is read as under a half."
    )
    claim = "GAIL and MEGAN without Idle struggle"
    return Finding(claim, env, PENALISED, verdict, said)


def _better(
    env: str,
    claim: str,
    metric: str,
    idle: Mapping[int, ResultRow],
    plain: Mapping[str, Mapping[int, ResultRow]],
) -> Finding:
    others = {name: values_of(seeds, metric) for name, seeds in plain.items()}
    verdict, rivals = best_of(values_of(idle, metric), others)
    symbol = SYMBOLS[metric]
    said = f"{symbol}: {rivals_in_words(_WITH, rivals)}" if rivals else f"{symbol}: no common seed."
    return Finding(claim, env, "idle", verdict, said)


def _expert_like(
    env: str, idle: Mapping[int, ResultRow], plain: Mapping[str, Mapping[int, ResultRow]]
) -> Finding:
    """The expert's level with Idle (FetchReach: better than it), and on the lakes only with it."""
    claim = "with Idle, MEGAN does better than the demonstrations on their tasks"
    level, mine = 0.0, _known(idle, SHORTFALL)
    others = [_known(seeds, SHORTFALL) for seeds in plain.values()]
    alone = env == "etairl/Navigation-v0"
    if alone:
        claim, level = "only with Idle does MEGAN reach the level of the expert", SIMILAR
    below, above = _side(mine, level), [_side(other, level) for other in others]
    verdict: StudyVerdict = "undecided"
    if below == "above" or (alone and "below" in above):
        verdict = "not replicated"
    elif below == "below" and (not alone or all(side == "above" for side in above)):
        verdict = "replicated"
    sides = {_WITH: idle} | (dict(plain) if alone else {})
    words = "; ".join(_words(name, seeds, SHORTFALL) for name, seeds in sides.items())
    read = f" The level of the expert is read as 1 − score under {level:g}." if alone else ""
    said = f"1 − score in the last cycles: 0 is the expert, 1 a random policy. {words}.{read}"
    return Finding(claim, env, "idle", verdict, said)


def _side(interval: Interval | None, level: float) -> str | None:
    if interval is None or interval.low is None or interval.high is None:
        return None
    return "below" if interval.high < level else "above" if interval.low > level else None
