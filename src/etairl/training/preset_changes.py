"""What settings differ in from the preset that is nearest to them: a diff, not a list of ninety."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etairl.decoding import with_parts
from etairl.training.flat import flatten
from etairl.training.presets import PRESETS
from etairl.training.settings import TrainConfig

_APART = ("seed", "env", "demos", "kind")
"""a seed stands for nothing, and task and demonstrations are told by themselves"""


@dataclass(frozen=True)
class PresetChanges:
    """A preset, and what differs from it."""

    preset: str
    changes: dict[str, tuple[Any, Any]]
    """by flat name the value, and that of the preset; None where one of them has no such setting"""


def preset_changes(config: TrainConfig) -> PresetChanges:
    """Of the preset with the fewest differences, those of one's own environment first."""
    own = flatten(config)
    near = sorted(PRESETS, key=lambda name: PRESETS[name].env != config.env)
    diffs = [PresetChanges(name, _changes(own, flatten(PRESETS[name]))) for name in near]
    return min(diffs, key=lambda each: len(each.changes))


def _changes(own: dict[str, Any], other: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    names = [name for name in dict.fromkeys([*own, *other]) if name not in _APART]
    pairs = {name: (own.get(name), other.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def differing(settings: Sequence[Mapping[str, Any]], apart: Collection[str] = ()) -> list[str]:
    """Names, in order, of what is not the same in all of several settings by flat names."""
    names = dict.fromkeys(name for each in settings for name in each if name not in apart)
    return [name for name in names if len({repr(each.get(name)) for each in settings}) > 1]


def without_folders(value: Any) -> Any:
    """Settings or results without the folders of the machine: of a path its last name is left."""

    def last_name(part: Any) -> Any:
        is_path = isinstance(part, str) and (Path(part).is_absolute() or part.startswith("~"))
        return Path(part).name if is_path else part

    return with_parts(value, last_name)
