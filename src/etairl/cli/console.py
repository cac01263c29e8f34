"""How commands print: one style for all of them."""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from typing import Any, TypeVar

import rich.progress
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from etairl.cli.arguments import parse as parse
from etairl.cli.arguments import whole as whole
from etairl.decoding import for_json

Item = TypeVar("Item")
_SECONDS_BETWEEN_LINES = 5.0
_GAP = 2  # columns between two of a table
_NARROWEST = 10  # columns of a bar, and of the note beside it, at the least


def out() -> Console:
    """Standard output; wide enough for a table when it is not a terminal."""
    console = Console(highlight=False, markup=False)
    return console if console.is_terminal else Console(highlight=False, markup=False, width=160)


def prose(text: str) -> None:
    """Print a paragraph: wrapped at words on a terminal, one line elsewhere."""
    console = out()
    console.print(text, soft_wrap=not console.is_terminal)


def print_json(value: Any) -> None:
    """Print plain JSON; a number that JSON cannot hold (infinity, NaN) becomes null."""
    # Greek as it is, where the other side can read it.
    plain = "utf" not in (sys.stdout.encoding or "utf-8").lower()
    print(json.dumps(for_json(value), indent=2, allow_nan=False, ensure_ascii=plain))


def _print(what: RenderableType, style: str | None = None) -> None:
    console = out()
    if console.is_terminal:
        console.print(what, style=style)
        return
    # Columns are padded to the width of the page; a file has no use for that.
    with console.capture() as captured:
        console.print(what)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def facts(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Print a title, and one fact per line."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, value in rows:
        table.add_row(name, value)
    _print(title, "bold")
    _print(table)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a plain table: the first column to the left, the others to the right.

    The first column names the rows: it may wrap at words, but is never lost. Columns for which a
    line has no room come below, with the names again.
    """
    cells = [columns, *rows]
    room = out().width
    widths = [max(cell_len(row[i]) + _GAP for row in cells) for i in range(len(columns))]
    longest_word = max(cell_len(word) for row in cells for word in row[0].split() or [""])
    names = min(widths[0], max(longest_word + _GAP, room - sum(widths[1:]), 2 * room // 5))
    shown = 1
    while shown < len(columns) or shown == 1:
        end = shown + 1
        while end < len(columns) and names + sum(widths[shown : end + 1]) <= room + _GAP:
            end += 1
        _print(_grid([[row[0], *row[shown:end]] for row in cells], names - _GAP))
        shown = end


def _grid(cells: list[list[str]], names: int) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column(cells[0][0], width=names, overflow="fold")
    for column in cells[0][1:]:
        grid.add_column(column, justify="right", no_wrap=True)
    for row in cells[1:]:
        grid.add_row(*row)
    return grid


def track(items: Iterable[Item], what: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items with a progress bar on a terminal, with a line now and then elsewhere."""
    total = len(items) if isinstance(items, Sized) else total
    console = Console(stderr=True)
    if console.is_terminal:
        yield from rich.progress.track(items, what, total, console=console, transient=True)
        return
    said, number, shown = time.monotonic(), 0, 0
    for number, item in enumerate(items, start=1):
        yield item
        if time.monotonic() - said > _SECONDS_BETWEEN_LINES:
            said, shown = time.monotonic(), number
            console.print(f"{what}: {number} of {total}", markup=False)
    if 0 < shown < number:  # progress that was reported is reported to its end
        console.print(f"{what}: {number} of {total}", markup=False)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that work is under way; only on a terminal, and never in the output."""
    with Console(stderr=True).status(escape(what)):
        yield


@contextmanager
def patient_interrupt() -> Iterator[Callable[[], bool]]:
    """Ctrl-C asks to stop at the next good moment; a second one stops at once."""
    asked = False

    def ask(*_: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        print("stopping soon; press Ctrl-C again to stop at once", file=sys.stderr)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


class _Note(rich.progress.ProgressColumn):
    """A note beside a bar, cut to what is left of the line: the bar matters more."""

    def __init__(self, room: int):
        super().__init__()
        self._room = max(_NARROWEST, room)

    @override
    def render(self, task: rich.progress.Task) -> Text:
        begun = task.fields["begun"]
        seconds = "" if begun is None else f" {time.monotonic() - begun:.0f} s"
        note = Text(task.fields["note"], no_wrap=True)
        note.truncate(self._room - len(seconds), overflow="ellipsis")
        return note.append(seconds)


class _Left(rich.progress.TimeRemainingColumn):
    """The time left, where it is known: not as long as something else is under way."""

    max_refresh = None  # not half a second late

    @override
    def render(self, task: rich.progress.Task) -> Text:
        return super().render(task) if task.fields["begun"] is None else Text(" " * 7)


class Meter:
    """Progress of something long: a bar on a terminal, a line now and then elsewhere.

    Args:
        what: is under way.
        total: number of its steps.
        already: steps that were done before.
        quiet: show nothing but what is said.
        clock: show the time left, as the steps so far suggest it.
    """

    def __init__(
        self, what: str, total: int, already: int = 0, quiet: bool = False, clock: bool = True
    ):
        self._what, self._total, self._quiet = what, total, quiet
        self._console = Console(stderr=True)
        self._said = time.monotonic()
        width = self._console.width
        bar = max(_NARROWEST, min(40, width // 6))
        name = what if len(what) <= width // 3 else what[: width // 3 - 1] + "…"
        # Beside the bar: its name, " 100%", " 0:00:00", and a space between columns.
        self._bar = rich.progress.Progress(
            rich.progress.TextColumn("{task.description}"),
            rich.progress.BarColumn(bar_width=bar),
            rich.progress.TaskProgressColumn(),
            *([_Left()] if clock else []),
            _Note(width - len(name) - bar - (16 if clock else 8)),
            console=self._console,
            disable=quiet or not self._console.is_terminal,
        )
        self._task = self._bar.add_task(
            escape(name), total=total, completed=already, note="", begun=None
        )

    def __enter__(self) -> "Meter":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, sentence: str) -> None:
        """Print a line of its own, above the bar."""
        self._console.print(sentence, markup=False, soft_wrap=True)

    def stage(self, what: str) -> None:
        """Show what takes a while now, and for how long it has."""
        self._bar.update(self._task, note=what, begun=time.monotonic())
        self._line(what)

    def update(self, count: int, note: str = "") -> None:
        """Show that `count` steps are done."""
        self._bar.update(self._task, completed=count, note=note, begun=None)
        if time.monotonic() - self._said >= _SECONDS_BETWEEN_LINES:
            self._line(f"{count:,} of {self._total:,} {note}".rstrip())

    def _line(self, text: str) -> None:
        """Where there is no bar."""
        if not self._console.is_terminal and not self._quiet:
            self._said = time.monotonic()
            self._console.print(f"{self._what}: {text}", markup=False, soft_wrap=True)
