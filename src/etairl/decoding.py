"""Settings as JSON, and back: every value is checked for its type before anything is built."""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from etairl.types import InputError

Built = TypeVar("Built")
_TOO_LARGE = 2**63
_NAMES = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
_MANY = {int: "whole numbers", float: "numbers", str: "words"}


def encode(settings: Any) -> Any:
    """A dataclass as a JSON object; one of several kinds says which."""
    if not is_dataclass(settings) or isinstance(settings, type):
        return settings
    kind = {"kind": cast(Any, settings).kind} if hasattr(settings, "kind") else {}
    return kind | {f.name: encode(getattr(settings, f.name)) for f in fields(settings)}


def for_json(value: Any) -> Any:
    """Dataclasses and tuples as JSON has them; a number it has no word for (NaN) becomes None."""

    def plain(part: Any) -> Any:
        if is_dataclass(part) and not isinstance(part, type):
            return with_parts({f.name: getattr(part, f.name) for f in fields(part)}, plain)
        return None if isinstance(part, float) and not math.isfinite(part) else part

    return with_parts(value, plain)


def with_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same mappings and lists, as JSON has them, with every other part of them changed."""
    if (named := getattr(value, "_asdict", None)) is not None:
        value = named()
    if isinstance(value, Mapping):
        return {key: with_parts(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_parts(item, change) for item in value]
    return change(value)


def decode(
    cls: Callable[..., Built], data: Any, where: str, parts: Mapping[str, Any] | None = None
) -> Built:
    """The dataclass that `encode` wrote; unknown, missing and wrong values are refused.

    In a message the object is called `where`; `parts` are fields that are decoded already.
    """
    parts = parts or {}
    hints = get_type_hints(cls)
    names = [f.name for f in fields(cast(Any, cls))]
    if not isinstance(data, dict):
        raise InputError(f"{where} is not an object with settings; give it as names and values")
    given = {name: value for name, value in data.items() if name != "kind"}
    if (upgraded := getattr(cls, "upgraded", None)) is not None:  # of an earlier version
        given = upgraded(given)
    odd = sorted(set(given) ^ set(names))
    if odd:
        raise InputError(
            f"{where} has unknown or missing settings: {', '.join(map(str, odd))[:200]}"
        )
    values = {}
    for name in names:
        hint, value = hints[name], given[name]
        if name in parts:
            values[name] = parts[name]
        elif is_dataclass(hint):
            values[name] = decode(cast(Any, hint), value, f"{where}, {name}")
        else:
            values[name] = checked(name, value, hint)
    return cls(**values)


def checked(name: str, value: Any, hint: Any) -> Any:
    """The value as a setting of this type takes it."""
    fitting = fit(value, hint)
    if fitting is None:
        raise InputError(f"{name} must be {describe(hint)}, got {repr(value)[:80]}")
    return fitting[0]


def fit(value: Any, hint: Any) -> tuple[Any] | None:
    """The value as the type takes it, in a tuple; None if it does not fit."""
    if isinstance(value, int) and abs(value) >= _TOO_LARGE:
        raise InputError("a whole number must lie between -2^63 and 2^63")
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return next((f for h in get_args(hint) if (f := fit(value, h)) is not None), None)
    if origin is Literal:
        return (value,) if isinstance(value, str) and value in get_args(hint) else None
    if origin is tuple:
        if not isinstance(value, list | tuple):
            return None
        each = [fit(item, get_args(hint)[0]) for item in value]
        return (tuple(f[0] for f in each if f is not None),) if None not in each else None
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return (float(value),)
    # type, not isinstance: true is not a whole number.
    return (value,) if type(value) is hint else None


def describe(hint: Any) -> str:
    """A type in words."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return " or ".join('"none"' if h is NoneType else describe(h) for h in get_args(hint))
    if origin is Literal:
        return "one of " + ", ".join(map(str, get_args(hint)))
    if origin is tuple:
        return f"a list of {_MANY[get_args(hint)[0]]}"
    return _NAMES.get(hint, str(hint))
