"""Generated beside true futures: the statistic by brute force, its level, what it notices."""

import numpy as np
import pytest

from etairl.evaluation.generated_futures import Futures, along, judge_futures
from etairl.types import InputError


def ahead(rng: np.random.Generator, states: np.ndarray, noise: float = 1.0) -> np.ndarray:
    moved = 0.5 * states + noise * rng.normal(size=states.shape)
    return np.concatenate([moved, moved[:, :1] + 0.3 * rng.normal(size=(len(states), 1))], axis=1)


def judged(seed: int, generated, n: int = 60) -> Futures:
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(n, 2))
    true = ahead(rng, states), ahead(rng, states)
    return judge_futures(rng, states, true, (generated(rng, states), generated(rng, states)))


def test_the_statistic_is_its_double_sum():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(7, 2))
    true, again, made, more = (ahead(rng, states) for _ in range(4))
    found = judge_futures(rng, states, (true, again), (made, more))

    def change(x):
        return np.concatenate([x[:, :2] - states, x[:, 2:]], axis=1)

    scale = np.concatenate([change(true), change(again)]).std(axis=0)
    s = (states - states.mean(axis=0)) / states.std(axis=0)
    z, g = (np.concatenate([s, change(x) / scale], axis=1) for x in (true, made))

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
    apart = [
        np.linalg.norm((change(a) - change(b)) / scale, axis=1).mean()
        for a, b in ((made, more), (true, again))
    ]
    assert found.spread == pytest.approx(apart[0] / apart[1], rel=1e-9)


def test_true_futures_pass_and_the_floor_has_its_level():
    # 5 % of 100 true draws lie above a floor on average: 5, with standard deviation 2.2.
    found = [judged(seed, ahead) for seed in range(100)]
    assert 1 <= sum(one.mmd2 > one.floor for one in found) <= 13


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
    # Always the same place, and the mean of the true law: both far from the state, both alone.
    assert judged(0, lambda rng, s: np.tile([3.0, 3.0, 1.0], (len(s), 1))).spread == 0.0
    mean = judged(0, lambda rng, s: np.concatenate([0.5 * s, 0.5 * s[:, :1]], axis=1))
    assert mean.spread == 0.0
    assert judged(0, ahead, n=400).spread == pytest.approx(1.0, abs=0.15)


def test_a_constant_column_counts_only_if_it_is_changed():
    rng = np.random.default_rng(0)
    states = np.concatenate([rng.normal(size=(50, 2)), np.full((50, 1), 3.0)], axis=1)

    def future(third: float) -> np.ndarray:
        moved = ahead(rng, states[:, :2])
        kept = 3.0 + third * rng.normal(size=(50, 1))
        return np.concatenate([moved[:, :2], kept, moved[:, 2:]], axis=1)

    true = future(0.0), future(0.0)
    assert judge_futures(rng, states, true, (future(0.0), future(0.0))).ratio < 2.0
    assert judge_futures(rng, states, true, (future(5.0), future(5.0))).ratio > 10.0


def test_without_chance_there_is_no_floor():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(10, 2))
    assert judge_futures(rng, x, (x, x), (x, x)).ratio == 0.0
    assert judge_futures(rng, x, (2 * x, 2 * x), (x, x)).ratio == np.inf


def test_unequal_shapes_are_refused(unchecked):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(10, 2))
    with pytest.raises(InputError, match="as many as states"):
        judge_futures(rng, x, (x, x[:5]), (x, x))


def test_samples_along_a_path_by_hand():
    path = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [6.0, 0.0]])
    samples = np.array([[0.0, 0.9], [6.0, 1.0], [6.0, 0.0]])
    found = along(path, samples, np.array([6.0, 0.0]), 1.0)
    assert found.near_target == pytest.approx(2 / 3)
    assert found.coverage == pytest.approx(2 / 4)
