"""etairl beside its peers: every row a ratio within one run, repetitions in turn."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from etairl.bench.interleaved import Contestant, Ratio, Turn, Worker, in_turn
from etairl.bench.peer_cases import LIBRARIES, Case, Start


@dataclass(frozen=True)
class Beside:
    """One thing that both do, ours and a peer's."""

    what: str
    beside: str
    ours: float | None
    """median"""
    theirs: float | None
    """median"""
    unit: str
    """of both"""
    ratio: float | None
    """theirs to ours: the median over the rounds; None where the peer has nothing comparable"""
    spread: str
    """the smallest and the largest ratio of the rounds"""
    limit: float | None
    note: str
    ok: bool

    @staticmethod
    def of(case: Case | Start, peer: int, found: Ratio, unit: tuple[str, float]) -> "Beside":
        """A row from what was measured."""
        name, scale = unit
        theirs = case.theirs[peer]
        return Beside(
            case.what,
            theirs.beside,
            found.ours * scale,
            found.theirs * scale,
            name,
            found.ratio,
            f"{found.lowest:.3g} to {found.highest:.3g}",
            theirs.limit,
            theirs.note,
            theirs.limit is None or found.ratio >= theirs.limit,
        )

    @staticmethod
    def nothing(what: str, beside: str, why: str) -> "Beside":
        """A row of a peer that has nothing comparable."""
        return Beside(what, beside, None, None, "", None, "", None, why, True)


class Comparison(NamedTuple):
    """What takes part, and how often."""

    sides: dict[str, Contestant]
    """`etairl` and the libraries, by name"""
    cores: int
    rounds: int = 7
    starts: int = 3
    """fresh processes of each side"""

    @staticmethod
    def of(pythons: dict[str, Path], own: Path, cores: int, **rounds: int) -> "Comparison":
        """With the Python of each library, and ours."""
        folder = Path(__file__).parent
        sides = {
            name: Contestant(
                library.title, pythons[library.environment], folder / library.works, cores
            )
            for name, library in LIBRARIES.items()
        }
        sides["etairl"] = Contestant("etairl", own, folder / "works_of_etairl.py", cores, own=True)
        return Comparison(sides, cores, **rounds)

    def rows(self, cases: Sequence[Case], starts: Sequence[Start]) -> Iterator[list[Beside]]:
        """The rows of each case, then those of starts; the workers live on from case to case."""
        with ExitStack() as stack:
            wanted = {doer.who for case in cases for doer in case.doers}
            workers = {n: stack.enter_context(Worker(self.sides[n])) for n in sorted(wanted)}
            for case in cases:
                yield self._timed(workers, case)
        for start in starts:
            yield from self._started(start)

    def versions(self) -> dict[str, str]:
        """Of what is compared."""
        versions = {}
        for name, side in self.sides.items():
            packages = LIBRARIES[name].packages if name in LIBRARIES else ("etairl", "jax")
            with Worker(side) as worker:
                about = worker.ask(about=packages)["versions"]
            versions |= {f"{name}: {package}": number for package, number in about.items()}
        return versions

    def _timed(self, workers: dict[str, Worker], case: Case) -> list[Beside]:
        turns = []
        for number, (who, work, settings, units) in enumerate(case.doers):
            worker, key = workers[who], str(number)
            worker.make(key, work, settings)
            turns.append(Turn(worker, key, units))
        ours, *theirs = in_turn(turns, self.rounds)
        for turn in turns:
            turn.worker.ask(drop=turn.key)
        rows = [
            Beside.of(case, i, Ratio.of(ours, each), case.unit) for i, each in enumerate(theirs)
        ]
        return rows + [Beside.nothing(case.what, *absent) for absent in case.absent]

    def _started(self, start: Start) -> Iterator[list[Beside]]:
        """Fresh processes: seconds until the first cycle is over, and the most memory."""
        taken: list[list[tuple[float, float]]] = [[] for _ in start.doers]
        for number in range(self.starts):
            order = range(len(start.doers))
            for i in order if number % 2 == 0 else reversed(order):
                taken[i].append(self._first_cycle(*start.doers[i]))
        seconds, memory = ([[x[i] for x in each] for each in taken] for i in (0, 1))
        for what, column, unit in (
            ("time", seconds, ("s", 1.0)),
            ("memory", memory, ("MB", 1.0)),
        ):
            named = start._replace(what=f"{start.what}, {what}")
            ours, *theirs = column
            yield [Beside.of(named, i, Ratio.of(ours, each), unit) for i, each in enumerate(theirs)]

    def _first_cycle(
        self, who: str, work: str, settings: dict[str, Any], units: int
    ) -> tuple[float, float]:
        with Worker(self.sides[who]) as worker:
            worker.make("0", work, settings)
            worker.run("0", units)
            seconds = time.perf_counter() - worker.begun
            return seconds, worker.ask(about=[])["megabytes"]
