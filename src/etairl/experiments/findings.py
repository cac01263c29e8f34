"""What the paper claims of its figures, and what a study says about it; the rules are in `rules`.

Claims are made on the environments that the paper makes them of, with the default players and with
the paper's bare discriminator; arms that change something else stand beside the default instead.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from etairl.evaluation.statistics import Paired, compare
from etairl.experiments.findings_tasks import MANY_TASKS, on_many_tasks
from etairl.experiments.jobs import Job
from etairl.experiments.rules import (
    SIMILAR,
    SYMBOLS,
    Finding,
    best_of,
    decide,
    decide_similar,
    in_words,
    number,
    rivals_in_words,
)
from etairl.experiments.studies import LAMBDAS
from etairl.experiments.summary import Row, cells, floor_of, values_of

CYCLES = {"Ant-v5": 10, "HalfCheetah-v5": 25, "Hopper-v5": 40}
"""frames of the expert's movement cycle, as the paper gives them"""
_ARMS = ("default", "bare")
_DISTANCES = ("mmd2_rho", "mmd2_mu")


def findings(rows: Sequence[Row], jobs: Sequence[Job]) -> list[Finding]:
    """Every claim that the finished runs can speak to, on the tasks that the paper claims it of."""
    found: list[Finding] = []
    by_cell = _Cells(rows, jobs)
    for env, arm in by_cell.arms():
        if env not in CYCLES or arm not in _ARMS:
            continue
        gail, uniform = by_cell.get(env, arm, "dirac:0"), by_cell.get(env, arm, "uniform")
        if gail and uniform:
            found += _uniform_against_gail(env, arm, uniform, gail)
        poisson = by_cell.poisson(env, arm)
        if len(poisson) > 1:
            found += _cycle_length(env, arm, poisson, uniform)
    for env in dict.fromkeys(env for env, _ in by_cell.arms()):
        if env in MANY_TASKS:
            found += on_many_tasks(
                env,
                by_cell.get(env, "default", "dirac:0"),
                by_cell.get(env, "default", "geometric:0.7"),
                by_cell.get(env, "idle", "geometric:0.7"),
            )
        else:
            found += _discounts(env, by_cell)
    return found


class _Cells:
    """Results by environment, arm and weighting, in one spelling of the weighting."""

    def __init__(self, rows: Sequence[Row], jobs: Sequence[Job]):
        spelled = {job.cell: str(job.config.future.eta) for job in jobs}
        self._found = {(c[0], c[1], spelled[c]): seeds for c, seeds in cells(rows).items()}

    def arms(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys(cell[:2] for cell in self._found))

    def get(self, env: str, arm: str, eta: str) -> dict[int, Row]:
        return self._found.get((env, arm, eta), {})

    def poisson(self, env: str, arm: str) -> dict[float, dict[int, Row]]:
        return {
            float(cell[2].partition(":")[2]): seeds
            for cell, seeds in self._found.items()
            if cell[:2] == (env, arm) and cell[2].startswith("poisson:")
        }


def _pair(
    ours: Mapping[int, Row], others: Mapping[int, Row], metric: str, wanted: float = SIMILAR
) -> Paired | None:
    level = floor_of(others, metric)
    return compare(values_of(ours, metric), values_of(others, metric), wanted, floor=level)


def _uniform_against_gail(
    env: str, arm: str, uniform: dict[int, Row], gail: dict[int, Row]
) -> list[Finding]:
    found = []
    for metric in _DISTANCES:
        paired = _pair(uniform, gail, metric)
        if paired is not None:
            symbol = SYMBOLS[metric]
            claim = f"{symbol} falls by at least 25 % as κ goes from 0 to 1 (the paper: 25 to 60 %)"
            verdict = decide(paired.relative, 0.25)
            said = f"{symbol}: {in_words(paired, 'κ = 1', 'κ = 0')}."
            found.append(Finding(claim, env, arm, verdict, said))
    similar = env == "Hopper-v5"
    paired = _pair(uniform, gail, "cost", SIMILAR if similar else 0.5)
    if paired is not None:
        if similar:
            claim = "the cost stays about the same as κ goes from 0 to 1"
            verdict = decide_similar(paired.relative, better_counts=False)
        else:
            claim = (
                "the cost falls to a half or less as κ goes from 0 to 1 (the paper: to a half or a "
                "quarter)"
            )
            verdict = decide(paired.relative, 0.5)
        said = f"Normalised cost: {in_words(paired, 'κ = 1', 'κ = 0')}."
        found.append(Finding(claim, env, arm, verdict, said))
    return found


