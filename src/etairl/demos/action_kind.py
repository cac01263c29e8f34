"""Were the actions of demonstrations drawn, or are they the most likely ones? A guess from data.

A greedy expert does the same in the same state: close states have close actions. Where its actions
were drawn, they differ by their noise however close the states are.
"""

import numpy as np
from scipy.spatial import KDTree

from etairl.demos.dataset import Demos, Playing, Standardiser
from etairl.types import Trajectories

BY_A_GUESS = "by a guess"
"""at the end of the name of demonstrations whose kind was guessed"""
_ROWS = 2000  # states whose nearest neighbours are looked at
_CLOSEST = 0.1  # share of them that counts: the closest pairs
_NOISE = 0.01  # variance of the actions of a pair, as a share of that of all actions
_SLOPE = 0.075  # the same by the squared distance of the states: a steep policy is not noise
_RECUR = 0.2  # states by step, below which they come back: then actions in one state are compared
_SAME = 4  # digits, in units of the spread, by which copies of a step are known
_DISAGREE = 0.1  # share of pairs, or of states, with different actions


def playing_of(demos: Demos) -> tuple[Playing | None, bool]:
    """How the expert acted, and whether that is a guess; None where nobody can tell."""
    if demos.playing is not None or demos.trajectories.act_dim == 0:
        return demos.playing, False
    t = _distinct(demos.trajectories)
    pairs = Standardiser.of(t.pairs())(t.pairs())
    # A step that is there twice says nothing about noise.
    _, kept = np.unique(pairs.round(_SAME), axis=0, return_index=True)
    states, actions = pairs[kept, : t.obs_dim], t.actions[kept].astype(np.float64)
    _, many = np.unique(states.round(_SAME), axis=0, return_counts=True)
    if len(many) < _RECUR * t.steps:
        return ("drawn" if (many > 1).mean() > _DISAGREE else "greedy"), True
    if len(states) < 2:
        return "greedy", True
    rows = np.random.default_rng(0).choice(len(states), min(len(states), _ROWS), replace=False)
    distances, neighbours = map(np.asarray, KDTree(states).query(states[rows], k=2))
    # Of equal states, a row may come second to its own neighbour.
    other = np.where(neighbours[:, 1] == rows, neighbours[:, 0], neighbours[:, 1])
    closest = np.argsort(distances[:, 1])[: max(50, int(_CLOSEST * len(rows)))]
    ours, theirs = actions[rows[closest]], actions[other[closest]]
    if np.array_equal(actions, np.floor(actions)):  # numbers of discrete actions
        return ("drawn" if (ours != theirs).mean() > _DISAGREE else "greedy"), True
    spread = float(actions.var(axis=0).sum())
    if not spread > 0.0:
        return "greedy", True
    noise = float(np.median(((ours - theirs) ** 2).sum(axis=1))) / (2.0 * spread)
    distance = float(np.median(distances[closest, 1] ** 2))
    return ("drawn" if noise > max(_NOISE, _SLOPE * distance) else "greedy"), True


def _distinct(t: Trajectories) -> Trajectories:
    """Each episode once, copies that were rounded left out too."""
    steps = Standardiser.of(t.pairs())(t.pairs()).round(_SAME)
    _, ids = np.unique(steps, axis=0, return_inverse=True)
    parts = np.split(ids.ravel(), t.offsets[1:-1])
    first = {part.tobytes(): number for number, part in reversed(list(enumerate(parts)))}
    return t.take(np.array(sorted(first.values())))
