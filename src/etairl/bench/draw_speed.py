"""How much an index draw costs beside a plain uniform one, and an MMD² beside its products.

Everything is a ratio of best times taken in turn within one run: machines and their load differ.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from etairl.bench.best_times import best_times
from etairl.eta import parse_eta
from etairl.evaluation.mmd import mmd2
from etairl.measures import FutureSampler, Method

DRAWS = 10**6
_LENGTHS = {
    "90 episodes of 500": np.full(90, 500),
    "90 episodes of 20 to 500": np.random.default_rng(0).integers(20, 501, 90),
}
# kappa 0 and 1 must cost next to nothing; anything else a small multiple.
_LIMITS = {"geometric:0": 1.3, "geometric:1": 1.3} | dict.fromkeys(
    (
        "geometric:0.5",
        "geometric:0.99",
        "poisson:25",
        "dirac:10",
        "table:0.2,0.3,0.5",
        "zero-modified:0.995,0.99",
        "mixture:0.5*dirac:0+0.5*poisson:25",
    ),
    4.0,
)
_METHODS: tuple[Method, ...] = ("two_stage", "exact")
CASES = len(_LENGTHS) * len(_METHODS) * len(_LIMITS)


@dataclass(frozen=True)
class DrawSpeed:
    """Time of 10^6 index draws."""

    eta: str
    sampler: str
    episodes: str
    milliseconds: float
    plain_milliseconds: float
    """uniform draw of a trajectory, then of a time in it"""
    ratio: float
    """to the plain uniform draw"""
    flat_ratio: float
    """to the cheapest conceivable draw: one `rng.integers` over all rows, no trajectory at all"""
    limit: float
    ok: bool


@dataclass(frozen=True)
class Products:
    """Time of an MMD² and of its three matrix products alone, in the same blocks."""

    points: int
    dims: int
    seconds: float
    products_seconds: float
    ratio: float
    limit: float
    ok: bool


def bench_draws(rounds: int = 7) -> Iterator[DrawSpeed]:
    """Time every weighting, sampler and kind of episodes."""
    rng = np.random.default_rng(0)
    for episodes, lengths in _LENGTHS.items():
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        for method in _METHODS:
            for spec, limit in _LIMITS.items():
                sampler = FutureSampler(parse_eta(spec), method=method)
                own, plain, flat = best_times(
                    rounds,
                    lambda s=sampler, o=offsets: s.rows(rng, o, DRAWS),
                    lambda o=offsets: _plain(rng, o),
                    lambda o=offsets: rng.integers(o[-1], size=DRAWS),
                )
                yield DrawSpeed(
                    eta=spec,
                    sampler=method,
                    episodes=episodes,
                    milliseconds=1e3 * own,
                    plain_milliseconds=1e3 * plain,
                    ratio=own / plain,
                    flat_ratio=own / flat,
                    limit=limit,
                    ok=own / plain <= limit,
                )


def bench_mmd(points: int = 20_000, dims: int = 23, rounds: int = 3) -> Products:
    """Time an unbiased MMD² of two samples of equal size."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, points, dims))
    pairs = [(x, x), (y, y), (x, y)]
    single = [(a.astype(np.float32), b.astype(np.float32)) for a, b in pairs]
    own, products = best_times(rounds, lambda: mmd2(x, y), lambda: products_of(single))
    ratio = own / products
    return Products(points, dims, own, products, ratio, 3.0, ratio <= 3.0)


def _plain(rng: np.random.Generator, offsets: np.ndarray) -> np.ndarray:
    """What the text of the paper says with gamma 1: i uniform, then t uniform in trajectory i.

    As fast as NumPy can: one uniform serves both, in blocks of the size of the cache.
    """
    starts, lengths = offsets[:-1].astype(np.float64), np.diff(offsets).astype(np.float64)
    rows, block = np.empty(DRAWS, dtype=np.int64), 16384
    for begin in range(0, DRAWS, block):
        part = rows[begin : begin + block]
        u = rng.random(len(part)) * len(lengths)
        i = u.astype(np.intp)
        u -= i
        part[:] = starts[i] + u * lengths[i]
    return rows


def products_of(pairs: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Matrix products, in the blocks of `mmd2`."""
    block = 1024
    out = np.empty((block, block), dtype=np.float32)
    for a, b in pairs:
        for i in range(0, len(a), block):
            rows = a[i : i + block]
            for j in range(0, len(b), block):
                columns = b[j : j + block]
                np.matmul(rows, columns.T, out=out[: len(rows), : len(columns)])
