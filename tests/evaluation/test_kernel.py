import numpy as np
import pytest

from etairl.evaluation import kernel
from etairl.evaluation.kernel import kernel_sums, resolve_bandwidth
from etairl.types import InputError


def brute_sums(points, groups, bandwidth, weights=None):
    weights = np.ones(len(points)) if weights is None else weights
    distance2 = ((points[:, None] - points[None]) ** 2).sum(-1)
    gram = np.exp(-distance2 / bandwidth) * weights[:, None] * weights[None]
    np.fill_diagonal(gram, 0.0)
    return np.array(
        [
            [gram[np.ix_(groups == g, groups == h)].sum() for h in range(groups[-1] + 1)]
            for g in range(groups[-1] + 1)
        ]
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [2, 30, 70])
def test_blocks_add_up_to_the_whole(rng, monkeypatch, rows, weighted):
    monkeypatch.setattr(kernel, "_BLOCK", 16)
    points = rng.normal(size=(rows, 3))
    groups = np.sort(rng.integers(0, 4, rows))
    groups = np.unique(groups, return_inverse=True)[1]
    weights = rng.normal(size=(2, rows)) if weighted else None
    found = kernel_sums(points, groups, 1.7, weights)
    for law, sums in enumerate(found):
        own = None if weights is None else weights[law]
        assert sums == pytest.approx(brute_sums(points, groups, 1.7, own), rel=1e-10)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_single_precision_loses_nothing_that_matters(rng, monkeypatch, offset):
    """Also far from the origin, where |x|^2 + |y|^2 - 2xy cancels catastrophically."""
    points = rng.normal(size=(3000, 8)) + offset
    groups = np.zeros(3000, dtype=np.int64)
    monkeypatch.setattr(kernel, "_SMALL", 2**40)
    double = kernel_sums(points, groups, 8.0)[0, 0, 0] / 3000**2
    monkeypatch.setattr(kernel, "_SMALL", 0)
    single = kernel_sums(points, groups, 8.0)[0, 0, 0] / 3000**2
    assert 0 < abs(single - double) < 1e-8


def test_outliers_fall_back_to_double_precision(rng, monkeypatch):
    monkeypatch.setattr(kernel, "_SMALL", 0)
    points = rng.normal(size=(2500, 4))
    points[:2] = 1e5
    points[1, 0] += 1.0  # two points far out, 1 apart: k = exp(-1/4)
    groups = np.array([0, 1] + [2] * 2498)
    assert kernel_sums(points, groups, 4.0)[0, 0, 1] == pytest.approx(np.exp(-0.25), rel=1e-6)


def test_progress_ends_at_one(rng):
    seen = []
    groups = np.zeros(5000, dtype=np.int64)
    kernel_sums(rng.normal(size=(5000, 2)), groups, 2.0, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_bandwidths(rng):
    points = rng.normal(size=(300, 6))
    assert resolve_bandwidth(points, "paper") == 6.0
    assert resolve_bandwidth(points, 2.5) == 2.5
    distances = ((points[:, None] - points[None]) ** 2).sum(-1)
    upper = distances[np.triu_indices(300, k=1)]
    assert resolve_bandwidth(points, "median") == pytest.approx(np.median(upper))
    assert resolve_bandwidth(points + 1e7, "median") == pytest.approx(np.median(upper), rel=1e-6)
    with pytest.raises(InputError, match=r"must be > 0, got -1\.0"):
        resolve_bandwidth(points, -1.0)
    with pytest.raises(InputError, match="more than half of the points are equal"):
        resolve_bandwidth(np.ones((50, 2)), "median")