def _cycle_length(
    env: str, arm: str, poisson: dict[float, dict[int, Row]], uniform: dict[int, Row]
) -> list[Finding]:
    found, wanted = [], CYCLES[env]
    for metric in _DISTANCES:
        found.append(_best_rate(env, arm, poisson, metric))
        paired = _pair(poisson.get(wanted, {}), uniform, metric)
        if paired is not None:
            claim = f"λ = {wanted} is as good as κ = 1, or better, in {SYMBOLS[metric]}"
            verdict = decide_similar(paired.relative, better_counts=True)
            said = f"{SYMBOLS[metric]}: {in_words(paired, f'λ = {wanted}', 'κ = 1')}."
            found.append(Finding(claim, env, arm, verdict, said))
    return found


def _best_rate(env: str, arm: str, poisson: dict[float, dict[int, Row]], metric: str) -> Finding:
    """Is the rate of the expert's cycle better than each of the five others of the paper?"""
    wanted, symbol = CYCLES[env], SYMBOLS[metric]
    claim = f"λ = {wanted}, the expert's movement cycle, is the best in {symbol}"
    values = {rate: values_of(seeds, metric) for rate, seeds in poisson.items()}
    missing = [f"{rate:g}" for rate in LAMBDAS if not values.get(rate)]
    if missing:
        said = f"No finished run has λ = {', '.join(missing)}: all six are compared."
        return Finding(claim, env, arm, "undecided", said)
    others = {f"λ = {rate:g}": values[rate] for rate in LAMBDAS if rate != wanted}
    verdict, rivals = best_of(values[wanted], others)
    if not rivals:
        return Finding(claim, env, arm, verdict, "No seed is finished for all six λ.")
    means = {r.name: r.paired.other for r in rivals} | {f"λ = {wanted}": rivals[0].paired.ours}
    lowest = min(means, key=lambda name: means[name])
    said = f"{symbol}: {rivals_in_words(f'λ = {wanted}', rivals)}. The smallest mean has {lowest}."
    return Finding(claim, env, arm, verdict, said)


def _discounts(env: str, found: _Cells) -> list[Finding]:
    """GAIL with several discounts beside the best MEGAN, which is chosen by the same runs."""
    arms = [
        found.get(env, arm, "dirac:0")
        for e, arm in found.arms()
        if e == env and (arm == "default" or arm.startswith("gamma_rl="))
    ]
    gail = {f"GAIL, γ = {next(iter(x.values()))['gamma_rl']:g}": x for x in arms if x}
    megan = {
        name: found.get(env, "default", eta)
        for name, eta in (("κ = 0.99", "geometric:0.99"), ("κ = 1", "uniform"))
    }
    megan = {name: seeds for name, seeds in megan.items() if seeds}
    if len(gail) < 2 or not megan:
        return []
    return [f for metric in _DISTANCES for f in _discounts_by(metric, env, gail, megan)]


def _discounts_by(
    metric: str, env: str, gail: dict[str, dict[int, Row]], megan: dict[str, dict[int, Row]]
) -> list[Finding]:
    values = {name: values_of(seeds, metric) for name, seeds in megan.items()}
    others = {name: values_of(seeds, metric) for name, seeds in gail.items()}
    common = set.intersection(*(set(x) for x in (values | others).values()))
    if not common:
        return []
    means = {name: np.mean([x[seed] for seed in common]) for name, x in values.items()}
    best = min(means, key=lambda name: float(means[name]))
    verdict, rivals = best_of(values[best], others)
    said = f"{SYMBOLS[metric]}: {rivals_in_words(f'MEGAN, {best}', rivals)}."
    if len(megan) > 1:
        said += f" The best of {len(megan)} MEGANs was picked on the same runs, which favours it."
    settled = [
        f"{r.name} (floor {number(floor_of(gail[r.name], metric))})"
        for r in rivals
        if r.paired.other <= floor_of(gail[r.name], metric)
    ]
    if settled:
        verdict = "undecided" if verdict == "replicated" else verdict
        said += f" Already at the expert's floor: {', '.join(settled)}."
    claim = f"with no discount does GAIL match as well as the best MEGAN in {SYMBOLS[metric]}"
    return [Finding(claim, env, "default", verdict, said)]
