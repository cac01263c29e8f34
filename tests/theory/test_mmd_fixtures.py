"""The estimator and the kernel, against values computed by hand or in closed form."""

import numpy as np
import pytest

from etairl.evaluation.mmd import mmd2, mmd2_weighted

X = np.array([[0.0, 0.0], [1.0, 0.0]])
Y = np.array([[0.0, 1.0], [2.0, 0.0]])


def test_fixture_of_two_points_a_side():
    assert mmd2(X, Y) == pytest.approx(-0.1695223636, abs=1e-10)
    ones = np.ones(2)
    assert mmd2_weighted(X, ones, Y, ones) == pytest.approx(0.4861698073, abs=1e-10)


def expected_kernel(dims):
    """E k(x, x') for independent standard normal x, x': (1 + 4/d)^(-d/2)."""
    return (1 + 4 / dims) ** (-dims / 2)


def test_mean_shift_formula():
    """P = N(0, I), Q = N(delta, I): 2 (1 + 4/d)^(-d/2) (1 - exp(-|delta|^2/(d + 4)))."""
    assert 2 * expected_kernel(2) * (1 - np.exp(-1 / 6)) == pytest.approx(0.10235, abs=5e-6)
    rng = np.random.default_rng(0)
    for dims, delta in ((2, np.array([1.0, 0.0])), (5, np.full(5, 0.4))):
        closed = 2 * expected_kernel(dims) * (1 - np.exp(-(delta @ delta) / (dims + 4)))
        values = [
            mmd2(rng.standard_normal((500, dims)), rng.standard_normal((500, dims)) + delta)
            for _ in range(40)
        ]
        error = np.std(values, ddof=1) / np.sqrt(40)
        assert abs(np.mean(values) - closed) < 4 * error
        if dims == 2:
            assert np.mean(values) == pytest.approx(0.10182, abs=5e-6)


def test_floor_under_equal_laws():
    """Mean 0 with the factor 2; with the printed factor 1 it would be E k = 1/3 in 2 dimensions."""
    rng = np.random.default_rng(1)
    samples = [rng.standard_normal((2, 300, 2)) for _ in range(100)]
    values = np.array([mmd2(x, y) for x, y in samples])
    assert abs(values.mean()) < 4 * values.std(ddof=1) / 10
    assert values.mean() == pytest.approx(1.3e-4, abs=5e-6)
    assert (values < 0).mean() == pytest.approx(0.63)  # often negative

    def cross(x, y):
        return np.exp(-((x[:, None] - y[None]) ** 2).sum(-1) / 2).mean()

    printed = np.mean(
        [value + cross(*sample) for value, sample in zip(values, samples, strict=True)]
    )
    assert printed == pytest.approx(expected_kernel(2), abs=0.01)
    assert printed == pytest.approx(0.3347, abs=5e-5)


def test_the_printed_kernel_is_not_positive_definite():
    points = np.array([0.0, 1.0, 2.0])
    gram = np.exp(+((points[:, None] - points[None]) ** 2))
    assert np.linalg.eigvalsh(gram).min() == pytest.approx(-53.6, abs=0.05)
    gram = np.exp(-((points[:, None] - points[None]) ** 2))
    assert np.linalg.eigvalsh(gram).min() > 0


def test_repeated_points_bias_the_estimate_upwards():
    """Indices drawn with replacement: about 2 (1 - E k)/n too high."""
    rng = np.random.default_rng(2)
    n = 260
    predicted = 2 * (1 - expected_kernel(2)) / n
    assert predicted == pytest.approx(0.00513, abs=5e-6)
    values = []
    for _ in range(300):
        x, y = rng.standard_normal((2, n, 2))
        values.append(mmd2(x[rng.integers(n, size=n)], y[rng.integers(n, size=n)]))
    error = np.std(values, ddof=1) / np.sqrt(300)
    assert abs(np.mean(values) - predicted) < 4 * error
    assert np.mean(values) == pytest.approx(0.0056, abs=5e-5)
