"""How long the exact measure takes, and how that grows with the non-zeros of the kernel."""

import math
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from etairl.bench.best_times import best_times
from etairl.eta import Geometric
from etairl.tabular.exact_measures import mu
from etairl.tabular.generators import grid_with_lakes, random_policy, random_sparse_mdp
from etairl.tabular.mdp import MDP

KernelKind = Literal["random", "grid"]
SECONDS, MEBIBYTES = 1.0, 500.0  # limits of the first row: 10^3 states and 10 actions
GROWTH = 4.0  # limit of the time per non-zero, in units of the first row of the same world
# Kind, states, and successors per pair of a random one; a grid has 4 actions and 4 successors.
KERNELS: tuple[tuple[KernelKind, int, int], ...] = (
    ("random", 1_000, 10),
    ("random", 1_000, 50),
    ("random", 1_000, 250),
    ("random", 4_000, 10),
    ("random", 16_000, 10),
    ("grid", 1_024, 4),
    ("grid", 16_384, 4),
)


@dataclass(frozen=True)
class Exact:
    """Time and memory of one exact measure, for geometric:0.9 and gamma 0.99."""

    world: KernelKind
    states: int
    actions: int
    nonzeros: int
    seconds: float
    nanoseconds_per_nonzero: float
    growth: float
    """time per non-zero, in units of the first row of the same world"""
    mebibytes: float
    """the largest that Python and NumPy held at once, beyond the kernel itself"""
    error: float
    """proven bound of the error, relative to the mass"""
    ok: bool
    """whether the row is within its limits: growth; for the first one also time and memory"""


def bench_mu(rounds: int = 3) -> Iterator[Exact]:
    """Time the exact measure of a random policy on random sparse kernels and on grids."""
    rng, first, eta = np.random.default_rng(0), {}, Geometric(0.9)
    for number, (world, states, successors) in enumerate(KERNELS):
        mdp = _make(rng, world, states, successors)
        policy = random_policy(rng, mdp)
        (seconds,) = best_times(rounds, lambda m=mdp, p=policy: mu(m, p, eta))
        tracemalloc.start()
        measure = mu(mdp, policy, eta)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        nonzeros = int(mdp.rows.nnz)
        growth = seconds / nonzeros / first.setdefault(world, seconds / nonzeros)
        limited = number == 0
        yield Exact(
            world=world,
            states=mdp.states,
            actions=mdp.actions,
            nonzeros=nonzeros,
            seconds=seconds,
            nanoseconds_per_nonzero=1e9 * seconds / nonzeros,
            growth=growth,
            mebibytes=peak,
            error=measure.error / measure.values.sum(),
            ok=growth <= GROWTH and not (limited and (seconds > SECONDS or peak > MEBIBYTES)),
        )


def _make(rng: np.random.Generator, world: KernelKind, states: int, successors: int) -> MDP:
    if world == "random":
        return random_sparse_mdp(rng, states, 10, successors, gamma=0.99)
    side = math.isqrt(states)
    cells = rng.choice(list("........~"), size=(side, side))
    cells[0, 0], cells[-1, -1] = "S", "G"
    return grid_with_lakes("\n".join("".join(line) for line in cells), gamma=0.99)
