"""What figures share: colours, and a legend below several panels."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etairl.evaluation.floors import is_hint

BLUE, GREEN, RED, DARK_RED = "#0072b2", "#009e73", "#d55e00", "#9e2a2b"
COLOURS = (BLUE, RED, GREEN, "#cc79a7", "#e69f00", "#56b4e9")
"""of Okabe and Ito: told apart also by the colour-blind"""
GREY = "0.45"
LEAST = 1e-5
"""an unbiased MMD² may be negative; a logarithm has no place for that"""


def unframed(*axes: Axes) -> None:
    """Without the lines above and at the right."""
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)


def itself(floor: Mapping[str, Any]) -> str:
    """What a line at the floor of an MMD² is called."""
    return f"expert against itself{', a hint' if is_hint(floor.get('floor_by')) else ''}"


def literal(text: str) -> str:
    """A text of a user, in which a dollar begins no formula."""
    return text.replace("$", r"\$")


def legend_below(figure: Figure, columns: int, fontsize: int, last: str | None = None) -> int:
    """One legend for all panels, every name once, those that end in `last` last; how many."""
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    names = sorted(handles, key=lambda label: last is not None and label.endswith(last))
    figure.legend(
        [handles[name] for name in names],
        names,
        loc="outside lower center",
        ncols=min(columns, len(names)),
        frameon=False,
        fontsize=fontsize,
    )
    return len(names)
