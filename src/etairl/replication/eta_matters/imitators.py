r"""Imitators that match a measure of the expert, known exactly or from a few episodes.

An imitator minimises the Jensen-Shannon divergence between its own measure $\mu_\theta$ and the
expert's, as an ideal discriminator would have it, over the numbers $\theta$ of its policy class.
"""

from itertools import product

import numpy as np
from jaxtyping import Float

from etairl.penalties import jensen_shannon
from etairl.replication.eta_matters.worlds import HORIZON, Numbers, SmallWorld

_COARSE = 17
_LEVELS = 9  # of a noisy target: to 1e-4, far below what samples differ by
_LEVELS_EXACT = 30
Measures = Float[np.ndarray, "samples pairs"]


def fit_imitators(
    world: SmallWorld, targets: Measures, weights: Float[np.ndarray, " time"], kinds: int
) -> Numbers:
    """The numbers of the nearest policy to each target: a grid, refined around its best point.

    Args:
        world: the world.
        targets: measures to match, under the same time weights, of mass 1.
        weights: of time, summing to 1.
        kinds: numbers of the policy class: 2, or 1 where kinds cannot be told apart.
    """
    axis = np.linspace(0.0, 1.0, _COARSE)
    grid = np.array(list(product(axis, repeat=kinds)))
    table = world.measures(grid, weights[None])[0]
    best = np.stack([grid[np.argmin(jensen_shannon(table, t, axis=-1))] for t in targets])
    step = 1.0 / (_COARSE - 1)
    around = np.array(list(product((-1.0, -0.5, 0.0, 0.5, 1.0), repeat=kinds)))
    for _ in range(_LEVELS if len(targets) > 1 else _LEVELS_EXACT):
        tried = np.clip(best[:, None] + step * around, 0.0, 1.0)
        own = world.measures(tried.reshape(-1, kinds), weights[None])[0]
        far = jensen_shannon(own.reshape(*tried.shape[:2], -1), targets[:, None], axis=-1)
        best = tried[np.arange(len(best)), np.argmin(far, axis=1)]
        step /= 2.0
    return best


def exact_target(world: SmallWorld, weights: Float[np.ndarray, "laws time"]) -> np.ndarray:
    """The expert's own measures, [laws, pairs]."""
    return world.measures(np.array([world.expert]), weights)[:, 0]


def episodes(rng: np.random.Generator, world: SmallWorld, many: tuple[int, int]) -> np.ndarray:
    """Pairs (numbered state · 2 + action) of the expert, [samples, episodes, time]."""
    one = world.policies(np.array([world.expert]))[0]
    following = np.cumsum(world.kernel, axis=2)
    states, pairs = np.zeros(many, np.int64), np.empty((*many, HORIZON), np.int64)
    for n in range(HORIZON):
        actions = (rng.random(many) < one[states]).astype(np.int64)
        pairs[..., n] = 2 * states + actions
        draws = rng.random(many)[..., None]
        states = (following[states, actions] <= draws).sum(axis=-1)
        states = np.minimum(states, len(world.kinds) - 1)
    return pairs


def estimated(
    world: SmallWorld, pairs: np.ndarray, weights: Float[np.ndarray, " time"]
) -> Measures:
    """The weighted measure of each sample of episodes."""
    samples, many, horizon = pairs.shape
    columns = 2 * len(world.kinds)
    flat = (np.arange(samples)[:, None, None] * columns + pairs).reshape(-1)
    each = np.broadcast_to(weights, (samples, many, horizon)).reshape(-1)
    counted = np.bincount(flat, each, minlength=samples * columns)
    return counted.reshape(samples, columns) / many


def price(world: SmallWorld, weights: Float[np.ndarray, " time"], kind: int) -> float:
    r"""By how much weighting raises the variance of what is read off the expert's measure.

    The number of a kind is the weighted share of action 1 in its states. With $p_n$ the chance to
    be in one at time $n$, its variance from $N$ episodes is $\theta(1-\theta)/N$ times
    $\sum w_n^2p_n/(\sum w_np_n)^2$ (delta method); $1/\sum p_n$ is the least that this can be
    (Cauchy-Schwarz), for weights that are equal wherever $p_n > 0$. This is the ratio.
    """
    p = world.laws(np.array([world.expert]))[:, 0, world.kinds == kind].sum(axis=1)
    return float((weights**2 @ p) / (weights @ p) ** 2 * p.sum())
