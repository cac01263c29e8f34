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

_SIZE = (280, 210)
_SCRIPTS = ("scroll.js", "weights.js", "explained.js")


def explanation_page(data: dict[str, Any]) -> str:
    """The page; whatever stands in the data is shown as text and never run."""
    parts = {
        name: (files("etairl.figures.page") / name).read_text(encoding="utf-8")
        for name in ("explained.html", "page.css", "explained.css", *_SCRIPTS)
    }
    film = {**data["film"]}
    for side in ("learner", "demonstrations"):
        film[side] = [_picture(*picture) for picture in film[side]]
    # "</script>" in a text would end the block.
    text = json.dumps(for_json({**data, "film": film}), allow_nan=False, separators=(",", ":"))
    return Template(parts["explained.html"]).substitute(
        title=html.escape(f"What {data['run']} learned"),
        style=parts["page.css"] + parts["explained.css"],
        data=text.replace("<", "\\u003c"),
        script="\n".join(parts[name] for name in _SCRIPTS),
    )


def _picture(step: int, pixels: np.ndarray) -> dict[str, Any]:
    coded = b64encode(jpeg(pixels, _SIZE)).decode()
    return {"step": step, "source": f"data:image/jpeg;base64,{coded}"}
