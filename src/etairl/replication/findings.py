"""What the paper claims of its figures, and what a study says about it; the rules are in `rules`.

Claims are made on the environments that the paper makes them of, with the penalised
discriminator and with the paper's bare one; arms that change something else stand beside the first.
"""

from collections.abc import Sequence

import numpy as np

from etairl.arms import PENALISED
from etairl.figures.results import same_players, weighting
from etairl.replication.findings_tasks import MANY_TASKS, on_many_tasks
from etairl.replication.paper_studies import CYCLES, PAPER_CYCLES, rates
from etairl.replication.rules import (
    PAPER_METRICS,
    SHORTFALL,
    SIMILAR,
    SYMBOLS,
    Finding,
    best_of,
    decide,
    decide_similar,
    in_words,
    rivals_in_words,
    with_shortfall,
)
from etairl.studies.jobs import Job
from etairl.studies.summary import DISTANCES, ResultRow, cells, floor_of, paired_seeds, values_of

_ARMS = (PENALISED, "bare")


def findings(rows: Sequence[ResultRow], jobs: Sequence[Job]) -> list[Finding]:
    """Every claim that the finished runs can speak to, on the tasks that the paper claims it of."""
    said: list[Finding] = []
    by_cell = _Cells(with_shortfall(rows), jobs)
    for env, arm in by_cell.arms():
        if env not in CYCLES or arm not in _ARMS:
            continue
        gail, uniform = by_cell.get(env, arm, "dirac:0"), by_cell.get(env, arm, "uniform")
        if gail and uniform:
            said += _uniform_against_gail(env, arm, uniform, gail)
        poisson = by_cell.poisson(env, arm)
        if len(poisson) > 1:
            said += _cycle_length(env, arm, poisson, uniform)
    for env in dict.fromkeys(env for env, _ in by_cell.arms()):
        if env in MANY_TASKS:
            said += on_many_tasks(
                env,
                by_cell.get(env, PENALISED, "dirac:0"),
                by_cell.get(env, PENALISED, "geometric:0.7"),
                by_cell.get(env, "idle", "geometric:0.7"),
            )
        elif env in CYCLES:
            said += _discounts(env, by_cell)
    return said


class _Cells:
    """Results by environment, arm and weighting, in one spelling of the weighting."""

    def __init__(self, rows: Sequence[ResultRow], jobs: Sequence[Job]):
        spelled = {job.cell: str(job.config.future.eta) for job in jobs}
        self._by_cell = {(c[0], c[1], spelled[c]): seeds for c, seeds in cells(rows).items()}

    def arms(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys(cell[:2] for cell in self._by_cell))

    def get(self, env: str, arm: str, eta: str) -> dict[int, ResultRow]:
        return self._by_cell.get((env, arm, eta), {})

    def weightings(self, env: str, arm: str) -> dict[str, dict[int, ResultRow]]:
        return {cell[2]: x for cell, x in self._by_cell.items() if cell[:2] == (env, arm)}

    def poisson(self, env: str, arm: str) -> dict[float, dict[int, ResultRow]]:
        every = {weighting(eta): seeds for eta, seeds in self.weightings(env, arm).items()}
        return {w.parameter: seeds for w, seeds in every.items() if w.family == "poisson"}


def _uniform_against_gail(
    env: str, arm: str, uniform: dict[int, ResultRow], gail: dict[int, ResultRow]
) -> list[Finding]:
    said = []
    for metric in PAPER_METRICS:
        similar = metric == SHORTFALL and env == "Hopper-v5"
        fall = 0.5 if metric == SHORTFALL and not similar else SIMILAR
        paired = paired_seeds(uniform, gail, metric, fall)
        if paired is None:
            continue
        if similar:
            claim = "the cost stays about the same as κ goes from 0 to 1"
        elif metric == SHORTFALL:
            claim = (
                "the cost falls to a half or less as κ goes from 0 to 1 (the paper: to a half or a "
                "quarter)"
            )
        else:
            claim = (
                f"{SYMBOLS[metric]} falls by at least 25 % as κ goes from 0 to 1 (the paper: 25 to "
                "60 %)"
            )
        verdict = (
            decide_similar(paired.relative, better_counts=False)
            if similar
            else decide(paired.relative, fall)
        )
        sentence = f"{SYMBOLS[metric]}: {in_words(paired, 'κ = 1', 'κ = 0')}."
        said.append(Finding(claim, env, arm, verdict, sentence))
    return said


