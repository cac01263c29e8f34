"""`make mutation`: its faults are faults, its judgements are right, its list is up to date."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mutation.equivalents import listed, stale
from mutation.mutants import Source
from mutation.targets import TARGETS

ROOT = Path(__file__).parents[1]


def changes(text: str) -> list[str]:
    return [mutant.name.change for mutant in Source("m", "m.py", text).mutants]


@pytest.mark.parametrize(
    ("text", "some"),
    [
        ("a < b", ["a < b → a <= b", "a < b → a > b"]),
        ("a - b", ["a - b → a + b", "a - b → a", "a - b → b"]),
        ("a and not b", ["a and (not b) → a or not b", "a and (not b) → a and b"]),
        ("a[1:]", ["a[1:] → a[2:]", "a[1:] → a[0:]"]),
        ("a.sum(axis=-1)", ["a.sum(axis=-1) → a.mean(axis=-1)", "a.sum(axis=-1) → a.sum(axis=1)"]),
        ("max(a, 0.0)", ["max(a, 0.0) → min(a, 0.0)", "max(a, 0.0) → a", "max(a, 0.0) → 0.0"]),
        ("np.where(c, a, b)", ["np.where(c, a, b) → np.where(c, b, a)", "np.where(c, a, b) → a"]),
        ("a if c else b", ["a if c else b → b if c else a"]),
        ("find(a, side='left')", ["find(a, side='left') → find(a, side='right')"]),
    ],
)
def test_faults_of_an_expression(text, some):
    assert set(some) <= set(changes(f"def f(a, b, c):\n    return {text}"))


def test_faults_of_statements():
    found = changes("def f(a):\n    a += 1\n    g(a)\n    while a:\n        break\n    return a\n")
    assert {"a += 1 → a -= 1", "a += 1 → pass", "g(a) → pass", "break → continue"} <= set(found)
    assert "a → not a" in found


def test_words_types_and_messages_are_no_numbers():
    text = '''
@cache(maxsize=64)
def f(a: Literal[1, 2] = None) -> "x | 3":
    """Not 5."""
    if a:
        raise ValueError(f"more than {2 * 7} of {a + 1}")
    assert a != 4
    return zip(a, a, strict=True)
'''
    assert changes(text) == ["a → not a"]


def test_mutants_of_a_module_have_names_of_their_own():
    path = ROOT / "src" / "etairl" / "simplex.py"
    source = Source("etairl.simplex", str(path), path.read_text(encoding="utf-8"))
    names = [mutant.name for mutant in source.mutants]
    assert len(set(names)) == len(names) > 50
    # Each compiles, and the tree is afterwards what it was.
    codes = {source.compiled(mutant).co_code for mutant in source.mutants}
    assert codes
    again = Source("etairl.simplex", str(path), path.read_text(encoding="utf-8"))
    assert [mutant.name for mutant in again.mutants] == names


def test_what_is_listed_as_equivalent_is_there_and_has_a_reason():
    modules = {target.module for targets in TARGETS.values() for target in targets}
    assert {name.module for name in listed()} <= modules
    assert stale(modules) == []
    assert all(len(reason.split()) >= 4 for reason in listed().values())


MODULE = """
LIMIT = 3.0
CACHE = 10


def inside(x, most=LIMIT):
    return 0.0 <= x < most


def mean(values):
    total = 0.0
    for value in values:
        total += value
    if len(values) == CACHE:
        pass
    return total / len(values)


def endless(n):
    while n > 0:
        n -= 1
    return n
"""
TESTS = """
from toy import endless, inside, mean


def test_inside():
    assert [inside(x) for x in (-0.1, 0.0, 2.9, 3.0)] == [False, True, True, False]


def test_mean():
    assert mean([1.0, 2.0]) == 1.5


def test_endless():
    assert endless(2) == 0
"""
JUDGE = """
import json, sys
from pathlib import Path
from mutation.records import Records
from mutation.session import judge
from mutation.targets import Target

target = Target("toy", ("test_toy.py",), root=Path.cwd())
records = Records(Path("records.jsonl"))
judge([target], records, {}, imports=True)
print(json.dumps([name.change for name in records.survivors(target)]), file=sys.stderr)
print(json.dumps(records.counts([target], {})["toy"]), file=sys.stderr)
"""


def test_judgements_of_a_toy(tmp_path):
    """Survivors are what no test can tell; a loop without end is noticed; nothing runs twice."""
    (tmp_path / "src").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "src" / "toy.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "tests" / "test_toy.py").write_text(TESTS, encoding="utf-8")
    folders = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tools")])
    surroundings = os.environ | {"PYTHONPATH": folders}

    def run() -> tuple[list[str], list[int], str]:
        command = [sys.executable, "-c", JUDGE]
        done = subprocess.run(
            command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=True
        )
        survivors, counts = done.stderr.splitlines()[-2:]
        return json.loads(survivors), json.loads(counts), done.stdout

    survivors, counts, said = run()
    # Nothing is asked about ten values, nor of an odd number of steps.
    assert set(survivors) == {
        *("CACHE = 10 → CACHE = 11", "CACHE = 10 → CACHE = 9"),
        *("len(values) == CACHE → len(values) != CACHE", "n -= 1 → n -= 2"),
    }
    mutants, killed, _, survived, unjudged = counts
    assert (survived, unjudged) == (len(survivors), 0)
    assert mutants == killed + survived > 15
    assert f"{mutants} to judge" in said
    again, counts_again, said = run()
    assert (again, counts_again) == (survivors, counts)
    assert "0 to judge" in said
