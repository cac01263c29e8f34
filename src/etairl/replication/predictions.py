"""The prediction for small κ: results differ from κ = 0 no more than the data of D do."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from etairl.replication.rules import PAPER_METRICS, SIMILAR, SYMBOLS, with_shortfall
from etairl.studies.jobs import Job
from etairl.studies.summary import ResultRow, cells, paired_seeds, tv_from_gail
from etairl.studies.wording import number, percent

_SMALL_KAPPA = 0.75


def predictions(
    settings: Sequence[Mapping[str, Any]],
    rows: Sequence[ResultRow],
    jobs: Sequence[Job],
    lengths: Mapping[str, float],
) -> list[dict[str, Any]]:
    """What share of the discriminator's data a weighting changes, and how the results differ.

    The share is the total variation between the laws of the time index, for whole episodes and for
    episodes as long as those of the last cycles were: `lengths`, by the names of the runs. Up to
    kappa = 0.75 it is a prediction, with a verdict. Runs with generated futures, which change the
    data otherwise, have no baseline.
    """
    by_cell, entries = cells(with_shortfall(rows)), []
    for entry in settings:
        cell = entry["env"], entry["arm"], str(entry["eta"])
        mine = [job for job in jobs if job.cell == cell]
        if entry["baseline"] is None or not cell[2].startswith("geometric:"):
            continue
        length = max(1, round(sum(lengths[job.name] for job in mine) / len(mine)))
        small = float(cell[2].partition(":")[2]) <= _SMALL_KAPPA
        whole, seen = entry["tv_from_gail"], tv_from_gail(mine[0].config, length)
        base = by_cell[entry["env"], entry["baseline_arm"], entry["baseline"]]
        changes = {}
        for metric in PAPER_METRICS:
            paired = paired_seeds(by_cell[cell], base, metric)
            changes[metric] = None if paired is None else asdict(paired)
        entries.append(
            {
                "env": entry["env"],
                "arm": entry["arm"],
                "eta": cell[2],
                "small": small,
                "tv": whole,
                "length": length,
                "tv_at_length": seen,
                "changes": changes,
                **judge_prediction(changes, max(whole, seen) if small else None),
            }
        )
    return entries


def judge_prediction(changes: Mapping[str, Any], share: float | None) -> dict[str, Any]:
    """Do results differ by no more than a share of the data can explain? A verdict per metric.

    *Disagrees*: the whole interval of the change is farther from 0 than the share. *Agrees*: it is
    not, and lies within 25 %. *Cannot tell*: it is wider than that. A setting disagrees if one of
    its metrics does, and agrees if all do. Without a share nothing is predicted.
    """
    if share is None:
        return {"verdict": None, "verdicts": {}, "note": "no prediction above κ = 0.75"}
    verdicts, said = {}, []
    for metric, change in changes.items():
        if change is not None:
            verdicts[metric], words = _judge(change, share)
            said.append(f"{SYMBOLS[metric]} {words}: {verdicts[metric]}")
    kinds = set(verdicts.values())
    whole = "disagrees" if "disagrees" in kinds else "cannot tell"
    if kinds == {"agrees"}:
        whole = "agrees"
    frames = f"{percent(share, 1).lstrip('+')} other frames"
    note = f"{frames} in episodes as long as those of the last cycles. {'; '.join(said)}."
    return {"verdict": whole, "verdicts": verdicts, "note": note}


def _judge(change: Mapping[str, Any], share: float) -> tuple[str, str]:
    value, low, high = (change["relative"][key] for key in ("value", "low", "high"))
    words = f"{number(change['ours'])} beside {number(change['other'])}"
    if value is None:
        return "cannot tell", f"{words} (κ = 0 is already at the expert's floor)"
    words += f", {percent(value, 1)}"
    if low is None or high is None:
        return "cannot tell", f"{words} ({change['relative']['note']})"
    words += f" [{percent(low, 1)}, {percent(high, 1)}]"
    if low > share or high < -share:
        return "disagrees", words
    if low > -SIMILAR and high < SIMILAR:
        return "agrees", words
    if change["power"] is not None:
        words += f", a change of 25 % would show with probability {100 * change['power']:.0f} %"
    return "cannot tell", words
