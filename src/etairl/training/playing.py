"""Fresh episodes of policies in the world of a run, with seeds that no training episode had."""

from collections.abc import Sequence

import numpy as np

from etairl.rollouts import collect
from etairl.tasks import make_task, without_absorbing
from etairl.training.multitask import Role, demonstrated_tasks, play_tasks
from etairl.training.preparation import Prepared
from etairl.training.settings import TrainConfig
from etairl.types import Policy, Trajectories


def play_again(
    prepared: Prepared, roles: Sequence[Role], episodes: int, seed: int, longer: int = 1
) -> list[Trajectories]:
    """Episodes of each role; where there are many tasks, on those of the demonstrations.

    Args:
        prepared: the run.
        roles: who plays.
        episodes: of each.
        seed: of starts, tasks and actions.
        longer: by how much the horizon is longer than that of training.
    """
    config = prepared.config
    if prepared.task.multi is None:
        return [play(config, role.policy, episodes, seed, role.drawn, longer) for role in roles]
    tasks = demonstrated_tasks(prepared, episodes, seed)
    return play_tasks(config, roles, playing_seed(config, seed), tasks, longer)


def play(
    config: TrainConfig,
    policy: Policy,
    episodes: int,
    seed: int,
    drawn: bool = True,
    longer: int = 1,
) -> Trajectories:
    """Whole episodes with seeds that no training episode had."""
    task = make_task(
        config.env,
        min(episodes, 25),
        horizon=longer * config.horizon,
        mode=config.mode,
        seed=playing_seed(config, seed),
    )
    rng = np.random.default_rng([config.seed, seed, 11])
    played = collect(rng, task, policy, episodes, stochastic=drawn)
    return without_absorbing(played) if config.mode == "absorbing" else played


def playing_seed(config: TrainConfig, seed: int) -> int:
    """The seed of a task whose episodes were not trained on."""
    return config.seed + 3_000_017 * (seed + 1)
