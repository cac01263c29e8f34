"""One update of other libraries' soft actor-critic, timed in their own environment.

Run by path with the Python of that environment (see `benchmarks/`): it imports nothing of etairl.

    PYTHON peers.py {sb3,sbx} ENVIRONMENT HIDDEN…     prints {"milliseconds": …}
"""

import argparse
import json
import time
from importlib.metadata import version
from typing import Any

ROUND = 200
"""updates in one round of timing"""


def milliseconds(
    library: str, environment: str, hidden: list[int], batch: int, calls: int
) -> float:
    """The fastest of several rounds of updates on random transitions, `calls` updates in a call.

    By default both libraries make one update in a call; SBX is fastest when a whole round is one
    compiled loop.
    """
    from stable_baselines3.common.env_util import (  # pyright: ignore[reportMissingImports]
        make_vec_env,
    )

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
    options = {"include_cfrc_ext_in_observation": False} if environment == "Ant-v5" else {}
    model = SAC("MlpPolicy", make_vec_env(environment, env_kwargs=options), **settings)
    model.learn(2 * batch + 1)
    model.train(calls, batch)  # compiles
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(ROUND // calls):
            model.train(calls, batch)
        taken.append(time.perf_counter() - start)
    return 1e3 * min(taken) / ROUND


def main() -> None:
    """Read the command line, print JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=("sb3", "sbx"))
    parser.add_argument("environment")
    parser.add_argument("hidden", type=int, nargs="+")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--updates-per-call", type=int, default=1)
    given = parser.parse_args()
    taken = milliseconds(
        given.library, given.environment, given.hidden, given.batch, given.updates_per_call
    )
    package = {"sb3": "stable-baselines3", "sbx": "sbx-rl"}[given.library]
    print(json.dumps({"milliseconds": taken, "version": version(package)}))


if __name__ == "__main__":
    main()
