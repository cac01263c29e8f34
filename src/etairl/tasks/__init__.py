"""Tasks: simulators behind one interface, many copies at a time."""

from etairl.tasks.catalogue import planned_expert, register_tasks, task_space
from etairl.tasks.environments import ends_early, make_task
from etairl.tasks.horizon import with_absorbing, with_self_loops, without_absorbing

__all__ = [
    "ends_early",
    "make_task",
    "planned_expert",
    "register_tasks",
    "task_space",
    "with_absorbing",
    "with_self_loops",
    "without_absorbing",
]
