"""Make a task from the name of an environment."""

import os
import sys
from typing import Any, get_args

from etairl.own_code import import_own
from etairl.tasks.catalogue import task_space
from etairl.tasks.envpool import EnvPoolTask, envpool_names, native_limit
from etairl.tasks.fork_world import FORK, ForkTask
from etairl.tasks.horizon import AbsorbingTask, GuardedTask
from etairl.tasks.lame import LAMED, LameTask, sound
from etairl.tasks.navigation_world import MAPS, NavigationTask
from etairl.tasks.product import ProductTask
from etairl.types import (
    HorizonMode,
    InputError,
    LawName,
    RejoinableTask,
    Task,
    check_choice,
    did_you_mean,
)

# In the paper's simulator the contact forces of Ant were zeros; without them there are 27 columns.
_OPTIONS: dict[str, dict[str, Any]] = {
    "Ant-v4": {"use_contact_force": False},
    "Ant-v5": {"use_contact_force": False},
}
_GYMNASIUM_NAMES = {("Ant-v5", "use_contact_force"): "include_cfrc_ext_in_observation"} | {
    ("Ant-v4", "use_contact_force"): "use_contact_forces"
}
_UNHEALTHY = ("Ant-", "Hopper-", "Humanoid-", "Walker2d-")
_NEVER_END = (
    *("HalfCheetah-", "HumanoidStandup-", "Swimmer-", "Reacher-", "Pendulum-", "Fetch"),
    *MAPS,
)


def make_task(
    environment: str,
    envs: int,
    *,
    horizon: int | None = None,
    mode: HorizonMode = "terminating",
    seed: int = 0,
    threads: int | None = None,
    engine: str | None = None,
    options: dict[str, Any] | None = None,
    law: LawName | None = "training",
) -> Task:
    """Copies of an environment, from EnvPool where it has it, from Gymnasium otherwise.

    An environment with many tasks (see `etairl.tasks.catalogue`) has the task in every observation,
    as its last columns, and is a `MultiTask`.

    Args:
        environment: its name, such as `Hopper-v5`, or a Gymnasium name of your own; in
            `module:name` the module, which registers it, is imported first.
        envs: how many copies.
        horizon: steps of an episode; the environment's own limit if left out.
        mode: what happens at an early end, see `HorizonMode`.
        seed: random seed of all copies.
        threads: for EnvPool; all cores if left out. Results do not depend on it.
        engine: `"envpool"`, `"gymnasium"` or, for worlds of our own, `"numpy"`, to insist on one.
        options: passed on to the environment. In the mode `fixed` an environment that we do not
            know must get the option here that switches its early ends off.
        law: where the tasks of a multi-task environment come from, as long as none are assigned:
            `"training"` or `"full"`. None leaves the environment as it is, with a task of its own.

    Returns:
        The task; its rows are checked for NaN as they come.
    """
    check_choice("mode", mode, get_args(HorizonMode))
    if engine is not None:
        check_choice("engine", engine, ("envpool", "gymnasium", "numpy"))
    if law is not None:
        check_choice("law", law, get_args(LawName))
    _check_numbers(envs, horizon, threads, seed)
    plain = imported(environment)
    space = task_space(plain) if law is not None else None
    if space is not None and mode == "absorbing":
        raise InputError(f"{plain} has many tasks and no early ends: use the mode terminating")
    own = plain == FORK or (plain in MAPS and space is not None)
    if engine == "numpy" or (engine is None and own):
        task = _of_our_own(plain, envs, horizon, mode, seed, options)
    else:
        task = _simulated(environment, envs, horizon, mode, seed, threads, engine, options or {})
    guarded = GuardedTask(task)
    if space is not None and law is not None:
        return ProductTask(guarded, space, seed, law)
    return AbsorbingTask(guarded) if mode == "absorbing" else guarded


