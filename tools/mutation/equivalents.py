"""Mutants that change no number, each with the reason: `equivalent.toml`."""

import tomllib
from functools import cache
from pathlib import Path

from mutation.mutants import Name, Source
from mutation.targets import TARGETS

LIST = Path(__file__).with_name("equivalent.toml")


@cache
def listed() -> dict[Name, str]:
    """The reason of each."""
    reasons: dict[Name, str] = {}
    for entry in tomllib.loads(LIST.read_text(encoding="utf-8")).get("mutant", []):
        for change in entry["changes"]:
            text, _, number = change.partition("  #")
            name = Name(entry["module"], entry["function"], text, int(number or 1))
            if name in reasons:
                raise ValueError(f"listed twice: {name}")
            reasons[name] = entry["reason"]
    return reasons


def stale(modules: set[str]) -> list[Name]:
    """Those of some modules that are not mutants of the source as it is now."""
    paths = {t.module: t.path for targets in TARGETS.values() for t in targets}
    found: list[Name] = []
    for module in sorted({name.module for name in listed()} & modules):
        path = paths[module]
        source = Source(module, str(path), path.read_text(encoding="utf-8"))
        there = {mutant.name for mutant in source.mutants}
        found += [name for name in listed() if name.module == module and name not in there]
    return found
