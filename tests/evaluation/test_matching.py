import numpy as np
import pytest

from etairl.demos.dataset import Standardiser
from etairl.eta import Geometric
from etairl.evaluation.matching import MEASURES, Reference, StepSample, score
from etairl.types import InputError, Trajectories


def walk(rng, episodes=6, length=40, shift=0.0, dims=2) -> Trajectories:
    steps = episodes * length
    last = np.zeros(steps, bool)
    last[length - 1 :: length] = True
    return Trajectories(
        observations=rng.normal(size=(steps, dims)) + shift,
        actions=rng.uniform(-1, 1, size=(steps, 1)),
        terminated=np.zeros(steps, bool),
        truncated=last,
        offsets=np.arange(0, steps + 1, length),
        rewards=rng.normal(size=steps),
    )


def reference(t: Trajectories, most: int = 10_000) -> Reference:
    return Reference(t, Standardiser.of(t.pairs()), most)


def test_weighted_mmd_against_a_sum_over_all_pairs(rng):
    """Every pair of steps from different episodes, weighted with w_n, written out."""
    one, two = walk(rng, 3, 7, 0.4), walk(rng, 4, 7)
    eta = MEASURES["mu"]
    assert eta == Geometric(0.99)
    w = np.array([(1 - 0.99 ** (n + 1)) for n in range(7)])  # sum of (1 - k) k^j for j <= n

    def mean(a, b, same):
        total = weight = 0.0
        for i in range(a.steps):
            for j in range(b.steps):
                if same and i // 7 == j // 7:
                    continue
                both = w[i % 7] * w[j % 7]
                difference = a.pairs()[i] - b.pairs()[j]
                total += both * np.exp(-(difference**2).sum() / 3)
                weight += both
        return total / weight

    expected = mean(one, one, True) + mean(two, two, True) - 2 * mean(one, two, False)
    found = reference(two).mmd2(one, "mu", standardised=False)
    assert found == pytest.approx(expected, abs=1e-12)


def test_equal_laws_are_near_zero_and_others_are_not(rng):
    ours = reference(walk(rng, 30, 50))
    same = ours.distance(rng, walk(rng, 30, 50), "rho")
    other = ours.distance(rng, walk(rng, 30, 50, 0.5), "rho")
    assert same.low < 0.0 < same.high or abs(same.value) < 2 * same.floor
    assert other.low > 5 * same.floor
    assert other.low < other.value < other.high


def test_rho_does_not_see_the_order_of_steps_and_mu_does(rng):
    """The second half of an episode differs: mu, which weighs late steps more, says so louder."""
    before = walk(rng, 20, 400)
    shifted = (
        before.observations + np.where(np.arange(before.steps) % 400 >= 200, 1.0, 0.0)[:, None]
    )
    late = Trajectories(
        shifted,
        before.actions,
        before.terminated,
        before.truncated,
        before.offsets,
        before.rewards,
    )
    ours = reference(walk(rng, 20, 400))
    assert ours.mmd2(late, "mu") > 1.3 * ours.mmd2(late, "rho") > 0


def test_points_are_spread_over_episodes_and_time(rng):
    points = StepSample.of(walk(rng, 50, 100), 500)
    assert 400 <= len(points.pairs) <= 600
    assert len(np.unique(points.groups)) >= 20
    assert len(np.unique(points.time)) > 90
    whole = StepSample.of(walk(rng, 4, 10), 500)
    assert len(whole.pairs) == 40


def test_score():
    assert score(100.0, 100.0, -20.0) == 1.0
    assert score(-20.0, 100.0, -20.0) == 0.0
    assert score(220.0, 100.0, -20.0) == 2.0
    with pytest.raises(InputError, match="nothing to scale"):
        score(1.0, 2.0, 2.0)


def test_too_few_episodes(rng):
    with pytest.raises(InputError, match="at least 2 demonstrations"):
        reference(walk(rng, 1))
    with pytest.raises(InputError, match="at least 2 episodes of the learner"):
        reference(walk(rng, 3)).mmd2(walk(rng, 1), "rho")


def test_a_short_episode_among_long_ones_is_not_lost(rng):
    """Every tenth step is kept: of an episode of one to nine steps, one."""
    lengths = np.array([1000, 1, 2, 5, 9, 1000, 3])
    long = walk(rng, 1, int(lengths.sum()))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    last = np.zeros(lengths.sum(), bool)
    last[offsets[1:] - 1] = True
    t = Trajectories(
        observations=long.observations,
        actions=long.actions,
        terminated=np.zeros(lengths.sum(), bool),
        truncated=last,
        offsets=offsets,
    )
    points = StepSample.of(t, 202)
    assert np.bincount(points.groups).tolist() == [100, 1, 1, 1, 1, 100, 1]
    assert (points.time < lengths[points.groups]).all()
