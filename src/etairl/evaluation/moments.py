r"""Where two sides differ along their episodes, and whether that is more than noise.

Steps of an episode depend on each other, so whole episodes change sides in the permutation test.
Of many columns, the largest gap of each relabelling is what a gap has to beat: the p-values hold
for all columns together (the max-statistic of Westfall and Young).
"""

from dataclasses import dataclass
from math import comb

import numpy as np
from jaxtyping import Float, Int

from etairl.types import Trajectories

NOISE = 0.05
"""gaps that relabelled episodes reach more often are called noise"""
_FEWEST = round(1.0 / NOISE)  # ways to relabel: with fewer no gap could be told from noise
_DRAWS = 4000
USUAL = 4
"""episodes that tell what is usual at a step"""


@dataclass(frozen=True)
class Check:
    """A gap between two sides, and how often episodes with the labels shuffled show as much."""

    gap: float
    """mean over episodes of the one side, less that of the other"""
    p: float | None
    """None where there are too few episodes to tell"""

    @property
    def noise(self) -> bool:
        """Whether the gap may be nothing but noise."""
        return self.p is None or self.p > NOISE


def relabelled(
    rng: np.random.Generator,
    own: Float[np.ndarray, "own columns"],
    other: Float[np.ndarray, "others columns"],
) -> list[Check]:
    """A check for each column, which holds for all of them together."""
    gaps = own.mean(axis=0) - other.mean(axis=0)
    n, total = len(own), len(own) + len(other)
    if comb(total, n) < _FEWEST:
        return [Check(float(gap), None) for gap in gaps]
    both = np.concatenate([own, other]).astype(np.float64)
    both = both - both.mean(axis=0)
    spread = both.std(axis=0)
    both = both / np.where(spread > 0.0, spread, 1.0)
    chosen = rng.random((_DRAWS, total)).argsort(axis=1) < n
    # All columns have mean 0: the other side is minus this, and a gap in proportion to it.
    highest = np.abs(chosen @ both).max(axis=1)
    seen = np.abs(both[:n].sum(axis=0))
    reached = (highest[:, None] >= seen * (1.0 - 1e-9)).sum(axis=0)
    return [
        Check(float(gap), float((1 + r) / (1 + _DRAWS)))
        for gap, r in zip(gaps, reached, strict=True)
    ]


def window_of(horizon: int) -> int:
    """Steps over which a moment lasts: a fiftieth of the horizon."""
    return max(1, horizon // 50)


def smoothed(values: Float[np.ndarray, " rows"], width: int) -> Float[np.ndarray, " rows"]:
    """Means of `width` rows around each; of fewer at the ends."""
    before, after = (width - 1) // 2, width // 2
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    rows = np.arange(len(values))
    low, high = np.maximum(rows - before, 0), np.minimum(rows + after + 1, len(values))
    return (sums[high] - sums[low]) / (high - low)


def smoothed_episodes(
    t: Trajectories, values: Float[np.ndarray, " rows"], width: int
) -> Float[np.ndarray, " rows"]:
    """Each episode by itself."""
    parts = np.split(values, t.offsets[1:-1])
    return np.concatenate([smoothed(part, width) for part in parts])


def peaks(t: Trajectories, smooth: Float[np.ndarray, " rows"]) -> Int[np.ndarray, " episodes"]:
    """The row with the highest value of each episode."""
    parts = np.split(smooth, t.offsets[1:-1])
    return t.offsets[:-1] + np.array([int(np.argmax(part)) for part in parts])


def top_rows(
    t: Trajectories, smooth: Float[np.ndarray, " rows"], count: int, apart: int, each: int = 2
) -> list[int]:
    """The highest rows: at most `each` of an episode, and those `apart` steps from each other."""
    episodes, times = t.episode_numbers, t.times
    left, highest = smooth.copy(), []
    taken = np.zeros(len(t), np.int64)
    while len(highest) < count and np.isfinite(left).any():
        row = int(np.nanargmax(np.where(np.isfinite(left), left, -np.inf)))
        highest.append(row)
        taken[episodes[row]] += 1
        near = (episodes == episodes[row]) & (np.abs(times - times[row]) <= apart)
        left[near | (taken[episodes] >= each)] = -np.inf
    return highest


def excess(
    t: Trajectories,
    smooth: Float[np.ndarray, " rows"],
    others: Trajectories,
    usual: Float[np.ndarray, " other_rows"],
    apart: bool = False,
) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " rows"]]:
    """How far each row is above the mean of others at the same step, and that mean.

    Where fewer than four others are as long, their mean over all steps takes its place: one or two
    episodes do not tell what is usual at a step. With `apart` the episodes are those of the others,
    and each is compared with the rest of them. A row of a thinned episode stands for all of its
    steps.
    """
    times, values = others.repeated().times, usual[others.row_of_step]
    overall, horizon = float(usual.mean()), int(t.times.max()) + 1
    sums = np.bincount(times, values, minlength=horizon)[t.times]
    counts = np.bincount(times, minlength=horizon)[t.times]
    enough = counts >= USUAL  # the same steps of both sides, or they could not be compared
    if apart:
        sums, counts = sums - smooth, counts - 1
    means = np.where(enough, sums / np.maximum(counts, 1), overall)
    return smooth - means, means


def mean_by_time(
    t: Trajectories, values: Float[np.ndarray, " rows"], horizon: int
) -> tuple[Float[np.ndarray, " horizon"], Int[np.ndarray, " horizon"]]:
    """Mean over the episodes at each step, and how many there are; NaN where there is none.

    A row of a thinned episode stands for all of its steps.
    """
    whole, rows = t.repeated(), t.row_of_step
    times = whole.times
    inside = times < horizon
    counts = np.bincount(times[inside], minlength=horizon)
    sums = np.bincount(times[inside], values[rows][inside], minlength=horizon)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), counts
