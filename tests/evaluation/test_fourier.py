import numpy as np
import pytest

from etairl.evaluation import fourier
from etairl.evaluation.fourier import Frequencies, Side, group_sums, mmd2_by_frequency
from etairl.evaluation.kernel import kernel_sums


def test_sums_are_those_written_out(rng, monkeypatch):
    monkeypatch.setattr(fourier, "_BLOCK", 7)
    points, groups = rng.normal(size=(40, 3)), np.repeat([0, 1, 2], [5, 20, 15])
    weights = rng.uniform(size=(2, 40))
    drawn = Frequencies.draw(rng, points, 3.0, 16)
    found = drawn.sums(points, groups, weights)
    waves = np.exp(1j * (points - drawn.centre) @ drawn.omega)
    for law in range(2):
        for group in range(3):
            own = groups == group
            expected = (weights[law, own, None] * waves[own]).sum(axis=0)
            assert found[law, group] == pytest.approx(expected, abs=1e-4)  # single precision


def test_they_approach_the_kernel(rng):
    """Of 4096 frequencies the mean of a cosine errs by at most 1/sqrt(2 * 4096) = 0.011."""
    points, groups = rng.normal(size=(30, 2)), np.arange(30)
    drawn = Frequencies.draw(rng, points, 2.0, 4096)
    sums = group_sums(drawn.sums(points, groups, np.ones((1, 30))))[0]
    exact = kernel_sums(points, groups, 2.0)[0] + np.eye(30)
    assert np.abs(sums - exact).max() < 5 * 0.011
    assert np.sqrt(((sums - exact) ** 2).mean()) < 0.011


def test_a_mean_over_frequencies_is_the_mmd2_of_their_sums(rng):
    """Pairs within a group left out: the same as from the matrix of sums between groups."""
    points, groups = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    drawn = Frequencies.draw(rng, points, 3.0, 64)
    z = drawn.sums(points, groups, np.ones((1, 60)))[0]
    sizes = np.full(6, 10.0)
    values = mmd2_by_frequency(Side.of(z[:2], sizes[:2]), Side.of(z[2:], sizes[2:]))
    s = group_sums(z[None])[0]
    within = [
        (block.sum() - np.trace(block)) / (100 * (n * n - n))
        for block, n in ((s[:2, :2], 2), (s[2:, 2:], 4))
    ]
    assert values.mean() == pytest.approx(sum(within) - 2 * s[:2, 2:].sum() / 800, abs=1e-9)
