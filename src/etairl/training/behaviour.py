"""One behaviour beside the demonstrations, in numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from etairl.evaluation.explanation import FeatureGap
from etairl.evaluation.matching import Distance, Reference, score
from etairl.training.multitask import Outcome
from etairl.types import Trajectories


@dataclass(frozen=True)
class Behaviour:
    """One behaviour beside the demonstrations."""

    name: str
    episodes: int
    return_mean: float
    return_std: float
    length: float
    score: float | None
    """0 is a random policy, 1 the expert; None without rewards that tell them apart"""
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
) -> Behaviour:
    """One behaviour beside the demonstrations; `random` is the return of a random policy."""
    returns, expert = played.returns, reference.trajectories.returns
    scaled = None
    if returns is not None and expert is not None and random != float(expert.mean()):
        scaled = score(float(returns.mean()), float(expert.mean()), random)
    distances: dict[str, Any] = dict(reference.distances(rng, played))
    return Behaviour(
        name=name,
        episodes=len(played),
        return_mean=float(returns.mean()) if returns is not None else float("nan"),
        return_std=float(returns.std()) if returns is not None else float("nan"),
        length=float(played.lengths.mean()),
        score=scaled,
        features=features,
        **distances,
    )
