"""What learning curves stand beside: the expert, a clone of it, and the expert against itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from etairl.figures.results import Results

_CLONE = "behaviour cloning"


def levels(
    results: Results, evaluation: Sequence[Mapping[str, Any]], env: str
) -> dict[str, dict[str, float]]:
    """By metric, then by whose it is (expert, clone, floor); what is not known is left out.

    The clone is the one that acts as the demonstrations do, which `evaluation` has first.
    """
    clone = next(
        (e for e in evaluation if e["env"] == env and e["policy"].startswith(_CLONE)),
        dict[str, Any](),
    )
    by_metric: dict[str, dict[str, float | None]] = {
        "return": {"expert": _expert_return(results, env)},
        "score": {"expert": 1.0},
        **{f"mmd2_{m}": {"floor": results.floor(env, f"mmd2_{m}")} for m in ("rho", "mu")},
    }
    for metric, known in by_metric.items():
        mean = clone.get(metric)
        known["clone"] = mean["value"] if mean else None
    return {
        metric: {who: value for who, value in known.items() if value is not None}
        for metric, known in by_metric.items()
    }


def _expert_return(results: Results, env: str) -> float | None:
    """The mean over all runs that know it."""
    known = [r["expert_return"] for r in results.rows if r["env"] == env and r.get("expert_return")]
    return sum(known) / len(known) if known else None
