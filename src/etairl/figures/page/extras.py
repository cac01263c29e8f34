"""What the page shows beside the data of a report: an order, words, levels, and efforts."""

from collections.abc import Mapping
from typing import Any

from etairl.arms import BASE_ARMS
from etairl.figures.levels import levels
from etairl.figures.results import CELL, Results, SettingStats, in_order, weighting

Data = Mapping[str, Any]


def with_extras(data: Data) -> dict[str, Any]:
    """The same data with settings and runs in one order, and all that is counted from them."""
    results = Results(data["settings"], data["rows"])
    etas = in_order(e["eta"] for e in (*data["settings"], *data["rows"]))
    envs, arms = results.envs(), results.arms()
    settings = [e for env in envs for arm in arms for e in results.of(env, arm)]
    return {
        **data,
        "settings": [{**e, "effort": _effort(data, results, e)} for e in settings],
        "weightings": {
            eta: {"family": weighting(eta).family, "label": weighting(eta).label} for eta in etas
        },
        "base_arms": BASE_ARMS,
        "floors": {
            env: {m: results.floor(env, m) for m in ("mmd2_rho", "mmd2_mu")} for env in envs
        },
        "levels": {env: levels(results, data.get("evaluation", ()), env) for env in envs},
        "discounts": [_discounts(results, env) for env in envs if len(results.gail(env)) > 1],
    }


def _effort(data: Data, results: Results, entry: SettingStats) -> dict[str, Any]:
    """Cycles and updates of a setting, each from the least to the most over its runs.

    A learner whose episodes end early plays more cycles for as many transitions, and has more
    updates. None where a report does not say how many there are per cycle.
    """
    cycles = [r["cycles"] for r in results.rows_of(entry)]
    cost, every, policy = (
        _setting(data, entry, name) for name in ("cost_updates", "cost_every", "solver_updates")
    )
    effort: dict[str, Any] = {"cycles": [min(cycles), max(cycles)], "cost": None, "policy": None}
    if cost is not None:
        effort["cost"] = [cost * -(-n // (every or 1)) for n in effort["cycles"]]
    if policy is not None:
        effort["policy"] = [policy * n for n in effort["cycles"]]
    return effort


def _setting(data: Data, entry: SettingStats, name: str) -> int | None:
    differences = data.get("differences", {})
    if name in differences.get("names", ()):
        at = differences["names"].index(name)
        for row in differences["rows"]:
            if row["cell"] == [entry[key] for key in CELL]:
                return row["values"][at]
    return differences.get("common", {}).get(name)


def _discounts(results: Results, env: str) -> dict[str, Any]:
    """GAIL by its discount, and the best of the other weightings, each as arm and weighting."""
    megan = results.megan(env)
    return {
        "env": env,
        "gail": [
            {"gamma": gamma, "arm": e["arm"], "eta": e["eta"]} for gamma, e in results.gail(env)
        ],
        "megan": {"arm": megan[0]["arm"], "eta": megan[0]["eta"]} if megan else None,
        "of": len(megan),
    }
