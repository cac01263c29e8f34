"""What the paper claims of its figures, and what a study says about it.

The rule is the same everywhere. A claim is *replicated* where the whole interval lies on the
claimed side of no change and the value reaches the claimed size; *not replicated* where the whole
interval falls short of the claimed size; *undecided* otherwise, and with less than two seeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from etairl.evaluation.statistics import Interval, Paired, compare
from etairl.experiments.jobs import Job
from etairl.experiments.summary import Row, cells, values_of

Verdict = Literal["replicated", "not replicated", "undecided"]
CYCLES = {"Ant-v5": 10, "HalfCheetah-v5": 25, "Hopper-v5": 40}
"""frames of the expert's movement cycle, as the paper gives them"""
_SYMBOLS = {"mmd2_rho": "MMD² of ρ", "mmd2_mu": "MMD² of μ", "cost": "normalised cost"}
_SIMILAR = 0.25
_DRAWS = 2000


@dataclass(frozen=True)
class Finding:
    """One claim on one task."""

    claim: str
    env: str
    arm: str
    verdict: Verdict
    sentence: str


def findings(rows: Sequence[Row], jobs: Sequence[Job]) -> list[Finding]:
    """Every claim that the finished runs can speak to, on the tasks that the paper claims it of."""
    found: list[Finding] = []
    by_cell = _Cells(rows, jobs)
    for env, arm in by_cell.arms():
        if env not in CYCLES:
            continue
        gail, uniform = by_cell.get(env, arm, "dirac:0"), by_cell.get(env, arm, "uniform")
        if gail and uniform:
            found += _uniform_against_gail(env, arm, uniform, gail)
        poisson = by_cell.poisson(env, arm)
        if len(poisson) > 1:
            found += _cycle_length(env, arm, poisson, uniform)
    for env in dict.fromkeys(env for env, _ in by_cell.arms()):
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


def decide(change: Interval, wanted: float) -> Verdict:
    """A fall by at least the share `wanted`."""
    if change.low is None or change.high is None:
        return "undecided"
    if change.high < 0.0 and change.value <= -wanted:
        return "replicated"
    return "not replicated" if change.low > -wanted else "undecided"


def decide_similar(change: Interval, better_counts: bool) -> Verdict:
    """Within 25 % of each other, or (where that counts) better."""
    if change.low is None or change.high is None:
        return "undecided"
    if change.high < _SIMILAR and (better_counts or change.low > -_SIMILAR):
        return "replicated"
    apart = change.low > _SIMILAR or (not better_counts and change.high < -_SIMILAR)
    return "not replicated" if apart else "undecided"


def percent(x: float) -> str:
    """A share as a signed percentage."""
    return f"{100 * x:+.0f} %".replace("-", "−")


def in_words(paired: Paired) -> str:
    """The change, its interval, and what so many seeds could have shown."""
    change = paired.relative
    text = percent(change.value)
    if change.low is not None and change.high is not None:
        text += f" [{percent(change.low)}, {percent(change.high)}]"
    text += f", {paired.seeds} seed{'s' * (paired.seeds > 1)}"
    if paired.p_t is not None and paired.effect is not None:
        text += f", paired t-test p = {paired.p_t:.2g}, effect size {paired.effect:+.2f}"
    text += f", better in {100 * paired.improvement:.0f} % of pairs of runs"
    if paired.power is not None:
        enough = "" if paired.needed is None else f"; {paired.needed} seeds would with 80 %"
        text += f". So many seeds show a change of 25 % with {100 * paired.power:.0f} %{enough}"
    return text.replace("effect size -", "effect size −")


def _pair(ours: Mapping[int, Row], others: Mapping[int, Row], metric: str) -> Paired | None:
    return compare(values_of(ours, metric), values_of(others, metric))


def _uniform_against_gail(
    env: str, arm: str, uniform: dict[int, Row], gail: dict[int, Row]
) -> list[Finding]:
    found = []
    for metric in ("mmd2_rho", "mmd2_mu"):
        paired = _pair(uniform, gail, metric)
        if paired is not None:
            claim = f"{_SYMBOLS[metric]} falls by 25 to 60 % as κ goes from 0 to 1"
            verdict = decide(paired.relative, 0.25)
            said = f"{_SYMBOLS[metric]} with κ = 1 beside κ = 0: {in_words(paired)}."
            found.append(Finding(claim, env, arm, verdict, said))
    paired = _pair(uniform, gail, "cost")
    if paired is not None:
        said = f"Normalised cost with κ = 1 beside κ = 0: {in_words(paired)}."
        if env == "Hopper-v5":
            claim = "the cost stays about the same as κ goes from 0 to 1"
            verdict = decide_similar(paired.relative, better_counts=False)
        else:
            claim = "the cost falls to a half or a quarter as κ goes from 0 to 1"
            verdict = decide(paired.relative, 0.5)
        found.append(Finding(claim, env, arm, verdict, said))
    return found


