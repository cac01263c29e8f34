"""`make torture`: feed damaged files to every reader, in processes with limits.

    make torture                          # a thousand inputs for each reader: minutes
    make torture INPUTS=100000            # hours
    make torture READERS="npz,study file" SEED=7
    make torture KILLS=100                # kills processes of runs, studies and Ray instead
    make torture KILLS=50 READERS=train   # of runs alone

A reader passes where each input is read, or refused in one sentence of the project. Another error,
more than 2 s, more than 1 GB, or code that was run is a failure; what caused it is kept in
`torture-failures/`. Exit code 1 if there was one.
"""

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Collection
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

from torture.workers import keep, work

_CHUNK = 20_000
_STUCK = 120.0  # seconds without an input being done, of whatever kind
_PLACE = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
_CONTEXT = multiprocessing.get_context("spawn")


class Chunk(NamedTuple):
    """Inputs that one process reads."""

    reader: str
    numbers: range


@dataclass
class Tally:
    """What came of the inputs of a reader."""

    counts: Counter[str] = field(default_factory=Counter)
    """failures are what is neither `read` nor `refused`"""
    seconds: float = 0.0
    """of the processor, to make the inputs and to read them"""
    megabytes: int = 0
    """the most that a process had, with all that it had before its first input"""


class Worker:
    """A process with a chunk."""

    def __init__(self, chunk: Chunk, valid: Path, kept: Path, seed: int, results: Any):
        self.chunk, self.at = chunk, _CONTEXT.Value("q", chunk.numbers.start - 1)
        self.seen, self.since = self.at.value, time.monotonic()
        arguments = (
            *(chunk.reader, valid / chunk.reader.replace(" ", "-") / "valid", kept),
            *(seed, chunk.numbers, self.at, results),
        )
        self.process: BaseProcess = _CONTEXT.Process(target=work, args=arguments, daemon=True)
        self.process.start()

    def ended(self) -> str | None:
        """Why it is over: an empty text if all went well; None if it is not over."""
        if self.at.value != self.seen:
            self.seen, self.since = self.at.value, time.monotonic()
        if not self.process.is_alive():
            return "" if self.process.exitcode == 0 else f"died ({self.process.exitcode})"
        if time.monotonic() - self.since > _STUCK:
            self.process.kill()
            self.process.join()
            return "stuck"
        return None


def torture(
    readers: list[str], inputs: int, seed: int, kept: Path, processes: int
) -> dict[str, Tally]:
    """What came of so many inputs, by reader."""
    from torture.readers import READERS

    found = {name: Tally() for name in readers}
    with tempfile.TemporaryDirectory(prefix="torture-", dir=_PLACE) as folder:
        valid, results = Path(folder), _CONTEXT.Queue()
        todo: deque[Chunk] = deque()
        for name in readers:
            place = valid / name.replace(" ", "-") / "valid"
            place.mkdir(parents=True)
            READERS[name].make(place)
            size = min(_CHUNK, -(-inputs // processes))
            todo += [Chunk(name, range(i, min(i + size, inputs))) for i in range(0, inputs, size)]
        workers: list[Worker] = []
        while todo or workers:
            while todo and len(workers) < processes:
                workers.append(Worker(todo.popleft(), valid, kept, seed, results))
            time.sleep(0.05)
            for worker in list(workers):
                why = worker.ended()
                if why is None:
                    continue
                workers.remove(worker)
                if why:
                    _replace(worker, why, todo, found, kept)
            _collect(results, found)
        time.sleep(0.2)
        _collect(results, found)
    return found


def _replace(
    worker: Worker, why: str, todo: deque[Chunk], found: dict[str, Tally], kept: Path
) -> None:
    """Another process goes on behind the input that ended this one."""
    name, numbers, at = worker.chunk.reader, worker.chunk.numbers, worker.at.value
    found[name].counts[why] += 1
    keep(kept, name, why, f"input {at}", at, {})
    if at + 1 < numbers.stop and at >= numbers.start:
        todo.appendleft(Chunk(name, range(at + 1, numbers.stop)))


def _collect(results: Any, found: dict[str, Tally]) -> None:
    while not results.empty():
        name, counts, peak, seconds = results.get()
        tally = found[name]
        tally.counts.update(counts)
        tally.seconds += seconds
        tally.megabytes = max(tally.megabytes, peak // 1024)
        done = sum(tally.counts.values())
        print(f"{name}: {done:,} inputs, {seconds:.0f} s", file=sys.stderr, flush=True)


def _check(parser: argparse.ArgumentParser, names: list[str], known: Collection[str]) -> None:
    if unknown := [name for name in names if name not in known]:
        parser.error(f"there is no {unknown[0]!r} among {', '.join(known)}")


def main() -> int:
    """Run, print a table, and say whether all passed."""
    from torture.readers import READERS

    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1000, help="of each reader")
    parser.add_argument(
        "--readers",
        default="",
        help=f"some of: {', '.join(READERS)}; with --kills: train, study, ray",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kills", type=int, default=0, help="kill processes of runs instead")
    parser.add_argument("--kept", type=Path, default=Path("torture-failures"))
    asked = parser.parse_args()
    names = [name.strip() for name in asked.readers.split(",") if name.strip()]
    if asked.kills:
        from torture.kills import KINDS
        from torture.kills import main as kill

        _check(parser, names, KINDS)
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            return kill(asked.kills, asked.seed, Path(folder), names or list(KINDS))
    _check(parser, names, READERS)
    names = names or list(READERS)
    kept = asked.kept.resolve()
    shutil.rmtree(kept, ignore_errors=True)
    begun = time.monotonic()
    found = torture(names, asked.inputs, asked.seed, kept, asked.processes)
    failed = 0
    for name, tally in found.items():
        counts = tally.counts
        bad = {what: many for what, many in counts.items() if what not in ("read", "refused")}
        failed += sum(bad.values())
        fine = f"{counts['read']:>8,} read {counts['refused']:>8,} refused"
        rate = f"{sum(counts.values()) / max(tally.seconds, 1e-9):,.0f} in a second"
        most = f"at most {tally.megabytes:,} MB"
        print(f"{name:<14}{fine} {sum(bad.values()):>6,} failed  {rate:>17}  {most}", flush=True)
        for what, many in sorted(bad.items()):
            print(f"    {many:>7,} × {what}")
    print(f"{time.monotonic() - begun:.0f} s" + (f"; inputs are in {kept}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
