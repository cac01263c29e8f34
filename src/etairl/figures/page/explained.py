"""The page about what one run learned to pay for: numbers in, HTML out. It loads nothing."""

from base64 import b64encode
from typing import Any

import numpy as np

from etairl.figures.page import filled
from etairl.figures.save import jpeg

_SIZE = (280, 210)
_STYLES = ("page.css", "explained.css")
_SCRIPTS = ("scroll.js", "weights.js", "explained.js")


def explanation_page(data: dict[str, Any]) -> str:
    """The page; whatever stands in the data is shown as text and never run."""
    film = {**data["film"]}
    for side in ("learner", "demonstrations"):
        film[side] = [_picture(*picture) for picture in film[side]]
    title = f"What {data['run']} learned"
    return filled("explained.html", title, _STYLES, _SCRIPTS, {**data, "film": film})


def _picture(step: int, pixels: np.ndarray) -> dict[str, Any]:
    coded = b64encode(jpeg(pixels, _SIZE)).decode()
    return {"step": step, "source": f"data:image/jpeg;base64,{coded}"}
