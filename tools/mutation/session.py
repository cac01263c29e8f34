"""The mutants of modules, judged one after the other."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mutation.judging import LIGHT, OPTIONS, SLOW, Fault, Judge
from mutation.mutants import Mutant, Name
from mutation.processes import TooLong, forked, one_by_one, quiet, within
from mutation.records import Records
from mutation.targets import Target

_HOUR = 3600.0
_TOGETHER = 20  # mutants that one process tries, one after the other
_NOT_THERE = "not there"  # no living function has the code of the mutant
# All that the tests import and that has nothing to do with a mutant; JAX starts no thread by this.
_NUMERIC = ("numpy", "scipy.stats", "threadpoolctl", "jaxtyping", "hypothesis")
_THIRD_PARTY = (
    *("scipy.optimize", "scipy.special", "scipy.signal", "jax", "equinox", "optax", "gymnasium"),
    *("safetensors.numpy", "h5py", "minari", "imageio_ffmpeg", "tensorboardX", "beartype"),
)


def judge(
    targets: list[Target], records: Records, equivalent: dict[Name, str], imports: bool
) -> None:
    """Every mutant of modules with the same tests that is not judged yet."""
    todo = []
    for target in targets:
        mutants = records.source(target).mutants
        mine = [(target, m) for m in mutants if records.outcome(target, m) is None]
        todo += mine
        print(f"{target.module}: {len(mutants)} mutants, {len(mine)} to judge", flush=True)
    if not imports:  # for which each mutant needs another import
        todo = [(t, m) for t, m in todo if m.outermost or m.constant]
    if not todo:
        return
    _prepare(targets[0])
    session = Session(targets, records, todo, equivalent, imports)
    how, _ = forked(session.judge, _HOUR * 24)
    if how != "done":
        print(f"{targets[0].module}: the judge itself ended ({how})", flush=True)
        return
    records.read()
    tests = session.read_tests()
    for target, mutant in todo:
        if imports and records.outcome(target, mutant) is None:
            seconds = 20.0 + 5.0 * sum(t["seconds"] for t in tests.values())
            how, by = forked(lambda t=target, m=mutant: session.from_import(t, m, tests), seconds)
            session.note(target, mutant, how, by, tests)


def _prepare(target: Target) -> None:
    sys.path[:0] = [str(target.root / "src"), str(target.root / "tests")]
    os.chdir(target.root)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / "etairl-mutation")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    for name in _NUMERIC if target.light else (*_NUMERIC, *_THIRD_PARTY):
        __import__(name)


class Session:
    """Modules, the tests of them, and what is still to be judged."""

    def __init__(
        self,
        targets: list[Target],
        records: Records,
        todo: list[tuple[Target, Mutant]],
        equivalent: dict[Name, str],
        imports: bool,
    ):
        self.imports = imports
        self.targets, self.records, self.todo, self.equivalent = targets, records, todo, equivalent
        self.folder = Path(tempfile.mkdtemp(prefix="mutation-"))
        self.done, self.begun, self.said = 0, time.monotonic(), 1

    def judge(self) -> None:
        """The mutants within functions and in constants; what needs an import is left."""
        self.said = quiet(self.folder / "log")
        self._pytest(self._judge_collected)

    def _pytest(self, then: Callable[[Judge], None]) -> None:
        files = [str(path.relative_to(Path.cwd())) for path in self.targets[0].files]
        paths = {str(target.path) for target in self.targets}
        options = [*OPTIONS, *(LIGHT if self.targets[0].light else ())]
        pytest.main([*options, *files], plugins=[Judge(paths, then)])

    def _judge_collected(self, judge: Judge) -> None:
        tests = self._asked(judge)
        cases: list[tuple[Target, Mutant, list[str]]] = []
        by_import: set[Name] = set()
        for target, mutant in self.todo:
            lines = {(str(target.path), n) for n in range(mutant.first, mutant.last + 1)}
            reached = [n for n, test in tests.items() if not test["lines"].isdisjoint(lines)]
            if mutant.constant:
                reached = list(tests)
            elif mutant.outermost is None:
                continue
            reached.sort(key=lambda name: tests[name]["seconds"])
            cases.append((target, mutant, reached))
            # A constant may also be the default of an argument; objects may be made by an import.
            if mutant.constant or not judge.at_import.isdisjoint(lines):
                by_import.add(mutant.name)
        for begin in range(0, len(cases), _TOGETHER):
            some = cases[begin : begin + _TOGETHER]
            *found, clean = one_by_one(
                [lambda case=case: self._try(judge, tests, *case) for case in some],
                lambda: judge.run(list(tests)),
            )
            if clean is not None:
                self._say(f"  {clean} fails after mutants: each in a process of its own")
                found = [
                    next(one_by_one([lambda c=case: self._try(judge, tests, *c)], int))
                    for case in some
                ]
            for (target, mutant, _), by in zip(some, found, strict=True):
                late = self.imports and by is None and mutant.name in by_import
                if by != _NOT_THERE and not late:
                    self.note(target, mutant, "done", by, tests)

    def _try(
        self,
        judge: Judge,
        tests: dict[str, Any],
        target: Target,
        mutant: Mutant,
        reached: list[str],
    ) -> str | None:
        """The first test that notices a mutant; all is as before then."""
        if not reached:
            return None
        code = self.records.source(target).compiled(mutant)
        if mutant.outermost is None:
            undo = judge.set_constants(target.module, code)
        else:
            undo = judge.patch(code, mutant.outermost)
        if undo is None:
            return _NOT_THERE
        seconds = 1.0 + 5.0 * sum(tests[name]["seconds"] for name in reached)
        try:
            return within(lambda: judge.run(reached), seconds)
        except TooLong:
            judge.tear_down(None)
            return "too long"
        finally:
            undo()
            judge.forget()

    def _asked(self, judge: Judge) -> dict[str, Any]:
        """The tests that pass, are fast enough, and what they reach."""
        how, tests = forked(lambda: judge.measure(list(judge.items)), _HOUR)
        assert how == "done", how
        slow = [name for name, test in tests.items() if test["seconds"] > SLOW]
        if slow:  # the first time is that of a compiler, whose work is kept
            how, again = forked(lambda: judge.measure(slow), _HOUR)
            tests.update(again)
        for name, test in tests.items():
            if test["failed"]:
                self._say(f"fails without a mutant: {name}")
        slow = [n for n in slow if tests[n]["seconds"] > SLOW]
        seconds = time.monotonic() - self.begun
        self._say(f"{len(tests)} tests in {seconds:.0f} s, {len(slow)} too slow to be asked")
        asked = {
            n: t | {"lines": {(path, n) for path, n in t["lines"]}}
            for n, t in tests.items()
            if not t["failed"] and not t["skipped"] and n not in slow
        }
        (self.folder / "tests.json").write_text(
            json.dumps({n: {"seconds": t["seconds"]} for n, t in asked.items()}), encoding="utf-8"
        )
        return asked

    def read_tests(self) -> dict[str, Any]:
        """What another process measured."""
        return json.loads((self.folder / "tests.json").read_text(encoding="utf-8"))

    def from_import(self, target: Target, mutant: Mutant, tests: dict[str, Any]) -> str | None:
        """The first test that fails with the fault there from the beginning."""
        quiet(self.folder / "log")
        code = self.records.source(target).compiled(mutant)
        sys.meta_path.insert(0, Fault(target.module, code))
        found: list[str | None] = ["import"]

        def then(judge: Judge) -> None:
            missing = [name for name in tests if name not in judge.items]
            found[0] = missing[0] if missing else judge.run(list(tests))

        self._pytest(then)
        return found[0]

    def note(
        self, target: Target, mutant: Mutant, how: str, by: str | None, tests: dict[str, Any]
    ) -> None:
        """A judgement; that a process died or did not end counts as noticed."""
        self.done += 1
        survived = how == "done" and by is None
        decided = (by or "") if by in tests else ""
        self.records.add(target, mutant, "survived" if survived else "killed", decided)
        if survived and mutant.name not in self.equivalent:
            self._say(f"  survived, line {mutant.first}: {mutant.name}")
        if self.done % 100 == 0:
            seconds = time.monotonic() - self.begun
            self._say(f"  {self.done} of {len(self.todo)}, {seconds:.0f} s")

    def _say(self, line: str) -> None:
        os.write(self.said, (line + "\n").encode())
