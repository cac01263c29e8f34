"""What an expert's own episodes differ by: the null distribution of MMD² at given sizes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from etairl.evaluation.resampling import Pool, disjoint, null_scale

FEWEST = 8
"""episodes of an expert from which on splits of them say something about their spread"""
_SPLITS = 1000


_Splits = Bool[np.ndarray, "splits _"]


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
    part: Int[np.ndarray, " groups"]
    """0 of whole episodes; 1, 2, … of parts of them that are as long as those of a learner"""

    def floor(self, n: int, m: int, share: float = 1.0) -> Floor95:
        """Of n episodes against m.

        Drawn from all episodes where there are n + m of them; else from splits of all there are
        that leave the smaller side as it is where they can, scaled by how the spread of a null
        distribution depends on the sizes (`null_scale`). Parts of episodes, where there are any,
        take the place of the n. Of fewer than 8 episodes, blocks of time are split in halves: a
        hint, since blocks of one episode are alike. Splits without pairs on a side say nothing.

        Args:
            n: episodes of a learner.
            m: episodes of the expert.
            share: how long those of the learner are beside those of the expert; for blocks of
                time, of which it then has fewer.
        """
        groups, episodes = int((self.part == 0).sum()), int(self.owner.max()) + 1
        each, rng = groups / episodes, np.random.default_rng(0)
        if groups < FEWEST:
            return Floor95(None, None)
        if episodes < FEWEST:
            half = groups // 2, groups - groups // 2
            values = self.pool.null(rng, half, _SPLITS)
            factor = _scale(share * n, m, each) / null_scale(*half)
            how = f"blocks of time, splits into {half[0]} and {half[1]}, scaled"
        else:
            a, b = n, m
            if n + m > episodes:
                small = min(n, m, episodes // 2)
                a, b = (small, episodes - small) if n < m else (episodes - small, small)
            sides = self._sides(rng, *disjoint(rng, episodes, (a, b), _SPLITS))
            paired = (np.minimum(*(side.sum(axis=1) for side in sides))) >= 2
            if not paired.any():
                return Floor95(None, None)
            values = self.pool.mmd2(*(side[paired].astype(np.float64) for side in sides))
            factor = _scale(share * n, m, each) / _scale(a, b, each)
            drawn = "drawn from the demonstrations"
            how = f"episodes, {drawn if (a, b) == (n, m) else f'splits into {a} and {b}, scaled'}"
        how = f"{how} to {n} and {m}" if how.endswith("scaled") else how
        if self.part.any():
            how += ", the first as short as the learner's"
        return Floor95(max(0.0, factor * float(np.quantile(values, 0.95))), how)

    def _sides(self, rng: np.random.Generator, x: _Splits, y: _Splits) -> tuple[_Splits, _Splits]:
        """From episodes to groups; of each of the first, one of its parts where there are any."""
        many = int(self.part.max())
        chosen = rng.integers(1, many + 1, size=x.shape) if many else np.zeros(x.shape, int)
        return x[:, self.owner] & (chosen[:, self.owner] == self.part), y[:, self.owner] & (
            self.part == 0
        )


def _scale(n: int | float, m: int, each: float) -> float:
    return null_scale(max(2.0, n * each), max(2.0, m * each))
