"""Verdicts on claims and on the prediction, from rows whose truth is known."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from made_up import made_up_study
from scipy import stats

from etairl.demos import Selection, load_demos
from etairl.evaluation.cycle import rhythm
from etairl.replication.findings import findings
from etairl.replication.paper_report import paper_data
from etairl.replication.paper_studies import CYCLES, LAMBDAS, PAPER_CYCLES, named_jobs
from etairl.replication.predictions import judge_prediction
from etairl.replication.rules import best_of
from etairl.studies.jobs import Job
from etairl.studies.report_data import report_data
from etairl.studies.summary import (
    across_tasks,
    baseline,
    cells,
    result_rows,
    statistics,
    tv_from_gail,
)

CHEETAH = "HalfCheetah-v5"


def row(job: Job, value: float, floor: float = 0.01, **others) -> dict:
    """Everything of a result row that is read here; 1 − score is three times the distance."""
    distances = {
        f"{name}{suffix}": x
        for name in ("mmd2_rho", "mmd2_mu", "mmd2_rho_raw", "mmd2_mu_raw")
        for suffix, x in (("", value), ("_floor", floor))
    }
    env, arm, eta = job.cell
    return {
        "run": job.name,
        "env": env,
        "arm": arm,
        "eta": eta,
        "seed": job.config.seed,
        "gamma_rl": job.config.solver.gamma_rl,
        "score": 1 - 3 * value,
        "success": None,
        "collapsed_share": 0.0,
        **distances,
        **others,
    }


def jobs_of(name: str, seeds: int, env: str = CHEETAH) -> list[Job]:
    return named_jobs(name, "quick", range(seeds), [env])


def kappa(job: Job) -> float:
    return float(job.config.eta.partition(":")[2])


def wobble(job: Job, size: float = 0.01) -> float:
    return 1.0 + size * np.sin(1 + 7 * job.config.seed + 3 * kappa(job))


def said(rows, jobs) -> dict:
    return {(f.arm, f.claim.partition(" as κ goes")[0]): f for f in findings(rows, jobs)}


def rate_value(job: Job) -> float:
    """λ = 6 is clearly the best."""
    return (0.1 + 0.01 * abs(kappa(job) - 6)) * wobble(job)


HALF = "geometric:0.5"
BOTH = ("replicated", "not replicated")
BEST = ("penalised", "λ = 6, the movement cycle of the demonstrations, is the best in MMD² of μ")


@pytest.mark.parametrize("env", CYCLES)
def test_the_rates_of_figure_2_are_those_of_the_demonstrations_in_use(env):
    """A peak of the autocorrelation, found anew; and whatever the paper has."""
    config = jobs_of("figure2", 1, env)[0].config
    shown = load_demos(config.demos, select=Selection(config.demonstrations, config.horizon))
    cycle = rhythm(np.random.default_rng(0), shown.trajectories).cycle
    assert cycle is not None
    assert cycle.length == CYCLES[env][0]
    asked = {j.config.eta for j in jobs_of("figure2", 1, env) if "poisson" in j.config.eta}
    assert asked == {f"poisson:{rate}" for rate in (*LAMBDAS, *CYCLES[env])}
    assert PAPER_CYCLES[env] in LAMBDAS


def test_the_cycle_of_the_demonstrations_and_that_of_the_paper_stand_beside_uniform():
    jobs = jobs_of("figure2", 4)
    level = {"poisson:6": 0.1, "poisson:25": 0.3}
    found = said([row(j, level.get(j.config.eta, 0.2) * wobble(j)) for j in jobs], jobs)
    assert found[BEST].verdict == "replicated"
    words = "is as good as κ = 1, or better, in MMD² of μ"
    ours, paper = (
        found["penalised", f"λ = {rate}, the movement cycle of the {whose}, {words}"]
        for rate, whose in ((6, "demonstrations"), (25, "paper's expert"))
    )
    assert (ours.verdict, paper.verdict) == BOTH


@pytest.mark.parametrize("whole", [(1,), (1, 5, 6, 10, 25, 40)])
def test_one_common_seed_makes_no_best_rate(whole):
    """Some λ have three seeds, the others one: that is one seed."""
    names = [f"poisson:{rate}" for rate in whole]
    jobs = [j for j in jobs_of("figure2", 3) if j.config.seed == 0 or j.config.eta in names]
    found = said([row(j, rate_value(j)) for j in jobs], jobs)[BEST]
    assert found.verdict == "undecided"
    assert "1 seed in common" in found.sentence


def test_all_rates_are_asked_for():
    jobs = [j for j in jobs_of("figure2", 4) if j.config.eta != "poisson:40"]
    found = said([row(j, rate_value(j)) for j in jobs], jobs)[BEST]
    assert found.verdict == "undecided"
    assert "λ = 40" in found.sentence


def test_another_rate_that_is_better_is_said():
    jobs = jobs_of("figure2", 4)
    rows = [row(j, (0.1 + 0.002 * abs(kappa(j) - 25)) * wobble(j)) for j in jobs]
    found = said(rows, jobs)
    assert found[BEST].verdict == "not replicated"
    assert "The smallest mean has λ = 25" in found[BEST].sentence
    assert ("penalised", BEST[1].replace("μ", "ρ")) in found


@pytest.mark.parametrize("best", [6, 25])
@pytest.mark.parametrize(("level", "verdicts"), [(0.0001, ("undecided", "undecided")), (1.0, BOTH)])
def test_below_the_floor_nobody_is_the_best(best, level, verdicts):
    jobs = jobs_of("figure2", 4)
    rows = [row(j, level * (0.1 + 0.01 * abs(kappa(j) - best)) * wobble(j)) for j in jobs]
    found = said(rows, jobs)[BEST]
    assert found.verdict == verdicts[best == 25]
    assert ("Already at the expert's floor of 0.01: λ = 6; λ = 1;" in found.sentence) == (level < 1)


def test_power_beside_several_rivals(rng):
    """At a fifth of 5 %, as Holm's first of five; by draws of the t-test of one of them."""
    n, draws = 6, 4000
    each = [dict(enumerate(rng.normal(1.0, 0.1, n).tolist())) for _ in range(6)]
    _, rivals = best_of(each[0], {str(k): x for k, x in enumerate(each[1:])})
    first = np.array([[each[0][s], each[1][s]] for s in range(n)])
    spread, base = (first[:, 0] - first[:, 1]).std(ddof=1), first[:, 1].mean()
    drawn = rng.normal(0.25 * base, spread, size=(draws, n))
    share = (stats.ttest_1samp(drawn, 0.0, axis=1).pvalue < 0.05 / 5).mean()
    # Four standard errors of a share of 4,000: 0.032 at most.
    assert rivals[0].power == pytest.approx(share, abs=0.032)
    assert 0.05 < share < 0.999