def _cycle_length(
    env: str, arm: str, poisson: dict[float, dict[int, Row]], uniform: dict[int, Row]
) -> list[Finding]:
    wanted, claim = CYCLES[env], f"λ = {CYCLES[env]}, the expert's movement cycle, is the best"
    found = []
    shares, best = share_of_being_best(poisson, "mmd2_mu")
    if wanted in shares:
        share = shares[wanted]
        verdict: Verdict = "undecided"
        if len(next(iter(poisson.values()))) > 1:
            verdict = (
                "replicated" if share >= 0.95 else "not replicated" if share <= 0.05 else verdict
            )
        said = (
            f"The smallest mean MMD² of μ has λ = {best:g}; with seeds drawn anew, λ = {wanted} is "
            f"the best in {100 * share:.0f} % of draws (of {len(poisson)} values)."
        )
        found.append(Finding(claim, env, arm, verdict, said))
    paired = _pair(poisson.get(wanted, {}), uniform, "mmd2_mu")
    if paired is not None:
        claim = f"λ = {wanted} is as good as κ = 1, or better"
        verdict = decide_similar(paired.relative, better_counts=True)
        said = f"MMD² of μ with λ = {wanted} beside κ = 1: {in_words(paired)}."
        found.append(Finding(claim, env, arm, verdict, said))
    return found


def share_of_being_best(
    settings: Mapping[float, Mapping[int, Row]], metric: str
) -> tuple[dict[float, float], float]:
    """How often each setting has the smallest mean when common seeds are drawn anew; the best."""
    each = {key: values_of(seeds, metric) for key, seeds in settings.items()}
    common = sorted(set.intersection(*(set(values) for values in each.values())))
    if not common:
        return {}, float("nan")
    table = np.array([[values[seed] for seed in common] for values in each.values()])
    rng = np.random.default_rng(23)
    drawn = rng.integers(len(common), size=(_DRAWS, len(common)))
    winners = table[:, drawn].mean(axis=2).argmin(axis=0)
    shares = np.bincount(winners, minlength=len(each)) / _DRAWS
    best = list(each)[int(table.mean(axis=1).argmin())]
    return dict(zip(each, shares.tolist(), strict=True)), best


def _discounts(env: str, found: _Cells) -> list[Finding]:
    """GAIL with several discounts beside the best MEGAN, which is chosen by the same runs."""
    gail = {
        arm: found.get(env, arm, "dirac:0")
        for e, arm in found.arms()
        if e == env and (arm == "default" or arm.startswith("gamma_rl="))
    }
    gail = {arm: seeds for arm, seeds in gail.items() if seeds}
    megan = {eta: found.get(env, "default", eta) for eta in ("geometric:0.99", "uniform")}
    megan = {eta: seeds for eta, seeds in megan.items() if seeds}
    if len(gail) < 2 or not megan:
        return []
    means = {k: np.mean(list(values_of(s, "mmd2_mu").values())) for k, s in megan.items()}
    best = min(means, key=lambda k: float(means[k]))
    parts, verdicts = [], []
    for arm, seeds in gail.items():
        paired = _pair(megan[best], seeds, "mmd2_mu")
        if paired is None:
            continue
        gamma = arm.partition("=")[2] or "0.99"
        verdicts.append(decide(paired.relative, 0.0))
        parts.append(f"γ = {gamma}: {in_words(paired)}")
    if not parts:
        return []
    agree: Verdict = "undecided"
    if all(v == "replicated" for v in verdicts):
        agree = "replicated"
    elif any(v == "not replicated" for v in verdicts):
        agree = "not replicated"
    claim = "with no discount does GAIL match as well as the best MEGAN"
    said = f"MMD² of μ of MEGAN with {best} beside GAIL with {'. '.join(parts)}."
    return [Finding(claim, env, "default", agree, said)]
