"""The registered tests of the factorial: paired seeds, Holm's correction (eta-factorial.md).

python benchmarks/eta_factorial.py STUDY   prints a table; says what is missing
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np
from scipy import stats

from etairl.evaluation.significance import holm, sign_flips, t_limit, t_power
from etairl.studies.study_folder import Study

NEEDED = 10
CONTRASTS = {
    "κ .99 against 0, γ .99": (("discounted", "geometric:0.99"), ("discounted", "dirac:0")),
    "κ 1 against 0, γ .99": (("discounted", "uniform"), ("discounted", "dirac:0")),
    # The law of κ .99 with γ 1 is that of κ 1 with γ .99: made once, under the latter name.
    "κ .99 against 0, γ 1": (("discounted", "uniform"), ("flat", "dirac:0")),
    "κ 1 against 0, γ 1": (("flat", "uniform"), ("flat", "dirac:0")),
}
MANY_TASKS = "etairl/Navigation-v0"
Values = dict[tuple[str, str, str], dict[int, dict[str, float]]]
"""by environment, arm, weighting; then by seed; then by outcome"""


def read(folder: Path) -> Values:
    """The outcomes of the learner that acts like the demonstrations, of every finished run."""
    study = Study(folder, trust=True)
    found: Values = {}
    rows = {}
    for job in study.jobs:
        digest = study.look(job)
        told = [] if digest is None else digest.evaluation or []
        learners = [row for row in told if row["name"] == "learner"]
        if learners:
            rows[job.cell, job.config.seed] = learners[0]
    for ((env, arm, eta), seed), row in rows.items():
        others = [r for ((e, _, _), _), r in rows.items() if e == env]
        found.setdefault((env, arm, eta), {})[seed] = _outcomes(env, row, others)
    return found


def _outcomes(env: str, row: dict, others: list[dict]) -> dict[str, float]:
    quarters = []
    for number in range(4):
        known = [q for r in others if (q := _quarter(r, number)) is not None]
        own = _quarter(row, number)
        # Nobody reaches the quarter: as far as the farthest of all runs of this task.
        quarters.append(max(known, default=np.nan) if own is None else own)
    whole = row["all_tasks"]["success"] if env == MANY_TASKS else row["survival_twice"]
    named = {f"MMD² of ρ, quarter {n + 1}": value for n, value in enumerate(quarters)}
    return {"MMD² of ρ, mean of quarters": float(np.mean(quarters)), "twice": whole} | named


def _quarter(row: dict, number: int) -> float | None:
    quarters = row.get("quarters_rho") or []
    return quarters[number] if number < len(quarters) else None


def main(folder: Path) -> None:
    """Print all comparisons; the primary ones with Holm's correction over all of them."""
    values = read(folder)
    envs = list(dict.fromkeys(env for env, _, _ in values))
    primary = ("MMD² of ρ, mean of quarters", "twice")
    tests = []
    for env, outcome, (name, (ours, base)) in product(envs, primary, CONTRASTS.items()):
        one, two = values.get((env, *ours), {}), values.get((env, *base), {})
        seeds = sorted(one.keys() & two.keys())
        d = np.array([one[s][outcome] - two[s][outcome] for s in seeds], float)
        mean = float(np.mean([two[s][outcome] for s in seeds])) if seeds else np.nan
        tests.append((env, outcome, name, d, mean))
    told = [t for t in tests if len(t[3]) >= 2]
    raised = holm([_p(d) for *_, d, _ in told])
    print("task | outcome | comparison | seeds | κ 0 | difference, 95 % | p | Holm | flips | power")
    for (env, outcome, name, d, base), p in zip(told, raised, strict=True):
        half = t_limit(len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d))
        power = _power(outcome, d, base, len(tests))
        print(
            f"{env} | {outcome} | {name} | {len(d)} | {base:.4g} | {d.mean():+.4g} ± {half:.2g} | "
            f"{_p(d):.4f} | {p:.4f} | {sign_flips(d):.4f} | {power:.2f}"
        )
    short = [f"{env}, {name}" for env, _, name, d, _ in tests if len(d) < NEEDED]
    if short:
        print(f"not the registered {NEEDED} seeds yet: {'; '.join(dict.fromkeys(short))}")


def _p(d: np.ndarray) -> float:
    if not np.ptp(d):
        return 1.0 if d[0] == 0.0 else 0.0
    return float(stats.ttest_1samp(d, 0.0).pvalue)


def _power(outcome: str, d: np.ndarray, base: float, tests: int) -> float:
    """For what is registered as worth finding: a quarter of MMD², a tenth of the episodes."""
    wanted, spread = (0.1 if outcome == "twice" else 0.25 * abs(base)), float(d.std(ddof=1))
    if spread == 0.0:
        return 1.0
    return t_power(len(d) - 1, np.sqrt(len(d)) * wanted / spread, 0.05 / tests)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
