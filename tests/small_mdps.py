"""Small MDPs that decide claims of the paper (errata), and all policies of an MDP."""

import numpy as np

from etairl.tabular import MDP, deterministic
from etairl.tabular.generators import GO, STAY
from etairl.types import InputError


def three_state_detour(gamma: float = 0.5) -> MDP:
    r"""Costs of states alone that still refute errata (a): $0\to\{0,1\}$, $1\to2$, 2 absorbs."""
    P = np.zeros((3, 2, 3))
    P[0, STAY, 0] = P[0, GO, 1] = P[1, :, 2] = P[2, :, 2] = 1.0
    return MDP(P=P, c=np.repeat([[0.4], [1.0], [0.0]], 2, axis=1), p0=np.eye(3)[0], gamma=gamma)


def forced_return(gamma: float = 0.5) -> MDP:
    """State 0 is free and leads to 1; state 1 costs 1, stays (0) or moves to 0 (1); start in 1."""
    P = np.zeros((2, 2, 2))
    P[0, :, 1] = P[1, STAY, 1] = P[1, GO, 0] = 1.0
    return MDP(P=P, c=np.repeat([[0.0], [1.0]], 2, axis=1), p0=np.eye(2)[1], gamma=gamma)


def start_matters(start: int, gamma: float = 0.5) -> MDP:
    """Two states whose best stationary policy depends on the first one (errata (a))."""
    to_zero = np.array([[0.2, 1.0], [0.4, 0.0]])
    return MDP(
        P=np.stack([to_zero, 1.0 - to_zero], axis=-1),
        c=np.array([[1.0, 0.6], [0.2, 0.8]]),
        p0=np.eye(2)[start],
        gamma=gamma,
    )


def ring(gamma: float = 0.5, start: int = 0) -> MDP:
    """Two states: stay (0), or switch to the other (1); nothing costs (errata (b))."""
    P = np.zeros((2, 2, 2))
    P[[0, 1], 0, [0, 1]] = P[[0, 1], 1, [1, 0]] = 1.0
    return MDP(P=P, c=np.zeros((2, 2)), p0=np.eye(2)[start], gamma=gamma)


def all_deterministic(mdp: MDP) -> list[np.ndarray]:
    """Every deterministic stationary policy; for small worlds only."""
    count = mdp.actions**mdp.states
    if count > 10_000:
        raise InputError(f"there are {count:,} deterministic policies, more than 10,000")
    choices = np.stack(np.unravel_index(np.arange(count), (mdp.actions,) * mdp.states), axis=-1)
    return [deterministic(row, mdp.actions) for row in choices]