def _check_numbers(envs: int, horizon: int | None, threads: int | None, seed: int) -> None:
    if envs < 1:
        raise InputError(f"at least one copy of the environment is needed, got {envs}")
    for name, value in (("horizon", horizon), ("threads", threads)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
    if seed < 0:
        raise InputError(f"the seed must be >= 0, got {seed}")


def _of_our_own(
    environment: str,
    envs: int,
    horizon: int | None,
    mode: HorizonMode,
    seed: int,
    options: dict[str, Any] | None,
) -> RejoinableTask:
    if environment not in (FORK, *MAPS):
        known = ", ".join((*MAPS, FORK))
        raise InputError(f"the engine numpy has {known} only, not {environment}")
    for name in options or ():
        raise InputError(f"{environment} has no option {name!r}")
    _ending_options(environment, mode)
    if environment in MAPS:
        return NavigationTask(envs, horizon, seed, environment)
    return ForkTask(envs, horizon, seed)


def _simulated(
    environment: str,
    envs: int,
    horizon: int | None,
    mode: HorizonMode,
    seed: int,
    threads: int | None,
    engine: str | None,
    options: dict[str, Any],
) -> RejoinableTask:
    names = envpool_names()
    asked, environment = environment, imported(environment)
    simulated = sound(environment)
    native = simulated in names if engine is None else engine == "envpool"
    ending = {} if options and not _known(environment) else _ending_options(environment, mode)
    settings = _OPTIONS.get(simulated, {}) | ending | options
    if native:
        if simulated not in names:
            raise InputError(_unknown(asked, names))
        threads = threads or os.cpu_count() or 1
        task = EnvPoolTask(simulated, envs, horizon, seed, threads, settings)
        return LameTask(task, environment) if environment in LAMED else task
    from etairl.tasks.gymnasium import GymnasiumTask, gymnasium_names

    if environment not in gymnasium_names():
        raise InputError(_unknown(asked, [*names, *gymnasium_names()]))
    words = _for_gymnasium(environment, settings)
    return GymnasiumTask(environment, envs, horizon, seed, words)


def time_limit(environment: str) -> int | None:
    """Steps after which an environment cuts an episode by itself; None where that is not known.

    Nothing is imported for it: of `module:name` it is known once the module is.
    """
    module, colon, name = environment.partition(":")
    if colon and module not in sys.modules:
        return None
    plain = name if colon else environment
    if environment in envpool_names():
        return native_limit(plain)
    from etairl.tasks.gymnasium import own_limit

    return own_limit(plain)


def imported(environment: str) -> str:
    """The name behind `module:name`, once the module is imported; a plain name as it is."""
    module, colon, name = environment.partition(":")
    if not colon:
        return environment
    try:
        import_own(module)
    except Exception as error:  # whatever a user's own module raises
        raise InputError(
            f"{environment}: {module!r} cannot be imported ({type(error).__name__}: {error}); is "
            "it installed, or in this folder, or its folder in PYTHONPATH?"
        ) from error
    return name


def gymnasium_options(environment: str, mode: HorizonMode) -> dict[str, Any]:
    """Options that `make_task` sets, under the names that Gymnasium has for them."""
    settings = _OPTIONS.get(sound(environment), {}) | _ending_options(environment, mode)
    return _for_gymnasium(environment, settings)


def _for_gymnasium(environment: str, settings: dict[str, Any]) -> dict[str, Any]:
    plain = sound(environment)
    words = {_GYMNASIUM_NAMES.get((plain, k), k): v for k, v in settings.items()}
    if plain == "Ant-v5" and settings.get("use_contact_force") is False:
        return {"contact_cost_weight": 0.0} | words  # as EnvPool, which then has no such cost
    return words


def ends_early(environment: str) -> bool:
    """Whether episodes may end before their horizon; yes where it is not known."""
    return not sound(imported(environment)).startswith(_NEVER_END)


def _known(environment: str) -> bool:
    return sound(environment).startswith(_NEVER_END + _UNHEALTHY)


def _ending_options(environment: str, mode: HorizonMode) -> dict[str, Any]:
    plain = sound(environment)
    if mode != "fixed" or plain.startswith(_NEVER_END):
        return {}
    if plain.startswith(_UNHEALTHY):
        return {"terminate_when_unhealthy": False}
    raise InputError(
        f"{environment} has no switch for its early ends, so the horizon cannot be fixed; "
        "use the mode absorbing or terminating"
    )


def _unknown(environment: str, names: list[str]) -> str:
    module, colon, name = environment.partition(":")
    hint = "one of your own is named with the module that registers it, module:Name-v0"
    if colon:
        hint = f"{module} was imported, and does not register it"
    hint = did_you_mean(name if colon else environment, set(names), hint, many=3)
    return f"unknown environment {environment!r}; {hint}"
