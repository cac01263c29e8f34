r"""Claims about data: MMD (k), index sampling (l), many tasks and the experiments (n)."""

import numpy as np

from etairl.claims.verdict import ROUNDING, Claim, judge, worlds
from etairl.eta import Geometric
from etairl.evaluation.mmd import mmd2
from etairl.measures import FutureSampler, Method, summarise_law
from etairl.tabular.generators import random_policy
from etairl.tabular.mdp import MDP, product_mdp
from etairl.tabular.measures import mu


def mmd(trials: int = 100) -> Claim:
    """(k): the printed estimator and kernel of MMD."""
    rng = np.random.default_rng(11)
    own, printed = [], []
    for _ in range(trials):
        x, y = rng.standard_normal((2, 200, 2))
        cross = np.exp(-((x[:, None] - y[None]) ** 2).sum(axis=-1) / 2.0).mean()
        own.append(mmd2(x, y))
        printed.append(own[-1] + cross)
    spread = float(np.std(own, ddof=1) / np.sqrt(trials))
    points = np.array([0.0, 1.0, 2.0])
    plus, minus = (
        float(np.linalg.eigvalsh(np.exp(s * (points[:, None] - points) ** 2)).min())
        for s in (1.0, -1.0)
    )
    return Claim(
        id="k",
        claim="MMD estimator with cross term −(1/N²)Σk and kernel exp(+‖x−y‖²/d) (appendix E.1)",
        verdict=judge(
            bool(abs(np.mean(printed)) < 4.0 * spread) and plus >= 0.0,
            bool(abs(np.mean(own)) < 4.0 * spread) and minus > 0.0,
            "misprint",
        ),
        evidence=(
            f"equal laws: averages {np.mean(printed):.4f}, not 0; with a plus the Gram matrix of "
            f"{{0, 1, 2}} has eigenvalue {plus:.1f}"
        ),
        trials=trials,
        corrected="factor 2 in the cross term, minus in the exponent",
        corrected_evidence=(
            f"equal laws: {np.mean(own):.1e} ± {spread:.1e}; eigenvalues ≥ {minus:.2g}"
        ),
    )


def index_sampling(trials: int = 20) -> Claim:
    """(l): two-stage truncated sampling draws from mu."""
    worst: dict[Method, float] = {"two_stage": 0.0, "exact": 0.0}
    for number in range(trials):
        rng = np.random.default_rng([12, number])
        length, gamma = int(rng.integers(3, 60)), float(rng.uniform(0.5, 1.0))
        eta = Geometric(float(rng.uniform(0.2, 0.95)))
        weights = eta.weights(gamma, length)
        for method in worst:
            law = FutureSampler(eta, gamma, method).law(length)
            distance = float(0.5 * np.abs(law - weights / weights.sum()).sum())
            worst[method] = max(worst[method], distance)
    last = summarise_law(FutureSampler(Geometric(1.0), 1.0, "two_stage").law(500))
    return Claim(
        id="l",
        claim="t ~ Geom(γ), then k ~ η truncated to what remains, draws from μ (section 3)",
        verdict=judge(worst["two_stage"] < ROUNDING, worst["exact"] < ROUNDING, "false as stated"),
        evidence=(
            f"off by up to {worst['two_stage']:.1%} in total variation; Geom(1), 500 steps: the "
            f"last frame weighs {last['last_frame_factor']:.2f} times its share"
        ),
        trials=trials,
        corrected="n drawn in proportion to w_n (the sampler `exact`)",
        corrected_evidence=f"equal to truncated μ up to {worst['exact']:.1e}",
    )


def experiments(trials: int = 20) -> Claim:
    """(n): the experimental section fits together; many tasks are one product MDP."""
    wrong = 0.0
    for rng, first in worlds(14, trials):
        tasks = [first, MDP(P=first.P, c=rng.random(first.c.shape), p0=first.p0, gamma=first.gamma)]
        law, eta = np.array([0.3, 0.7]), Geometric(0.6)
        policies = [random_policy(rng, first) for _ in tasks]
        whole = mu(product_mdp(tasks, law), np.concatenate(policies), eta).values
        parts = [f * mu(t, p, eta).values for f, t, p in zip(law, tasks, policies, strict=True)]
        wrong = max(wrong, float(np.abs(whole - np.concatenate(parts)).max()))
    per_cycle = 90 * 500
    held, wanted = 10**6 // per_cycle, 100
    return Claim(
        id="n",
        claim="a replay buffer of 10⁶ holds the last 100 iterations, and other details (section 5)",
        verdict=judge(held >= wanted, wrong < ROUNDING, "false as stated"),
        evidence=(
            f"a MuJoCo cycle adds {per_cycle:,} transitions: the buffer holds {held} cycles, 100 "
            f"would be {wanted * per_cycle:,}"
        ),
        trials=trials,
        corrected="details by errata (n1) to (n19); the multi-task reduction of appendix C is true",
        corrected_evidence=f"product MDP: μ of the tasks side by side, to {wrong:.1e}",
    )
