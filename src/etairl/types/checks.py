"""Checks that settings share: one rule and one sentence each."""

from collections.abc import Iterable
from typing import Any

from etairl.types.spec import InputError

_WORDS = {
    "[1, inf)": "be at least 1",
    "[0, inf)": "be >= 0 and finite",
    "(0, inf)": "be > 0 and finite",
}


def check_range(settings: Any, interval: str, *names: str) -> None:
    """Refuse numbers outside an interval such as `[1, inf)` or `(0, 1]`; None passes.

    Args:
        settings: an object with the numbers as attributes.
        interval: two bounds; a round bracket leaves its bound out.
        names: of the attributes.
    """
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
    """Refuse a word that is not one of those allowed."""
    if value not in (known := tuple(allowed)):
        raise InputError(f"{name} must be one of {', '.join(known)}, got {value!r}")
