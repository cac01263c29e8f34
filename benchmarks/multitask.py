"""Many tasks: two environments, two settings, three algorithms.

    python multitask.py run [--workers 2] [--runs FOLDER] [--only NAME ...]   trains what is missing
    python multitask.py table                                 the table in results/multitask
    python multitask.py figures                               and its figures

Every run is `etairl train`, single-threaded, followed by `etairl evaluate --json`; its result is
one small JSON file under results/multitask, and what is there is not run again; a run that was
stopped goes on. NAME is the name of a run, such as navigation-paper-megan-idle-0, or its beginning.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

PROJECT = Path(__file__).resolve().parent.parent
RESULTS = PROJECT / "results" / "multitask"
ETAIRL = Path(sys.executable).with_name("etairl")

PAPER = {
    "navigation": ["--preset=paper/navigation"],
    "fetchreach": ["--preset=paper/fetchreach"],
}
BEST = {
    "navigation": ["--preset=navigation"],
    "fetchreach": ["--preset=fetchreach"],
}
"""per environment: what solves more tasks, with some cloning"""

SETTINGS = {"paper": PAPER, "tuned": BEST}
ALGORITHMS = {
    "gail": ["--algorithm=gail"],
    "megan": ["--eta=geometric:0.7"],
    "megan-idle": ["--idle=geometric:0.7"],
}
SINGLE = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
SEEDS = {"navigation": (0, 1, 2), "fetchreach": (0,)}
ENVIRONMENTS = {"navigation": "etairl/Navigation-v0", "fetchreach": "FetchReach-v4"}
LABELS = {"gail": "GAIL", "megan": "MEGAN", "megan-idle": "MEGAN + Idle"}
BESIDE = ("behaviour cloning", "expert, planned", "random")
"""rows of `etairl evaluate` that stand beside the learner"""
EPISODES = 100
POINTS = 150
"""of a curve in a result, at most"""
LARGEST = 60_000
"""bytes of a result"""
CURVE = ("transitions", "success", "normalised_cost", "return")
HEADER = f"""# Many tasks

