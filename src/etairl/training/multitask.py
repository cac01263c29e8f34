"""The multi-task setting: how many tasks are solved, those that were shown and all others.

Two settings, as in the paper (appendix D). *Learned*: the tasks of the demonstrations and the
training horizon. *Generalisation*: every task that there is, and twice the horizon. Starts are
drawn anew in both.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from etairl.evaluation.matching import score
from etairl.rollouts import UniformPolicy, collect
from etairl.tasks import make_task, planned_expert
from etairl.tasks.product import LawName, ProductTask
from etairl.training.preparation import Prepared
from etairl.training.settings import TrainConfig
from etairl.types import Policy, Trajectories

EXPERT = "expert"
_CHANCE_EPISODES = 25
LONGER = 2
"""by how much the horizon of the longer episodes is longer than that of training"""


@dataclass(frozen=True)
class Outcome:
    """What a policy reaches on all tasks, given twice the time."""

    episodes: int
    horizon: int
    return_mean: float
    return_std: float
    score: float | None
    """0 is a random policy, 1 the planned expert on the same tasks; None without such an expert"""
    success: float
    """share of episodes whose last state solves the task"""


def play_tasks(
    config: TrainConfig,
    policy: Policy,
    seed: int,
    tasks: Float[np.ndarray, "episodes task"] | int,
    longer: int = 1,
    drawn: bool = True,
) -> Trajectories:
    """One episode per task given, or so many with tasks from the law of all.

    Args:
        config: of the run.
        policy: who plays.
        seed: of starts, tasks and actions.
        tasks: the tasks, or how many to draw.
        longer: by how much the horizon is longer than that of training.
        drawn: draw actions, or take the most likely ones.
    """
    from_all = isinstance(tasks, int)
    law: LawName = "full" if from_all else "training"
    task = make_task(
        config.env,
        tasks if from_all else len(tasks),
        horizon=longer * config.horizon,
        seed=seed,
        law=law,
    )
    assert isinstance(task, ProductTask)
    if not from_all:
        task.assign(tasks)
    rng = np.random.default_rng([seed, 13])
    return collect(rng, task, policy, task.envs, stochastic=drawn)


def demonstrated_tasks(prepared: Prepared, episodes: int, seed: int) -> np.ndarray:
    """Tasks of demonstrations, each once, and again only if there are too few."""
    tasks = prepared.demos.trajectories.tasks
    assert tasks is not None
    return tasks[np.resize(np.random.default_rng([seed, 17]).permutation(len(tasks)), episodes)]


def success_rate(prepared: Prepared, played: Trajectories) -> float | None:
    """Share of episodes whose last state solves the task; None where there is a single task."""
    if not isinstance(prepared.task, ProductTask) or played.final_observations is None:
        return None
    return float(prepared.task.success(played.final_observations).mean())


@dataclass(frozen=True)
class ReturnScale:
    """What returns on the demonstrated tasks are measured with."""

    expert: float
    random: float

    @staticmethod
    def of(prepared: Prepared) -> "ReturnScale | None":
        """From the demonstrations and a random policy; None where these tell no difference."""
        returns = prepared.demos.trajectories.returns
        if not isinstance(prepared.task, ProductTask) or returns is None:
            return None
        seed = prepared.config.seed + 4_000_037
        tasks = demonstrated_tasks(prepared, _CHANCE_EPISODES, seed)
        played = play_tasks(prepared.config, UniformPolicy(prepared.task), seed, tasks)
        scale = ReturnScale(float(returns.mean()), float(_returns(played).mean()))
        return None if scale.expert == scale.random else scale

    def __call__(self, learner: float) -> float:
        """The score of a mean return."""
        return score(learner, self.expert, self.random)


def solved(prepared: Prepared, played: Trajectories, scale: ReturnScale | None) -> dict[str, float]:
    """How many tasks were solved, and with which score; nothing where there is a single task."""
    rate, returns = success_rate(prepared, played), played.returns
    metrics = {} if rate is None else {"success": rate}
    if scale is not None and returns is not None:
        metrics["score"] = scale(float(returns.mean()))
    return metrics


def generalise(
    prepared: Prepared, policies: dict[str, Policy], episodes: int, seed: int, drawn: bool
) -> dict[str, Outcome]:
    """Every policy, a random one and the planned expert on all tasks, with twice the time."""
    config = prepared.config
    expert = planned_expert(prepared.task.spec.environment or config.env)
    everyone = policies | {"random": UniformPolicy(prepared.task)}
    if expert is not None:
        everyone |= {EXPERT: expert}
    played = {
        name: play_tasks(config, policy, seed, episodes, LONGER, drawn or name == "random")
        for name, policy in everyone.items()
    }
    means = {name: float(_returns(t).mean()) for name, t in played.items()}
    scale = ReturnScale(means[EXPERT], means["random"]) if EXPERT in means else None
    if scale is not None and scale.expert == scale.random:
        scale = None
    return {
        name: Outcome(
            episodes=len(t),
            horizon=LONGER * config.horizon,
            return_mean=means[name],
            return_std=float(_returns(t).std()),
            score=None if scale is None else scale(means[name]),
            success=success_rate(prepared, t) or 0.0,
        )
        for name, t in played.items()
    }


def _returns(t: Trajectories) -> np.ndarray:
    assert t.returns is not None
    return t.returns
