"""Figures become files; no window system needed."""

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from etairl.types import InputError

SUFFIXES = (".png", ".svg", ".pdf")


def check_name(path: Path) -> None:
    """Refuse a name that does not say which kind of file it is."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: a figure's name ends in {', '.join(SUFFIXES)}")


def save_figure(figure: Figure, path: Path) -> None:
    """Save as the kind of file its name says."""
    check_name(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    FigureCanvasAgg(figure)
    # Same figure, same bytes: no date inside.
    metadata = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    figure.savefig(path, dpi=150, metadata=metadata.get(path.suffix.lower()))
