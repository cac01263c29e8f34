"""One self-contained page about a study: data in, HTML out. It loads nothing from anywhere."""

import html
import json
import math
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any

from etairl.figures.page.extras import with_extras


def study_page(data: Mapping[str, Any]) -> str:
    """The page; whatever stands in the data is shown as text and never run."""
    parts = files(__name__)
    scale = f", scale {data['scale']}" if data["scale"] else ""
    # "</script>" in a text would end the block.
    text = json.dumps(_finite(with_extras(data)), allow_nan=False, separators=(",", ":"))
    safe = text.replace("<", "\\u003c")
    return Template((parts / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(f"Study {data['name']}{scale}"),
        style=(parts / "page.css").read_text(encoding="utf-8"),
        data=safe,
        script="\n".join(
            (parts / name).read_text(encoding="utf-8") for name in ("charts.js", "page.js")
        ),
    )


def _finite(value: Any) -> Any:
    """Numbers that JSON has no word for become null."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
