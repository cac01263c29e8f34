"""Tasks: simulators behind one interface, many copies at a time."""

from etairl.tasks.horizon import AbsorbingTask
from etairl.tasks.registry import make_task

__all__ = ["AbsorbingTask", "make_task"]
