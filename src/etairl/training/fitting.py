"""Do demonstrations belong to an environment? Checked before anything is learned from them."""

import shlex
from dataclasses import replace

import numpy as np

from etairl.demos import Demos, Selection, load_demos
from etairl.tasks.product import check_tasks
from etairl.training.flat import flatten
from etairl.training.settings import TrainConfig
from etairl.types import InputError, MultiTask, Spec, Task, Trajectories

_MOST_OUTSIDE = 0.1
"""share of demonstrated actions that may lie beyond the bounds of the environment"""


def fitting_demos(config: TrainConfig, task: Task, select: Selection | None) -> Demos:
    """Demonstrations in the action bounds of the task; refused where they belong to another."""
    demos = load_demos(config.demos, select=select)
    spec, shown = task.spec, demos.trajectories
    if shown.act_dim == 0:
        _check_observations_will_do(config)
    world = spec.obs_dim - (config.mode == "absorbing")
    for name, columns, wanted in (
        ("observations", demos.spec.obs_dim, world),
        ("actions", shown.act_dim, spec.act_dim if shown.act_dim else 0),
    ):
        if columns != wanted:
            raise InputError(
                f"{config.demos}: {name} have {columns} columns, but {config.env} has {wanted}; "
                "are these demonstrations of this environment?"
            )
    if spec.observation_names is not None:
        _check_order(config, demos, spec.observation_names[:world])
    if shown.act_dim:
        _check_kind(config, demos, spec)
        _check_bounds(config, demos, spec)
    if task.multi is not None:
        check_demonstrated_tasks(config.demos, shown, task.multi)
    try:
        # Whatever the environment calls its columns, the file's own names stay known.
        names = {"observation_names": demos.spec.observation_names}
        names["action_names"] = demos.spec.action_names if shown.act_dim else None
        fitting = Demos.of(shown, replace(spec, obs_dim=world, **names), demos.name, demos.playing)
        return replace(fitting, clipped=demos.clipped + fitting.clipped)
    except InputError as error:
        raise InputError(f"{config.demos}: {error}") from None


def held_out_demos(config: TrainConfig, task: Task, used: int) -> Trajectories | None:
    """Those that the learner does not see, if there are enough to compare."""
    select = Selection(None, config.horizon, config.every)
    every = fitting_demos(config, task, select).trajectories
    return None if len(every) < used + 2 else every.take(np.arange(used, len(every)))


def _check_observations_will_do(config: TrainConfig) -> None:
    """Refuse settings that need the expert's actions, where there are none."""
    flat, none = flatten(config), f"{config.demos}: these demonstrations have no actions"
    clones = {"--warm-start": flat.get("warm_start"), "--cloning": flat.get("cloning")}
    clones[f"--omega {config.omega}"] = config.regulariser.relative
    if asked := [option for option, wanted in clones.items() if wanted]:
        raise InputError(f"{none}, and nothing can be cloned: leave out {', '.join(asked)}")
    if flat.get("expert_share"):
        raise InputError(f"{none}, and a solver cannot learn from them: leave out --expert-share")
    if config.cost.needs_actions:
        raise InputError(
            f"{none}, and {config.algorithm} with these settings learns from them; compare states "
            "alone: --inputs state_next_state (of megan, gail, emma and wiem, with built-in "
            "features)"
        )


def _check_order(config: TrainConfig, demos: Demos, wanted: tuple[str, ...]) -> None:
    """Refuse columns in another order than that in which the environment lays them out."""
    names = demos.spec.observation_names
    if names is None or names == wanted or set(names) != set(wanted):
        return
    first = next(i for i, pair in enumerate(zip(names, wanted, strict=True)) if len(set(pair)) > 1)
    raise InputError(
        f"{config.demos}: column {first} of its observations is {names[first]}, but {config.env} "
        f"has {wanted[first]} there; put them in order: etairl demos import "
        f"{shlex.quote(config.demos)} -o NEW.npz --observations {shlex.join(wanted)}"
    )


def other_names(demos: Demos, spec: Spec) -> str | None:
    """A sentence where demonstrations and environment call their columns by other names."""
    names, wanted = demos.spec.observation_names, spec.observation_names
    if names is None or wanted is None or set(names) <= set(wanted):
        return None
    strange = next(name for name in names if name not in wanted)
    return (
        f"the demonstrations have an observation {strange}, which {spec.environment} does not name "
        f"(it has {', '.join(wanted[:5])}{', …' if len(wanted) > 5 else ''}): are the columns in "
        "its order?"
    )


def _check_kind(config: TrainConfig, demos: Demos, spec: Spec) -> None:
    """Refuse discrete actions for continuous ones, and the other way round."""
    actions, discrete = demos.trajectories.actions, spec.discrete_actions is not None
    if discrete == (demos.spec.discrete_actions is not None):
        return
    if not discrete or (
        actions.dtype.kind == "f" and not np.array_equal(actions, np.floor(actions))
    ):
        kinds = {True: "discrete", False: "continuous"}
        raise InputError(
            f"{config.demos}: actions are {kinds[not discrete]}, but those of {config.env} are "
            f"{kinds[discrete]}"
        )


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


def check_demonstrated_tasks(source: str, t: Trajectories, task: MultiTask) -> None:
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
            f"{source}: the observations of episode {episode} do not end with its task; "
            "write it there"
        )
