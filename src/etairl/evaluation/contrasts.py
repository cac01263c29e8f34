r"""Two weightings of the time of the same episodes: how far apart are the measures they make?

Both measures are of one sample, so pairs of steps of one episode are left out everywhere, also
between the two sides. The value is then an unbiased estimate of $\mathrm{MMD}^2$ of the two laws,
by random features: its relative error does not depend on how small it is.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import numpy as np
from jaxtyping import Complex, Float, Int

from etairl.evaluation.fourier import Frequencies, standard_error
from etairl.evaluation.kernel import OnProgress
from etairl.evaluation.resampling import Pool, disjoint

_SPLITS = 500
_FLIPS = 1000
_COUNTED = 9
"""groups up to which all patterns of signs are counted; beyond, they are drawn"""
_LEVEL = 0.95


@dataclass(frozen=True)
class Contrast:
    """MMD² between two weightings, and what it can be compared with."""

    mmd2: float
    error: float
    """standard error by random features"""
    floor: float
    """95 % of comparisons of two halves of the episodes, of one weighting, are below"""
    p: float
    """share of exchanges of the two weightings, episode by episode, that differ as much"""

    @property
    def signal(self) -> bool:
        """Whether the weightings differ by more than halves do, and not by chance."""
        return self.mmd2 > self.floor and self.p <= 1.0 - _LEVEL


@dataclass(frozen=True)
class WeightedGroups:
    """Features of groups of steps (episodes, or blocks of time) under several time weights."""

    z: Complex[np.ndarray, "laws groups frequencies"]
    mass: Float[np.ndarray, "laws groups"]
    """of each group; sums to 1 over the groups"""

    @staticmethod
    def of(
        points: Float[np.ndarray, "rows dims"],
        groups: Int[np.ndarray, " rows"],
        weights: Float[np.ndarray, "laws rows"],
        frequencies: int,
        progress: OnProgress | None = None,
    ) -> "WeightedGroups":
        """Of points whose groups are ascending; each law's weights sum to 1."""
        drawn = Frequencies.draw(
            np.random.default_rng(0), points, float(points.shape[1]), frequencies
        )
        starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
        ends = np.append(starts[1:], len(groups))
        z = np.empty((len(weights), len(starts), frequencies), np.complex64)
        narrow = weights.astype(np.float32)
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            rows = slice(start, end)
            phase = (points[rows] - drawn.centre).astype(np.float32) @ drawn.omega
            z[:, number] = narrow[:, rows] @ np.cos(phase) + 1j * (narrow[:, rows] @ np.sin(phase))
            if progress is not None:
                progress(float(end) / len(groups))
        return WeightedGroups(z, np.add.reduceat(weights, starts, axis=1))

    @property
    def many(self) -> int:
        """Number of groups."""
        return self.z.shape[1]

    @cached_property
    def totals(self) -> Complex[np.ndarray, "laws frequencies"]:
        """Features of each law, over all groups."""
        return self.z.sum(axis=1)

    def mmd2(self, a: int, b: int) -> tuple[float, float]:
        """Unbiased estimate between two laws, and its standard error."""
        values = self._across(a, a) + self._across(b, b) - 2.0 * self._across(a, b)
        return float(values.mean()), standard_error(values)

    def _across(self, a: int, b: int) -> Float[np.ndarray, " frequencies"]:
        """Mean kernel of pairs from different groups, one of law a and one of law b."""
        own = _inner(self.z[a], self.z[b]).sum(axis=0)
        kept = 1.0 - float(self.mass[a] @ self.mass[b])
        return (_inner(self.totals[a], self.totals[b]) - own) / kept

    def floor(self, law: int, neighbours: bool = False) -> float:
        """What 95 % of random halves of the groups differ by, both under one law.

        Args:
            law: number of the law.
            neighbours: of each two groups in a row one goes to either half: for blocks of time,
                so that the halves have the same times.
        """
        mass, rng = self.mass[law], np.random.default_rng(1)
        if neighbours:
            coins = rng.random((_SPLITS, self.many // 2)) < 0.5
            first = np.zeros((_SPLITS, self.many), bool)
            first[:, : 2 * coins.shape[1]] = np.stack([coins, ~coins], axis=2).reshape(_SPLITS, -1)
            second = ~first
        else:
            half = self.many // 2
            first, second = disjoint(rng, self.many, (half, self.many - half), _SPLITS)
        # A law that looks far ahead may leave a half with nothing, or with a single group.
        kept = np.minimum(*((side & (mass > 1e-9)).sum(axis=1) for side in (first, second))) > 1
        if not kept.any():
            return np.inf
        pool = Pool(_gram(self.z[law]), mass, np.ones(self.many, bool), False)
        values = pool.mmd2(first[kept].astype(np.float64), second[kept].astype(np.float64))
        # Neighbours are alike, which makes values of halves too small, and often negative.
        values = np.abs(values) if neighbours else values
        return max(0.0, float(np.quantile(values, _LEVEL)))

    def p_value(self, a: int, b: int) -> float:
        """Of "both laws make one measure": share of patterns of exchanges as far apart."""
        centre = (self.totals[a] + self.totals[b]) / 2.0
        apart = self.z[a] - self.z[b]
        apart = apart - (self.mass[a] - self.mass[b])[:, None] * centre
        h = _gram(apart)
        np.fill_diagonal(h, 0.0)
        signs = _signs(self.many)
        values = ((signs @ h) * signs).sum(axis=1)
        return float((values >= values[0] - 1e-12 * np.abs(values).max()).mean())


def _inner(
    a: Complex[np.ndarray, "..."], b: Complex[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    return np.real(a * np.conj(b)).astype(np.float64)


def _gram(z: Complex[np.ndarray, "groups frequencies"]) -> Float[np.ndarray, "groups groups"]:
    both = np.concatenate([np.real(z), np.imag(z)], axis=1).astype(np.float64)
    return both @ both.T / z.shape[1]


@cache
def _signs(groups: int) -> Float[np.ndarray, "patterns groups"]:
    """Patterns of exchanges; the first is none."""
    if groups <= _COUNTED:
        return np.array(list(product((1.0, -1.0), repeat=groups)))
    signs = np.random.default_rng(2).choice((1.0, -1.0), size=(_FLIPS, groups))
    signs[0] = 1.0
    return signs
