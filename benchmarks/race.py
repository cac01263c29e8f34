"""Wall time to 90 % of the expert's score: etairl beside GAIL of the project imitation.

    python race.py PYTHON [--seeds N]     `make -C benchmarks race` gives the Python of the peer

Both learn from the same ten bundled demonstrations, one after the other on the same machine. The
peer is stopped at eight times our time. A line per task and seed, in results/race/race.jsonl; what
is there is not run again.
"""

import argparse
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from etairl.demos.sources import BUNDLED

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results" / "race"
TASKS, PATIENCE = ("Hopper", "HalfCheetah"), 8


def main() -> None:
    """Race what has not been raced, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / "race.jsonl"
    done = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []
    for seed in range(given.seeds):
        for task in TASKS:
            if any((row["task"], row["seed"]) == (task, seed) for row in done):
                continue
            row = race(given.python, task, seed)
            done.append(row)
            with file.open("a") as lines:
                lines.write(json.dumps(row) + "\n")
    show(done)


def race(python: str, task: str, seed: int) -> dict[str, Any]:
    """Ours first: its time says how long the peer may take."""
    name = f"{task}-v5-25x500"
    words = ["--env", f"{task}-v5", "--demos", name, "--seed", str(seed), "--json"]
    said = run([sys.executable, "-m", "etairl", "bench", "race", *words])
    (ours,) = json.loads(said)["race"]
    if ours["seconds"] is None:
        sys.exit(f"{task}, seed {seed}: etairl did not reach 90 %, so there is no race")
    limit = str(PATIENCE * ours["seconds"])
    # -P: modules of this folder must not hide those of the peer.
    peer = [python, "-P", str(HERE / "gail_of_imitation.py"), f"{task}-v4"]
    said = run([*peer, str(BUNDLED / f"{name}.npz"), limit, "--seed", str(seed)])
    looks = [json.loads(line) for line in said.splitlines()]
    first = next((look for look in looks if look["score"] >= 0.9), None)
    later = [look["score"] for look in looks if first and look["seconds"] >= first["seconds"]]
    theirs = {
        "seconds": first and first["seconds"],
        "transitions": first and first["transitions"],
        "stopped_after": looks[-1]["seconds"],
        "score": looks[-1]["score"],
        "lowest": min(later, default=None),
    }
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    where = {"cores": cores, "load": round(load, 1), "version": version("etairl")}
    return {"task": task, "seed": seed, "etairl": ours, "imitation": theirs, **where}


def run(words: list[str]) -> str:
    """The output of a command; its errors are shown."""
    settings = os.environ | {"TQDM_DISABLE": "1"}
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=settings).stdout


def show(rows: list[dict[str, Any]]) -> None:
    """The table in Markdown."""
    print("| task | seed | etairl, s | imitation, s | ratio | lowest afterwards, ours and theirs |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        ours, theirs = row["etairl"], row["imitation"]
        reached = theirs["seconds"] is not None
        there = theirs["seconds"] if reached else theirs["stopped_after"]
        text = f"{there:.0f}" if reached else f"not in {there:.0f} ({theirs['score']:.2f} then)"
        ratio = f"{'' if reached else '> '}{there / ours['seconds']:.1f}"
        lows = (ours["lowest"], theirs["lowest"])
        low = " and ".join("–" if x is None else f"{x:.2f}" for x in lows)
        cells = (row["task"], row["seed"], f"{ours['seconds']:.0f}", text, ratio, low)
        print(f"| {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    main()
