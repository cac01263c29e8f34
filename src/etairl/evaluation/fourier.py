r"""The same sums by random Fourier features, in time linear in the number of points.

$k(x, y) = \mathbb{E}_\omega \cos \omega^\top(x - y)$ with $\omega \sim N(0, 2I/h)$. Every
frequency gives an unbiased estimate of its own; their mean is the value, their spread says how well
it is known: the standard error falls with the root of their number.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Complex, Float, Int

from etairl.evaluation.kernel import indicators
from etairl.types import InputError

_BLOCK = 4096


@dataclass(frozen=True)
class Frequencies:
    r"""Some $\omega$, and the centre that points are moved to first: no value depends on it."""

    omega: Float[np.ndarray, "dims frequencies"]
    centre: Float[np.ndarray, " dims"]

    @staticmethod
    def draw(
        rng: np.random.Generator,
        points: Float[np.ndarray, "rows dims"],
        bandwidth: float,
        many: int = 1024,
    ) -> "Frequencies":
        """For points around these, and the kernel of this bandwidth."""
        if many < 2:
            raise InputError(f"frequencies must be at least 2, got {many}")
        omega = np.sqrt(2.0 / bandwidth) * rng.standard_normal((points.shape[1], many))
        return Frequencies(omega.astype(np.float32), points.mean(axis=0))

    def sums(
        self,
        points: Float[np.ndarray, "rows dims"],
        groups: Int[np.ndarray, " rows"],
        weights: Float[np.ndarray, "laws rows"],
    ) -> Complex[np.ndarray, "laws groups frequencies"]:
        r"""$z_g(\omega) = \sum_{i \in g} a_i e^{i\omega^\top x_i}$ for each law of weights $a$."""
        z = np.zeros((len(weights), int(groups[-1]) + 1, self.omega.shape[1]), np.complex128)
        for start in range(0, len(points), _BLOCK):
            rows = slice(start, start + _BLOCK)
            phase = (points[rows] - self.centre).astype(np.float32) @ self.omega
            present, matrices = indicators(groups[rows], weights[:, rows], phase.dtype)
            real, imaginary = np.cos(phase), np.sin(phase, out=phase)
            for law, by_group in enumerate(matrices):
                z[law, present] += by_group.T @ real + 1j * (by_group.T @ imaginary)
        return z


def group_sums(
    z: Complex[np.ndarray, "laws groups frequencies"],
) -> Float[np.ndarray, "laws groups groups"]:
    r"""Estimates of $S_{gh} = \sum_{i \in g, j \in h} a_i a_j k(x_i, x_j)$ over all frequencies."""
    both = np.concatenate([np.real(z), np.imag(z)], axis=-1)
    return both @ both.swapaxes(1, 2) / z.shape[-1]


class Side(NamedTuple):
    """One of two samples that are compared."""

    z: np.ndarray
    """the sums of all its points"""
    own: Any
    r"""what the pairs that do not count, those within a group, add to $|z|^2$"""
    size: float
    """the sum of its weights"""
    own_pairs: float
    """the weight of the pairs that do not count"""

    @staticmethod
    def of(z: Complex[np.ndarray, "groups frequencies"], sizes: np.ndarray) -> "Side":
        """From the sums and the sizes of its groups."""
        own = (np.abs(z) ** 2).sum(axis=0)
        return Side(z.sum(axis=0), own, float(sizes.sum()), float((sizes**2).sum()))

    @property
    def inside(self) -> Float[np.ndarray, " frequencies"]:
        """The mean over its pairs that count."""
        return (np.abs(self.z) ** 2 - self.own) / (self.size**2 - self.own_pairs)


def standard_error(values: Float[np.ndarray, " frequencies"]) -> float:
    """Of the mean over frequencies, that are drawn."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def mmd2_by_frequency(x: Side, y: Side) -> Float[np.ndarray, " frequencies"]:
    """MMD² by each frequency alone."""
    return x.inside + y.inside - 2.0 * np.real(x.z * y.z.conj()) / (x.size * y.size)
