"""Imitation quality: three tasks, two sources of demonstrations, three seeds.

    python imitation.py run [--workers 2] [--runs FOLDER]    trains what is missing
    python imitation.py table                                the table in results/imitation

Every run is `etairl train`, single-threaded, followed by `etairl evaluate --json`; its result is
one small JSON file under results/imitation, and what is there is not run again; a run that was
stopped goes on. Demonstrations by third parties are read from the folder in ETAIRL_THIRD_PARTY.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

PROJECT = Path(__file__).resolve().parent.parent
RESULTS = PROJECT / "results" / "imitation"
THIRD_PARTY = Path(os.environ.get("ETAIRL_THIRD_PARTY", "third-party"))
PRESET = {"HalfCheetah": "default", "Hopper": "near-clone", "Ant": "near-clone"}
"""per task, by measurement: from nothing where that works, else near a clone of the expert"""
TASKS = tuple(PRESET)
SOURCES = ("own", "third-party")
SEEDS = (0, 1, 2)
ETAIRL = Path(sys.executable).with_name("etairl")
HEADER = """# Imitation quality

Made by `python benchmarks/imitation.py run` and `table`, with the Python of the project. Ten
demonstrations of 500 steps. `last cycles`: mean return over the last cycles of training, actions
drawn, ± half of the 95 % t-interval over seeds. MMD² in units of the demonstrations, of 50 fresh
episodes of the learner and of behaviour cloning; `floor`: 95 % of random halves of the
demonstrations are closer to each other than this."""


def demos(task: str, source: str) -> str:
    """The demonstrations of a task."""
    if source == "own":
        return f"{task}-v5-25x500"
    return str(THIRD_PARTY / f"{task}-v4-berkeley-policy.npz")


def name(task: str, source: str, seed: int) -> str:
    """Of a run."""
    return f"{task}-{source}-{seed}"


def command(task: str, source: str, seed: int, folder: Path) -> list[str]:
    """What trains a run, or goes on with it."""
    output = folder / name(task, source, seed)
    if (output / "config.json").is_file():
        return [str(ETAIRL), "resume", str(output), "--threads=1"]
    return [
        *(str(ETAIRL), "train", "-o", str(output), f"--preset={PRESET[task]}", f"--env={task}-v5"),
        *(f"--demos={demos(task, source)}", f"--seed={seed}", "--threads=1"),
    ]


def run_all(workers: int, folder: Path) -> None:
    """Everything that is missing; all tasks of a seed before the next seed."""
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    single = {"XLA_FLAGS": flags, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    jobs = [
        (task, source, seed)
        for seed, source, task in itertools.product(SEEDS, SOURCES, TASKS)
        if not (RESULTS / f"{name(task, source, seed)}.json").exists()
    ]
    running: dict[tuple, subprocess.Popen] = {}
    folder.mkdir(parents=True, exist_ok=True)
    while jobs or running:
        while jobs and len(running) < workers:
            job = jobs.pop(0)
            log = (folder / f"{name(*job)}.log").open("a")
            running[job] = subprocess.Popen(
                command(*job, folder), stdout=log, stderr=log, env=os.environ | single
            )
            print("started", *job, flush=True)
        time.sleep(1)
        for job, process in list(running.items()):
            if process.poll() is None:
                continue
            del running[job]
            if process.returncode == 0:
                keep(*job, folder)
            print("finished" if process.returncode == 0 else "FAILED", *job, flush=True)


def keep(task: str, source: str, seed: int, folder: Path) -> None:
    """The numbers of a finished run, as one small file."""
    output = folder / name(task, source, seed)
    done = subprocess.run(
        [str(ETAIRL), "evaluate", str(output), "--json"], capture_output=True, text=True, check=True
    )
    timing = [json.loads(line) for line in (output / "timing.jsonl").read_text().splitlines()]
    row = {
        "task": task,
        "source": source,
        "seed": seed,
        "result": json.loads((output / "result.json").read_text()),
        "verdicts": json.loads(done.stdout),
        "config": json.loads((output / "config.json").read_text()),
        "versions": json.loads((output / "versions.json").read_text()),
        "seconds": round(sum(line["seconds"] for line in timing)),
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name(task, source, seed)}.json"
    path.write_text(json.dumps(row, indent=1).replace(str(THIRD_PARTY), "third-party") + "\n")


def table() -> None:
    """One line per task and source: means over seeds, with 95 % t-intervals."""
    from scipy import stats

    columns = "task | preset | demonstrations | seeds | expert | last cycles | share"
    lines = [f"| {columns} | MMD² of μ | cloning | floor |", "|" + "---|" * 10]
    for task, source in itertools.product(TASKS, SOURCES):
        paths = [RESULTS / f"{name(task, source, seed)}.json" for seed in SEEDS]
        rows = [json.loads(path.read_text()) for path in paths if path.exists()]
        if not rows:
            continue
        expert = rows[0]["result"]["expert_return"]
        last = np.array([row["result"]["remaining"]["return"] for row in rows])
        by_name = [{v["name"]: v for v in row["verdicts"]} for row in rows]
        own = np.mean([v["learner"]["mmd2_mu"]["value"] for v in by_name])
        cloned = np.mean([v["behaviour cloning"]["mmd2_mu"]["value"] for v in by_name])
        floor = np.mean([v["learner"]["mmd2_mu"]["floor"] for v in by_name])
        spread = ""
        if len(last) > 1:
            half = stats.t.ppf(0.975, len(last) - 1) * last.std(ddof=1) / len(last) ** 0.5
            spread = f" ± {half:.0f}"
        lines.append(
            f"| {task} | {PRESET[task]} | {source} | {len(rows)} | {expert:.0f} | "
            f"{last.mean():.0f}{spread} | {100 * last.mean() / expert:.0f} % | "
            f"{own:.4f} | {cloned:.4f} | {floor:.4f} |"
        )
    text = "\n".join(lines)
    (RESULTS / "README.md").write_text(f"{HEADER}\n\n{text}\n")
    print(text)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--workers", type=int, default=2)
    run.add_argument("--runs", type=Path, default=PROJECT / "runs" / "imitation")
    commands.add_parser("table")
    given = parser.parse_args()
    if given.command == "run":
        run_all(given.workers, given.runs)
    else:
        table()


if __name__ == "__main__":
    main()
