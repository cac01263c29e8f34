"""The words of everything that a user is told: short, plain, without those of the libraries."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from etairl.types import InputError

SOURCES = Path(__file__).parents[1] / "src" / "etairl"
RAISED = {"InputError", "UnreadableError", "DivergedError", "refuse"}
THEIRS = re.compile(r"\b(tyro|jax|xla|h5py|equinox|optax|argparse|nonetype|traceback)\b|<class")
OURS = {"must be written with jax.numpy", "its folder in PYTHONPATH"}
"""where the user's own code has to call a library, or an own name is in capitals"""
REMEDY = re.compile(
    r"choose|did you mean|see |use |say |run|install|give|name|leave|there are|…$|;|, not "
)


def text(node: ast.expr) -> str:
    """The words of a message; what is filled in later is an ellipsis."""
    match node:
        case ast.Constant(value=str(words)):
            return words
        case ast.JoinedStr(values=parts):
            return "".join(p.value if isinstance(p, ast.Constant) else "…" for p in parts)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return text(left) + text(right)
        case _:
            return "…"


def messages() -> Iterator[tuple[str, str]]:
    """Where, and what: of all errors that the user meets, and of what commands print as errors."""
    for file in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            to_stderr = name == "print" and any(k.arg == "file" for k in node.keywords)
            if name in RAISED or to_stderr:
                where = f"{file.relative_to(SOURCES)}:{node.lineno}"
                yield where, text(node.args[0])


ALL = dict(messages())


def test_they_are_found():
    assert len(ALL) > 400
    assert sum(words != "…" for words in ALL.values()) > 0.9 * len(ALL)


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("three sentences", lambda words: len(re.findall(r"[.!?] [A-Z…]", words)) > 1),
        ("a full stop, which is for the end of what is added", lambda w: w.endswith(".")),
        ("more than three lines", lambda words: len(words) > 240),
        ("shouting", lambda words: "!" in words or re.search(r"\b[A-Z]{7,}\b", words)),
        ("what a library calls itself", lambda words: THEIRS.search(words.lower())),
        ("an excuse", lambda words: re.search(r"\b(sorry|oops|please|unfortunately)\b", words)),
    ],
)
def test_none_has(fault, found):
    clean = {where: words for where, words in ALL.items() if not any(o in words for o in OURS)}
    guilty = {where: words for where, words in clean.items() if found(words)}
    assert not guilty, fault


def test_what_is_unknown_or_missing_has_a_remedy():
    """A name that was mistyped, a package or a folder that is not there: what to do is known."""
    lost = re.compile(r"unknown|not installed|no such|already holds|exists already")
    guilty = {w: words for w, words in ALL.items() if lost.search(words)}
    assert len(guilty) > 20
    assert not {w: words for w, words in guilty.items() if not REMEDY.search(words)}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\ntwo\r\nthree", "one two three"),
        ("a\x1b[2Jb\x00", "a\\x1b[2Jb\\x00"),
        ("\ud800", "\\ud800"),
        ("η of κ, « é »", "η of κ, « é »"),
        ("", ""),
    ],
)
def test_a_message_is_one_printable_line(text, shown):
    assert str(InputError(text)) == shown


@pytest.mark.parametrize("letter", ["a", "\x00", "\n", "\ud800"])
def test_a_message_is_bounded_whatever_it_repeats(letter):
    said = str(InputError(f"begin {letter * 60_000} end"))
    assert said.startswith("begin ")
    assert said.endswith(" end")
    assert len(said) < 1300
    assert str(InputError(said)) == said
