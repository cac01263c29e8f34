"""Imitation quality: three tasks, two sources of demonstrations, three seeds.

    python imitation.py run [--workers 2] [--runs FOLDER] [--only NAME ...]   trains what is missing
    python imitation.py table                                  the table in results/imitation

Demonstrations by third parties are read from the folder in ETAIRL_THIRD_PARTY. NAME is the name of
a run, such as Hopper-own-0, or its beginning.
"""

import itertools
import os
import sys
from pathlib import Path

from runner import PROJECT, arguments, chosen, estimate, numbers, read, run_missing, verdicts, write

RESULTS = PROJECT / "results" / "imitation"
THIRD_PARTY = Path(os.environ.get("ETAIRL_THIRD_PARTY", "third-party"))
PRESET = {"HalfCheetah": "default", "Hopper": "near-clone", "Ant": "near-clone"}
"""per task, by measurement: from nothing where that works, else near a clone of the expert"""
TASKS = tuple(PRESET)
SOURCES = ("own", "third-party")
SEEDS = (0, 1, 2)
EPISODES = 50
HEADER = f"""# Imitation quality

Made by `python benchmarks/imitation.py run` and `table`, with the Python of the project. Ten
demonstrations of 500 steps. `last cycles`: mean return over the last cycles of training, actions
drawn, ± half of the 95 % t-interval over seeds. MMD² in units of the demonstrations, of {EPISODES}
fresh episodes of the learner and of behaviour cloning; `floor`: 95 % of random halves of the
demonstrations are closer to each other than this. `collapsed_share` in the files of a run follows
an earlier rule, which also counted clones that lose little."""


def demos(task: str, source: str) -> str:
    """The demonstrations of a task."""
    if source == "own":
        return f"{task}-v5-25x500"
    return str(THIRD_PARTY / f"{task}-v4-berkeley-policy.npz")


def options() -> dict[str, list[str]]:
    """All runs; those of a seed before the next seed."""
    return {
        f"{task}-{source}-{seed}": [
            *(f"--preset={PRESET[task]}", f"--env={task}-v5"),
            *(f"--demos={demos(task, source)}", f"--seed={seed}"),
        ]
        for seed, source, task in itertools.product(SEEDS, SOURCES, TASKS)
    }


def keep(name: str, output: Path) -> None:
    """The numbers of a finished run; no path of this machine in them."""
    row = {"name": name} | numbers(output, EPISODES)
    row["config"]["demos"] = row["config"]["demos"].replace(str(THIRD_PARTY), "third-party")
    write(RESULTS / f"{name}.json", row)


def table() -> None:
    """One line per task and source: means over seeds, with 95 % t-intervals."""
    columns = "task | preset | demonstrations | seeds | expert | last cycles | share"
    lines = [f"| {columns} | MMD² of μ | cloning | floor |", "|" + "---|" * 10]
    for task, source in itertools.product(TASKS, SOURCES):
        rows = read(RESULTS, [f"{task}-{source}-{seed}" for seed in SEEDS])
        if not rows:
            continue
        expert = rows[0]["result"]["expert_return"]
        last = [row["result"]["remaining"]["return"] for row in rows]
        own, cloned = (
            [v["mmd2_mu"] for v in verdicts(rows, who)] for who in ("learner", "behaviour cloning")
        )
        lines.append(
            f"| {task} | {PRESET[task]} | {source} | {len(rows)} | {expert:,.0f} | "
            f"{estimate(last, 0)} | {100 * sum(last) / len(last) / expert:.0f} % | "
            f"{estimate([d['value'] for d in own], 4)} | "
            f"{estimate([d['value'] for d in cloned], 4)} | "
            f"{sum(d['floor'] for d in own) / len(own):.4f} |"
        )
    text = "\n".join(lines)
    (RESULTS / "README.md").write_text(f"{HEADER}\n\n{text}\n")
    print(text)


def main() -> None:
    """Read the command line."""
    given = arguments(__doc__, "imitation", "table")
    if given.command == "table":
        table()
        return
    runs = chosen(options(), given.only)
    sys.exit(0 if run_missing(runs, RESULTS, given.runs, given.workers, keep) else 1)


if __name__ == "__main__":
    main()
