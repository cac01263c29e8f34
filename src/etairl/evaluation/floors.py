"""What an expert's own episodes differ by: the null distribution of MMD² at given sizes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from etairl.evaluation.resampling import Pool, disjoint, null_scale

FEWEST = 8
"""episodes of an expert from which on splits of them say something about their spread"""
_SPLITS = 1000


class Floor95(NamedTuple):
    """95 % of an expert's comparisons with itself stay below the value."""

    value: float | None
    by: str | None
    """how it was found"""


class OwnGroups(NamedTuple):
    """Kernel sums between the groups of an expert: its episodes, or blocks of time of them."""

    pool: Pool
    owner: Int[np.ndarray, " groups"]
    """number of the episode that a group belongs to"""

    def floor(self, n: int, m: int) -> Floor95:
        """Of n episodes against m.

        Drawn from all episodes where there are n + m of them; else from splits of all there are
        that leave the smaller side as it is where they can, scaled by how the spread of a null
        distribution depends on the sizes (`null_scale`). Of fewer than 8 episodes, blocks of time
        are split in halves: a hint, since blocks of one episode are alike.
        """
        groups, episodes = len(self.owner), int(self.owner[-1]) + 1
        each, rng = groups / episodes, np.random.default_rng(0)
        if groups < FEWEST:
            return Floor95(None, None)
        if episodes < FEWEST:
            half = groups // 2, groups - groups // 2
            values = self.pool.null(rng, half, _SPLITS)
            factor = _scale(n, m, each) / null_scale(*half)
            how = f"blocks of time, splits into {half[0]} and {half[1]}, scaled"
        else:
            a, b = n, m
            if n + m > episodes:
                small = min(n, m, episodes // 2)
                a, b = (small, episodes - small) if n < m else (episodes - small, small)
            x, y = disjoint(rng, episodes, (a, b), _SPLITS)
            sides = (side[:, self.owner].astype(np.float64) for side in (x, y))
            values, factor = self.pool.mmd2(*sides), _scale(n, m, each) / _scale(a, b, each)
            drawn = "drawn from the demonstrations"
            how = f"episodes, {drawn if (a, b) == (n, m) else f'splits into {a} and {b}, scaled'}"
        how = f"{how} to {n} and {m}" if how.endswith("scaled") else how
        return Floor95(max(0.0, factor * float(np.quantile(values, 0.95))), how)


def _scale(n: int, m: int, each: float) -> float:
    return null_scale(max(2.0, n * each), max(2.0, m * each))
