"""One update of other libraries' soft actor-critic, timed in their own environment.

Run by path with the Python of that environment (see `benchmarks/`): it imports nothing of etairl.

    PYTHON peers.py {sb3,sbx} HIDDEN… --batch 256     prints {"milliseconds": …}
"""

import argparse
import json
import time
from importlib.metadata import version
from typing import Any


def milliseconds(library: str, hidden: list[int], batch: int, updates: int) -> float:
    """The fastest of several rounds of updates on random transitions of Hopper.

    SBX is timed the way it is fastest: all updates of a round in one compiled loop.
    """
    if library == "sbx":
        from sbx import SAC  # pyright: ignore[reportMissingImports]
    else:
        from stable_baselines3 import SAC  # pyright: ignore[reportMissingImports]
    settings: Any = {
        "batch_size": batch,
        "learning_starts": 2 * batch,
        "policy_kwargs": {"net_arch": hidden},
        "seed": 0,
        "device": "cpu",
    }
    model = SAC("MlpPolicy", "Hopper-v5", **settings)
    model.learn(2 * batch + 1)
    model.train(updates, batch)  # compiles
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        model.train(updates, batch)
        taken.append(time.perf_counter() - start)
    return 1e3 * min(taken) / updates


def main() -> None:
    """Read the command line, print JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=("sb3", "sbx"))
    parser.add_argument("hidden", type=int, nargs="+")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--updates", type=int, default=200)
    given = parser.parse_args()
    found = milliseconds(given.library, given.hidden, given.batch, given.updates)
    package = {"sb3": "stable-baselines3", "sbx": "sbx-rl"}[given.library]
    print(json.dumps({"milliseconds": found, "version": version(package)}))


if __name__ == "__main__":
    main()
