"""What the benchmarks of trained runs share: make what is missing, keep small numbers of it.

Every run is `etairl train`, single-threaded, followed by `etairl evaluate --json`. Its result is
one small JSON file; what is there is not run again, and a run that was stopped goes on.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PROJECT = Path(__file__).resolve().parent.parent
ETAIRL = Path(sys.executable).with_name("etairl")
SINGLE = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
LARGEST = 60_000
"""bytes of a result"""
Row = dict[str, Any]


def command(output: Path, options: list[str]) -> list[str]:
    """What trains a run, or goes on with it."""
    if (output / "config.json").is_file():
        return [str(ETAIRL), "resume", str(output), "--threads=1"]
    return [str(ETAIRL), "train", "-o", str(output), *options, "--threads=1"]


def run_missing(
    options: dict[str, list[str]],
    results: Path,
    folder: Path,
    workers: int,
    keep: Callable[[str, Path], None],
) -> bool:
    """Train every run that has no result yet; did all of it succeed?

    Args:
        options: of `etairl train`, by name of the run.
        results: where `keep` leaves NAME.json.
        folder: of the runs.
        workers: runs at a time.
        keep: what is done with a finished run.
    """
    waiting = [name for name in options if not (results / f"{name}.json").exists()]
    running: dict[str, subprocess.Popen] = {}
    # A core for each, as in `etairl study`; its threads begin after this and stay there, too.
    free = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    free, cores = free if workers <= len(free) else [], dict[str, int]()
    good = True
    folder.mkdir(parents=True, exist_ok=True)
    while waiting or running:
        while waiting and len(running) < workers:
            name = waiting.pop(0)
            with (folder / f"{name}.log").open("a") as log:
                words = command(folder / name, options[name])
                running[name] = subprocess.Popen(
                    words, stdout=log, stderr=log, env=os.environ | SINGLE
                )
                if free:
                    cores[name] = free.pop(0)
                    os.sched_setaffinity(running[name].pid, {cores[name]})
            print("started", name, flush=True)
        time.sleep(1)
        for name, process in list(running.items()):
            if process.poll() is None:
                continue
            del running[name]
            free += [cores.pop(name)] if name in cores else []
            done = process.returncode == 0
            if done:
                keep(name, folder / name)
            good = good and done
            print("finished" if done else "FAILED", name, flush=True)
    return good


def numbers(output: Path, episodes: int) -> Row:
    """Result, verdicts, settings and versions of a finished run."""
    done = subprocess.run(
        [str(ETAIRL), "evaluate", str(output), "--json", f"--episodes={episodes}"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | SINGLE,
    )
    if done.returncode != 0:
        raise RuntimeError(f"etairl evaluate {output}: {done.stderr.strip()}")
    timing = read_lines(output / "timing.jsonl")
    return {
        "result": json.loads((output / "result.json").read_text()),
        "verdicts": json.loads(done.stdout),
        "config": json.loads((output / "config.json").read_text()),
        "versions": json.loads((output / "versions.json").read_text()),
        "seconds": round(sum(line["seconds"] for line in timing)),
    }


def write(path: Path, row: Row) -> None:
    """One small file."""
    text = json.dumps(row, indent=1) + "\n"
    assert len(text) < LARGEST, f"{path.name} would have {len(text)} bytes"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def read(results: Path, names: list[str]) -> list[Row]:
    """What is there."""
    paths = [results / f"{name}.json" for name in names]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def read_lines(path: Path) -> list[Row]:
    """A file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def verdicts(rows: list[Row], who: str) -> list[Row]:
    """Of one policy, in every run that has it."""
    return [verdict for row in rows for verdict in row["verdicts"] if verdict["name"] == who]


def estimate(values: list[float], digits: int) -> str:
    """The mean, with half of its 95 % t-interval where there are two seeds."""
    from scipy import stats

    if not values:
        return ""
    x = np.array(values)
    spread = ""
    if len(x) > 1:
        half = stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / len(x) ** 0.5
        spread = f" ± {half:,.{digits}f}"
    return f"{x.mean() + 0.0:,.{digits}f}{spread}"


def arguments(about: str | None, runs: str, *others: str) -> argparse.Namespace:
    """The command line: `run`, and what is made of the results."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--workers", type=int, default=2)
    run.add_argument("--runs", type=Path, default=PROJECT / "runs" / runs)
    run.add_argument("--only", nargs="+", default=[], metavar="NAME")
    for other in others:
        commands.add_parser(other)
    return parser.parse_args()


def chosen(options: dict[str, list[str]], only: list[str]) -> dict[str, list[str]]:
    """The runs whose names begin so; all of them if nothing is asked for."""
    unknown = [word for word in only if not any(name.startswith(word) for name in options)]
    if unknown:
        sys.exit(f"no run begins with {unknown[0]}; a name is, for instance, {next(iter(options))}")
    return {n: words for n, words in options.items() if not only or n.startswith(tuple(only))}
