"""Runs tests against mutants, each in a forked process.

Tests and the modules under test are imported once, and each process that is forked afterwards gives
the functions of one mutant their new code: no import, no collection. A fault outside of functions
(a constant, a default) needs the import: the fork then happens before it.
"""

import gc
import importlib.abc
import importlib.machinery
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from functools import _lru_cache_wrapper
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mutation.processes import TooLong, within

Lines = set[tuple[str, int]]
Undo = Callable[[], None]
SLOW = 0.25
"""seconds of the processor; tests that take longer are not asked"""
OPTIONS = (
    *("-q", "--assert=plain", "--tb=native", "-p", "no:cacheprovider", "-m", "not slow"),
    *("-o", "addopts=--import-mode=importlib --strict-markers", "-o", "markers=slow"),
)
LIGHT = ("--noconftest", "-p", "mutation.fixtures")


class Fault(importlib.abc.MetaPathFinder):
    """Finds one module with other code."""

    def __init__(self, module: str, code: CodeType):
        self.module, self.code = module, code

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """The usual place, for a loader that has the code already."""
        if fullname != self.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        code = self.code

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType:
                return code

        spec.loader = Loader(fullname, spec.origin)
        return spec


class Judge:
    """A plugin: where pytest would run what it collected, `then` does what is asked."""

    def __init__(self, paths: set[str], then: Callable[["Judge"], None]):
        self.paths, self.then = paths, then
        self.items: dict[str, pytest.Item] = {}
        self.at_import: Lines = set()
        self.functions: dict[tuple[str, str, int], list[FunctionType]] = {}
        self.caches: list[Any] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Examples of hypothesis are the same in every process, and are not made small."""
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile(
            "mutation", deadline=None, derandomize=True, database=None, phases=phases
        )
        settings.load_profile("mutation")
        _trace(self.paths, self.at_import)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """All is imported."""
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        if threads := len(os.listdir("/proc/self/task")) - 1:
            raise RuntimeError(f"collecting the tests starts {threads} threads: no fork after that")
        _warm()
        gc.unfreeze()
        self.items = {item.nodeid: item for item in session.items}
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType) and thing.__code__.co_filename in self.paths:
                code = thing.__code__
                place = code.co_filename, code.co_qualname, code.co_firstlineno
                self.functions.setdefault(place, []).append(thing)
            elif isinstance(thing, _lru_cache_wrapper):
                self.caches.append(thing)
        self.forget()
        gc.freeze()
        self.then(self)
        return True

    def run(self, tests: list[str]) -> str | None:
        """The first test that fails."""
        for name, then in zip(tests, [*tests[1:], None], strict=True):
            if self.ended(name, then) == "failed":
                self.tear_down(None)
                return name
        return None

    def forget(self) -> None:
        """Results that are kept, by one mutant for the next, or by a test for others."""
        jax = sys.modules.get("jax")
        if jax is not None and "jaxlib" in sys.modules and _started(jax):
            jax.clear_caches()
        for cache in self.caches:
            cache.cache_clear()

    def tear_down(self, then: Any) -> None:
        """All fixtures but those of the test that comes next."""
        item = next(iter(self.items.values()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            item.session._setupstate.teardown_exact(then)

    def ended(self, name: str, then: str | None) -> str:
        """How a test ends; as pytest runs it, without the report, that takes longer than most."""
        item: Any = self.items[name]
        state, outcome = item.session._setupstate, "passed"
        if not hasattr(item, "_request") or not item._request:
            item._initrequest()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                state.setup(item)
                item.runtest()
        except pytest.skip.Exception:
            outcome = "skipped"
        except (Exception, pytest.fail.Exception):
            outcome = "failed"
        self.tear_down(self.items[then] if then else None)
        item._request, item.funcargs = None, None
        return outcome

    def patch(self, code: CodeType, outermost: tuple[str, int]) -> Undo | None:
        """Give the functions that are there the new code; how to undo it, None where none is."""
        new = _find(code, outermost)
        living = self.functions.get((code.co_filename, *outermost), [])
        if not living or new is None:
            return None
        if any(f.__code__.co_freevars != new.co_freevars for f in living):
            return None
        before = [(function, function.__code__) for function in living]
        for function in living:
            function.__code__ = new

        def undo() -> None:
            for function, old in before:
                function.__code__ = old

        return undo

    def set_constants(self, module: str, code: CodeType) -> Undo | None:
        """Give the numbers of a module, wherever they were imported, what the new code says."""
        there, namespace = vars(sys.modules[module]), {"__name__": f"{module} (mutant)"}
        sys.modules[namespace["__name__"]] = sys.modules[module]  # where dataclasses look
        exec(code, namespace)
        before = [
            (other, name, there[name])
            for name, new in namespace.items()
            if isinstance(there.get(name), bool | int | float) and new != there[name]
            for other in list(sys.modules.values())
            if vars(other).get(name) is there[name]
        ]
        for other, name, _ in before:
            setattr(other, name, namespace[name])

        def undo() -> None:
            for other, name, old in before:
                setattr(other, name, old)

        return undo if before else None

    def measure(self, tests: list[str]) -> dict[str, Any]:
        """Of each test whether it fails, how long it takes and which lines it reaches."""
        found: dict[str, Any] = {}
        for item, then in zip(tests, [*tests[1:], None], strict=True):
            self.forget()
            lines: Lines = set()
            _trace(self.paths, lines)
            begun = time.process_time()
            try:
                outcome = within(lambda item=item, then=then: self.ended(item, then), 8.0 * SLOW)
            except TooLong:
                self.tear_down(None)
                outcome = "skipped"
            finally:
                sys.settrace(None)
            found[item] = {
                "failed": outcome == "failed",
                "skipped": outcome == "skipped",
                "seconds": time.process_time() - begun,
                "lines": sorted(lines),
            }
        return found


def _started(jax: Any) -> bool:
    """Whether JAX has begun its threads; asking for its caches earlier would begin them."""
    return bool(jax._src.xla_bridge._backends)


def _trace(paths: set[str], lines: Lines) -> None:
    """Note the lines of some files that run, in all threads."""

    def within(frame: FrameType, event: str, _: Any) -> Any:
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return within

    def entered(frame: FrameType, event: str, _: Any) -> Any:
        return within if frame.f_code.co_filename in paths else None

    threading.settrace(entered)
    sys.settrace(entered)


def _find(code: CodeType, wanted: tuple[str, int]) -> CodeType | None:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if (inner.co_qualname, inner.co_firstlineno) == wanted:
                return inner
            if found := _find(inner, wanted):
                return found
    return None


def _warm() -> None:
    """What hypothesis looks up once."""

    @settings(max_examples=1)
    @given(st.integers(), st.floats())
    def nothing(_a: int, _b: float) -> None:
        pass

    nothing()
