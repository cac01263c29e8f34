"""Texts that users bring (names, labels, versions) inside of Markdown and YAML: always as text."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

_SPECIAL = re.compile(r"[\\`*<>&|~$@]|\](?=[(\[:])|(?<![^\W_])_|_(?![^\W_])|://|(?<=www)\.")
_SPACES = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LETTERS = {"\\": "\\\\", '"': '\\"'}


def plain_text(text: object) -> str:
    """On one line, without control characters, and such that a file can hold it."""
    return _SPACES.sub(" ", str(text)).encode("utf-8", "replace").decode().strip()


def markdown_text(text: object) -> str:
    """A text that stays what it is in Markdown, also in a cell of a table; on one line.

    Entities, not backslashes: these are the same for every reader, and end no link or cell. In
    brackets alone nothing is a link.
    """
    return _SPECIAL.sub(lambda found: _entities(found[0]), plain_text(text))


def _entities(text: str) -> str:
    return "".join(f"&#{ord(letter)};" for letter in text)


def markdown_code(text: object) -> str:
    """A text as code within a line, fenced by more backticks than it has itself."""
    plain = plain_text(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0))
    # Cells end at a bar even within code.
    if "|" in plain or not plain:
        return f"<code>{_entities(plain) if plain else ''}</code>"
    pad = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of Markdown; all that stands in its cells is text."""
    head = [[*map(markdown_text, columns)], ["---"] * len(columns)]
    lines = [*head, *([*map(markdown_text, row)] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def yaml_lines(value: Any, indent: int = 0) -> list[str]:
    """Mappings, lists, texts and numbers as YAML; texts are always quoted, keys are names."""
    margin = "  " * indent
    lines: list[str] = []
    if isinstance(value, Mapping):
        for key, part in value.items():
            lines += _under(f"{margin}{key}:", part, indent + 1)
        return lines
    for part in value:
        first, *rest = yaml_lines(part, indent + 1) if _nested(part) else [_scalar(part)]
        lines += [f"{margin}- {first.lstrip()}", *rest]
    return lines


def _under(name: str, part: Any, indent: int) -> list[str]:
    return [name, *yaml_lines(part, indent)] if _nested(part) else [f"{name} {_scalar(part)}"]


def _nested(part: Any) -> bool:
    return isinstance(part, Mapping | list | tuple) and len(part) > 0


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        text = repr(value)  # without a point, 1e-05 is a text to some readers
        return text if "." in text else text.replace("e", ".0e")
    return yaml_text(value)


def yaml_text(text: object) -> str:
    """A text in double quotes; whatever is not a plain letter is written by its number."""
    whole = str(text).encode("utf-8", "replace").decode()
    return f'"{"".join(map(_letter, whole))}"'


def _letter(letter: str) -> str:
    if letter in _LETTERS:
        return _LETTERS[letter]
    return letter if letter.isprintable() else f"\\U{ord(letter):08X}"