def test_the_best_megan_is_that_of_the_figure():
    """The lowest MMD² of μ of all weightings with the same players; on the paper's tasks only."""
    jobs = jobs_of("figure3", 3) + [j for j in jobs_of("figure1", 3) if j.config.eta == HALF]
    jobs = list({j.name: j for j in jobs}.values())
    odd = [replace(j, arm=f"{j.arm},x=1") for j in jobs if j.arm == "gamma_rl=0.9"]
    rows = [row(j, (0.1 if j.config.eta == HALF else 0.2) * wobble(j)) for j in jobs]
    rows += [row(j, 0.01) for j in odd]
    found = [f for f in findings(rows, [*jobs, *odd]) if "with no discount" in f.claim]
    assert {f.env for f in found} == {CHEETAH}
    for finding in found:
        assert "with MEGAN, κ = 0.5, γ = 0.99;" in finding.sentence
        assert "Of 3 MEGANs" in finding.sentence
        assert finding.sentence.count("with GAIL") == 3
        assert "effect −" in finding.sentence
        assert "power " in finding.sentence
    pendulum = [replace(j, config=replace(j.config, env="Pendulum-v1")) for j in jobs]
    again = findings([r | {"env": "Pendulum-v1"} for r in rows[: len(jobs)]], pendulum)
    assert again == []


