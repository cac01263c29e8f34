"""The multi-task setting: how many tasks are solved, those that were shown and all others.

Two settings, as in the paper (appendix D). *Learned*: the tasks of the demonstrations and the
training horizon. *Generalisation*: every task that there is, and twice the horizon. Starts are
drawn anew in both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from etairl.evaluation.matching import score
from etairl.rollouts import UniformPolicy, collect
from etairl.tasks import make_task, planned_expert
from etairl.training.preparation import Prepared
from etairl.training.settings import TrainConfig
from etairl.types import MultiTask, Policy, Task, Trajectories, joined

EXPERT = "expert"
_CHANCE_EPISODES = 25
_MOST_COPIES = 25
_MOST_TASKS = 25
"""of all tasks, however many episodes are played on those of the demonstrations"""
_FIRST_TASKS = 10
"""of these for expert and random policy, the ends of the scale, where that is enough"""
_ENOUGH = 0.02
"""standard error of the scale, as a share of it"""
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


class Role(NamedTuple):
    """A policy that plays, and how."""

    policy: Policy
    drawn: bool = True
    """draw actions, or take the most likely ones"""


def play_tasks(
    config: TrainConfig,
    roles: Sequence[Role],
    seed: int,
    tasks: Float[np.ndarray, "episodes task"],
    longer: int = 1,
) -> list[Trajectories]:
    """One episode of each role per task given.

    All roles take turns in the same few copies: to make a copy of a simulator may cost as much as
    dozens of its steps.

    Args:
        config: of the run.
        roles: who plays. Starts depend on who played before, tasks are the same for all.
        seed: of starts and actions.
        tasks: the tasks.
        longer: by how much the horizon is longer than that of training.
    """
    each = len(tasks)
    copies = -(-each // -(-each // _MOST_COPIES))
    horizon = longer * config.horizon
    task = make_task(config.env, copies, horizon=horizon, seed=seed)
    assert task.multi is not None
    return [_in_turn(task.multi, role, tasks, np.random.default_rng([seed, 13])) for role in roles]


def _in_turn(
    task: MultiTask,
    role: Role,
    tasks: Float[np.ndarray, "episodes task"],
    rng: np.random.Generator,
) -> Trajectories:
    """As many tasks at a time as there are copies; those that are left over play some again."""
    parts = []
    for first in range(0, len(tasks), task.envs):
        task.assign(np.resize(tasks[first : first + task.envs], (task.envs, tasks.shape[1])))
        played = collect(rng, task, role.policy, task.envs, stochastic=role.drawn)
        parts.append(played.take(np.arange(min(task.envs, len(tasks) - first))))
    return joined(parts)


def demonstrated_tasks(prepared: Prepared, episodes: int, seed: int) -> np.ndarray:
    """Tasks of demonstrations, each once, and again only if there are too few."""
    tasks = prepared.demos.trajectories.tasks
    assert tasks is not None
    return tasks[np.resize(np.random.default_rng([seed, 17]).permutation(len(tasks)), episodes)]


def success_rate(task: Task, played: Trajectories) -> float | None:
    """Share of episodes whose last state solves the task; None where there is a single task."""
    if task.multi is None or played.final_observations is None:
        return None
    return float(task.multi.success(played.final_observations).mean())


@dataclass(frozen=True)
class ReturnScale:
    """What returns on the demonstrated tasks are measured with."""

    expert: float
    random: float

    @staticmethod
    def of(prepared: Prepared) -> "ReturnScale | None":
        """From the demonstrations and a random policy; None where these tell no difference."""
        returns = prepared.demos.trajectories.returns
        if prepared.task.multi is None or returns is None:
            return None
        seed = prepared.config.seed + 4_000_037
        tasks = demonstrated_tasks(prepared, _CHANCE_EPISODES, seed)
        chance = Role(UniformPolicy(prepared.task))
        (played,) = play_tasks(prepared.config, [chance], seed, tasks)
        return ReturnScale.between(float(returns.mean()), float(_returns(played).mean()))

    @staticmethod
    def between(expert: float, random: float) -> "ReturnScale | None":
        """From these levels; None where there is nothing between them."""
        return None if expert == random else ReturnScale(expert, random)

    def __call__(self, learner: float) -> float:
        """The score of a mean return."""
        return score(learner, self.expert, self.random)


def solved(prepared: Prepared, played: Trajectories, scale: ReturnScale | None) -> dict[str, float]:
    """How many tasks were solved, and with which score; nothing where there is a single task."""
    rate, returns = success_rate(prepared.task, played), played.returns
    metrics = {} if rate is None else {"success": rate}
    if scale is not None and returns is not None:
        metrics["score"] = scale(float(returns.mean()))
    return metrics


def generalise(
    prepared: Prepared, policies: dict[str, Policy], episodes: int, seed: int, drawn: bool
) -> dict[str, Outcome]:
    """Every policy, a random one and the planned expert on all tasks, with twice the time.

    The last two try ten tasks, and all of them only where ten leave the scale of scores open.
    """
    config, task = prepared.config, prepared.task.multi
    assert task is not None
    expert = planned_expert(task.spec.environment or config.env)
    ends = {"random": Role(UniformPolicy(task))}
    if expert is not None:
        ends |= {EXPERT: Role(expert, drawn)}
    # At most as many steps as with the horizon of training.
    many = min(max(2, episodes // LONGER), _MOST_TASKS)
    tasks = task.space.laws["full"](np.random.default_rng([seed, 19]), many)
    judged = [Role(policy, drawn) for policy in policies.values()]
    together = play_tasks(config, judged, seed, tasks, LONGER)
    scaled = play_tasks(config, list(ends.values()), seed, tasks[:_FIRST_TASKS], LONGER)
    if many > _FIRST_TASKS and not well_known(*map(_returns, scaled)):
        rest = play_tasks(config, list(ends.values()), seed + 1, tasks[_FIRST_TASKS:], LONGER)
        scaled = [joined(parts) for parts in zip(scaled, rest, strict=True)]
    played = dict(zip([*policies, *ends], together + scaled, strict=True))
    means = {name: float(_returns(t).mean()) for name, t in played.items()}
    scale = ReturnScale.between(means[EXPERT], means["random"]) if EXPERT in means else None
    return {
        name: Outcome(
            episodes=len(t),
            horizon=LONGER * config.horizon,
            return_mean=means[name],
            return_std=float(_returns(t).std()),
            score=None if scale is None else scale(means[name]),
            success=success_rate(task, t) or 0.0,
        )
        for name, t in played.items()
    }


def well_known(*returns: Float[np.ndarray, " _"]) -> bool:
    """Whether the ends of a scale are known to 2 % of the difference between them."""
    error = np.sqrt(sum(end.var(ddof=1) / len(end) for end in returns))
    means = [float(end.mean()) for end in returns]
    return bool(error < _ENOUGH * (max(means) - min(means)))


def _returns(t: Trajectories) -> np.ndarray:
    assert t.returns is not None
    return t.returns
