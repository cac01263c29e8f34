"""Errors that the user can mend, checks that settings share, and what a task looks like."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from jaxtyping import Float

_LONGEST_MESSAGE = 1200
_WORDS = {
    "[1, inf)": "be at least 1",
    "[2, inf)": "be at least 2",
    "[0, inf)": "be >= 0 and finite",
    "(0, inf)": "be > 0 and finite",
}


class InputError(ValueError):
    """The input is wrong. The message says what, where, and what to do about it.

    It is one printable line of bounded length, whatever of the input it repeats.
    """

    def __init__(self, message: object = ""):
        super().__init__(_one_line(str(message)))


def _one_line(text: str) -> str:
    lines = _shortened(text).splitlines()
    text = lines[0] if len(lines) == 1 else " ".join(lines)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return _shortened(text)


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_MESSAGE:
        return text
    return f"{text[: _LONGEST_MESSAGE * 2 // 3]} … {text[-_LONGEST_MESSAGE // 4 :]}"


class DivergedError(InputError):
    """A policy diverged while it learned, so its run cannot be resumed."""


def check_seed(seed: int) -> int:
    """Return `seed` if all random generators take it."""
    if not 0 <= seed < 2**32:
        raise InputError(f"the seed must be >= 0 and below 2^32, got {seed}")
    return seed


def check_range(settings: Any, interval: str, *names: str) -> None:
    """Refuse attributes outside an interval such as `[1, inf)` or `(0, 1]`; None passes."""
    low, high = (float(bound) for bound in interval[1:-1].split(","))
    for name in names:
        value = getattr(settings, name)
        if value is None:
            continue
        above = low <= value if interval[0] == "[" else low < value
        below = value <= high if interval[-1] == "]" else value < high
        if not (above and below):
            words = _WORDS.get(interval, f"lie in {interval}")
            raise InputError(f"{name} must {words}, got {value}")


def check_choice(name: str, value: Any, allowed: Iterable[str]) -> None:
    """Refuse a word that is not one of those allowed, and name the one that was meant."""
    if value not in (known := tuple(allowed)):
        hint = did_you_mean(str(value), known, "")
        raise InputError(
            f"{name} must be one of {', '.join(known)}, got {value!r}{f'; {hint}' if hint else ''}"
        )


def counted(number: int, what: str) -> str:
    """A number of things, such as 1 column or 3 columns."""
    return f"{number} {what}{'s' if number != 1 else ''}"


def did_you_mean(word: str, known: Iterable[str], otherwise: str, many: int = 1) -> str:
    """The words that are nearest to one that is unknown, as a question; or what to say else."""
    close = get_close_matches(word, list(known), n=many)
    return f"did you mean {', '.join(close)}?" if close else otherwise


@dataclass(frozen=True)
class Spec:
    """What a task looks like from outside: sizes, and the range of its actions."""

    obs_dim: int
    act_dim: int
    action_low: tuple[float, ...] | None = None
    action_high: tuple[float, ...] | None = None
    discrete_actions: int | None = None
    """Number of actions when an action is an index (one column); None when it is a vector."""
    environment: str | None = None
    observation_names: tuple[str, ...] | None = None
    """What the columns of observations are called, where that is known."""
    action_names: tuple[str, ...] | None = None
    """What the columns of actions are called, where that is known."""

    def __post_init__(self):
        if (self.action_low is None) != (self.action_high is None):
            raise InputError("give both bounds of the actions, or none")
        if self.action_low is not None and self.action_high is not None:
            if not len(self.action_low) == len(self.action_high) == self.act_dim:
                raise InputError(
                    f"the action bounds have {len(self.action_low)} and {len(self.action_high)} "
                    f"numbers, but actions have {self.act_dim}"
                )
            if not all(
                low <= high for low, high in zip(self.action_low, self.action_high, strict=True)
            ):
                raise InputError(
                    f"action bounds are crossed: low {self.action_low}, high {self.action_high}"
                )
        if self.environment is not None and not (
            self.environment.isprintable() and len(self.environment) <= 200
        ):
            raise InputError("the name of the environment must be short and printable")
        _check_names("observations", self.observation_names, self.obs_dim)
        _check_names("actions", self.action_names, self.act_dim)
        if self.discrete_actions is not None and (self.discrete_actions < 1 or self.act_dim != 1):
            raise InputError(
                "discrete actions are one column of indices, with at least one action; "
                f"got {self.act_dim} columns and {self.discrete_actions} actions"
            )

    @property
    def zero_action(self) -> Float[np.ndarray, " act"]:
        """What a solver calls 0: the middle of the bounds; of discrete actions the first."""
        if self.action_low is None or self.action_high is None:
            return np.zeros(self.act_dim, np.float32)
        low, high = (np.asarray(b, np.float64) for b in (self.action_low, self.action_high))
        return ((low + high) / 2).astype(np.float32)


def column_names(keys: Sequence[str], widths: Sequence[int]) -> tuple[str, ...]:
    """The names of the columns of some keys laid out side by side: `pos[0]`, `pos[1]`, `speed`."""
    return tuple(
        key if width == 1 else f"{key}[{i}]"
        for key, width in zip(keys, widths, strict=True)
        for i in range(width)
    )


def space_names(space: Any, by_alphabet: bool = False) -> tuple[str, ...]:
    """The columns that a Dict space is flattened to, by their keys: speed, pos[0], arm/angle."""
    names: list[str] = []
    for key in sorted(space.spaces) if by_alphabet else list(space.spaces):
        part = space[key]
        if hasattr(part, "spaces"):
            names += [f"{key}/{name}" for name in space_names(part, by_alphabet)]
        else:
            names += column_names([str(key)], [math.prod(part.shape or ())])
    return tuple(names)


def _check_names(what: str, names: tuple[str, ...] | None, columns: int) -> None:
    if names is None:
        return
    if len(names) != columns:
        raise InputError(f"{what} have {columns} columns, but {len(names)} names")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(
            f"two columns of {what} are called {twice[:100]!r}; give each its own name"
        )
    for name in names:
        if not (name.isprintable() and 0 < len(name) <= 100):
            raise InputError(f"the names of {what} must be short and printable, got {name[:100]!r}")
