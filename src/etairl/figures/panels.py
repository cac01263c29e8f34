"""What figures share: colours, and a legend below several panels."""

from typing import Any

from matplotlib.figure import Figure

BLUE, GREEN, RED, DARK_RED = "#0072b2", "#009e73", "#d55e00", "#9e2a2b"
COLOURS = (BLUE, RED, GREEN, "#cc79a7", "#e69f00", "#56b4e9")
"""of Okabe and Ito: told apart also by the colour-blind"""
GREY = "0.45"


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
