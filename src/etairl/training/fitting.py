"""Do demonstrations belong to an environment? Checked before anything is learned from them."""

from dataclasses import replace

import numpy as np

from etairl.demos import Demos, Selection, load_demos
from etairl.tasks.product import ProductTask, check_tasks
from etairl.training.settings import TrainConfig
from etairl.types import InputError, Spec, Task, Trajectories

_MOST_OUTSIDE = 0.1
"""share of demonstrated actions that may lie beyond the bounds of the environment"""


def fitting_demos(config: TrainConfig, task: Task, select: Selection | None) -> Demos:
    """Demonstrations in the action bounds of the task; refused where they belong to another."""
    demos = load_demos(config.demos, select=select)
    spec = task.spec
    world = spec.obs_dim - (config.mode == "absorbing")
    for name, columns, wanted in (
        ("observations", demos.spec.obs_dim, world),
        ("actions", demos.spec.act_dim, spec.act_dim),
    ):
        if columns != wanted:
            raise InputError(
                f"{config.demos}: {name} have {columns} columns, but {config.env} has {wanted}; "
                "are these demonstrations of this environment?"
            )
    if (spec.discrete_actions is None) != (demos.spec.discrete_actions is None) and (
        spec.discrete_actions is None or demos.trajectories.actions.dtype.kind == "f"
    ):
        whole = np.array_equal(demos.trajectories.actions, np.floor(demos.trajectories.actions))
        if spec.discrete_actions is None or not whole:
            kinds = {True: "continuous", False: "discrete"}
            raise InputError(
                f"{config.demos}: actions are {kinds[demos.spec.discrete_actions is None]}, but "
                f"those of {config.env} are {kinds[spec.discrete_actions is None]}"
            )
    _check_bounds(config, demos, spec)
    if isinstance(task, ProductTask):
        check_demonstrated_tasks(config.demos, demos.trajectories, task)
    try:
        fitting = Demos.of(
            demos.trajectories, replace(spec, obs_dim=world), demos.name, demos.playing
        )
        return replace(fitting, clipped=demos.clipped + fitting.clipped)
    except InputError as error:
        raise InputError(f"{config.demos}: {error}") from None


def held_out_demos(config: TrainConfig, task: Task, used: int) -> Trajectories | None:
    """Those that the learner does not see, if there are enough to compare."""
    every = fitting_demos(config, task, Selection(None, config.horizon)).trajectories
    return None if len(every) < used + 2 else every.take(np.arange(used, len(every)))


def _check_bounds(config: TrainConfig, demos: Demos, spec: Spec) -> None:
    """Refuse demonstrations whose actions have other bounds, or mostly lie beyond them."""
    if spec.action_low is None or spec.action_high is None:
        return
    low, high = np.asarray(spec.action_low), np.asarray(spec.action_high)
    if demos.spec.action_low is not None and demos.spec.action_high is not None:
        own = np.asarray(demos.spec.action_low), np.asarray(demos.spec.action_high)
        if not (np.allclose(own[0], low) and np.allclose(own[1], high)):
            raise InputError(
                f"{config.demos}: its actions have bounds {_interval(*own)}, those of {config.env} "
                f"are {_interval(low, high)}; rescale them, or write them anew with the right "
                "--bounds (etairl demos import)"
            )
        return
    outside = ((demos.trajectories.actions < low) | (demos.trajectories.actions > high)).any(axis=1)
    if outside.mean() > _MOST_OUTSIDE:
        raise InputError(
            f"{config.demos}: {100 * outside.mean():.0f} % of its actions lie beyond the bounds "
            f"{_interval(low, high)} of {config.env}; are they in other units?"
        )


def _interval(low: np.ndarray, high: np.ndarray) -> str:
    return f"[{low.min():g}, {high.max():g}]"


def check_demonstrated_tasks(source: str, t: Trajectories, task: ProductTask) -> None:
    """Refuse demonstrations whose tasks are missing, of another size, or not those observed."""
    environment = task.spec.environment
    if t.tasks is None:
        raise InputError(
            f"{source}: these demonstrations have no tasks, but {environment} has many; store the "
            "task of each episode as `tasks`, or record some with `etairl expert`"
        )
    try:
        tasks = check_tasks(task.space, t.tasks, environment)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    seen = t.observations[:, -task.space.dim :]
    wrong = ~np.isclose(seen, tasks[t.episode_numbers], rtol=1e-5, atol=1e-5).all(axis=1)
    if wrong.any():
        episode = int(t.episode_numbers[np.argmax(wrong)])
        raise InputError(
            f"{source}: the observations of episode {episode} do not end with its task"
        )
