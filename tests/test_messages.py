"""The words of everything that a user is told: short, plain, without those of the libraries.

They are collected from the sources: errors, what functions return that errors are made of,
warnings, and what is said while a command is at work.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from etairl.types import InputError

SOURCES = Path(__file__).parents[1] / "src" / "etairl"
RAISED = {"InputError", "UnreadableError", "DivergedError", "refuse"}
THEIRS = re.compile(r"\b(tyro|jax|xla|h5py|equinox|optax|argparse|nonetype|traceback)\b|<class")
OURS = {"must be written with jax.numpy", "its folder in PYTHONPATH"}
"""where the user's own code has to call a library, or an own name is in capitals"""
REMEDY = re.compile(
    r"choose|did you mean|see |use |say |run|install|give|name|leave|resume|there are|…$|;|, not "
)
ASKED = re.compile(
    r"\b(must|needs?|takes?|wants?|got|instead|only|at most|at least|goe?s? (together|with))\b"
    r"|\blies?\b|more than|longer than|is needed|: (it|an?|the|put|keep) |\. [A-Z]|^…$|is not a"
    r"|is there|known"
)
"""what was expected: then it is clear what to do"""
READERS = ("cli/", "demos/", "studies/", "training/", "eta/", "runs.py")
"""where what a user types or names is read"""
ASIDE = ("training/filming.py", "training/scenes.py")
"""why pictures are left out of a page that is made all the same"""


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


SAID = {"say", "tell", "stage", "status", "working", "Waiting"}
LISTS = {"warnings"}
OTHERS = {
    *("SystemExit", "KeyboardInterrupt", "NotImplementedError", "StopIteration"),
    *("AttributeError", "MemoryError", "FloatingPointError"),
    "ValueError",  # what the option parser makes a sentence of
}
"""what else is raised: none of them is shown to a user as it is"""
TREES = {file: ast.parse(file.read_text()) for file in sorted(SOURCES.rglob("*.py"))}
SENTENCES = {
    node.name: node
    for tree in TREES.values()
    for node in ast.walk(tree)
    if isinstance(node, ast.FunctionDef) and ast.unparse(node.returns or ast.Constant("")) == "str"
}
"""functions that return text, which messages may be made of"""


def name_of(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def is_message(call: ast.Call) -> bool:
    name = name_of(call)
    to_stderr = name == "print" and any(k.arg == "file" for k in call.keywords)
    listed = name == "append" and name_of_list(call) in LISTS
    return name in RAISED or name in SAID or to_stderr or listed


def name_of_list(call: ast.Call) -> str:
    return getattr(getattr(call.func, "value", None), "id", "")


def parts(message: ast.expr, function: ast.AST) -> Iterator[ast.expr]:
    """A message, and what it is made of: names set in the same function, functions of ours."""
    yield message
    for node in ast.walk(message):
        if isinstance(node, ast.Call) and name_of(node) in SENTENCES:
            inner = SENTENCES[name_of(node)]
            returned = (r.value for r in ast.walk(inner) if isinstance(r, ast.Return) and r.value)
            for value in returned:
                yield from choices(value)
        elif isinstance(node, ast.Name):
            for other in ast.walk(function):
                if isinstance(other, ast.Assign) and any(
                    isinstance(target, ast.Name) and target.id == node.id
                    for target in other.targets
                ):
                    yield from choices(other.value)


def choices(value: ast.expr) -> Iterable[ast.expr]:
    """Both sides of `a if b else c`; else the value itself; only what has words of its own."""
    if isinstance(value, ast.IfExp):
        return [*choices(value.body), *choices(value.orelse)]
    return [value] if isinstance(value, (ast.Constant, ast.JoinedStr, ast.BinOp)) else []


def messages() -> Iterator[tuple[str, str, str | None]]:
    """Where, what, and of a whole one what is raised, of all that the user meets."""
    for file, tree in TREES.items():
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
        inside = {id(n): f for f in functions for n in ast.walk(f)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and is_message(node):
                where = f"{file.relative_to(SOURCES)}:{node.lineno}"
                found = parts(node.args[0], inside.get(id(node), node))
                for number, part in enumerate(found):
                    raised = name_of(node) if name_of(node) in RAISED else None
                    yield where, text(part), None if number else raised


EVERYTHING = sorted({(where, words) for where, words, _ in messages() if words.strip("… ")})
ALL = {where: words for where, words, whole in messages() if whole}


def test_they_are_found():
    assert len(ALL) > 500
    assert sum(words != "…" for words in ALL.values()) > 0.95 * len(ALL)
    assert len(EVERYTHING) > len(ALL) + 100
    words = [words for _, words in EVERYTHING]
    for known in (
        "… is not a run directory: there is no such folder; …",  # of a function
        "did you mean …?",  # of a variable
        "only … episodes: too few to split, so there is no MMD floor",  # a warning
        "first episodes, compiling",  # while it works
    ):
        assert known in words


def test_nothing_is_raised_that_is_not_collected():
    raised = {
        name_of(node.exc)
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
    }
    makers = {  # whatever they return is collected inside them
        node.name
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and ast.unparse(node.returns or ast.Constant("")) in RAISED
    }
    assert raised - RAISED - makers <= OTHERS


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
    clean = [(where, words) for where, words in EVERYTHING if not any(o in words for o in OURS)]
    assert not [(where, words) for where, words in clean if found(words)], fault


def test_what_is_unknown_or_missing_has_a_remedy():
    """A name that was mistyped, a package or a folder that is not there: what to do is known."""
    lost = re.compile(
        r"unknown|not installed|no such|already holds|exists already|not a run"
        r"|has no (metrics|rewards)"
    )
    guilty = {w: words for w, words in ALL.items() if lost.search(words)}
    assert len(guilty) > 20
    assert not {w: words for w, words in guilty.items() if not REMEDY.search(words)}


def test_what_a_user_gave_is_answered_with_what_to_do():
    """Or with what was expected. A damaged run is answered by the program itself."""
    given = {
        where: words
        for where, words, raised in messages()
        if raised in ("InputError", "refuse") and where.startswith(READERS)
    }
    guilty = {w: words for w, words in given.items() if not w.startswith(ASIDE)}
    assert len(guilty) > 250
    assert not {
        w: words
        for w, words in guilty.items()
        if not REMEDY.search(words) and not ASKED.search(words)
    }


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
