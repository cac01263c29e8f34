"""A learned cost in another world: does it know the columns that there are?"""

from pathlib import Path
from typing import NamedTuple

from etairl.costs.family import Cost
from etairl.runs import RunDirectory
from etairl.solvers.learned import about_file
from etairl.storage import UnreadableError, read_json
from etairl.training.settings import TrainConfig
from etairl.types import InputError, Spec, Task

_SHOWN = ("env", "demos", "demonstrations", "every", "horizon", "mode")
"""settings that say which demonstrations a run has in its memory"""


class Carried(NamedTuple):
    """Where a cost was learned, and where it is to teach."""

    own: Spec
    other: Spec


def check_columns(run: Path, cost: Cost, task: Task) -> None:
    """Refuse a cost that was learned from other columns than those of the task."""
    file = run / "policy.safetensors"
    learned = about_file(file) if file.is_file() else None
    if learned is None:  # a run before 0.4 does not say
        return
    world = task.spec.obs_dim - task.absorbing
    sides = Carried(learned.spec, task.spec)
    if learned.spec.obs_dim != world:
        raise _refused(run, sides, "observations", learned.spec.obs_dim, world)
    if learned.marked != task.absorbing:
        modes = ("terminating", "absorbing")
        other, own = modes[learned.marked], modes[task.absorbing]
        raise InputError(
            f"{run}: its cost was learned in the mode {other}, which the mode {own} does not "
            f"fit; add --mode {other}"
        )
    _check_order(run, sides, world)
    if cost.needs_actions:
        kinds = tuple(_actions(spec) for spec in sides)
        if kinds[0] != kinds[1]:
            raise _refused(run, sides, "actions", *kinds)


def same_demonstrations(config: TrainConfig) -> bool:
    """Whether a run on the cost of another one has the demonstrations of that one."""
    if config.frozen_cost is None:
        return True
    directory = RunDirectory(Path(config.frozen_cost))
    try:
        known = read_json(directory.path / "config.json")
    except UnreadableError:  # it may be gone by now
        return False
    return all(known.get(name) == getattr(config, name) for name in _SHOWN)


def _refused(run: Path, sides: Carried, what: str, own: object, other: object) -> InputError:
    columns = "have {} columns" if isinstance(own, int) and isinstance(other, int) else "are {}"
    return InputError(
        f"{run}: its cost was learned in {sides.own.environment}, whose {what} "
        f"{columns.format(own)}, but those of {sides.other.environment} {columns.format(other)}: "
        "it cannot be carried there"
    )


def _check_order(run: Path, sides: Carried, world: int) -> None:
    names, wanted = sides.own.observation_names, sides.other.observation_names
    if names is None or wanted is None or names == wanted[:world]:
        return
    first = next(i for i in range(world) if names[i] != wanted[i])
    raise InputError(
        f"{run}: its cost was learned in {sides.own.environment}, whose observations have "
        f"{names[first]} in column {first}, but {sides.other.environment} has {wanted[first]} "
        "there: it cannot be carried there"
    )


def _actions(spec: Spec) -> int | str:
    """Their columns; of discrete ones, how many there are."""
    many = spec.discrete_actions
    return spec.act_dim if many is None else f"{many} choices"
