"""Wall time to 90 % of the expert's score: etairl beside GAIL of the project imitation.

    python race.py [--seeds N] [--keep FOLDER] [--results FOLDER]     `make -C benchmarks race`

All learn from the same ten bundled demonstrations, one after the other on the same machine. A peer
is stopped at eight times our time. A line per task, seed and learner in race.jsonl; what is there
is not run again, so that the race goes on where it was stopped.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from etairl.bench.peer_environments import IMITATION, python_of
from etairl.demos.sources import BUNDLED

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results" / "race"
TASKS, PATIENCE = ("Hopper", "HalfCheetah"), 8
PEERS = {"imitation": "ppo", "imitation on SAC": "sac"}
"""GAIL of imitation with its published settings, and on soft actor-critic of Stable-Baselines3"""
Row = dict[str, Any]


def main() -> None:
    """Race what has not been raced, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=HERE / ".venv-peers")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    python = python_of(IMITATION, given.keep, lambda note: print(note, file=sys.stderr))
    given.results.mkdir(parents=True, exist_ok=True)
    file = given.results / "race.jsonl"
    done = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []
    for seed in range(given.seeds):
        for task in TASKS:
            ours = kept(file, done, task, seed, "etairl", lambda t=task, s=seed: own(t, s))
            if ours["seconds"] is None:
                print(f"{task}, seed {seed}: etairl did not reach 90 %: there is no race")
                continue
            limit = PATIENCE * ours["seconds"]
            for who, learner in PEERS.items():

                def run_peer(t: str = task, s: int = seed, x: str = learner, at: float = limit):
                    return peer(python, t, s, x, at)

                kept(file, done, task, seed, who, run_peer)
    show(done)


def kept(
    file: Path, done: list[Row], task: str, seed: int, who: str, run_it: Callable[[], Row]
) -> Row:
    """The row of a learner: that of the file, or a new one that is added to it."""
    wanted = {"task": task, "seed": seed, "who": who}
    for row in done:
        if row.items() >= wanted.items():
            return row
    print(f"{task}, seed {seed}: {who}", file=sys.stderr)
    where = {"cores": len(os.sched_getaffinity(0)), "load": round(os.getloadavg()[0], 1)}
    row = wanted | run_it() | where | {"version": version("etairl")}
    done.append(row)
    with file.open("a") as lines:
        lines.write(json.dumps(row) + "\n")
    return row


def demonstrations(task: str) -> str:
    """The name of a bundled file."""
    return f"{task}-v5-25x500"


def own(task: str, seed: int) -> Row:
    """What etairl does; it is not stopped."""
    words = ["--env", f"{task}-v5", "--demos", demonstrations(task), "--seed", str(seed), "--json"]
    said = run([sys.executable, "-m", "etairl", "bench", "race", *words])
    (found,) = json.loads(said)["race"]
    return found


def peer(python: Path, task: str, seed: int, learner: str, limit: float) -> Row:
    """What a peer does until the limit."""
    # -P: modules of this folder must not hide those of the peer.
    script = [str(python), "-P", str(HERE / "gail_of_imitation.py"), f"{task}-v4"]
    file = BUNDLED / f"{demonstrations(task)}.npz"
    said = run([*script, str(file), str(limit), "--seed", str(seed), "--learner", learner])
    return judged([json.loads(line) for line in said.splitlines()])


def judged(looks: list[Row]) -> Row:
    """What came of a learner, by its looks."""
    first = next((look for look in looks if look["score"] >= 0.9), None)
    later = [look["score"] for look in looks if first and look["seconds"] >= first["seconds"]]
    return {
        "seconds": first and first["seconds"],
        "transitions": first and first["transitions"],
        "stopped_after": looks[-1]["seconds"],
        "score": looks[-1]["score"],
        "lowest": min(later, default=None),
    }


def run(words: list[str]) -> str:
    """The output of a command; its errors are shown."""
    settings = os.environ | {"TQDM_DISABLE": "1"}
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=settings).stdout


def show(rows: list[Row]) -> None:
    """The table in Markdown."""
    print("| task | seed | learner | seconds to 90 % | ratio to etairl | lowest score afterwards |")
    print("|---|---|---|---|---|---|")
    ours = {(r["task"], r["seed"]): r["seconds"] for r in rows if r["who"] == "etairl"}
    for row in sorted(rows, key=lambda r: (r["task"], r["seed"])):
        mine, reached = ours.get((row["task"], row["seed"])), row["seconds"] is not None
        there = row["seconds"] if reached else row.get("stopped_after")
        text = "never" if there is None else f"{there:.0f}"
        if not reached and there is not None:
            text = f"not in {there:.0f} (score {row['score']:.2f} then)"
        known = mine is not None and there is not None
        ratio = f"{'' if reached else '> '}{there / mine:.1f}" if known else "–"
        low = "–" if row["lowest"] is None else f"{row['lowest']:.2f}"
        print(f"| {row['task']} | {row['seed']} | {row['who']} | {text} | {ratio} | {low} |")


if __name__ == "__main__":
    main()
