"""How commands read their arguments: spellings, one-sentence errors, help that wraps."""

import contextlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
import tyro

from etairl.cli.app import COMMANDS, main
from etairl.cli.arguments import parse, whole
from etairl.types import InputError


@dataclass(frozen=True)
class Made:
    """Make something out of a source, in about five minutes, and say so in a sentence that is long.

    A second paragraph, which is also too long to be shown in one line of a terminal of 80 columns.
    """

    source: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SOURCE")]
    """where it is from"""
    output: Annotated[str, tyro.conf.arg(aliases=["-o"], metavar="FILE")]
    """where it goes"""
    steps: int | None = None
    """how many"""
    bounds: tuple[float, float] | None = None
    """low and high"""
    rate: float = 1.0
    """how fast"""
    kind: Literal["one", "two"] = "one"
    """which"""
    place: Literal["b", "a"] | None = None
    """where"""

    def __post_init__(self):
        if self.rate <= 0.0:
            raise InputError(f"rate must be positive, got {self.rate}")


@pytest.mark.parametrize(
    ("word", "number"), [("1e6", 10**6), ("1.5e3", 1500), ("1_000", 1000), ("-2", -2), ("3E0", 3)]
)
def test_whole_numbers_have_several_spellings(word, number):
    assert whole(word) == number


@pytest.mark.parametrize("word", ["1.5", "1.25e1", "12e-1", "1e400", "many", ""])
def test_what_is_not_a_whole_number_is_refused(word):
    with pytest.raises(ValueError, match="is not a whole number"):
        whole(word)


def test_large_powers_are_exact():
    assert whole("1e99") == 10**99


@pytest.mark.parametrize("utf8", [True, False])
@pytest.mark.parametrize("columns", ["40", "80", "100"])
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("", "missing: SOURCE, and -o FILE, --output FILE"),
        ("s", "missing: -o FILE, --output FILE"),
        ("s -o f --steps all", "--steps: 'all' is not a whole number"),
        ("s -o f --steps", "--steps needs a value"),
        ("s -o f --bounds 1", "--bounds: it takes 2 values, got 1"),
        ("s -o f --bounds a b", "--bounds: 'a', 'b' are not numbers"),
        ("s -o f --rate fast", "--rate: 'fast' is not a number"),
        ("s -o f --rate -1", "rate must be positive, got -1.0"),
        ("s -o f --kind three", "--kind: invalid choice 'three'; choose from 'one', 'two'"),
        ("s -o f --rat 2", "unknown option --rat (did you mean --rate?)"),
        ("s -o f --rate 2 --colour red", "unknown option --colour"),
        ("s -o f more", "a word too many: more"),
        ("s -o f --place c", "--place: invalid choice 'c'; choose from 'a', 'b'"),
    ],
)
def test_errors_are_one_sentence(arguments, sentence, columns, utf8, monkeypatch):
    monkeypatch.setitem(tyro._experimental_options, "utf8_boxes", utf8)
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(InputError) as caught:
        parse(Made, arguments.split(), "make")
    assert str(caught.value) == f"{sentence}; see etairl make --help"


@pytest.mark.parametrize("columns", [80, 100])
def test_help_wraps_at_words(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit) as stop:
        parse(Made, ["--help"], "make")
    assert not stop.value.code
    shown = capsys.readouterr().out
    assert all(len(line) <= columns for line in shown.split("\n"))
    assert "about five minutes" in " ".join(shown.split())
    assert "\n\nA second paragraph" in shown


@pytest.mark.parametrize("no_color", ["", "1"])
@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("words", [["--help"], *([name, "--help"] for name in COMMANDS)], ids=str)
def test_all_help_fits_the_terminal(words, columns, no_color, monkeypatch, capsys):
    """Also in colour, whose codes take no room."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with contextlib.suppress(SystemExit):
        main(words)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert shown.startswith("usage: etairl")
    assert not [line for line in shown.split("\n") if len(line) > columns]
    assert "{None}" not in shown


def test_a_paragraph_is_wrapped_as_one(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        parse(Made, ["--help"], "make")
    shown = capsys.readouterr().out
    assert "\nMake something out of a source, in about five minutes, and\nsay so in" in shown


def test_what_may_be_left_out_is_called_by_what_it_is():
    assert parse(Made, ["x", "-o", "y", "--steps", "1e3"], "make").steps == 1000
    assert parse(Made, ["x", "-o", "y", "--steps", "none"], "make").steps is None
    with pytest.raises(InputError, match=r"^--steps: 'all' is not a whole number; see etairl make"):
        parse(Made, ["x", "-o", "y", "--steps", "all"], "make")


@pytest.mark.parametrize("no_color", ["", "1"])
def test_help_on_a_terminal_respects_no_color(no_color):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    variables = os.environ | {"NO_COLOR": no_color, "TERM": "xterm", "COLUMNS": "80"}
    program = "from etairl.cli.app import main; main(['eta', '--help'])"
    command = [sys.executable, "-c", program]
    subprocess.run(command, env=variables, stdout=theirs, check=True, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 10_000)
    os.close(ours)
    assert b"usage" in shown
    assert (b"\x1b[" in shown) == (not no_color)