Made by `python benchmarks/multitask.py run`, `table` and `figures`, with the Python of the project.
{EPISODES} episodes of each policy. `learned`: tasks of the demonstrations, horizon of the training.
`all tasks`: drawn from everything there is, twice the horizon. `solved`: share of episodes whose
last state solves the task. `cost`: 0 is the expert, 1 a random policy. Means over seeds, ± half of
the 95 % t-interval where there are at least two. Behaviour cloning, planner and chance are played
beside every learner, with its seeds."""

SHOWN = {
    "curves.png": "Normalised cost of the episodes of training: mean and range over seeds",
    "cost.png": "Normalised cost in both settings: bars are means, dots are seeds",
    "success.png": "Tasks solved in both settings: bars are means, dots are seeds",
    "cost-gail.png": "The state-only cost that GAIL learned: `etairl train -o RUN --preset "
    "navigation --inputs state --algorithm gail`, then `etairl evaluate RUN --map cost-gail.png`",
    "cost-megan.png": "The state-only cost that MEGAN + Idle learned: `etairl train -o RUN "
    "--preset navigation --inputs state --idle geometric:0.7`, then `etairl evaluate RUN --map "
    "cost-megan.png`",
}
Job = tuple[str, str, str, int]
"""environment, settings, algorithm, seed"""
Row = dict[str, Any]


def jobs() -> list[Job]:
    """All runs; a first seed of everything before the next seed."""
    every = itertools.product(range(3), SEEDS, SETTINGS, ALGORITHMS)
    return [
        (task, settings, algorithm, SEEDS[task][number])
        for number, task, settings, algorithm in every
        if number < len(SEEDS[task])
    ]


def name(job: Job) -> str:
    """Of a run."""
    return "-".join(map(str, job))


def options(task: str, settings: str, algorithm: str) -> list[str]:
    """Of `etairl train`, but for output and seed."""
    return [*SETTINGS[settings][task], *ALGORITHMS[algorithm]]


def command(job: Job, folder: Path) -> list[str]:
    """What trains a run, or goes on with it."""
    output = folder / name(job)
    if (output / "config.json").is_file():
        return [str(ETAIRL), "resume", str(output), "--threads=1"]
    words = options(*job[:3])
    return [str(ETAIRL), "train", "-o", str(output), *words, f"--seed={job[3]}", "--threads=1"]


def run_all(workers: int, folder: Path, only: list[str]) -> bool:
    """Everything that is missing, or what of it was asked for; did all of it succeed?"""
    waiting = [
        job
        for job in jobs()
        if not (RESULTS / f"{name(job)}.json").exists()
        and (not only or name(job).startswith(tuple(only)))
    ]
    running: dict[Job, subprocess.Popen] = {}
    good = True
    folder.mkdir(parents=True, exist_ok=True)
    while waiting or running:
        while waiting and len(running) < workers:
            job = waiting.pop(0)
            with (folder / f"{name(job)}.log").open("a") as log:
                running[job] = subprocess.Popen(
                    command(job, folder), stdout=log, stderr=log, env=os.environ | SINGLE
                )
            print("started", name(job), flush=True)
        time.sleep(1)
        for job, process in list(running.items()):
            if process.poll() is None:
                continue
            del running[job]
            done = process.returncode == 0 and keep(job, folder)
            good = good and done
            print("finished" if done else "FAILED", name(job), flush=True)
    return good


def keep(job: Job, folder: Path) -> bool:
    """The numbers of a finished run, as one small file."""
    output = folder / name(job)
    words = [str(ETAIRL), "evaluate", str(output), "--json", f"--episodes={EPISODES}"]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env=os.environ | SINGLE
    )
    if done.returncode != 0:
        print(done.stderr.strip(), flush=True)
        return False
    task, settings, algorithm, seed = job
    row = {
        "task": task,
        "settings": settings,
        "algorithm": algorithm,
        "seed": seed,
        "result": json.loads((output / "result.json").read_text()),
        "verdicts": json.loads(done.stdout),
        "config": json.loads((output / "config.json").read_text()),
        "versions": json.loads((output / "versions.json").read_text()),
        "seconds": round(sum(line["seconds"] for line in read_lines(output / "timing.jsonl"))),
        "curve": thin(read_lines(output / "metrics.jsonl")),
    }
    text = json.dumps(row, indent=1) + "\n"
    assert len(text) < LARGEST, f"the result of {name(job)} has {len(text)} bytes"
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name(job)}.json").write_text(text)
    return True


def read_lines(path: Path) -> list[Row]:
    """A file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def thin(rows: list[Row]) -> dict[str, list[float]]:
    """Columns of the metrics; where there are too many cycles, means over some at a time."""
    size = -(-len(rows) // POINTS)
    blocks = [rows[i : i + size] for i in range(0, len(rows), size)]
    curve = {
        key: [float(f"{np.mean([row[key] for row in block]):.5g}") for block in blocks]
        for key in CURVE[1:]
    }
    return {CURVE[0]: [block[-1][CURVE[0]] for block in blocks]} | curve


def results(task: str, settings: str, algorithm: str) -> list[Row]:
    """What is there, by seed."""
    paths = [RESULTS / f"{name((task, settings, algorithm, seed))}.json" for seed in SEEDS[task]]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def verdicts(rows: list[Row], who: str) -> list[Row]:
    """Of one policy, in every run that has it."""
    return [verdict for row in rows for verdict in row["verdicts"] if verdict["name"] == who]


def beside(task: str, settings: str) -> list[Row]:
    """One run per seed: whatever the algorithm, these have the same policies beside it."""
    by_seed: dict[int, Row] = {}
    for algorithm in ALGORITHMS:
        for row in results(task, settings, algorithm):
            by_seed.setdefault(row["seed"], row)
    return [by_seed[seed] for seed in sorted(by_seed)]


def figures_of(found: list[Row]) -> dict[str, list[float]]:
    """The four numbers of the table, by seed; a setting that was not played is left out."""
    wide = [v["generalisation"] for v in found if v["generalisation"] is not None]
    columns = {
        "solved, learned": [v["success"] for v in found],
        "cost, learned": [v["normalised_cost"] for v in found],
        "solved, all tasks": [v["success"] for v in wide],
        "cost, all tasks": [v["normalised_cost"] for v in wide],
    }
    return {key: [x for x in values if x is not None] for key, values in columns.items()}


def estimate(values: list[float], percent: bool) -> str:
    """The mean, with half of its 95 % t-interval where there are two seeds."""
    from scipy import stats

    if not values:
        return ""
    x = np.array(values) * (100 if percent else 1)
    digits = 0 if percent else 3
    spread = ""
    if len(x) > 1:
        half = stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / len(x) ** 0.5
        spread = f" ± {half:.{digits}f}"
    return f"{x.mean() + 0.0:.{digits}f}{spread}{' %' if percent else ''}"


def line(task: str, settings: str, who: str, found: list[Row]) -> str:
    """Of the table."""
    numbers = figures_of(found)
    cells = [estimate(values, key.startswith("solved")) for key, values in numbers.items()]
    return f"| {' | '.join([ENVIRONMENTS[task], settings, who, str(len(found)), *cells])} |"


def table() -> None:
    """A line per environment, settings and policy."""
    columns = "environment | settings | policy | seeds | solved, learned | cost | solved, all tasks"
    lines = [f"| {columns} | cost |", "|" + "---|" * 8]
    for task, settings in itertools.product(SEEDS, SETTINGS):
        for algorithm in ALGORITHMS:
            found = verdicts(results(task, settings, algorithm), "learner")
            lines += [line(task, settings, LABELS[algorithm], found)] if found else []
        for who in BESIDE:
            found = verdicts(beside(task, settings), who)
            lines += [line(task, settings, who, found)] if found else []
    text = "\n".join(lines)
    files = [
        f"\n![]({file})\n\n*{words}.*\n"
        for file, words in SHOWN.items()
        if (RESULTS / file).exists()
    ]
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "README.md").write_text(f"{HEADER}\n\n{text}\n\n{commands()}\n{''.join(files)}")
    print(text)


