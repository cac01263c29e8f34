"""Settings by the names they have on the command line: flat, each checked for its type."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from etairl.training.settings import TrainConfig
from etairl.types import InputError

_TOO_LARGE = 2**63
_NAMES = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


@cache
def known() -> dict[str, tuple[str | None, Any]]:
    """Of every setting the part of `TrainConfig` that it belongs to, and its type."""
    found: dict[str, tuple[str | None, Any]] = {}
    for name, hint in get_type_hints(TrainConfig).items():
        if is_dataclass(hint):
            inner = get_type_hints(hint)
            found |= {f.name: (name, inner[f.name]) for f in fields(hint)}
        else:
            found[name] = (None, hint)
    return found


def flatten(config: TrainConfig) -> dict[str, Any]:
    """Every setting by its flat name."""
    return {
        name: getattr(config if part is None else getattr(config, part), name)
        for name, (part, _) in known().items()
    }


def with_settings(config: TrainConfig, settings: Mapping[str, Any]) -> TrainConfig:
    """The same settings, but for some; another algorithm brings its own weighting."""
    parts: dict[str, dict[str, Any]] = {}
    own: dict[str, Any] = {}
    for name, value in settings.items():
        part, _ = known()[name]
        (own if part is None else parts.setdefault(part, {}))[name] = value
    if "algorithm" in own and "eta" not in own:
        own["eta"] = None
    if own.get("omega", config.omega) != config.omega:
        own.setdefault("anchor", False)
    inner = {part: replace(getattr(config, part), **values) for part, values in parts.items()}
    return replace(config, **own, **inner)


def check_name(name: str) -> None:
    """Refuse what is no setting."""
    if name not in known():
        close = get_close_matches(name, known(), n=1)
        hint = f"; did you mean {close[0]}?" if close else "; see etairl train --help"
        raise InputError(f"unknown setting {name!r}{hint}")


def check_value(name: str, value: Any) -> Any:
    """The value as the setting takes it; "none" stands for no value where that is allowed."""
    hint = known()[name][1]
    if value == "none" and _allows_none(hint):
        return None
    fitting = _fit(value, hint)
    if fitting is None:
        raise InputError(f"{name} takes {_words(hint)}, got {value!r}")
    return fitting[0]


def _allows_none(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint)


def _fit(value: Any, hint: Any) -> tuple[Any] | None:
    if isinstance(value, int) and abs(value) >= _TOO_LARGE:
        raise InputError("a whole number must lie between -2^63 and 2^63")
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return next((f for h in get_args(hint) if (f := _fit(value, h)) is not None), None)
    if origin is Literal:
        return (value,) if isinstance(value, str) and value in get_args(hint) else None
    if origin is tuple:
        if not isinstance(value, list):
            return None
        each = [_fit(item, get_args(hint)[0]) for item in value]
        return (tuple(f[0] for f in each if f is not None),) if None not in each else None
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return (float(value),)
    # type, not isinstance: true is no whole number.
    return (value,) if type(value) is hint else None


def _words(hint: Any) -> str:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return " or ".join('"none"' if h is NoneType else _words(h) for h in get_args(hint))
    if origin is Literal:
        return "one of " + ", ".join(map(str, get_args(hint)))
    if origin is tuple:
        return f"a list, each of it {_words(get_args(hint)[0])}"
    return _NAMES.get(hint, str(hint))
