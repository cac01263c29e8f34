"""The line of every key of a TOML file, however it is written."""

from collections.abc import Iterable

import tomlkit
from tomlkit.container import Container
from tomlkit.items import AoT, Array, InlineTable, Item, Key, Table

Place = tuple[str, int, str]
"""table, its number where there are several of the name, key; "" is the table itself"""
_MARK = "\0"
"""no TOML text has one"""


def key_lines(text: str) -> dict[Place, int]:
    """The line of each table at the top, and of each key in it.

    tomlkit keeps the layout. Each item gets a mark before it; the line of an item is the number of
    line ends before its mark in what is rendered.
    """
    document, marked = tomlkit.parse(text), list[list[Place]]()
    for key, item in document.body:
        if key is not None:
            _mark_top(marked, key, item)
    parts = document.as_string().split(_MARK)
    lines: dict[Place, int] = {("", 0, ""): 1}
    line = 1
    for before, number in zip(parts[::2], parts[1::2], strict=False):
        line += before.count("\n")
        for place in marked[int(number)]:
            lines.setdefault(place, line)
    return lines


def _mark_top(marked: list[list[Place]], key: Key, item: Item) -> None:
    name = key.key
    if isinstance(item, AoT):
        tables: Iterable[Item] = item.body
    elif isinstance(item, Array):
        _mark(marked, key, item, [("", 0, name), (name, 0, "")])
        tables = (element for element in item if isinstance(element, InlineTable))
    else:
        tables = [item]
    for number, table in enumerate(tables):
        places = [("", 0, name), (name, number, "")]
        if not isinstance(item, Array):
            _mark(marked, key, table, places)
        for index, (inner, value) in enumerate(_body(table)):
            own = [(name, number, inner.key)]
            _mark(marked, inner, value, own if index else own + places[1:])


def _body(item: Item) -> list[tuple[Key, Item]]:
    if not isinstance(item, Table | InlineTable):
        return []
    value = item.value
    assert isinstance(value, Container)
    return [(key, inner) for key, inner in value.body if key is not None]


def _mark(marked: list[list[Place]], key: Key, item: Item, places: list[Place]) -> None:
    while isinstance(item, Table) and (key.is_dotted() or item.is_super_table()):
        key, item = _body(item)[0]  # it has no line of its own
    item.trivia.indent += f"{_MARK}{len(marked)}{_MARK}"
    marked.append(places)
