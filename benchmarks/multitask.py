"""Many tasks: two environments, two settings, three algorithms.

    python multitask.py run [--workers 2] [--runs FOLDER] [--only NAME ...]   trains what is missing
    python multitask.py table                                 the table in results/multitask
    python multitask.py figures                               and its figures

Every run is `etairl train`, single-threaded, followed by `etairl evaluate --json`; its result is
one small JSON file under results/multitask, and what is there is not run again; a run that was
stopped goes on. NAME is the name of a run, such as navigation-paper-megan-idle-0, or its beginning.
"""

import itertools
import sys
from pathlib import Path

import numpy as np
from runner import (
    PROJECT,
    Row,
    arguments,
    chosen,
    estimate,
    numbers,
    read,
    read_lines,
    run_missing,
    verdicts,
    write,
)

RESULTS = PROJECT / "results" / "multitask"

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
SEEDS = {"navigation": (0, 1, 2), "fetchreach": (0,)}
ENVIRONMENTS = {"navigation": "etairl/Navigation-v0", "fetchreach": "FetchReach-v4"}
LABELS = {"gail": "GAIL", "megan": "MEGAN", "megan-idle": "MEGAN + Idle"}
BESIDE = ("behaviour cloning", "expert, planned", "random")
"""rows of `etairl evaluate` that stand beside the learner"""
EPISODES = 100
POINTS = 150
"""of a curve in a result, at most"""
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
    "cost-gail.png": "The cost that GAIL learned with tuned settings, seed 0 (`etairl evaluate RUN "
    "--map cost-gail.png`)",
    "cost-megan.png": "The same of MEGAN + Idle (`etairl evaluate RUN --map cost-megan.png`)",
}
Job = tuple[str, str, str, int]
"""environment, settings, algorithm, seed"""


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


def options() -> dict[str, list[str]]:
    """Of `etairl train`, by name of the run."""
    return {
        name(job): [*SETTINGS[job[1]][job[0]], *ALGORITHMS[job[2]], f"--seed={job[3]}"]
        for job in jobs()
    }


def keep(name: str, output: Path) -> None:
    """The numbers of a finished run, as one small file."""
    row = {"name": name} | numbers(output, EPISODES)
    row["curve"] = thin(read_lines(output / "metrics.jsonl"))
    write(RESULTS / f"{name}.json", row)


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
    return read(RESULTS, [name((task, settings, algorithm, seed)) for seed in SEEDS[task]])


def beside(task: str, settings: str) -> list[Row]:
    """One run per seed: whatever the algorithm, these have the same policies beside it."""
    by_seed: dict[int, Row] = {}
    for algorithm in ALGORITHMS:
        for row in results(task, settings, algorithm):
            by_seed.setdefault(row["config"]["seed"], row)
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


def percent(values: list[float]) -> str:
    """As `estimate`, of shares."""
    return f"{estimate([100 * x for x in values], 0)} %" if values else ""


def line(task: str, settings: str, who: str, found: list[Row]) -> str:
    """Of the table."""
    cells = [
        percent(values) if key.startswith("solved") else estimate(values, 3)
        for key, values in figures_of(found).items()
    ]
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
    from etairl.figures.save import save_figure
    from etairl.figures.task_curves import bars_figure, curves_figure

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
    given = arguments(__doc__, "multitask", "table", "figures")
    if given.command != "run":
        table() if given.command == "table" else figures()
        return
    runs = chosen(options(), given.only)
    sys.exit(0 if run_missing(runs, RESULTS, given.runs, given.workers, keep) else 1)


if __name__ == "__main__":
    main()
