"""Tasks: simulators behind one interface, many copies at a time."""

from etairl.tasks.horizon import AbsorbingTask, with_absorbing, without_absorbing
from etairl.tasks.registry import make_task

__all__ = ["AbsorbingTask", "make_task", "with_absorbing", "without_absorbing"]
