"""Where is another weighting than GAIL's better, for how many demonstrations, and at what price?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from etairl.eta import Geometric
from etairl.measures.index_laws import index_law
from etairl.replication.eta_matters.imitators import (
    episodes,
    estimated,
    exact_target,
    fit_imitators,
    price,
)
from etairl.replication.eta_matters.worlds import GAMMA, HORIZON, SmallWorld, gaps, small_worlds

KAPPAS = (0.0, 0.9, 1.0)
GAMMAS = (1.0, GAMMA)
COUNTS = (1, 3, 10, 30, 100)
SAMPLES = 400
OUTCOMES = ("cost", "discounted", "survival", "quarters")
_CLEAR = 3.0  # standard errors of a paired difference
_RELEVANT = 0.01  # of the gap of kappa = 0: less does not count


@dataclass(frozen=True)
class Entry:
    """What imitators of one measure reach."""

    world: str
    capacity: str
    """full: can match the expert; tied: cannot tell two kinds of states apart"""
    demonstrations: int | None
    """None: the expert's measure is known exactly"""
    gamma_irl: float
    kappa: float
    numbers: tuple[float, ...]
    """of the policy, mean over samples"""
    gap: dict[str, float]
    """mean of each outcome"""
    error: dict[str, float]
    """standard error of that mean; 0 where it is exact"""
    beside_gail: dict[str, float]
    """mean difference from kappa = 0 with the same discount, on the same demonstrations"""
    beside_gail_error: dict[str, float]

    def verdict(self, outcome: str = "cost") -> str:
        """Beside kappa = 0 with the same discount."""
        if self.kappa == 0.0:
            return "GAIL"
        change, error = self.beside_gail[outcome], self.beside_gail_error[outcome]
        least = max(_RELEVANT * (self.gap[outcome] - change), 1e-6)
        if abs(change) <= max(_CLEAR * error, least):
            return "no difference"
        return "better" if change < 0.0 else "worse"


@dataclass(frozen=True)
class Price:
    """What a weighting costs in variance, where the class can match."""

    world: str
    kind: int
    gamma_irl: float
    kappa: float
    price: float
    """1 is the least; 2 is what half as many demonstrations would give"""


def kappa_weights(kappa: float, gamma: float) -> np.ndarray:
    """The exact law of the time index."""
    return index_law(Geometric(kappa), gamma, "exact", HORIZON)


def prices() -> list[Price]:
    """Of all weightings, in all worlds."""
    return [
        Price(w.name, kind, gamma, kappa, price(w, kappa_weights(kappa, gamma), kind))
        for w in small_worlds()
        for kind in (0, 1)
        for gamma in GAMMAS
        for kappa in KAPPAS
    ]


def entries(
    samples: int = SAMPLES,
    counts: tuple[int, ...] = COUNTS,
    track: Callable[[list[SmallWorld]], Iterator[SmallWorld]] = iter,
) -> list[Entry]:
    """All worlds, classes, numbers of demonstrations and weightings.

    Args:
        samples: sets of demonstrations, the same for all weightings.
        counts: demonstrations in a set.
        track: may show progress.
    """
    rows = []
    for number, world in enumerate(track(small_worlds())):
        rng = np.random.default_rng([24, number])
        pairs = episodes(rng, world, (samples, max(counts)))
        for capacity, kinds in (("full", 2), ("tied", 1)):
            for many in (*counts, None):
                shown = None if many is None else pairs[:, :many]
                for gamma in GAMMAS:
                    rows += _row(world, capacity, kinds, shown, gamma)
    return rows


def _row(
    world: SmallWorld, capacity: str, kinds: int, shown: np.ndarray | None, gamma: float
) -> list[Entry]:
    entries, plain = [], {}
    for kappa in KAPPAS:
        weights = kappa_weights(kappa, gamma)
        if shown is None:
            targets = exact_target(world, weights[None])
        else:
            targets = estimated(world, shown, weights)
        numbers = fit_imitators(world, targets, weights, kinds)
        reached = vars(gaps(world, numbers))
        plain = plain or reached
        apart = {name: reached[name] - plain[name] for name in OUTCOMES}
        entries.append(
            Entry(
                world=world.name,
                capacity=capacity,
                demonstrations=None if shown is None else shown.shape[1],
                gamma_irl=gamma,
                kappa=kappa,
                numbers=tuple(numbers.mean(axis=0).tolist()),
                gap={name: float(reached[name].mean()) for name in OUTCOMES},
                error={name: _error(reached[name]) for name in OUTCOMES},
                beside_gail={name: float(apart[name].mean()) for name in OUTCOMES},
                beside_gail_error={name: _error(apart[name]) for name in OUTCOMES},
            )
        )
    return entries


def _error(values: np.ndarray) -> float:
    return 0.0 if len(values) < 2 else float(values.std(ddof=1) / np.sqrt(len(values)))