def test_equal_rates_are_seldom_told_apart(rng):
    """With no difference, either verdict is a false alarm; Holm promises 5 % together at most."""
    draws, wrong = 150, 0
    for _ in range(draws):
        values = rng.normal(1.0, 0.2, size=(6, 3))
        each = {f"λ = {k}": dict(enumerate(v.tolist())) for k, v in enumerate(values)}
        verdict, _ = best_of(each.pop("λ = 3"), each)
        wrong += verdict != "undecided"
    # Four standard errors of a share of 150 at 5 %: 0.071. Shares of bootstrap draws: 57 %.
    assert wrong / draws < 0.05 + 0.071


@pytest.mark.parametrize(
    ("before", "after", "floor"),
    [(-0.001, -0.002, 0.01), (0.004, 0.001, 0.01), (0.0, -0.01, None), (0.016, 0.004, 0.02)],
    ids=["negative", "below the floor", "zero", "cost below 0.05"],
)
def test_no_verdict_where_nothing_is_left_to_gain(before, after, floor):
    jobs = [j for j in jobs_of("figure1", 3) if j.arm == "penalised" and kappa(j) in (0.0, 1.0)]
    spread = {0: -1e-4, 1: 0.0, 2: 1e-4}
    rows = [
        row(j, (after if kappa(j) else before) + spread[j.config.seed] * kappa(j), floor)
        for j in jobs
    ]
    found = findings(rows, jobs)
    assert len(found) == 3
    for finding in found:
        assert finding.verdict == "undecided"
        assert "already at the expert's floor" in finding.sentence
        assert "% [" not in finding.sentence.partition("better in")[0]
    json.dumps(statistics(rows, jobs), allow_nan=False)
    assert across_tasks(rows, jobs, "mmd2_mu") == []


def test_sentences_have_both_values_and_their_own_size():
    jobs = [j for j in jobs_of("figure1", 3) if kappa(j) in (0.0, 1.0)]
    rows = [row(j, (0.02 if kappa(j) else 0.1) * wobble(j)) for j in jobs]
    found = said(rows, jobs)
    mu = found["penalised", "MMD² of μ falls by at least 25 %"]
    assert mu.verdict == "replicated"  # by 80 %, which is at least 25 %
    assert re.search(r"0\.0198 with κ = 1, 0\.101 with κ = 0: −80 % \[", mu.sentence)
    assert "show a change of 25 % with probability" in mu.sentence
    cost = found["penalised", "the cost falls to a half or less"]
    assert "show a change of 50 % with probability" in cost.sentence


def test_only_a_sampler_falls_back_on_the_default_arm():
    jobs = [j for j in jobs_of("ablation", 2) if (j.arm, kappa(j)) != ("no-penalty", 0.0)]
    settings = {j.cell: j.config for j in jobs}
    found = cells([row(j, 0.2) for j in jobs])
    exact = baseline(found, (CHEETAH, "exact-sampler", "geometric:0.99"), settings)
    assert exact == (CHEETAH, "penalised", "geometric:0")
    assert baseline(found, (CHEETAH, "no-penalty", "geometric:1"), settings) is None
    own = baseline(found, (CHEETAH, "spectral-norm", "geometric:1"), settings)
    assert own == (CHEETAH, "spectral-norm", "geometric:0")


def test_one_arm_with_other_settings_is_no_baseline():
    """Single runs all have the arm `default`, whatever their settings are."""
    start = next(j for j in jobs_of("figure1", 1) if j.arm == "penalised")
    odd = replace(start.config, eta="geometric:1", horizon=300)
    settings = {j.cell: j.config for j in (start, Job("penalised", odd))}
    assert baseline(settings, (CHEETAH, "penalised", "geometric:1"), settings) is None


