"""One self-contained page about a study: data in, HTML out. It loads nothing from anywhere."""

import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from etairl.decoding import for_json
from etairl.figures.page.extras import with_extras

_SCRIPTS = ("scroll.js", "charts.js", "curves.js", "page.js")


def study_page(data: Mapping[str, Any]) -> str:
    """The page; whatever stands in the data is shown as text and never run."""
    title = page_title(data)
    return filled(
        "page.html", title, ("page.css",), _SCRIPTS, {**with_extras(data), "title": title}
    )


def filled(
    template: str,
    title: str,
    styles: Sequence[str],
    scripts: Sequence[str],
    data: Mapping[str, Any],
) -> str:
    """A page from its parts in this folder, with data that are shown as text."""
    parts = {
        name: (files("etairl.figures.page") / name).read_text(encoding="utf-8")
        for name in (template, *styles, *scripts)
    }
    text = json.dumps(for_json(data), allow_nan=False, separators=(",", ":"))
    return Template(parts[template]).substitute(
        title=html.escape(title),
        style="".join(parts[name] for name in styles),
        data=text.replace("<", "\\u003c"),  # "</script>" in a text would end the block
        script="\n".join(parts[name] for name in scripts),
    )


def page_title(data: Mapping[str, Any]) -> str:
    """Of a study its name and scale; runs that belong to none are called by what they are."""
    if data["name"] == "runs":
        return "Learning curves and results"
    return f"Study {data['name']}" + (f", scale {data['scale']}" if data["scale"] else "")
