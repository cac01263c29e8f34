"""One behaviour beside an expert, in numbers."""

from dataclasses import dataclass

import numpy as np

from etairl.demos import Playing
from etairl.evaluation.explanation import FeatureGap
from etairl.evaluation.matching import Compared, Distance
from etairl.evaluation.timeline import Expert, Timeline, earned, timeline
from etairl.training.multitask import Outcome
from etairl.types import Trajectories


def titled(name: str, playing: str | None) -> str:
    """Who plays, and whether drawn or greedy where that is known."""
    return name if playing is None else f"{name}, {playing}"


@dataclass(frozen=True)
class Behaviour:
    """One behaviour beside an expert that acts in the same way, where there is one."""

    name: str
    playing: Playing | None
    """drawn or greedy actions; None where that is not known"""
    beside: str
    """whom MMD² and score compare it with"""
    episodes: int
    return_mean: float | None
    return_std: float | None
    length: float
    score: float | None
    """0 is a random policy, 1 the expert; None without rewards that tell them apart"""
    mmd2_rho: Distance
    mmd2_mu: Distance
    mmd2_rho_raw: Distance
    mmd2_mu_raw: Distance
    timeline: Timeline | None
    """where in the episode it differs, where that was asked for"""
    features: list[FeatureGap] | None = None
    """of a cost that is linear in features: each of them, the heaviest first"""
    success: float | None = None
    """share of the demonstrated tasks that were solved; None where there is a single task"""
    generalisation: Outcome | None = None
    """on all tasks, with twice the horizon; None where there is a single task"""
    longer: Timeline | None = None
    """of episodes of twice the horizon, where that was asked for"""
    compared: Compared = "pairs"
    """what MMD² is of: states and actions; states alone where the expert's actions are unknown"""

    @property
    def title(self) -> str:
        """Name and kind."""
        return titled(self.name, self.playing)


def judge(
    rng: np.random.Generator,
    name: str,
    playing: Playing | None,
    played: Trajectories,
    expert: Expert,
    features: list[FeatureGap] | None = None,
    in_time: bool = True,
) -> Behaviour:
    """One behaviour beside an expert."""
    steps, returns = expert.scaled.seen(played), played.returns
    scaled, raw = expert.scaled.distances(rng, steps), expert.raw.distances(rng, steps)
    return Behaviour(
        name=name,
        playing=playing,
        beside=expert.name,
        episodes=len(played),
        return_mean=earned(played, expert.horizon),
        return_std=None if returns is None else float(returns.std()),
        length=float(played.lengths.mean()),
        score=expert.score(earned(played, expert.horizon)),
        mmd2_rho=scaled["rho"],
        mmd2_mu=scaled["mu"],
        mmd2_rho_raw=raw["rho"],
        mmd2_mu_raw=raw["mu"],
        timeline=timeline(rng, played, expert) if in_time else None,
        features=features,
        compared=expert.scaled.compared,
    )