def test_arms_stand_beside_the_default():
    jobs = jobs_of("ablation", 3)
    rows = [row(j, (0.3 if j.arm == "no-penalty" else 0.2) * wobble(j)) for j in jobs]
    entries = {(e["arm"], e["eta"]): e for e in statistics(rows, jobs)}
    found = entries["no-penalty", "geometric:1"]
    assert found["mmd2_mu"]["against_default"]["relative"]["value"] == pytest.approx(0.5)
    assert (found["baseline_arm"], found["baseline"]) == ("no-penalty", "geometric:0")
    assert entries["exact-sampler", "geometric:1"]["baseline_arm"] == ("penalised")
    assert entries["penalised", "geometric:1"]["mmd2_mu"]["against_default"] is None
    assert {f.arm for f in findings(rows, jobs)} == {"penalised"}


def test_across_tasks_has_the_noise_of_the_base():
    """κ = 1 does not vary at all; κ = 0 does, by a tenth."""
    jobs = [j for j in jobs_of("figure1", 4) if j.arm == "penalised" and kappa(j) in (0.0, 1.0)]
    rows = [row(j, 0.1 if kappa(j) else 0.2 * (0.9 + 0.05 * j.config.seed)) for j in jobs]
    (found,) = across_tasks(rows, jobs, "mmd2_mu")
    base = 0.2 * (0.9 + 0.05 * np.arange(4))
    half = 3.182446 * base.std(ddof=1) / 2 * 0.1 / base.mean() ** 2
    assert found["mean"]["high"] - found["mean"]["value"] == pytest.approx(half)
    assert found["improvement_bounds"] == (1.0, 1.0)


def test_share_of_other_frames_is_from_gail_and_not_from_uniform():
    start = next(j for j in jobs_of("figure1", 1) if j.config.eta == "geometric:0.75").config
    short = replace(start, gamma_irl=0.9, horizon=50)
    # By hand; from uniform they are .4236 and .4257.
    assert tv_from_gail(short, 50) == pytest.approx(0.1776, abs=5e-5)
    assert tv_from_gail(replace(short, sampler="exact"), 50) == pytest.approx(0.1769, abs=5e-5)
    assert tv_from_gail(replace(short, eta="dirac:0"), 50) == 0.0
    assert tv_from_gail(start, 500) == pytest.approx(0.0060, abs=5e-5)


@pytest.mark.parametrize(
    ("low", "value", "high", "verdict"),
    [
        (-0.02, 0.0, 0.03, "agrees"),
        (0.001, 0.02, 0.05, "agrees"),  # nearer to 0 than 0.6 %
        (0.02, 0.03, 0.04, "disagrees"),
        (-0.4, -0.3, -0.2, "disagrees"),
        (-0.4, -0.1, 0.2, "cannot tell"),
        (None, -0.1, None, "cannot tell"),
        (None, None, None, "cannot tell"),
    ],
)
def test_verdict_on_the_prediction(low, value, high, verdict):
    relative = {"value": value, "low": low, "high": high, "note": "why"}
    change = {"ours": 0.19, "other": 0.2, "relative": relative, "power": 0.31}
    found = judge_prediction({"mmd2_mu": change, "shortfall": None}, 0.006)
    assert (found["verdict"], found["verdicts"]) == (verdict, {"mmd2_mu": verdict})
    assert "0.6 % other frames" in found["note"]
    assert "0.19 beside 0.2" in found["note"]
    if (low, verdict) == (-0.4, "cannot tell"):
        assert "with probability 31 %" in found["note"]


