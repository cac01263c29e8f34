"""Small worlds: random ones, and the ones that decide the claims of the paper (errata)."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from etairl.tabular.mdp import MDP, PolicyTable
from etairl.types import InputError

STAY, GO = 0, 1


def random_mdp(
    rng: np.random.Generator, states: int, actions: int, gamma: float, start: int | None = None
) -> MDP:
    """Dirichlet(1) transitions and start law (or one first state), uniform costs in [0, 1)."""
    p0 = rng.dirichlet(np.ones(states)) if start is None else np.eye(states)[start]
    return MDP(
        P=rng.dirichlet(np.ones(states), size=(states, actions)),
        c=rng.random((states, actions)),
        p0=p0,
        gamma=gamma,
    )


def random_policy(rng: np.random.Generator, mdp: MDP) -> PolicyTable:
    """A Dirichlet(1) row per state."""
    return rng.dirichlet(np.ones(mdp.actions), size=mdp.states)


def random_sparse_mdp(
    rng: np.random.Generator, states: int, actions: int, successors: int, gamma: float
) -> MDP:
    """Like `random_mdp` with a sparse kernel: each pair leads to at most `successors` states."""
    if not 1 <= successors <= states:
        raise InputError(f"successors must lie in [1, {states}], got {successors}")
    pairs = states * actions
    columns = rng.integers(states, size=(pairs, successors))
    shares = rng.dirichlet(np.ones(successors), size=pairs)
    rows = np.repeat(np.arange(pairs), successors)
    return MDP(
        P=sp.csr_array((shares.reshape(-1), (rows, columns.reshape(-1))), (pairs, states)),
        c=rng.random((states, actions)),
        p0=rng.dirichlet(np.ones(states)),
        gamma=gamma,
    )


def chain(length: int, gamma: float, slip: float = 0.0) -> MDP:
    """A corridor: back (0) or forward (1) pays 1 until the last state, which is free and absorbs.

    With probability `slip` a step goes the other way.
    """
    if length < 2:
        raise InputError(f"a chain has at least 2 states, got {length}")
    P = np.zeros((length, 2, length))
    place = np.arange(length - 1)
    for action, move in ((0, -1), (1, 1)):
        P[place, action, np.clip(place + move, 0, None)] += 1.0 - slip
        P[place, action, np.clip(place - move, 0, None)] += slip
    P[-1, :, -1] = 1.0
    c = np.ones((length, 2))
    c[-1] = 0.0
    return MDP(P=P, c=c, p0=np.eye(length)[0], gamma=gamma)


def grid_with_lakes(picture: str, gamma: float, slip: float = 0.1, lake_cost: float = 10.0) -> MDP:
    """A grid drawn in characters: `.` ground, `~` lake, `S` start, `G` goal; sparse.

    Actions: north, east, south, west; a step into the border stays. With probability `slip` the
    direction is one of the other three. Ground costs 1 per step, a lake `lake_cost`, the goal is
    free and absorbs.
    """
    lines = picture.split()
    width = max(map(len, lines), default=0)
    cells = np.array([list(line.ljust(width, "?")) for line in lines]).reshape(len(lines), width)
    for row, column in np.argwhere(~np.isin(cells, list(".~SG"))):
        raise InputError(f"line {row}, column {column} of the grid is none of . ~ S G")
    start = (cells == "S").reshape(-1)
    if not start.any():
        raise InputError("the grid has no S to start from")
    number = np.arange(cells.size).reshape(cells.shape)
    padded = np.pad(number, 1, mode="edge")
    moved = np.stack(
        [padded[:-2, 1:-1], padded[1:-1, 2:], padded[2:, 1:-1], padded[1:-1, :-2]], axis=-1
    ).reshape(-1, 4)
    goal = (cells == "G").reshape(-1)
    moved[goal] = np.flatnonzero(goal)[:, None]
    share = np.full((4, 4), slip / 3.0) + np.eye(4) * (1.0 - 4.0 * slip / 3.0)
    pairs = 4 * cells.size
    P = sp.csr_array(
        (
            np.tile(share.reshape(-1), cells.size),
            (np.repeat(np.arange(pairs), 4), np.repeat(moved, 4, axis=0).reshape(-1)),
        ),
        (pairs, cells.size),
    )
    cost = np.where(goal, 0.0, np.where(cells.reshape(-1) == "~", lake_cost, 1.0))
    return MDP(P=P, c=np.repeat(cost[:, None], 4, axis=1), p0=start / start.sum(), gamma=gamma)


def go_stay(stay: float, go: float, after: float, gamma: float = 0.5) -> MDP:
    r"""The go/stay chain $\mathrm{GS}(c_s, c_g, c_1)$ of the errata.

    State 0 is the start: action 0 stays there at cost `stay`, action 1 leads to state 1 at cost
    `go`. State 1 absorbs and costs `after` per step.
    """
    P = np.zeros((2, 2, 2))
    P[0, STAY, 0] = P[0, GO, 1] = P[1, :, 1] = 1.0
    return MDP(P=P, c=np.array([[stay, go], [after, after]]), p0=np.array([1.0, 0.0]), gamma=gamma)


def go_stay_policy(p: float, absorbed: Float[np.ndarray, " 2"] | None = None) -> PolicyTable:
    """Stay with probability p; `absorbed` is the row of state 1, where nothing matters."""
    return np.array([[p, 1.0 - p], [0.5, 0.5] if absorbed is None else absorbed])


def fork(gamma: float = 0.9) -> MDP:
    """State 0 leads to 1 (action 0) or 2 (action 1), which absorb; nothing costs (errata (c))."""
    P = np.zeros((3, 2, 3))
    P[0, 0, 1] = P[0, 1, 2] = P[1, :, 1] = P[2, :, 2] = 1.0
    return MDP(P=P, c=np.zeros((3, 2)), p0=np.eye(3)[0], gamma=gamma)


def hidden_start(gamma: float = 0.5) -> MDP:
    """State 0 leads to 1 whatever one does; state 1 stays (0) or moves to 2, which absorbs."""
    P = np.zeros((3, 2, 3))
    P[0, :, 1] = P[1, STAY, 1] = P[1, GO, 2] = P[2, :, 2] = 1.0
    return MDP(P=P, c=np.zeros((3, 2)), p0=np.eye(3)[0], gamma=gamma)
