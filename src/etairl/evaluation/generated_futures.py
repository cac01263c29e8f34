r"""Is a generated future a true one? $\mathrm{MMD}^2$ of pairs (state, future) at the same states.

With true futures $z_i$ and generated ones $g_i$ at states $s_i$, and $k$ the kernel on pairs,

$$\mathrm{MMD}^2 = \frac{1}{n(n-1)}\sum_{i\ne j} h_{ij},\quad
h_{ij} = k(g_i, g_j) + k(z_i, z_j) - k(g_i, z_j) - k(z_i, g_j),$$

which is 0 on average if the two are drawn from one law given the state. Two true draws $z, z'$ at
the same states say what chance alone makes: which of the two is called generated is arbitrary, so
$\sum e_i e_j h_{ij}$ with random signs $e$ has the same law as $\sum h_{ij}$ (the floor).

A future is seen from its state: the *change* of the observation, in units of true changes, and the
action. In units of the observations themselves a change of a few steps would be next to nothing.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from etairl.evaluation.kernel import kernel_sums
from etairl.types import InputError, constant_columns

Starts = Float[np.ndarray, "n obs"]
FuturePairs = Float[np.ndarray, "n obs_and_act"]
_FLIPS = 1000


@dataclass(frozen=True)
class Futures:
    """How generated futures compare with true ones."""

    mmd2: float
    """squared MMD at the same states, in units of true changes"""
    floor: float
    """95 % of two true draws are closer than this"""
    spread: float
    """mean distance of two generated futures of a state, over that of true ones: 0 is a collapse"""
    points: int

    @property
    def ratio(self) -> float:
        """MMD² in floors."""
        if self.floor <= 0.0:
            return math.inf if self.mmd2 > 0.0 else 0.0
        return max(0.0, self.mmd2) / self.floor


def judge_futures(
    rng: np.random.Generator,
    states: Starts,
    true: tuple[FuturePairs, FuturePairs],
    generated: tuple[FuturePairs, FuturePairs],
) -> Futures:
    """Two draws of generated futures beside two of true ones, all at the same states.

    Args:
        rng: draws the signs behind the floor.
        states: where the futures start.
        true: two futures of each. Where both come from one recorded episode they are closer to
            each other than two fresh ones would be, and the floor is a little low.
        generated: what a generator says, twice.
    """
    n = len(states)
    if n < 4 or any(x.shape != true[0].shape or len(x) != n for x in (*true, *generated)):
        raise InputError("futures must be as many as states, at least 4, and of one shape")
    ahead = [_change(states, x) for x in (*true, *generated)]
    scale = np.concatenate(ahead[:2]).std(axis=0)
    constant = constant_columns(np.concatenate(ahead[:2]))
    # What never changes is left out, unless the generator changes it.
    kept = ~constant | (np.concatenate(ahead[2:]).std(axis=0) > 1e-6)
    z, again, g, g_again = (x[:, kept] / np.where(constant, 1.0, scale)[kept] for x in ahead)
    own, chance = (_terms(_standard(states), x, z) for x in (g, again))
    signs = rng.choice([-1.0, 1.0], size=(n, _FLIPS))
    flipped = np.einsum("if,if->f", signs, chance @ signs) / (n * (n - 1))
    wide, narrow = (np.linalg.norm(a - b, axis=1).mean() for a, b in ((z, again), (g, g_again)))
    return Futures(
        mmd2=float(own.sum() / (n * (n - 1))),
        floor=float(np.quantile(flipped, 0.95)),
        spread=float(narrow / wide) if wide > 0.0 else 1.0,
        points=n,
    )


def _change(states: Starts, futures: FuturePairs) -> FuturePairs:
    change = np.array(futures, np.float64)
    change[:, : states.shape[1]] -= states
    return change


def _standard(x: Starts) -> Float[np.ndarray, "n kept"]:
    x = np.asarray(x, np.float64)
    moving = ~constant_columns(x)
    return (x - x.mean(axis=0))[:, moving] / x.std(axis=0)[moving]


def _terms(
    states: Float[np.ndarray, "n kept"],
    x: Float[np.ndarray, "n ahead"],
    y: Float[np.ndarray, "n ahead"],
) -> Float[np.ndarray, "n n"]:
    """$h_{ij}$, with zeros on the diagonal; the bandwidth is the dimension, as in the paper."""
    n = len(x)
    points = np.stack([np.concatenate([states, side], axis=1) for side in (x, y)], axis=1)
    points = points.reshape(2 * n, -1)
    signs = np.tile([1.0, -1.0], n)
    pairs = np.repeat(np.arange(n), 2)
    h = kernel_sums(points, pairs, float(points.shape[1]), signs[None])[0]
    np.fill_diagonal(h, 0.0)
    return h


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
