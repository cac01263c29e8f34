"""The data everything shares: trajectories, batches, and the roles that other modules fill."""

from etairl.types.checks import is_image
from etairl.types.protocols import HorizonMode, MultiTask, Policy, RejoinableTask, Step, Task
from etairl.types.spec import (
    DivergedError,
    InputError,
    Spec,
    check_choice,
    check_range,
    check_seed,
    column_names,
    counted,
    did_you_mean,
    space_names,
)
from etairl.types.task_space import LawName, TaskSpace
from etairl.types.trajectories import (
    FutureBatch,
    Trajectories,
    constant_columns,
    joined,
    last_steps,
    offsets_of,
    ragged_rows,
)

__all__ = [
    "DivergedError",
    "FutureBatch",
    "HorizonMode",
    "InputError",
    "LawName",
    "MultiTask",
    "Policy",
    "RejoinableTask",
    "Spec",
    "Step",
    "Task",
    "TaskSpace",
    "Trajectories",
    "check_choice",
    "check_range",
    "check_seed",
    "column_names",
    "constant_columns",
    "counted",
    "did_you_mean",
    "is_image",
    "joined",
    "last_steps",
    "offsets_of",
    "ragged_rows",
    "space_names",
]
