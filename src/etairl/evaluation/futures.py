r"""Is a generated future a true one? $\mathrm{MMD}^2$ of pairs (state, future) at the same states.

With true futures $z_i$ and generated ones $g_i$ at states $s_i$, and $k$ the kernel on pairs,

$$\mathrm{MMD}^2 = \frac{1}{n(n-1)}\sum_{i\ne j} h_{ij},\quad
h_{ij} = k(g_i, g_j) + k(z_i, z_j) - k(g_i, z_j) - k(z_i, g_j),$$

which is 0 on average if the two are drawn from one law given the state. Two true draws $z, z'$ at
the same states say what chance alone makes: which of the two is called generated is arbitrary, so
$\sum e_i e_j h_{ij}$ with random signs $e$ has the same law as $\sum h_{ij}$ (the floor).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from etairl.evaluation.kernel import Bandwidth, kernel_sums, resolve_bandwidth
from etairl.types import InputError

States = Float[np.ndarray, "n obs"]
Pairs = Float[np.ndarray, "n obs_and_act"]
_FLIPS = 1000


@dataclass(frozen=True)
class Futures:
    """How generated futures compare with true ones."""

    mmd2: float
    """squared MMD at the same states, in units of the true pairs"""
    floor: float
    """95 % of two true draws are closer than this"""
    spread: float
    """of generated futures around their state, in units of the true ones: 0 is a collapse"""
    points: int

    @property
    def ratio(self) -> float:
        """MMD² in floors."""
        return max(0.0, self.mmd2) / self.floor


def judge_futures(
    rng: np.random.Generator, states: States, true: Pairs, again: Pairs, generated: Pairs
) -> Futures:
    """Generated futures beside two independent draws of true ones, all at the same states.

    Args:
        rng: draws the signs behind the floor.
        states: where the futures start.
        true: a future of each.
        again: another one, drawn independently.
        generated: what a generator says.
    """
    n = len(states)
    if n < 4 or any(part.shape != true.shape or len(part) != n for part in (again, generated)):
        raise InputError("futures must be as many as states, at least 4, and of one shape")
    pairs = np.concatenate([states, true], axis=1, dtype=np.float64)
    mean, scale = pairs.mean(axis=0), pairs.std(axis=0)
    scale = np.where(scale > 1e-6 * np.maximum(1.0, np.abs(pairs).max(axis=0)), scale, 1.0)

    def standard(futures: np.ndarray) -> np.ndarray:
        return (np.concatenate([states, futures], axis=1, dtype=np.float64) - mean) / scale

    own, other = (_terms(standard(x), standard(true)) for x in (generated, again))
    signs = rng.choice([-1.0, 1.0], size=(n, _FLIPS))
    chance = np.einsum("if,if->f", signs, other @ signs) / (n * (n - 1))
    return Futures(
        mmd2=float(own.sum() / (n * (n - 1))),
        floor=float(np.quantile(chance, 0.95)),
        spread=_spread(states, generated, true),
        points=n,
    )


def _terms(x: Pairs, y: Pairs, bandwidth: Bandwidth = "paper") -> Float[np.ndarray, "n n"]:
    """$h_{ij}$, with zeros on the diagonal."""
    n = len(x)
    points = np.stack([x, y], axis=1).reshape(2 * n, -1)
    h = kernel_sums(
        points,
        np.repeat(np.arange(n), 2),
        resolve_bandwidth(points, bandwidth),
        np.tile([1.0, -1.0], n),
    )
    np.fill_diagonal(h, 0.0)
    return h


def _spread(states: States, generated: Pairs, true: Pairs) -> float:
    """Median over columns of how far futures scatter, generated over true."""
    obs = states.shape[1]
    wide, narrow = (
        np.concatenate([x[:, :obs] - states, x[:, obs:]], axis=1).std(axis=0)
        for x in (true, generated)
    )
    moving = wide > 1e-6
    return float(np.median(narrow[moving] / wide[moving])) if moving.any() else 1.0


@dataclass(frozen=True)
class Along:
    """Where futures lie along the episodes that they belong to, on average over episodes."""

    near_target: float
    """share of the samples within the tolerance of the target: 1 is the collapse that the paper
    describes, unless true futures are there, too"""
    coverage: float
    """share of the steps that have a sample within the tolerance"""


def along(
    path: Float[np.ndarray, "steps place"],
    samples: Float[np.ndarray, "n place"],
    target: Float[np.ndarray, " place"],
    tolerance: float,
) -> Along:
    """Samples beside one episode: how many are at its target, how much of it has some."""
    at_target = np.linalg.norm(samples - target, axis=1) <= tolerance
    gaps = np.linalg.norm(path[:, None] - samples[None], axis=2)
    return Along(float(at_target.mean()), float((gaps.min(axis=1) <= tolerance).mean()))
