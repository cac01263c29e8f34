"""The table of `results/imitation`: one line for each arm and task of a study of imitation.toml.

    python benchmarks/imitation_table.py STUDY

STUDY is the folder of the study, with its runs, after `etairl report STUDY`.
"""

import csv
import json
import sys
from collections import defaultdict
from pathlib import Path

COLUMNS = (
    "demonstrations",
    "task",
    "score, greedy",
    "score, drawn",
    "MMD² of μ, greedy",
    "MMD² of μ, drawn",
    "cloning, greedy",
    "thousand transitions to 90 %",
    "seconds to 90 %",
    "collapsed, % of cycles",
)


def cells(study: Path, row: dict[str, str]) -> list[str]:
    """What one finished run says, for the columns after the first two."""
    rows = json.loads((study / "runs" / row["run"] / "evaluation.json").read_text())
    by = {(r["name"], r["playing"]): r for r in rows}
    kinds = [("learner", playing) for playing in ("greedy", "drawn")]
    clone = by.get(("behaviour cloning", "greedy"))
    steps, seconds = row["transitions_to_90"], row["seconds_to_90"]
    return [
        *(f"{by[kind]['score']:.2f}" for kind in kinds),
        *(f"{by[kind]['mmd2_mu']['value']:.4f}" for kind in kinds),
        f"{clone['score']:.2f}" if clone else "none",
        f"{float(steps) / 1000:.0f}" if steps else "never",
        f"{float(seconds):.0f}" if seconds else "never",
        f"{100 * float(row['collapsed_share']):.1f}",
    ]


def main(study: Path) -> None:
    """Print the table in Markdown, a number for each seed."""
    with (study / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    made: dict[tuple[str, str], list[list[str]]] = defaultdict(list)
    for row in sorted(rows, key=lambda r: int(r["seed"])):
        if (study / "runs" / row["run"] / "evaluation.json").is_file():
            made[row["arm"], row["env"].removesuffix("-v5")].append(cells(study, row))
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---|" * len(COLUMNS))
    for (arm, task), seeds in sorted(made.items()):
        each = [" ".join(column) for column in zip(*seeds, strict=True)]
        print(f"| {arm} | {task} | " + " | ".join(each) + " |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
