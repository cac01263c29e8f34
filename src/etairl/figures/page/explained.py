"""The page about what one run learned to pay for: numbers in, HTML out. It loads nothing."""

from base64 import b64encode
from functools import partial
from typing import Any

import numpy as np

from etairl.figures.page import filled
from etairl.figures.save import jpeg

MOST_BYTES = 4_800_000
"""of a page, so that it can be sent around"""
_SIZE, _SMALL = (280, 210), (200, 150)  # of the first episode of each side, and of others
_STYLES = ("page.css", "explained.css")
_SCRIPTS = ("scroll.js", "weights.js", "explained.js")


def explanation_page(data: dict[str, Any]) -> str:
    """The page; whatever stands in the data is shown as text and never run."""
    page = partial(filled, "explained.html", f"What {data['run']} learned", _STYLES, _SCRIPTS)
    rest = len(page({**data, "film": None}))
    film = {**data["film"], **_pictures(data["film"], MOST_BYTES - 1000 - rest)}
    return page({**data, "film": film})


def _pictures(film: dict[str, Any], most: int) -> dict[str, dict[int, list[dict[str, Any]]]]:
    """Of each episode of both sides; as many as there is room for.

    Where there is too little, every second picture goes, of the fullest episodes first.
    """
    drawn = {
        (side, number): [_picture(i > 0, *frame) for frame in frames]
        for side in ("learner", "demonstrations")
        for i, (number, frames) in enumerate(film[side].items())
    }
    while sum(len(p["source"]) + 30 for frames in drawn.values() for p in frames) > most:
        fullest = max(drawn, key=lambda key: len(drawn[key]))
        drawn[fullest] = drawn[fullest][::2] if len(drawn[fullest]) > 1 else []
    return {
        side: {number: frames for (one, number), frames in drawn.items() if one == side and frames}
        for side in ("learner", "demonstrations")
    }


def _picture(small: bool, step: int, pixels: np.ndarray) -> dict[str, Any]:
    coded = b64encode(jpeg(pixels, _SMALL if small else _SIZE)).decode()
    return {"step": step, "source": f"data:image/jpeg;base64,{coded}"}
