"""Exact answers of other libraries on small MDPs, stored for `tests/tabular/test_peers.py`.

    make -C benchmarks tabular

quantecon's `DiscreteDP` gives optimal values and policies without regulariser, imitation's
`mce_partition_fh` and `mce_occupancy_measures` the soft policy and its discounted occupancy
(temperature 1, rewards of states). Nothing of etairl is imported here.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from imitation.algorithms.mce_irl import mce_occupancy_measures, mce_partition_fh
from quantecon.markov import DiscreteDP

COMMAND = "make -C benchmarks tabular"
SIZES = ((3, 2, 0.5), (5, 3, 0.8), (6, 4, 0.9))  # states, actions, gamma


def world(rng: np.random.Generator, states: int, actions: int, gamma: float) -> dict:
    """A random MDP whose cost depends on the state alone, as imitation's rewards do."""
    return {
        "P": rng.dirichlet(np.ones(states), size=(states, actions)),
        "cost_of_state": rng.normal(size=states),
        "cost": rng.random((states, actions)),
        "p0": rng.dirichlet(np.ones(states)),
        "gamma": gamma,
    }


def hard(w: dict) -> dict:
    """Optimal values and actions of `cost` by policy iteration."""
    # quantecon maximises.
    found = DiscreteDP(-w["cost"], w["P"], w["gamma"]).solve(method="policy_iteration")
    return {"hard_v": -found.v, "hard_actions": found.sigma}


def soft(w: dict) -> dict:
    """Soft-optimal policy and occupancy of `cost_of_state` at temperature 1."""
    states, actions = w["cost"].shape
    # So long a horizon that the discount leaves 1e-17 of it.
    horizon = int(np.ceil(np.log(1e-17) / np.log(w["gamma"])))
    env = SimpleNamespace(
        horizon=2 * horizon,
        state_dim=states,
        action_dim=actions,
        transition_matrix=w["P"],
        initial_state_dist=w["p0"],
        reward_matrix=-w["cost_of_state"],
    )
    v, _, policy = mce_partition_fh(env, discount=w["gamma"])
    # The policy of the first half has an infinite future; let it act for ever.
    forever = np.repeat(policy[:1], env.horizon, axis=0)
    _, occupancy = mce_occupancy_measures(env, pi=forever, discount=w["gamma"])
    return {"soft_v": -v[0], "soft_policy": policy[0], "soft_occupancy_of_states": occupancy}


def main() -> None:
    """Write the fixture to the file named on the command line."""
    rng = np.random.default_rng(20)
    cases = []
    for size in SIZES:
        w = world(rng, *size)
        case = w | hard(w) | soft(w)
        cases.append({key: np.asarray(value).tolist() for key, value in case.items()})
    made_by = {"command": COMMAND}
    made_by |= {name: version(name) for name in ("imitation", "quantecon", "numpy")}
    Path(sys.argv[1]).write_text(json.dumps({"made_by": made_by, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
