"""Fresh episodes of policies in the world of a run, with seeds that no training episode had."""

from collections.abc import Sequence

import numpy as np

from etairl.demos import Selection
from etairl.rollouts import collect
from etairl.tasks import make_task, without_absorbing
from etairl.tasks.product import ProductTask
from etairl.training.fitting import fitting_demos
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
    if not isinstance(prepared.task, ProductTask):
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


def held_out_demos(prepared: Prepared) -> Trajectories | None:
    """Demonstrations that the learner did not see, if there are enough to compare."""
    config, used = prepared.config, len(prepared.demos.trajectories)
    select = Selection(None, config.horizon, config.every)
    known = fitting_demos(config, prepared.task, select).trajectories
    return None if len(known) < used + 2 else known.take(np.arange(used, len(known)))
