"""One self-contained page about a study: data in, HTML out. It loads nothing from anywhere."""

import html
import json
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any

from etairl.decoding import for_json
from etairl.figures.page.extras import with_extras

_SCRIPTS = ("scroll.js", "charts.js", "curves.js", "page.js")


def study_page(data: Mapping[str, Any]) -> str:
    """The page; whatever stands in the data is shown as text and never run."""
    parts = files(__name__)
    title = page_title(data)
    # "</script>" in a text would end the block.
    text = json.dumps(
        for_json({**with_extras(data), "title": title}), allow_nan=False, separators=(",", ":")
    )
    safe = text.replace("<", "\\u003c")
    return Template((parts / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        style=(parts / "page.css").read_text(encoding="utf-8"),
        data=safe,
        script="\n".join((parts / name).read_text(encoding="utf-8") for name in _SCRIPTS),
    )


def page_title(data: Mapping[str, Any]) -> str:
    """Of a study its name and scale; runs that belong to none are called by what they are."""
    if data["name"] == "runs":
        return "Learning curves and results"
    return f"Study {data['name']}" + (f", scale {data['scale']}" if data["scale"] else "")
