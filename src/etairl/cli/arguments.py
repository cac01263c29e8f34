"""How commands read their arguments: tyro, with errors of one sentence and help that wraps."""

import contextlib
import io
import itertools
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import tyro

from etairl.types import InputError

RunFolder = Annotated[
    tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN", help="the run directory")
]
KeptPolicy = Annotated[
    Literal["final", "best"],
    tyro.conf.arg(
        help="the policy that the run kept, or the one that played when its MMD² of mu was smallest"
    ),
]
Trusted = Annotated[
    bool,
    tyro.conf.arg(help="import code that the run names: an environment or features of its own"),
]
Parsed = TypeVar("Parsed")
_WIDEST_TEXT = 100  # columns; longer lines are hard to read
# Without UTF-8 a box has blanks for its sides, and rows of hyphens.
_COLOUR = r"\x1b\[[0-9;]*m"
_FRAME = r"[│╭╮╰╯─]+|-{4,}"
_BOX = rf"{_COLOUR}|\[/?[a-z]+\]|{_FRAME}"


def _unknown(words: str) -> str:
    """Options that nobody knows; the values after them are not worth a word."""
    options = [word for word in words.split(", ") if word.startswith("-")]
    return f"unknown option {', '.join(options)}" if options else f"a word too many: {words}"


def _choices(words: str) -> str:
    """What can be chosen, in an order that is always the same; nothing at all is left out."""
    return ", ".join(sorted(word for word in words.split(", ") if word != "'None'"))


# What tyro says, in plain words; applied in this order to the text of its box.
_REWORDED = tuple(
    (re.compile(pattern), plain)
    for pattern, plain in (
        (r"^(Parsing error|Invalid choice|Value error|Missing argument|Unrecognized options) ", ""),
        (r" For full helptext, (?:run|see):? (.*)$", r"; see \1"),
        (r" Argument helptext:.*(?=; see)", ""),
        (r"Error parsing (?:[A-Z]+[a-z]\w*: )?", ""),
        (r"^(?:[a-z_]+\.)+[a-z_]+: ", ""),
        (r"no type matching .+? Got errors: (?:- <class 'NoneType'>: .*?\) )?- .+?: ", ""),
        (r"could not convert string to float: ('.*?')", r"\1 is not a number"),
        (r"input length (\d+) did not .* count (\d+) of [^;]*", r"it takes \2 values, got \1"),
        (r"Could not parse arguments \[(.*?)\] into [^;]*", r"\1 are not numbers"),
        (r"invalid choice ('.*?') for argument '(.*?)'", r"\2: invalid choice \1"),
        (r"\. Expected one of \((.*?),?\) ?\.", lambda m: f"; choose from {_choices(m[1])}"),
        (r"Missing value for argument '(.*?)'\. Expected (\d+) values?\.", r"\1 needs a value"),
        (r"Unrecognized options: (.*?)(?=;| Perhaps| Arguments)", lambda m: _unknown(m[1])),
        (
            r" (?:Perhaps you meant|Arguments similar to \S+): (--?[\w.-]+).*?(?=; see)",
            r" (did you mean \1?)",
        ),
    )
)
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


@_SPELLINGS.primitive_rule
def _perhaps_nothing(
    info: tyro.constructors.PrimitiveTypeInfo,
) -> tyro.constructors.PrimitiveConstructorSpec[Any] | None:
    """What may be left out is called by what it is where it is given."""
    members = get_args(info.type)
    kind = next((member for member in members if member in _READERS), None)
    if len(members) != 2 or type(None) not in members or kind is None:
        return None
    metavar, read = _READERS[kind]
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=lambda words: None if words[0] in ("none", "None") else read(words[0]),
        is_instance=lambda value: value is None or isinstance(value, kind),
        str_from_instance=lambda value: ["none" if value is None else str(value)],
    )


def whole(word: str) -> int:
    """Read a whole number, exactly, in any of its spellings."""
    if re.fullmatch(r"[+-]?\d+(\.\d+)?[eE]\d\d?", word):
        number = Decimal(word)
        if number == int(number):
            return int(number)
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"{word!r} is not a whole number") from None


_READERS: dict[type, tuple[str, Callable[[str], Any]]] = {
    int: ("INT", whole),
    float: ("FLOAT", float),
    str: ("TEXT", str),
    Path: ("PATH", Path),
}


def parse(config: type[Parsed], arguments: list[str], command: str) -> Parsed:
    """Fill a config dataclass from the command line; its docstrings are the help."""
    # https://no-color.org: tyro itself looks at the terminal only.
    tyro._experimental_options["ansi_codes"] = not os.environ.get("NO_COLOR")
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(_Wrapped(sys.stdout)):
            return tyro.cli(
                config,
                args=arguments,
                prog=f"etairl {command}",
                config=(tyro.conf.FlagCreatePairsOff,),
                registry=_SPELLINGS,
            )
    except SystemExit as stop:
        if stop.code:
            raise InputError(_one_sentence(errors.getvalue())) from None
        raise


class _Wrapped:
    """A stream that wraps long lines at words, but for those in boxes; tyro leaves them long."""

    def __init__(self, stream: Any):
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def flush(self) -> None:
        """Pass on what was written."""
        self._stream.flush()

    def write(self, text: str) -> int:
        """Write the text, its long lines wrapped."""
        width = min(_WIDEST_TEXT, shutil.get_terminal_size().columns)
        groups = itertools.groupby(text.split("\n"), _is_prose)
        parts = (_filled(list(lines), width) if prose else lines for prose, lines in groups)
        return self._stream.write("\n".join(itertools.chain.from_iterable(parts)))


def _is_prose(line: str) -> bool:
    """A line of a paragraph: not empty, not indented, not in a box."""
    return bool(line) and not line[0].isspace() and not re.search(_FRAME, line)


def _filled(lines: list[str], width: int) -> list[str]:
    """A paragraph at most so wide: as it is where it fits; colours are not counted, and go."""
    plain = [re.sub(_COLOUR, "", line) for line in lines]
    if max(map(len, plain)) <= width:
        return lines
    indent = "    " if plain[0].startswith("usage: ") else ""
    return [textwrap.fill(" ".join(plain), width, subsequent_indent=indent, break_long_words=False)]


def _one_sentence(box: str) -> str:
    """Turn a box of tyro's with an error into one sentence."""
    if "Required options" in box and "Unrecognized options" not in box:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
        missing = re.findall(r"^[│ ] {5}(\S.*?) *[│ ]$", plain, re.MULTILINE)
        return f"missing: {', and '.join(missing[:-1])}; see {missing[-1]}"
    sentence = " ".join(re.sub(_BOX, " ", box).split())
    for pattern, plain in _REWORDED:
        sentence = pattern.sub(plain, sentence)
    return sentence
