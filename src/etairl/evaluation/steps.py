"""The steps of some episodes, with the time weights of the measures that are compared."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from etairl.eta import Dirac, Eta, Geometric, discounted_sum
from etairl.types import Trajectories

MeasureName = Literal["rho", "mu"]
MEASURES: dict[MeasureName, Eta] = {"rho": Dirac(0), "mu": Geometric(0.99)}
r"""$\mu$ with Geom(.99) and no discount, whatever the learner trained with, as in the paper."""
_MOST_PARTS = 8
_NEARLY_ALL = 0.95  # of the steps: to leave out fewer changes no floor by much


@dataclass(frozen=True)
class Steps:
    """State-action pairs of the steps of some episodes."""

    pairs: Float[np.ndarray, "points dims"]
    groups: np.ndarray
    """number of the episode, or of its block of time"""
    time: np.ndarray

    @staticmethod
    def of(trajectories: Trajectories) -> "Steps":
        """All steps of all episodes; a row of a thinned one counts for each that it stands for."""
        t = trajectories.repeated()
        return Steps(t.pairs(), t.episode_numbers, t.times)

    def __len__(self) -> int:
        return len(self.time)

    @property
    def episodes(self) -> int:
        """Number of groups."""
        return int((np.diff(self.groups) > 0).sum()) + 1 if len(self) else 0

    def window(self, begin: int, end: int) -> "Steps":
        """Those of the times from `begin` to before `end`."""
        kept = (self.time >= begin) & (self.time < end)
        return Steps(self.pairs[kept], self.groups[kept], self.time[kept])

    def blocks(self, size: int, first: int = 0) -> "Steps":
        """The same steps; groups are blocks of so many steps of an episode, from a time on."""
        number = (self.time - first) // size
        return Steps(self.pairs, self.groups * (int(number.max()) + 1) + number, self.time)

    def joined(self, other: "Steps") -> "Steps":
        """With the episodes of another behind one's own."""
        groups = other.groups + self.groups[-1] + 1
        both = ((self.pairs, other.pairs), (self.groups, groups), (self.time, other.time))
        return Steps(*map(np.concatenate, both))

    @property
    def lengths(self) -> Int[np.ndarray, " groups"]:
        """Steps of each group."""
        return np.unique(self.groups, return_counts=True)[1]

    def parts(self, rng: np.random.Generator, lengths: Int[np.ndarray, " others"]) -> list["Steps"]:
        """Random parts of all episodes, as long as those of others; none where that is nearly all.

        So many times that about every step is in one, at least twice and at most 8 times.

        The longest is made as long as the longest of the others, and so on; none gets longer. A
        part begins anywhere, and goes on at the first step after the last: each step is as likely
        to be in it, so that parts are of the same law as the whole.
        """
        own = self.lengths
        rank = np.argsort(np.argsort(own, kind="stable"), kind="stable")
        wanted = np.quantile(lengths, (rank + 0.5) / len(own)).round()
        kept = np.minimum(own, np.maximum(wanted, 1)).astype(np.int64)
        if kept.sum() > _NEARLY_ALL * own.sum():
            return []
        times = int(np.clip(own.sum() / kept.sum(), 2, _MOST_PARTS))
        return [self._part(rng.integers(own), kept) for _ in range(times)]

    def _part(
        self, begins: Int[np.ndarray, " groups"], kept: Int[np.ndarray, " groups"]
    ) -> "Steps":
        own = self.lengths
        rows = [
            start + np.sort((begin + np.arange(many)) % length)
            for start, begin, many, length in zip(
                np.cumsum(own) - own, begins, kept, own, strict=True
            )
        ]
        chosen = np.concatenate(rows)
        return Steps(self.pairs[chosen], self.groups[chosen], self.time[chosen])

    def weights(self) -> Float[np.ndarray, "measures points"]:
        r"""$w_n = \sum_{k \le n} \eta(k)$ at each step, for each measure."""
        horizon = int(self.time.max()) + 1
        laws = (discounted_sum(eta.pmf(horizon), 1.0) for eta in MEASURES.values())
        return np.stack([law[self.time] for law in laws])
