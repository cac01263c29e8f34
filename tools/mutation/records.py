"""What was found, a line of JSON for each mutant, so that nothing is judged twice."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mutation.mutants import Mutant, Name, Source
from mutation.targets import Target


class Count(NamedTuple):
    """Mutants of a module by what became of them."""

    mutants: int
    killed: int
    equivalent: int
    survived: int
    unjudged: int


class Records:
    """Judgements by mutant. A kill holds while the test that made it is the same file."""

    def __init__(self, path: Path):
        self.path = path
        self._known: dict[Name, dict[str, Any]] = {}
        self._sources: dict[str, Source] = {}
        self.read()

    def read(self) -> None:
        """What is on disk; the last word on a mutant counts."""
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                found = json.loads(line)
                self._known[Name(*found["mutant"])] = found

    def source(self, target: Target) -> Source:
        """The module, parsed once."""
        if target.module not in self._sources:
            text = target.path.read_text(encoding="utf-8")
            self._sources[target.module] = Source(target.module, str(target.path), text)
        return self._sources[target.module]

    def outcome(self, target: Target, mutant: Mutant) -> str | None:
        """`survived`, or what ended it; None where that is not known."""
        found = self._known.get(mutant.name)
        if found is None or found["source"] != _digest([target.path]):
            return None
        decided = [target.root / found["by"].split("::")[0]] if found["by"] else target.files
        return found["outcome"] if found["tests"] == _digest(decided) else None

    def add(self, target: Target, mutant: Mutant, outcome: str, by: str) -> None:
        """Keep a judgement, also on disk."""
        decided = [target.root / by.split("::")[0]] if by else target.files
        found = {
            "mutant": list(_fields(mutant.name)),
            "outcome": outcome,
            "by": by,
            "source": _digest([target.path]),
            "tests": _digest(decided),
        }
        self._known[mutant.name] = found
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found, ensure_ascii=False) + "\n")

    def survivors(self, target: Target) -> list[Name]:
        """Mutants that no test noticed."""
        return list(self._with(target, "survived"))

    def killed(self, target: Target) -> list[Name]:
        """Mutants that a test noticed."""
        return list(self._with(target, "killed"))

    def _with(self, target: Target, outcome: str) -> Iterator[Name]:
        for mutant in self.source(target).mutants:
            if self.outcome(target, mutant) == outcome:
                yield mutant.name

    def counts(self, targets: Iterable[Target], equivalent: dict[Name, str]) -> dict[str, Count]:
        """By module."""
        counts = {}
        for target in targets:
            outcomes = [(m.name, self.outcome(target, m)) for m in self.source(target).mutants]
            survived = [name for name, outcome in outcomes if outcome == "survived"]
            unjudged = sum(outcome is None for _, outcome in outcomes)
            alike = sum(name in equivalent for name in survived)
            counts[target.module] = Count(
                len(outcomes),
                len(outcomes) - len(survived) - unjudged,
                alike,
                len(survived) - alike,
                unjudged,
            )
        return counts


def table(counts: dict[str, Count]) -> str:
    """The counts as lines of text, the sum last."""
    total = Count(*map(sum, zip(*counts.values(), strict=True)))
    rows = [("module", *Count._fields)]
    rows += [(name, *map(str, count)) for name, count in [*counts.items(), ("all", total)]]
    return "\n".join(f"{row[0]:<34}" + "".join(f"{cell:>11}" for cell in row[1:]) for row in rows)


def write_summary(path: Path, counts: dict[str, Count]) -> None:
    """The counts as JSON."""
    found = {name: count._asdict() for name, count in counts.items()}
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _fields(name: Name) -> tuple[str, str, str, int]:
    return name.module, name.function, name.change, name.nth


def _digest(paths: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for path in paths:
        whole.update(path.read_bytes())
    return whole.hexdigest()[:16]
