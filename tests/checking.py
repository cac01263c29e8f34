"""The run-time checker of types and shapes, which is not asked the same thing twice.

Whether the arguments and the result of a call fit what is written follows from their types, their
shapes, and the values of words and whole numbers (of a `Literal`, or of a shape like "{n}"). A call
with those of one that fitted fits. In the loops of the tests nearly all calls are such.
"""

from collections.abc import Callable, Collection, Hashable
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
from beartype import beartype

MOST = 1000  # different calls of one function that are remembered


def once(function: Callable[..., Any]) -> Callable[..., Any]:
    """`beartype`, made for a function when it is first called, and asked once of calls alike.

    A function within another is a new one in every call of that, with the same annotations.
    """
    if "<locals>" not in function.__qualname__:
        return _once(function)
    name = (function.__module__, function.__qualname__, repr(function.__annotations__))
    return _INNER.setdefault(name, _once(function))


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    seen: set[Hashable] = set()
    checked: list[Callable[..., Any]] = []

    def check(*args: Any, **kwargs: Any) -> None:
        key = (likeness(args), likeness(tuple(kwargs.items())))
        if None not in key and key in seen:
            return
        if not checked:
            checked.append(beartype(function))
        checked[0](*args, **kwargs)
        if None not in key and len(seen) < MOST:
            seen.add(key)

    return check


def likeness(value: Any) -> Hashable:
    """What the checker can see of a value; None of a collection, in which it looks inside."""
    kind = type(value)
    see = _SIGHTS.get(kind)
    if see is None:
        see = _SIGHTS[kind] = _sight(kind, value)
    return see(value)


def _sight(kind: type, value: Any) -> Callable[[Any], Hashable]:
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return lambda x: (kind, x.shape, x.dtype)
    if issubclass(kind, str | bytes | int | type):
        return lambda x: (kind, x)
    if kind is tuple:
        return _of_all
    # A named tuple is known by its name. Attributes of a namespace are its own.
    named = issubclass(kind, tuple) and hasattr(kind, "_fields")
    if issubclass(kind, Collection | SimpleNamespace) and not named:
        return lambda _: None
    return lambda _: kind


def _of_all(values: tuple[Any, ...]) -> Hashable:
    found = tuple(map(likeness, values))
    return None if None in found else found


_INNER: dict[Hashable, Callable[..., Any]] = {}
_SIGHTS: dict[type, Callable[[Any], Hashable]] = {}
