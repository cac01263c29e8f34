"""Figures become files; no window system needed."""

from io import BytesIO
from pathlib import Path

import numpy as np
from jaxtyping import UInt8
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from etairl.storage import write_atomic
from etairl.types import InputError

FIGURE_SUFFIXES = (".png", ".svg", ".pdf")


def check_name(path: Path) -> None:
    """Refuse a name that does not say which kind of file it is."""
    if path.suffix.lower() not in FIGURE_SUFFIXES:
        raise InputError(f"{path}: a figure's name ends in {', '.join(FIGURE_SUFFIXES)}")


def save_figure(figure: Figure, path: Path, dpi: int = 150, colours: int | None = None) -> None:
    """Save as the kind of file its name says; its folder is made.

    A PNG of lines needs few colours, and is a third as large with 256 of them.
    """
    check_name(path)
    FigureCanvasAgg(figure)
    kind = path.suffix.lower()
    # Same figure, same bytes: no date inside, and names inside an SVG that are not drawn by lot.
    metadata = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    data = BytesIO()
    with rc_context({"svg.hashsalt": "etairl"}):
        figure.savefig(data, format=kind[1:], dpi=dpi, metadata=metadata.get(kind))
    if kind == ".png" and colours is not None:
        with Image.open(data) as drawn:
            plain = drawn.convert("RGB").quantize(colours, dither=Image.Dither.NONE)
        data = BytesIO()
        plain.save(data, "png", dpi=(dpi, dpi), optimize=True)
    write_atomic(path, data.getvalue())


def jpeg(picture: UInt8[np.ndarray, "height width 3"], size: tuple[int, int]) -> bytes:
    """One picture as a small file, scaled to fit inside of `size`."""
    drawn, data = Image.fromarray(picture), BytesIO()
    drawn.thumbnail(size)
    drawn.save(data, "jpeg", quality=70, optimize=True)
    return data.getvalue()
