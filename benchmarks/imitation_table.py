"""The table of `results/imitation`: one line for each arm and task of a study of imitation.toml.

    python benchmarks/imitation_table.py FOLDER

FOLDER is a study after `etairl report`, or what was kept of it: only `summary.jsonl` is read.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

COLUMNS = (
    "demonstrations",
    "task",
    "seeds",
    "score, greedy",
    "score, drawn",
    "MMD² of μ, greedy",
    "MMD² of μ, drawn",
    "expert, drawn",
    "cloning, greedy",
    "thousand transitions to 90 %",
    "seconds to 90 %",
    "collapsed, % of cycles",
    "in the last third",
)


def cells(run: Mapping[str, Any]) -> list[str]:
    """What one finished run says, for the columns after the first three."""
    by = {(row["name"], row["playing"]): row for row in run["evaluation"]}
    learner = [by["learner", playing] for playing in ("greedy", "drawn")]
    clone = by.get(("behaviour cloning", "greedy"))
    expert = by.get(("expert", "drawn"))
    reached, result = run["milestone"], run["result"]
    third = result["cycles"] / 3
    return [
        *(f"{row['score']:.2f}" for row in learner),
        *(f"{row['mmd2_mu']['value']:.4f}" for row in learner),
        f"{expert['mmd2_mu']['value']:.4f}" if expert else "",
        f"{clone['score']:.2f}" if clone else "",
        f"{reached['transitions'] / 1000:.0f}" if reached else "never",
        f"{reached['seconds']:.0f}" if reached and reached["seconds"] else "never",
        f"{100 * result['collapsed_share']:.1f}",
        f"{100 * result['collapsed_last_third'] / third:.1f}",
    ]


def main(folder: Path) -> None:
    """Print the table in Markdown, a number for each seed."""
    made: dict[tuple[str, str], list[tuple[int, list[str]]]] = defaultdict(list)
    for line in (folder / "summary.jsonl").read_text().splitlines():
        run = json.loads(line)
        task, seed = run["config"]["env"], run["config"]["seed"]
        arm = run["name"].removesuffix(f"_s{seed}").rsplit("_", 1)[1]
        if run["evaluation"]:
            made[arm, task].append((seed, cells(run)))
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---|" * len(COLUMNS))
    for (arm, task), runs in sorted(made.items()):
        seeds, rows = zip(*sorted(runs), strict=True)
        each = [" ".join(column) for column in zip(*rows, strict=True)]
        print(f"| {arm} | {task} | {' '.join(map(str, seeds))} | " + " | ".join(each) + " |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
