"""One behaviour beside the demonstrations, in numbers."""

from dataclasses import dataclass

import numpy as np

from etairl.evaluation.explanation import FeatureGap
from etairl.evaluation.matching import MEASURES, Distance, Reference, normalised_cost
from etairl.training.multitask import Outcome
from etairl.types import Trajectories


@dataclass(frozen=True)
class Verdict:
    """One behaviour beside the demonstrations."""

    name: str
    episodes: int
    return_mean: float
    return_std: float
    length: float
    normalised_cost: float | None
    """0 is the expert, 1 a random policy; None without rewards that tell them apart"""
    mmd2_rho: Distance
    mmd2_mu: Distance
    mmd2_rho_raw: Distance
    mmd2_mu_raw: Distance
    features: list[FeatureGap] | None
    """of a cost that is linear in features: each of them, the heaviest first"""
    success: float | None = None
    """share of the demonstrated tasks that were solved; None where there is a single task"""
    generalisation: Outcome | None = None
    """on all tasks, with twice the horizon; None where there is a single task"""


def judge(
    rng: np.random.Generator,
    name: str,
    played: Trajectories,
    reference: Reference,
    random: float,
    features: list[FeatureGap] | None,
) -> Verdict:
    """One behaviour beside the demonstrations; `random` is the return of a random policy."""
    returns, expert = played.returns, reference.trajectories.returns
    distances = {
        f"mmd2_{measure}{'' if scaled else '_raw'}": reference.distance(
            rng, played, measure, scaled
        )
        for measure in MEASURES
        for scaled in (True, False)
    }
    cost = None
    if returns is not None and expert is not None and random != float(expert.mean()):
        cost = normalised_cost(float(returns.mean()), float(expert.mean()), random)
    return Verdict(
        name=name,
        episodes=len(played),
        return_mean=float(returns.mean()) if returns is not None else float("nan"),
        return_std=float(returns.std()) if returns is not None else float("nan"),
        length=float(played.lengths.mean()),
        normalised_cost=cost,
        mmd2_rho=distances["mmd2_rho"],
        mmd2_mu=distances["mmd2_mu"],
        mmd2_rho_raw=distances["mmd2_rho_raw"],
        mmd2_mu_raw=distances["mmd2_mu_raw"],
        features=features,
    )
