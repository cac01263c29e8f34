"""From the name of an environment to a task."""

import os
from difflib import get_close_matches
from typing import Any, get_args

from etairl.tasks.envpool import EnvPoolTask, envpool_names
from etairl.tasks.horizon import AbsorbingTask, GuardedTask
from etairl.types import HorizonMode, InputError, Task

# In the paper's simulator the contact forces of Ant were zeros; without them there are 27 columns.
_OPTIONS: dict[str, dict[str, Any]] = {
    "Ant-v4": {"use_contact_force": False},
    "Ant-v5": {"use_contact_force": False},
}
_GYMNASIUM_WORDS = {("Ant-v5", "use_contact_force"): "include_cfrc_ext_in_observation"} | {
    ("Ant-v4", "use_contact_force"): "use_contact_forces"
}
_UNHEALTHY = ("Ant-", "Hopper-", "Humanoid-", "Walker2d-")
_NEVER_END = ("HalfCheetah-", "Swimmer-", "Reacher-", "Pendulum-", "FetchReach-", "FetchPush-")


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
) -> Task:
    """Copies of an environment, from EnvPool where it has it, from Gymnasium otherwise.

    Args:
        environment: its name, such as `Hopper-v5`, or a Gymnasium name of your own.
        envs: how many copies.
        horizon: steps of an episode; the environment's own limit if left out.
        mode: what happens at an early end, see `HorizonMode`.
        seed: of all copies.
        threads: for EnvPool; all cores if left out. Results do not depend on it.
        engine: `"envpool"` or `"gymnasium"` to insist on one.
        options: passed on to the environment.

    Returns:
        The task; its rows are checked for NaN as they come.
    """
    if envs < 1:
        raise InputError(f"at least one copy of the environment is needed, got {envs}")
    for name, value, allowed in (
        ("mode", mode, get_args(HorizonMode)),
        ("engine", engine, (None, "envpool", "gymnasium")),
    ):
        if value not in allowed:
            choices = ", ".join(str(choice) for choice in allowed if choice)
            raise InputError(f"{name} must be one of {choices}, got {value!r}")
    if horizon is not None and horizon < 1:
        raise InputError(f"the horizon must be at least 1 step, got {horizon}")
    names = envpool_names()
    native = environment in names if engine is None else engine == "envpool"
    settings = _OPTIONS.get(environment, {}) | _ending_options(environment, mode) | (options or {})
    if native:
        if environment not in names:
            raise InputError(_unknown(environment, names))
        threads = threads or os.cpu_count() or 1
        task: Task = EnvPoolTask(environment, envs, horizon, seed, threads, settings)
    else:
        from etairl.tasks.gymnasium import GymnasiumTask, gymnasium_names

        if environment not in gymnasium_names():
            raise InputError(_unknown(environment, [*names, *gymnasium_names()]))
        words = _in_gymnasium_words(environment, settings)
        task = GymnasiumTask(environment, envs, horizon, seed, words)
    task = GuardedTask(task)
    return AbsorbingTask(task) if mode == "absorbing" else task


def gymnasium_options(environment: str, mode: HorizonMode) -> dict[str, Any]:
    """What `make_task` asks of an environment, in the words of Gymnasium."""
    settings = _OPTIONS.get(environment, {}) | _ending_options(environment, mode)
    return _in_gymnasium_words(environment, settings)


def _in_gymnasium_words(environment: str, settings: dict[str, Any]) -> dict[str, Any]:
    return {_GYMNASIUM_WORDS.get((environment, k), k): v for k, v in settings.items()}


def _ending_options(environment: str, mode: HorizonMode) -> dict[str, Any]:
    if mode != "fixed" or environment.startswith(_NEVER_END):
        return {}
    if environment.startswith(_UNHEALTHY):
        return {"terminate_when_unhealthy": False}
    raise InputError(
        f"{environment} has no switch for its early ends, so the horizon cannot be fixed; "
        "use the mode absorbing or terminating"
    )


def _unknown(environment: str, names: list[str]) -> str:
    close = get_close_matches(environment, set(names), n=3)
    hint = f"did you mean {', '.join(close)}?" if close else "is it registered with Gymnasium?"
    return f"unknown environment {environment!r}; {hint}"
