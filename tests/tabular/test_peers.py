"""Agreement with libraries that nobody here wrote; `benchmarks/tabular_peers.py` made the file."""

import json
from pathlib import Path

import numpy as np
import pytest

from etairl.eta import Dirac
from etairl.regularisers import Entropy
from etairl.tabular.exact_measures import mu, rho
from etairl.tabular.maxent import max_entropy
from etairl.tabular.mdp import MDP, deterministic
from etairl.tabular.operators import policy_iteration, value_iteration

FILE = Path(__file__).parent / "fixtures" / "peers.json"
STORED = json.loads(FILE.read_text())
CASES = [{key: np.asarray(value) for key, value in case.items()} for case in STORED["cases"]]
MAKEFILE = Path(__file__).parents[2] / "benchmarks" / "Makefile"


def test_the_file_says_how_it_was_made():
    *command, target = STORED["made_by"]["command"].split()
    assert command == ["make", "-C", "benchmarks"]
    assert f"\n{target}:" in MAKEFILE.read_text()
    assert {"imitation", "quantecon", "numpy"} < STORED["made_by"].keys()


def world(case, cost) -> MDP:
    return MDP(P=case["P"], c=cost, p0=case["p0"], gamma=float(case["gamma"]))


def soft_world(case) -> MDP:
    actions = case["cost"].shape[1]
    return world(case, np.repeat(case["cost_of_state"][:, None], actions, axis=1))


@pytest.mark.parametrize("solve", [policy_iteration, value_iteration])
@pytest.mark.parametrize("case", CASES)
def test_optimal_values_and_policies_are_those_of_quantecon(case, solve):
    found = solve(world(case, case["cost"]))
    assert np.abs(found.v - case["hard_v"]).max() < 1e-8
    assert (found.policy == deterministic(case["hard_actions"], found.policy.shape[1])).all()


@pytest.mark.parametrize("solve", [policy_iteration, value_iteration])
@pytest.mark.parametrize("case", CASES)
def test_soft_policy_and_values_are_those_of_imitation(case, solve):
    found = solve(soft_world(case), Entropy(1.0))
    assert np.abs(found.v - case["soft_v"]).max() < 1e-8
    assert np.abs(found.policy - case["soft_policy"]).max() < 1e-8


@pytest.mark.parametrize("case", CASES)
def test_soft_occupancy_at_a_dirac_is_that_of_imitation(case):
    mdp = soft_world(case)
    policy = policy_iteration(mdp, Entropy(1.0)).policy
    for measure in (rho(mdp, policy), mu(mdp, policy, Dirac(0))):
        assert np.abs(measure.states - case["soft_occupancy_of_states"]).max() < 1e-8


@pytest.mark.parametrize("case", CASES)
def test_maximum_entropy_irl_finds_the_soft_policy_again(case):
    """One feature per state: the occupancy of imitation's policy determines that policy."""
    mdp = soft_world(case)
    expert = case["soft_occupancy_of_states"][:, None] * case["soft_policy"]
    features = np.repeat(np.eye(mdp.states)[:, None], mdp.actions, axis=1)
    found = max_entropy(mdp, Dirac(0), expert, features, Entropy(1.0), tolerance=1e-11)
    assert np.abs(found.policy - case["soft_policy"]).max() < 1e-8
    assert np.abs(found.occupancy.sum(axis=1) - case["soft_occupancy_of_states"]).max() < 1e-8
