"""Were the actions of demonstrations drawn, or are they the most likely ones? A guess from data.

A greedy expert does the same in the same state: close states have close actions. Where its actions
were drawn, they differ by their noise however close the states are.
"""

import numpy as np
from scipy.spatial import KDTree

from etairl.demos.dataset import Demos, Playing, Standardiser

_ROWS = 2000  # states whose nearest neighbours are looked at
_CLOSEST = 0.1  # share of them that counts: the closest pairs
_NOISE = 0.01  # variance of the actions of a pair, as a share of that of all actions
_SLOPE = 0.075  # the same by the squared distance of the states: a steep policy is not noise
_DISAGREE = 0.1  # share of pairs with different discrete actions


def playing_of(demos: Demos) -> tuple[Playing, bool]:
    """How the expert acted, and whether that is a guess."""
    if demos.playing is not None:
        return demos.playing, False
    t = demos.trajectories
    states = Standardiser.of(t.observations)(t.observations)
    rows = np.random.default_rng(0).choice(len(states), min(len(states), _ROWS), replace=False)
    if len(states) < 2:
        return "greedy", True
    distances, neighbours = map(np.asarray, KDTree(states).query(states[rows], k=2))
    closest = np.argsort(distances[:, 1])[: max(50, int(_CLOSEST * len(rows)))]
    pairs = t.actions[rows[closest]], t.actions[neighbours[closest, 1]]
    if np.array_equal(t.actions, np.floor(t.actions)):  # numbers of discrete actions
        return ("drawn" if (pairs[0] != pairs[1]).mean() > _DISAGREE else "greedy"), True
    spread = float(t.actions.astype(np.float64).var(axis=0).sum())
    if not spread > 0.0:
        return "greedy", True
    noise = float(np.median(((pairs[0] - pairs[1]) ** 2).sum(axis=1))) / (2.0 * spread)
    distance = float(np.median(distances[closest, 1] ** 2))
    return ("drawn" if noise > max(_NOISE, _SLOPE * distance) else "greedy"), True
