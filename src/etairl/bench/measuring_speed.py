"""What it costs to look at MMD² while training, as a share of a run."""

import time
from dataclasses import dataclass, replace

import jax
import numpy as np

from etairl.training.flat import configure
from etairl.training.preparation import prepare
from etairl.training.settings import TrainConfig

LIMIT = 0.03
"""of the time of a run"""


@dataclass(frozen=True)
class MeasuringShare:
    """Processor seconds of a cycle, and of an MMD² of its episodes beside the demonstrations.

    Those of all threads: on a busy machine they say more than a clock.
    """

    environment: str
    episodes: int
    """of a cycle"""
    cycle: float
    """playing and updates, the median"""
    mmd2: float
    """of rho and mu together, the median"""
    every: int
    """cycles between two of them, by default"""
    share: float
    limit: float
    ok: bool


def bench_measuring(config: TrainConfig, rounds: int = 6) -> MeasuringShare:
    """The first cycles of a run; the first of all compiles, and does not count."""
    prepared = prepare(replace(config, girl=replace(config.girl, transitions=10**9)))
    cycles = prepared.cycles()
    taken: list[tuple[float, float]] = []
    for _ in range(rounds + 1):
        start = time.process_time()
        cycle = next(cycles)
        jax.block_until_ready(cycle.state)
        middle = time.process_time()
        prepared.reference.mmd2(cycle.rolled_out)
        taken.append((middle - start, time.process_time() - middle))
    seconds, mmd2 = np.median(taken[1:], axis=0).tolist()
    each = mmd2 / config.measure_every
    share = each / (seconds + each)
    return MeasuringShare(
        environment=config.env,
        episodes=config.girl.episodes,
        cycle=seconds,
        mmd2=mmd2,
        every=config.measure_every,
        share=share,
        limit=LIMIT,
        ok=share <= LIMIT,
    )


def usual(environment: str, demos: str) -> TrainConfig:
    """A run by the preset `default`."""
    return configure("default", env=environment, demos=demos)