def test_predictions_of_a_study(tmp_path):
    """κ = 0.5 does nothing, κ = 0.75 a tenth too much; Idle is left out of it."""
    envs = ["etairl/Navigation-v0"]
    jobs = [j for j in jobs_of("figure1", 3) if j.arm == "penalised"]
    jobs += named_jobs("navigation", "quick", range(3), envs)
    changed = {0.75: 0.9}
    study = made_up_study(
        tmp_path / "s", jobs, lambda j: 0.2 * changed.get(kappa(j), 1.0) * wobble(j, 0.002)
    )
    predicted = paper_data(study, report_data(study))["predictions"]
    found = {(p["env"], p["arm"], p["eta"]): p for p in predicted}
    assert found[CHEETAH, "penalised", "geometric:0.5"]["verdict"] == "agrees"
    assert found[CHEETAH, "penalised", "geometric:0.75"]["verdict"] == "disagrees"
    assert found[CHEETAH, "penalised", "geometric:1"]["verdict"] is None
    assert not [key for key in found if key[1] == "idle"]


def many_tasks(env: str, cost: dict, success: dict, collapsed: dict, seeds: int = 4):
    jobs = named_jobs("fetch" if "Fetch" in env else "navigation", "quick", range(seeds), [env])
    rows = []
    for job in jobs:
        kind = "idle" if job.arm == "idle" else "gail" if kappa(job) == 0.0 else "megan"
        noise = 0.01 * np.sin(1 + 7 * job.config.seed + 3 * kappa(job) + len(kind))
        known = {
            "score": 1 - cost[kind] - noise,
            "success": success[kind] + noise,
            "collapsed_share": collapsed[kind] + noise,
        }
        rows.append(row(job, 0.2, **known))
    return {f.claim: f.verdict for f in findings(rows, jobs)}


def test_many_tasks_as_the_paper_has_them():
    found = many_tasks(
        "etairl/Navigation-v0",
        {"gail": 0.8, "megan": 0.7, "idle": 0.1},
        {"gail": 0.2, "megan": 0.3, "idle": 0.9},
        {"gail": 0.4, "megan": 0.3, "idle": 0.05},
    )
    assert list(found.values()) == ["replicated"] * 4 + ["undecided"]
    assert "all tasks" in list(found)[-1]


def test_many_tasks_otherwise():
    found = many_tasks(
        "FetchReach-v4",
        {"gail": 0.1, "megan": 0.2, "idle": 0.3},
        {"gail": 0.9, "megan": 0.3, "idle": 0.9},
        {"gail": 0.4, "megan": 0.05, "idle": 0.3},
    )
    assert list(found.values()) == ["not replicated"] * 4 + ["undecided"]


def test_gail_at_its_floor_cannot_be_beaten():
    jobs = jobs_of("figure3", 4)
    rows = [
        row(j, 0.005 if kappa(j) else (0.009 if j.arm == "penalised" else 0.2) * wobble(j))
        for j in jobs
    ]
    rows = [r | {"mmd2_mu": r["mmd2_mu"] * (1 + 0.01 * r["seed"])} for r in rows]
    claim = "with no discount does GAIL match as well as the best MEGAN in MMD² of μ"
    found = said(rows, jobs)["penalised", claim]
    assert found.verdict == "undecided"
    names = "MEGAN, κ = 0.99, γ = 0.99; GAIL, γ = 0.99."
    assert f"Already at the expert's floor of 0.01: {names}" in found.sentence


@pytest.mark.parametrize("given", [{"score": 0.3}, {"normalised_cost": 0.7}], ids=["now", "0.1"])
def test_rows_of_many_tasks_have_what_was_solved(tmp_path, given):
    """The result of a run has both numbers only where there are many tasks."""
    jobs = named_jobs("navigation", "quick", [0], ["etairl/Navigation-v0"])[:2]
    study = made_up_study(tmp_path / "s", jobs, lambda _: 0.2)
    file = study.run_path(study.jobs[0]) / "result.json"
    result = json.loads(file.read_text())
    result["remaining"] |= {"success": 0.4} | given
    file.write_text(json.dumps(result))
    rows = result_rows(study)
    # The other run has none of its own: return 400, expert 1000, random 0.
    assert [(r["success"], r["score"]) for r in rows] == [
        (0.4, pytest.approx(0.3)),
        (None, pytest.approx(0.4)),
    ]
    entry = statistics(rows, study.jobs)[0]
    assert entry["success"]["mean"]["value"] == 0.4
