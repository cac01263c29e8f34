"""Settings as arguments of compiled programs: one program serves many numbers.

A frozen dataclass with `@traced` is a PyTree. Its numbers (fields of type `float`) are leaves,
which `jit` traces; everything else, such as widths and names, decides what is compiled. So does a
number that is 0 or None: whether a term of a loss exists, but not how much it weighs.
"""

from dataclasses import fields
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import jax
from jaxtyping import Array, Float

Traced = TypeVar("Traced", bound=type)
Number = float | Float[Array, ""]
"""of settings, as a compiled program sees it: itself, or its tracer"""
_TRACED: set[type] = set()


def traced(cls: Traced) -> Traced:
    """Register a frozen dataclass as a PyTree whose numbers are leaves."""
    hints = get_type_hints(cls)
    names = tuple(f.name for f in fields(cls))
    numbers = {name for name in names if _is_number(hints[name])}

    def flatten(settings: Any) -> tuple[list[Any], tuple[Any, ...]]:
        leaves, static = [], []
        for name in names:
            value = getattr(settings, name)
            leaf = (name in numbers and enabled(value)) or type(value) in _TRACED
            (leaves if leaf else static).append((name, value))
        return [value for _, value in leaves], (tuple(name for name, _ in leaves), tuple(static))

    def unflatten(structure: tuple[Any, ...], leaves: Any) -> Any:
        # Checks belong to numbers that a user gave; here there may be tracers.
        settings = object.__new__(cls)
        for name, value in (*structure[1], *zip(structure[0], leaves, strict=True)):
            object.__setattr__(settings, name, value)
        return settings

    jax.tree_util.register_pytree_node(cls, flatten, unflatten)
    _TRACED.add(cls)
    return cls


def is_traced(value: Any) -> bool:
    """Whether a value can be an argument of a compiled program."""
    return type(value) in _TRACED


def enabled(number: Any) -> bool:
    """Whether a number is there: neither None nor 0. A traced one always is."""
    return number is not None and not (isinstance(number, int | float) and number == 0)


def _is_number(hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return any(map(_is_number, get_args(hint)))
    return hint is float
