"""`etairl bench --peers`: one table beside other libraries, whose environments come and go."""

import os
import sys
from pathlib import Path

from etairl.bench.peer_cases import Case, Start, all_cases, all_starts
from etairl.bench.peer_environments import BASELINES, IMITATION, place, python_of
from etairl.bench.peers import Beside, Comparison
from etairl.cli.console import Meter, out, print_json, table
from etairl.types import InputError


def run(keep: Path | None, words: str, cores: int, rounds: int, json: bool) -> int:
    """Make the environments, measure, print the table; 1 if a ratio is below its limit."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if cores > (available or 1):
        raise InputError(f"--cores {cores} is more than the {available} that there are")
    every = [*all_cases(cores), *all_starts(cores)]
    chosen = [case for case in every if words in case.what]
    if not chosen:
        raise InputError(f"no row has {words!r}; choose from {'; '.join(x.what for x in every)}")
    cases = [case for case in chosen if isinstance(case, Case)]
    starts = [start for start in chosen if isinstance(start, Start)]
    total = 2 + len(cases) + 2 * len(starts)
    rows = list[Beside]()
    with place(keep) as folder, Meter("peers", total, clock=False) as meter:
        meter.say(
            f"environments of the peers in {folder}" + ("" if keep else ", removed afterwards")
        )
        pythons = {}
        for done, (name, peers) in enumerate(
            {"baselines": BASELINES, "imitation": IMITATION}.items()
        ):
            pythons[name] = python_of(peers, folder, lambda note, n=done: meter.update(n, note))
        comparison = Comparison.of(pythons, Path(sys.executable), cores, rounds=rounds)
        versions = comparison.versions()
        for done, lines in enumerate(comparison.rows(cases, starts), start=2):
            rows += lines
            meter.update(done + 1, lines[0].what)
    load = round(os.getloadavg()[0], 1)
    if json:
        how = {"cores": cores, "rounds": rounds, "load": load}
        print_json({**how, "versions": versions, "peers": rows})
    else:
        table_of_peers(rows)
        said = ", ".join(f"{name} {number}" for name, number in versions.items())
        each = "one core" if cores == 1 else f"{cores} cores"
        out().print(
            f"medians of {rounds} rounds in turn ({comparison.starts} for starts), {each} each; "
            f"ratio: theirs to ours; load of the machine {load} on {available} cores\n{said}",
            soft_wrap=True,
        )
    return 0 if all(row.ok for row in rows) else 1


def table_of_peers(rows: list[Beside]) -> None:
    """The table; what is below its limit has a mark."""
    table(
        ["what", "beside", "ours", "theirs", "unit", "ratio", "spread", "limit", "note"],
        [
            [
                row.what + ("" if row.ok else " !"),
                row.beside,
                *("" if x is None else f"{x:.3g}" for x in (row.ours, row.theirs)),
                row.unit,
                "nothing comparable" if row.ratio is None else f"{row.ratio:.3g}",
                row.spread,
                "" if row.limit is None else f"{row.limit:.3g}",
                row.note,
            ]
            for row in rows
        ],
    )
