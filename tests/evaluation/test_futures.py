"""Generated beside true futures: the statistic by brute force, its level, what it notices."""

import numpy as np
import pytest

from etairl.evaluation.futures import Futures, along, judge_futures
from etairl.types import InputError


def ahead(rng: np.random.Generator, states: np.ndarray, noise: float = 1.0) -> np.ndarray:
    moved = 0.5 * states + noise * rng.normal(size=states.shape)
    return np.concatenate([moved, moved[:, :1] + 0.3 * rng.normal(size=(len(states), 1))], axis=1)


def judged(seed: int, generated, n: int = 60) -> Futures:
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(n, 2))
    true, again = ahead(rng, states), ahead(rng, states)
    return judge_futures(rng, states, true, again, generated(rng, states))


def test_the_statistic_is_its_double_sum():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(7, 2))
    true, again, made = (ahead(rng, states) for _ in range(3))
    found = judge_futures(rng, states, true, again, made)
    pairs = np.concatenate([states, true], axis=1)
    z = (pairs - pairs.mean(axis=0)) / pairs.std(axis=0)
    g = (np.concatenate([states, made], axis=1) - pairs.mean(axis=0)) / pairs.std(axis=0)

    def k(a, b):
        return np.exp(-((a - b) ** 2).sum() / 5)

    total = sum(
        k(g[i], g[j]) + k(z[i], z[j]) - k(g[i], z[j]) - k(z[i], g[j])
        for i in range(7)
        for j in range(7)
        if i != j
    )
    assert found.mmd2 == pytest.approx(total / 42, rel=1e-9)
    assert found.points == 7


def test_true_futures_pass_and_the_floor_has_its_level():
    # 5 % of 60 true draws lie above a floor on average: 3, with standard deviation 1.7.
    found = [judged(seed, ahead) for seed in range(60)]
    assert sum(one.mmd2 > one.floor for one in found) <= 9


@pytest.mark.parametrize(
    "wrong",
    [
        lambda rng, s: ahead(rng, s) + 1.0,
        lambda rng, s: ahead(rng, s, noise=0.05),
        lambda rng, s: ahead(rng, rng.permutation(s)),  # right on average, not given the state
    ],
)
def test_wrong_futures_are_noticed(wrong):
    assert judged(0, wrong, n=600).ratio > 4.0


def test_a_collapse_has_no_spread():
    assert judged(0, lambda rng, s: np.tile([0.0, 0.0, 1.0], (len(s), 1))).spread < 0.8
    still = judged(0, lambda rng, s: np.concatenate([s, 0 * s[:, :1]], axis=1))
    assert still.spread == pytest.approx(0.0, abs=1e-12)
    assert judged(0, ahead, n=400).spread == pytest.approx(1.0, abs=0.15)


def test_a_constant_column_changes_nothing():
    rng = np.random.default_rng(0)
    states = np.concatenate([rng.normal(size=(50, 2)), np.full((50, 1), 3.0)], axis=1)

    def future() -> np.ndarray:
        return np.concatenate([ahead(rng, states[:, :2]), np.full((50, 1), 3.0)], axis=1)

    found = judge_futures(rng, states, future(), future(), future())
    assert np.isfinite([found.mmd2, found.floor]).all()


def test_unequal_shapes_are_refused(unchecked):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(10, 2))
    with pytest.raises(InputError, match="as many as states"):
        judge_futures(rng, x, x, x[:5], x)


def test_samples_along_a_path_by_hand():
    path = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [6.0, 0.0]])
    samples = np.array([[0.0, 0.9], [6.0, 1.0], [6.0, 0.0]])
    found = along(path, samples, np.array([6.0, 0.0]), 1.0)
    assert found.near_target == pytest.approx(2 / 3)
    assert found.coverage == pytest.approx(2 / 4)
