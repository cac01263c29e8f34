"""How long the exact measure takes, and how that grows with the non-zeros of the kernel."""

import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from etairl.eta import Geometric
from etairl.tabular.generators import random_policy, random_sparse_mdp
from etairl.tabular.measures import mu

SECONDS, MEBIBYTES = 1.0, 500.0  # limits for 10^3 states and 10 actions
# States and successors per pair; the first row has the limits.
SIZES = ((1_000, 10), (1_000, 50), (1_000, 250), (4_000, 10), (16_000, 10))


@dataclass(frozen=True)
class Exact:
    """Time and memory of one exact measure, for geometric:0.9 and gamma 0.99, 10 actions."""

    states: int
    nonzeros: int
    seconds: float
    nanoseconds_per_nonzero: float
    mebibytes: float
    """the largest that Python and NumPy held at once, beyond the kernel itself"""
    error: float
    """proven bound of the error, relative to the mass"""
    ok: bool


def bench_mu(rounds: int = 3) -> Iterator[Exact]:
    """Time the exact measure of a random policy on random sparse kernels."""
    rng = np.random.default_rng(0)
    for states, successors in SIZES:
        mdp = random_sparse_mdp(rng, states, 10, successors, gamma=0.99)
        policy, eta = random_policy(rng, mdp), Geometric(0.9)
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            measure = mu(mdp, policy, eta)
            times.append(time.perf_counter() - start)
        tracemalloc.start()
        measure = mu(mdp, policy, eta)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        nonzeros, seconds = int(mdp.rows.nnz), min(times)
        limited = (states, successors) == SIZES[0]
        yield Exact(
            states=states,
            nonzeros=nonzeros,
            seconds=seconds,
            nanoseconds_per_nonzero=1e9 * seconds / nonzeros,
            mebibytes=peak,
            error=measure.error / measure.values.sum(),
            ok=not limited or (seconds <= SECONDS and peak <= MEBIBYTES),
        )
