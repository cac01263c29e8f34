"""The page about what one run learned to pay for: numbers in, HTML out. It loads nothing."""

import html
import json
from base64 import b64encode
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from etairl.decoding import for_json
from etairl.figures.save import jpeg

MOST_BYTES = 4_800_000
"""of a page, so that it can be sent around"""
_SIZE, _SMALL = (280, 210), (200, 150)  # of the first episode of each side, and of others
_SCRIPTS = ("scroll.js", "weights.js", "explained.js")


def explanation_page(data: dict[str, Any]) -> str:
    """The page; whatever stands in the data is shown as text and never run."""
    parts = {
        name: (files("etairl.figures.page") / name).read_text(encoding="utf-8")
        for name in ("explained.html", "page.css", "explained.css", *_SCRIPTS)
    }
    rest = sum(map(len, parts.values())) + len(_json({**data, "film": None}))
    film = {**data["film"], **_pictures(data["film"], MOST_BYTES - 1000 - rest)}
    return Template(parts["explained.html"]).substitute(
        title=html.escape(f"What {data['run']} learned"),
        style=parts["page.css"] + parts["explained.css"],
        data=_json({**data, "film": film}),
        script="\n".join(parts[name] for name in _SCRIPTS),
    )


def _json(data: dict[str, Any]) -> str:
    text = json.dumps(for_json(data), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")  # "</script>" in a text would end the block


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
