"""All settings of a run as options, by their flat names; what is not given is left to `configure`.

Options come as plain words from the command line, and are checked by the same rules as the values
of a study file: one way to refuse, and one message.
"""

import ast
import inspect
import textwrap
from dataclasses import field, fields, is_dataclass, make_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import tyro

from etairl.algorithms.registry import ALGORITHMS
from etairl.cli.console import whole
from etairl.solvers.players import SOLVERS
from etairl.training.flat import check_setting, flatten, known
from etairl.training.presets import preset
from etairl.training.settings import TrainConfig

_TRUTH = {"true": True, "false": False}


class _NotGiven(tuple[str, ...]):
    """The default of every option."""


_NOT_GIVEN = _NotGiven()


def settings_options() -> type:
    """A dataclass with one field per setting, for tyro."""
    defaults = flatten(preset("default"))
    for algorithm in ALGORITHMS.values():
        defaults = flatten(algorithm.cost) | defaults
    helps = _descriptions()
    fixed = {name for algorithm in ALGORITHMS.values() for name in algorithm.fixed}
    columns = [
        (
            name,
            _option(name, hint, defaults.get(name), helps.get(name, "")),
            field(default=_NOT_GIVEN),
        )
        for name, hint in known().items()
        if name not in fixed
    ]
    return make_dataclass("Settings", columns, frozen=True)


def given_settings(options: Any) -> dict[str, Any]:
    """The settings that were given, checked."""
    hints = known()
    words = {f.name: getattr(options, f.name) for f in fields(options)}
    return {
        name: check_setting(name, _value(list(given), hints[name]))
        for name, given in words.items()
        if not isinstance(given, _NotGiven)
    }


def _option(name: str, hint: Any, default: Any, text: str) -> Any:
    spec = tyro.constructors.PrimitiveConstructorSpec(
        nargs=_count(hint),
        metavar=_metavar(hint),
        instance_from_str=tuple,
        is_instance=lambda value: isinstance(value, tuple),
        str_from_instance=list,
    )
    shown = " ".join(map(str, default)) if isinstance(default, tuple) else str(default).lower()
    shown = default if isinstance(default, str) else shown
    hint_text = f"(default: {shown})"
    return Annotated[tuple[str, ...], spec, tyro.conf.arg(help=text, help_behavior_hint=hint_text)]


def _count(hint: Any) -> Any:
    if bool in _members(hint):
        return (0, 1)
    return "*" if any(get_origin(member) is tuple for member in _members(hint)) else 1


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _metavar(hint: Any) -> str:
    words = {int: "INT", float: "FLOAT", str: "TEXT", bool: "[true|false]", NoneType: "none"}
    parts = []
    for member in _members(hint):
        if get_origin(member) is tuple:
            parts.append(f"{words[get_args(member)[0]]} ...")
        elif get_origin(member) is Literal:
            parts.append("{" + ",".join(get_args(member)) + "}")
        else:
            parts.append(words[member])
    return "|".join(parts)


def _value(words: list[str], hint: Any) -> Any:
    """What the words stand for; words that do not fit stay as they are, and are refused later."""
    members = _members(hint)
    if bool in members:
        return True if not words else _TRUTH.get(words[0].lower(), words[0])
    item = next((get_args(m)[0] for m in members if get_origin(m) is tuple), None)
    if item is not None and words not in (["none"], ["None"]):
        return [_number(word, (item,)) for word in words]
    return _number(words[0], members)


def _number(word: str, members: tuple[Any, ...]) -> Any:
    for kind, read in ((int, whole), (float, float)):
        if kind in members:
            try:
                return read(word)
            except ValueError:
                continue
    return word


def _descriptions() -> dict[str, str]:
    """The text under each field of the settings, which is its help."""
    texts: dict[str, str] = {}
    for start in (TrainConfig, *SOLVERS.values(), *(type(a.cost) for a in ALGORITHMS.values())):
        for cls in _nested(start):
            body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
            assert isinstance(body, ast.ClassDef)
            for item, after in zip(body.body, body.body[1:], strict=False):
                match item, after:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        texts.setdefault(name, " ".join(text.split()))
    return texts


def _nested(cls: Any) -> list[Any]:
    inner = [f.type for f in fields(cls) if is_dataclass(f.type)]
    return [cls, *(deeper for part in inner for deeper in _nested(part))]