def commands() -> str:
    """What makes a line of the table."""
    spelt = [
        (f"{settings}, {task}", words)
        for settings, by_task in SETTINGS.items()
        for task, words in by_task.items()
    ]
    spelt += [(LABELS[algorithm], words) for algorithm, words in ALGORITHMS.items()]
    return "\n".join(
        [
            "A run is made, for seeds 0, 1 and so on, by",
            "\n```",
            "etairl train -o RUN SETTINGS ALGORITHM --seed SEED --threads 1",
            f"etairl evaluate RUN --json --episodes {EPISODES}",
            "```\n\nwith\n",
            *(f"- {who}: `{' '.join(words)}`" for who, words in spelt),
        ]
    )


def figures() -> None:
    """Learning curves, and bars of cost and success."""
    from etairl.figures.multitask import bars_figure, curves_figure
    from etairl.figures.save import save_figure

    curves, costs, solved = {}, {}, {}
    for task, settings in itertools.product(SEEDS, SETTINGS):
        by_name = {LABELS[a]: results(task, settings, a) for a in ALGORITHMS}
        by_name = {who: rows for who, rows in by_name.items() if rows}
        if not by_name:
            continue
        title = f"{ENVIRONMENTS[task]}, settings: {settings}"
        curves[title] = {
            who: [np.array([r["curve"][k] for k in (CURVE[0], CURVE[2])]).T for r in rows]
            for who, rows in by_name.items()
        }
        found = {who: figures_of(verdicts(rows, "learner")) for who, rows in by_name.items()}
        found["cloning"] = figures_of(verdicts(beside(task, settings), BESIDE[0]))
        for panels, what in ((costs, "cost"), (solved, "solved")):
            panels[title] = {
                who: {s: v[f"{what}, {s}"] for s in ("learned", "all tasks") if v[f"{what}, {s}"]}
                for who, v in found.items()
            }
    if not curves:
        sys.exit("there are no results yet")
    save_figure(curves_figure(curves), RESULTS / "curves.png")
    save_figure(bars_figure(costs, "cost"), RESULTS / "cost.png")
    save_figure(bars_figure(solved, "success"), RESULTS / "success.png")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--workers", type=int, default=2)
    run.add_argument("--runs", type=Path, default=PROJECT / "runs" / "multitask")
    run.add_argument("--only", nargs="+", default=[], metavar="NAME")
    commands.add_parser("table")
    commands.add_parser("figures")
    given = parser.parse_args()
    if given.command == "run":
        known = [name(job) for job in jobs()]
        unknown = [n for n in given.only if not any(k.startswith(n) for k in known)]
        if unknown:
            parser.error(f"no run begins with {unknown[0]}; a name is, for instance, {known[0]}")
        sys.exit(0 if run_all(given.workers, given.runs, given.only) else 1)
    elif given.command == "table":
        table()
    else:
        figures()


if __name__ == "__main__":
    main()
