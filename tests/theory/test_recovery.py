"""Errata (n17) and (o): many tasks are one MDP; the published algorithm finds the expert."""

import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from etairl.eta import Dirac, Geometric
from etairl.measures import FutureSampler
from etairl.regularisers import Entropy
from etairl.tabular.exact_measures import mu, weighted
from etairl.tabular.generators import go_stay, go_stay_policy, random_mdp, random_policy
from etairl.tabular.irl import MirrorSettings, imitate
from etairl.tabular.mdp import MDP, product_mdp

ERRATA = (Path(__file__).parents[2] / "docs" / "errata.md").read_text()


def test_the_suggested_test_of_the_algorithm():
    """Go/stay, expert .8, gamma = kappa = .5, pi <- pi exp(-0.2 Q); 800 steps are enough."""
    mdp, eta = go_stay(0.0, 0.0, 0.0), Geometric(0.5)
    expert = mu(mdp, go_stay_policy(0.8), eta).values
    found = imitate(mdp, eta, expert, MirrorSettings(rate=0.2, steps=800))
    assert found[0, 0] == pytest.approx(0.8, abs=1e-8)


@pytest.mark.parametrize("matched", [False, True], ids=["gamma critic", "two critics"])
@pytest.mark.parametrize(("gamma", "kappa"), [(0.9, 0.0), (0.9, 0.5), (0.9, 0.9), (0.5, 0.9)])
def test_a_realisable_expert_is_found(gamma, kappa, matched):
    rng = np.random.default_rng(0)
    mdp, eta = random_mdp(rng, 4, 3, gamma), Geometric(kappa)
    expert = random_policy(rng, mdp)
    settings = MirrorSettings(rate=1.0, steps=100, matched=matched)
    found = imitate(mdp, eta, mu(mdp, expert, eta).values, settings)
    assert np.abs(found - expert).max() < 3e-15


@pytest.mark.parametrize("kappa", [0.0, 0.75, 1.0])
def test_with_the_published_weights(kappa):
    """Two-stage law, gamma_irl 1, 20 steps; gamma_rl .9. Entropy .05 leaves a small error."""
    law = FutureSampler(Geometric(kappa), 1.0, "two_stage").law(20)
    rng = np.random.default_rng(0)
    mdp = random_mdp(rng, 4, 3, 0.9)
    expert = random_policy(rng, mdp)
    target = weighted(mdp, expert, law)
    found = imitate(mdp, Dirac(0), target, MirrorSettings(rate=1.0, steps=100), law)
    assert np.abs(found - expert).max() < 2e-15
    soft = MirrorSettings(rate=0.5, steps=150, regulariser=Entropy(0.05))
    off = np.abs(imitate(mdp, Dirac(0), target, soft, law) - expert).max()
    assert off == pytest.approx(0.032, abs=5e-4)


def test_many_tasks_are_one_mdp():
    rng = np.random.default_rng(0)
    first = random_mdp(rng, 3, 2, 0.8)
    tasks = [first, MDP(P=first.P, c=rng.random((3, 2)), p0=first.p0, gamma=first.gamma)]
    law, eta = np.array([0.3, 0.7]), Geometric(0.6)
    policies = [random_policy(rng, first) for _ in tasks]
    whole = mu(product_mdp(tasks, law), np.concatenate(policies), eta).values
    assert whole[:3] == pytest.approx(0.3 * mu(first, policies[0], eta).values, abs=1e-13)
    assert whole[3:] == pytest.approx(0.7 * mu(first, policies[1], eta).values, abs=1e-13)


def entry(number: int) -> str:
    """The text of one entry of errata (n), without line breaks."""
    found = re.search(rf'<a id="n{number}"></a>(.*?)<a id=', ERRATA, re.DOTALL)
    return " ".join(found[1].split())


def test_arithmetic_of_the_replay_buffer():
    per_cycle = 90 * 500
    text = entry(2)
    assert f"90 × 500 = {per_cycle:,} transitions" in text
    assert f"$10^7$ are {10**7 // per_cycle} cycles" in text
    assert f"the buffer holds {10**6 // per_cycle}" in text
    assert f"100 cycles are ${100 * per_cycle / 1e6:g}\\cdot10^6$" in text
    assert f"{10**6 // (90 * 100)} cycles each" in text


@pytest.mark.filterwarnings("ignore")  # the old versions are deprecated, and say so
def test_dimensions_of_the_tasks(tmp_path, monkeypatch):
    """As the environments have them; v2 and v3 of Ant are v4 with contact forces."""
    monkeypatch.chdir(tmp_path)  # where MuJoCo may write its log
    text = entry(1)
    for name, options, shown in (
        ("HalfCheetah-v5", {}, "17 + 6 = 23"),
        ("Hopper-v5", {}, "11 + 3 = 14"),
        ("Ant-v4", {"use_contact_forces": True}, "111 + 8 = 119"),
        ("Ant-v4", {}, "27 + 8 = 35"),
        ("Ant-v5", {}, "105 + 8 = 113"),
    ):
        env = gymnasium.make(name, **options)
        states, actions = env.observation_space.shape[0], env.action_space.shape[0]
        assert f"{states} + {actions} = {states + actions}" == shown
        assert shown in text
        env.close()


def test_horizon_of_the_larger_discount():
    horizon = round(1 / (1 - 0.999))
    assert horizon == 1000
    assert f"=.999$ the effective horizon, {horizon}, exceeds the episode, 500." in entry(3)


def test_arithmetic_of_epochs():
    text = entry(5)
    assert f"${500 * 10**6 / 256 / 1e6:.2f}\\cdot10^6$ steps per cycle" in text
    assert f"{100 * 256:,} samples" in text
    assert f"SAC {500 * 256:,} ({500 * 256 / (90 * 500):.1f} per new transition)" in text
