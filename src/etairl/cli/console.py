"""How commands parse and print: one style for all of them."""

import contextlib
import io
import json
import math
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import asdict
from decimal import Decimal
from typing import Any, TypeVar

import rich.progress
import tyro
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table

from etairl.types import InputError

Config = TypeVar("Config")
Item = TypeVar("Item")
_SECONDS_BETWEEN_LINES = 5.0
_BOX_TITLES = ("Parsing error", "Invalid choice", "Value error", "Unrecognized options")


_SPELLINGS = tyro.constructors.ConstructorRegistry()


@_SPELLINGS.primitive_rule
def _whole_numbers(
    info: tyro.constructors.PrimitiveTypeInfo,
) -> tyro.constructors.PrimitiveConstructorSpec[int] | None:
    """A million may be written 1000000, 1_000_000 or 1e6."""
    if info.type is not int:
        return None
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: whole(words[0]),
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    )


def whole(word: str) -> int:
    """A whole number, exactly, in any of its spellings."""
    if re.fullmatch(r"[+-]?\d+(\.\d+)?[eE]\d\d?", word):
        number = Decimal(word)
        if number == int(number):
            return int(number)
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"{word!r} is no whole number") from None


def parse(
    config: type[Config],
    arguments: list[str],
    command: str,
    default: Config | None = None,
    pairs: bool = False,
) -> Config:
    """Fill a config dataclass from the command line; its docstrings are the help.

    With `pairs` every switch has both a positive and a negative form: where a preset may have
    turned it on already, it must be possible to say either.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(
                config,
                args=arguments,
                prog=f"etairl {command}",
                default=tyro.MISSING_NONPROP if default is None else default,
                config=() if pairs else (tyro.conf.FlagCreatePairsOff,),
                registry=_SPELLINGS,
            )
    except SystemExit as stop:
        if stop.code:
            raise InputError(_one_line(said.getvalue())) from None
        raise


def _one_line(box: str) -> str:
    """What tyro says in a box of many lines, in one."""
    plain = re.sub(r"\x1b\[[0-9;]*m|\[/?[a-z]+\]|[│╭╮╰╯─]+", " ", box)
    words = " ".join(plain.split())
    words = re.sub(f"^({'|'.join(_BOX_TITLES)}) ", "", words)
    words = re.sub(r" Argument helptext:.*(?= For full helptext)", "", words)
    return re.sub(r" For full helptext, (?:run|see):? (.*)$", r"; see \1", words)


def out() -> Console:
    """Standard output; wide enough for a table when it is not a terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=160)


def print_json(value: Any) -> None:
    """Plain JSON on standard output. A number that JSON has no word for (infinity) becomes null."""
    # Greek as it is, where the other side can read it.
    plain = "utf" not in (sys.stdout.encoding or "utf-8").lower()
    print(json.dumps(_plain(value), indent=2, allow_nan=False, ensure_ascii=plain))


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return _plain(asdict(value))
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _print(what: RenderableType) -> None:
    console = out()
    if console.is_terminal:
        console.print(what)
        return
    # Columns are padded to the width of the page; a file has no use for that.
    with console.capture() as captured:
        console.print(what)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def facts(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """A title, and one fact per line."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, value in rows:
        table.add_row(escape(name), escape(value))
    _print(f"[bold]{escape(title)}[/bold]")
    _print(table)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A plain table: the first column to the left, the others to the right."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        first = index == 0  # the one that may be long; it wraps before a number is lost
        grid.add_column(
            column,
            justify="left" if first else "right",
            no_wrap=not first,
            overflow="fold" if first else "ellipsis",
        )
    for row in rows:
        grid.add_row(*(escape(cell) for cell in row))
    _print(grid)


def track(items: Iterable[Item], what: str, total: int | None = None) -> Iterator[Item]:
    """Go through `items` with a progress bar: on a terminal; elsewhere a line now and then."""
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
    if 0 < shown < number:  # who was told of the way is told of the end
        console.print(f"{what}: {number} of {total}", markup=False)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something goes on; only on a terminal, and never in the output."""
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


class Meter:
    """Progress of something long: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, what: str, total: int, already: int = 0):
        self._what, self._total = what, total
        self._console = Console(stderr=True)
        self._said = time.monotonic()
        self._bar = rich.progress.Progress(
            *rich.progress.Progress.get_default_columns(),
            rich.progress.TextColumn("{task.fields[note]}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task(what, total=total, completed=already, note="")

    def __enter__(self) -> "Meter":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, sentence: str) -> None:
        """A line of its own, above the bar."""
        self._console.print(sentence, markup=False, soft_wrap=True)

    def update(self, count: int, note: str = "") -> None:
        """So much is done."""
        self._bar.update(self._task, completed=count, note=note)
        quiet = time.monotonic() - self._said < _SECONDS_BETWEEN_LINES
        if not self._console.is_terminal and not quiet:
            self._said = time.monotonic()
            line = f"{self._what}: {count:,} of {self._total:,} {note}".rstrip()
            self._console.print(line, markup=False, soft_wrap=True)
