"""Numbers as a text has them: three digits, signed percentages, bounds in brackets."""

from collections.abc import Mapping
from typing import Any


def measured_before(old: int, runs: int) -> str | None:
    """What to know of results that were measured before version 0.3; None where none were."""
    if not old:
        return None
    which = "" if old == runs else f" ({old} of {runs} runs)"
    return (
        f"Measured by the yardstick of versions before 0.3{which}: about 2,000 steps of some 20 "
        "episodes, and learners that draw their actions beside demonstrations that may be greedy. "
        "Floors were those of other sizes, and are left out. Returns stand; MMD² and scores are "
        "not comparable with newer ones."
    )


def percent(x: float, digits: int = 0) -> str:
    """A share as a signed percentage."""
    return f"{100 * x:+.{digits}f} %".replace("-", "−")


def number(x: float) -> str:
    """Three digits."""
    return f"{x:.3g}".replace("-", "−")


def mean_and_half(interval: Mapping[str, Any] | None, digits: int) -> str:
    """A mean, ± half of its interval where there is one."""
    if interval is None:
        return ""
    text = f"{interval['value'] + 0.0:,.{digits}f}"
    if interval["low"] is None:
        return text
    return f"{text} ± {0.5 * (interval['high'] - interval['low']):,.{digits}f}"
