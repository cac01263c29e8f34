"""Exact worlds: measures, imitators and prices against brute force."""

from itertools import product
from math import comb

import numpy as np
import pytest

from etairl.penalties import jensen_shannon
from etairl.replication.eta_matters import answers, imitators
from etairl.replication.eta_matters.worlds import HORIZON, gaps, small_worlds

WORLDS = {world.name: world for world in small_worlds()}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_measures_are_sums_over_all_trajectories(world):
    horizon, weights = 6, np.array([0.3, 0.05, 0.2, 0.15, 0.1, 0.2])
    one = world.policies(np.array([world.expert]))[0]
    found = np.zeros(2 * len(one))

    def follow(time: int, state: int, chance: float) -> None:
        if time == horizon or chance == 0.0:
            return
        for action, p in ((0, 1.0 - one[state]), (1, one[state])):
            found[2 * state + action] += weights[time] * chance * p
            for following in np.flatnonzero(world.kernel[state, action]):
                step = world.kernel[state, action, following]
                follow(time + 1, int(following), chance * p * step)

    follow(0, 0, 1.0)
    exact = world.measures(np.array([world.expert]), weights[None])[0, 0]
    np.testing.assert_allclose(found, exact, atol=1e-12)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_the_expert_matches_itself_and_nothing_else_does_better(world):
    weights = answers.kappa_weights(0.9, 1.0)
    target = imitators.exact_target(world, weights[None])
    full = imitators.fit_imitators(world, target, weights, 2)
    np.testing.assert_allclose(full[0], world.expert, atol=1e-4)
    assert gaps(world, full).cost[0] < 1e-4
    tied = imitators.fit_imitators(world, target, weights, 1)
    grid = np.linspace(0.0, 1.0, 2001)[:, None]
    far = jensen_shannon(world.measures(grid, weights[None])[0], target, axis=-1)
    assert abs(tied[0, 0] - grid[np.argmin(far), 0]) < 1e-3


def test_late_branching_with_three_demonstrations_is_a_binomial():
    """All weightings read k/n off the fork: the expected gap is a sum of four terms."""
    found = answers.entries(
        samples=150, counts=(3,), track=lambda all_worlds: iter(all_worlds[1:2])
    )
    p, share = 0.95, 4.0 / HORIZON
    exact = sum(comb(3, k) * p**k * (1 - p) ** (3 - k) * share * abs(k / 3 - p) for k in range(4))
    for entry in found:
        if entry.capacity == "full" and entry.demonstrations == 3:
            assert abs(entry.gap["cost"] - exact) < 4.0 * entry.error["cost"] + 1e-4
            assert entry.verdict() in ("GAIL", "no difference")
        if entry.capacity == "tied" and entry.demonstrations is None and entry.kappa > 0.0:
            assert entry.verdict() == "better"


def test_price_is_the_variance_of_what_is_read_off():
    world, samples, many = WORLDS["absorbing ends"], 4000, 60
    pairs = imitators.episodes(np.random.default_rng(0), world, (samples, many))
    variances = []
    for kappa in (0.0, 1.0):
        seen = imitators.estimated(world, pairs, answers.kappa_weights(kappa, 1.0))
        variances.append((seen[:, 1] / (seen[:, 0] + seen[:, 1])).var())
    weights = answers.kappa_weights(1.0, 1.0)
    assert imitators.price(world, answers.kappa_weights(0.0, 1.0), 1) == pytest.approx(1.0)
    # A variance from 4,000 samples errs by 2 %, the delta method by 1/60.
    wanted = imitators.price(world, weights, 1)
    assert variances[1] / variances[0] == pytest.approx(wanted, rel=0.1)


def test_kappa_and_gamma_change_places():
    np.testing.assert_allclose(answers.kappa_weights(1.0, 0.9), answers.kappa_weights(0.9, 1.0))
    assert all(p.price >= 1.0 - 1e-9 for p in answers.prices())


def test_estimates_count_weights_pair_by_pair():
    world = WORLDS["early payment"]
    pairs = imitators.episodes(np.random.default_rng(1), world, (2, 3))
    weights = answers.kappa_weights(0.9, 0.9)
    slow = np.zeros((2, 6))
    for sample, episode, time in product(range(2), range(3), range(HORIZON)):
        slow[sample, pairs[sample, episode, time]] += weights[time] / 3
    np.testing.assert_allclose(imitators.estimated(world, pairs, weights), slow)