def _cycle_length(
    env: str, arm: str, poisson: dict[float, dict[int, ResultRow]], uniform: dict[int, ResultRow]
) -> list[Finding]:
    """The rate of the cycle as it is in these demonstrations, and that of the paper's expert."""
    said = []
    for metric in DISTANCES:
        said.append(_best_rate(env, arm, poisson, metric))
        for rate in dict.fromkeys((CYCLES[env][0], PAPER_CYCLES[env])):
            paired = paired_seeds(poisson.get(rate, {}), uniform, metric)
            if paired is not None:
                claim = f"{_of_whom(env, rate)}, is as good as κ = 1, or better, in"
                verdict = decide_similar(paired.relative, better_counts=True)
                sentence = f"{SYMBOLS[metric]}: {in_words(paired, f'λ = {rate}', 'κ = 1')}."
                said.append(Finding(f"{claim} {SYMBOLS[metric]}", env, arm, verdict, sentence))
    return said


def _of_whom(env: str, rate: int) -> str:
    if rate == CYCLES[env][0]:
        return f"λ = {rate}, the movement cycle of the demonstrations"
    return f"λ = {rate}, the movement cycle of the paper's expert"


def _best_rate(
    env: str, arm: str, poisson: dict[float, dict[int, ResultRow]], metric: str
) -> Finding:
    """Is the rate of the demonstrated cycle better than each of the others?"""
    wanted, symbol = CYCLES[env][0], SYMBOLS[metric]
    claim = f"{_of_whom(env, wanted)}, is the best in {symbol}"
    values = {rate: values_of(seeds, metric) for rate, seeds in poisson.items()}
    missing = [f"{rate:g}" for rate in rates(env) if not values.get(rate)]
    if missing:
        said = f"No finished run has λ = {', '.join(missing)}: all are compared."
        return Finding(claim, env, arm, "undecided", said)
    others = {f"λ = {rate:g}": values[rate] for rate in rates(env) if rate != wanted}
    floor = floor_of(poisson[wanted], metric)
    verdict, rivals = best_of(values[wanted], others, floor)
    if not rivals:
        return Finding(claim, env, arm, verdict, "No seed is finished for all λ.")
    means = {r.name: r.paired.other for r in rivals} | {f"λ = {wanted}": rivals[0].paired.ours}
    lowest = min(means, key=lambda name: means[name])
    words = rivals_in_words(f"λ = {wanted}", rivals, floor)
    said = f"{symbol}: {words} The smallest mean has {lowest}."
    return Finding(claim, env, arm, verdict, said)


def _discounts(env: str, by_cell: _Cells) -> list[Finding]:
    """GAIL with several discounts beside the best MEGAN, which is chosen by the same runs."""
    gail, megan = {}, {}
    for e, arm in by_cell.arms():
        if e == env and same_players(arm):
            for eta, seeds in by_cell.weightings(env, arm).items():
                gamma = f"γ = {next(iter(seeds.values()))['gamma_rl']:g}"
                if eta == "dirac:0":
                    gail.setdefault(f"GAIL, {gamma}", seeds)
                elif values_of(seeds, "mmd2_mu"):
                    megan.setdefault(f"MEGAN, {weighting(eta).words}, {gamma}", seeds)
    if len(gail) < 2 or not megan:
        return []
    means = {name: np.mean([*values_of(x, "mmd2_mu").values()]) for name, x in megan.items()}
    best = min(means, key=lambda name: float(means[name]))
    every = [_discounts_by(metric, env, gail, best, megan) for metric in DISTANCES]
    return [finding for finding in every if finding is not None]


def _discounts_by(
    metric: str,
    env: str,
    gail: dict[str, dict[int, ResultRow]],
    best: str,
    megan: dict[str, dict[int, ResultRow]],
) -> Finding | None:
    others = {name: values_of(seeds, metric) for name, seeds in gail.items()}
    floor = floor_of(megan[best], metric)
    verdict, rivals = best_of(values_of(megan[best], metric), others, floor)
    if not rivals:
        return None
    said = f"{SYMBOLS[metric]}: {rivals_in_words(best, rivals, floor)}"
    if len(megan) > 1:
        said += (
            f" Of {len(megan)} MEGANs the one with the smallest MMD² of μ was picked, on the same "
            "runs, which favours it."
        )
    claim = f"with no discount does GAIL match as well as the best MEGAN in {SYMBOLS[metric]}"
    return Finding(claim, env, PENALISED, verdict, said)
