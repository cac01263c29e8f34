"""What inverse RL refuses, and in which words."""

import numpy as np
import pytest

from etairl.eta import Dirac, Poisson
from etairl.penalties import Simplex
from etairl.regularisers import Entropy
from etairl.tabular.columns import generate
from etairl.tabular.cost_families import GANCosts, LinearCosts
from etairl.tabular.exact_measures import mu, weighted
from etairl.tabular.game import Game
from etairl.tabular.generators import go_stay, go_stay_policy, random_mdp, random_policy
from etairl.tabular.irl import MirrorSettings, emma, imitate, lpal, megan, mwal, wiem
from etairl.tabular.maxent import max_entropy
from etairl.types import InputError


def problem():
    """A world with gamma .7, an expert's occupancy and random features."""
    rng = np.random.default_rng(12)
    mdp = random_mdp(rng, 3, 2, 0.7)
    return mdp, mu(mdp, random_policy(rng, mdp), Dirac(0)).values, rng.random((3, 2, 3))


@pytest.mark.usefixtures("unchecked")
def test_games_that_make_no_sense_are_refused():
    mdp, expert, features = problem()
    costs = LinearCosts(features, Simplex())
    with pytest.raises(InputError, match=r"the expert's occupancy must have shape \(3, 2\)"):
        Game(mdp, Dirac(0), expert.T, costs)
    with pytest.raises(InputError, match=r"expert\[0, 0\] is negative, NaN or infinite"):
        Game(mdp, Dirac(0), expert - 10.0, costs)
    with pytest.raises(InputError, match="poisson:2 has no phase; choose within='time'"):
        Game(mdp, Poisson(2.0), expert, costs, "phase")
    with pytest.raises(InputError, match="multiplicative weights play on a simplex"):
        mwal(Game(mdp, Dirac(0), expert, GANCosts()), 3)
    with pytest.raises(InputError, match="at least one step, got 0"):
        mwal(Game(mdp, Dirac(0), expert, costs), 0)
    with pytest.raises(InputError, match="not solved to 1e-12 with 1 columns"):
        generate(Game(mdp, Dirac(0), expert, GANCosts()), tolerance=1e-12, most=1)


ALGORITHMS = {
    "emma": lambda mdp, expert, features: emma(mdp, Dirac(0), expert, features),
    "wiem": lambda mdp, expert, features: wiem(mdp, Dirac(0), expert, features),
    "lpal": lambda mdp, expert, features: lpal(mdp, Dirac(0), expert, features),
    "max_entropy": lambda mdp, expert, features: max_entropy(
        mdp, Dirac(0), expert, features, Entropy(0.5)
    ),
    "megan": lambda mdp, expert, features: megan(mdp, Dirac(0), expert),
    "imitate": lambda mdp, expert, features: imitate(mdp, Dirac(0), expert),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda expert: expert.T, r"occupancy must have shape \(3, 2\), got \(2, 3\)"),
        (lambda expert: expert * np.nan, r"expert\[0, 0\] is negative, NaN or infinite"),
        (lambda expert: expert + np.inf, r"expert\[0, 0\] is negative, NaN or infinite"),
        (lambda expert: 0.0 * expert, "0 everywhere: the expert is nowhere"),
        (lambda expert: 0.3 * expert, r"sums to 1, where 3.33333 = 1/\(1 - gamma\) is expected"),
    ],
)
def test_experts_that_are_none_are_refused(algorithm, change, message):
    mdp, expert, features = problem()
    with pytest.raises(InputError, match=message):
        algorithm(mdp, change(expert), features)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", ["emma", "wiem", "lpal", "max_entropy"])
def test_features_that_are_none_are_refused(name):
    mdp, expert, features = problem()
    holed = features.copy()
    holed[1, 0, 2] = np.nan
    for wrong, message in (
        (features[:2], r"shape \(3, 2, number of features\), got \(2, 2, 3\)"),
        (features[:, :, :0], r"got \(3, 2, 0\)"),
        (features[:, :, 0], r"got \(3, 2\)"),
        (holed, r"features\[1, 0, 2\] is nan: it must be finite"),
        (0.0 * features, "all features are 0 everywhere"),
    ):
        with pytest.raises(InputError, match=message):
            ALGORITHMS[name](mdp, expert, wrong)


@pytest.mark.usefixtures("unchecked")
def test_imitations_that_make_no_sense_are_refused():
    mdp, expert, _ = problem()
    for settings, message in (
        ({"steps": -1}, "imitation needs at least one step, got -1"),
        ({"rate": 0.0}, "the rate of mirror steps must be positive, got 0.0"),
        ({"rate": float("nan")}, "must be positive, got nan"),
    ):
        with pytest.raises(InputError, match=message):
            MirrorSettings(**settings)
    with pytest.raises(InputError, match=r"weights\[0\] is -1: a time weight is finite and not"):
        imitate(mdp, Dirac(0), expert, MirrorSettings(steps=3), [-1.0, 2.0])
    with pytest.raises(InputError, match=r"one per step, got \(\)"):
        imitate(mdp, Dirac(0), expert, MirrorSettings(steps=3), 1.0)
    twice = imitate(mdp, Dirac(0), expert, MirrorSettings(steps=3), [1.0, 2.0])
    assert (
        twice == imitate(mdp, Dirac(0), expert, MirrorSettings(steps=3), np.array([1, 2]))
    ).all()


def test_a_normalised_expert_is_right_where_the_weights_are():
    """With weights of its own, here those of one step, `imitate` expects their sum."""
    mdp, eta = go_stay(0.0, 0.0, 0.0), Dirac(0)
    law = np.array([0.5, 0.5])
    expert = weighted(mdp, go_stay_policy(0.8), law)
    found = imitate(mdp, eta, expert, MirrorSettings(steps=3), law)
    assert found.shape == (2, 2)
    assert emma(go_stay(0.0, 0.0, 0.0, gamma=0.0), eta, expert, np.eye(4).reshape(2, 2, 4)).solved
