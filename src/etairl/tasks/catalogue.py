"""Which environments have many tasks, and for which a policy is known that solves them."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from etairl.tasks.fetch import ReachPolicy, fetch_goals
from etairl.tasks.fork_world import FORK, ForkPolicy
from etairl.tasks.navigation_world import MAPS, navigation_goals
from etairl.tasks.planner import PlannerPolicy
from etairl.types import Policy, TaskSpace


class TaskEntry(NamedTuple):
    """What is known of an environment."""

    space: TaskSpace | None
    """None where it has a single task"""
    expert: Callable[[], Policy] | None = None
    """makes a policy that solves every task, not learned"""


_ENTRIES = {
    **{
        name: TaskEntry(navigation_goals(world), partial(PlannerPolicy, world))
        for name, world in MAPS.items()
    },
    FORK: TaskEntry(None, ForkPolicy),
    "FetchReach-v4": TaskEntry(fetch_goals(sparse=True), ReachPolicy),
    "FetchReachDense-v4": TaskEntry(fetch_goals(sparse=False), ReachPolicy),
}


def register_tasks(
    environment: str, space: TaskSpace, expert: Callable[[], Policy] | None = None
) -> None:
    """Make an environment a multi-task one, everywhere: `make_task` puts `space` over it.

    Args:
        environment: its name.
        space: what a task is, which there are, what they cost, when they are solved.
        expert: makes a policy that solves every task, where one is known.
    """
    _ENTRIES[environment] = TaskEntry(space, expert)


def task_space(environment: str) -> TaskSpace | None:
    """The tasks of an environment; None where it has a single one."""
    entry = _ENTRIES.get(environment)
    return None if entry is None else entry.space


def planned_expert(environment: str) -> Policy | None:
    """A policy that solves every task of an environment without learning, where one is known."""
    entry = _ENTRIES.get(environment)
    return None if entry is None or entry.expert is None else entry.expert()


def planned_names() -> list[str]:
    """Environments that have such a policy."""
    return sorted(name for name, entry in _ENTRIES.items() if entry.expert is not None)
