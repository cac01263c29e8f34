r"""Episodes of a finite MDP, and the measures that they estimate."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from etairl.eta import Eta
from etairl.tabular.exact_measures import Measure, weights_beyond
from etairl.tabular.mdp import MDP, PolicyTable, check_policy
from etairl.types import InputError, Trajectories


def sample_episodes(
    rng: np.random.Generator, mdp: MDP, policy: PolicyTable, episodes: int, horizon: int
) -> Trajectories:
    """Draw episodes of `horizon` steps, all cut by the time limit: a finite MDP has no end.

    Observations and actions are one column each, the number of the state and of the action;
    rewards are minus the cost.
    """
    if episodes < 1 or horizon < 1:
        raise InputError(f"draw at least one episode of one step, got {episodes} of {horizon}")
    policy = check_policy(mdp, policy)
    acting = np.cumsum(policy, axis=1)
    states = np.empty((horizon + 1, episodes), dtype=np.int64)
    actions = np.empty((horizon, episodes), dtype=np.int64)
    states[0] = _first_above(np.cumsum(mdp.p0)[None], rng.random(episodes))
    for n in range(horizon):
        actions[n] = _first_above(acting[states[n]], rng.random(episodes))
        states[n + 1] = _next_states(mdp, states[n], actions[n], rng.random(episodes))
    seen, taken = states[:-1].T.reshape(-1), actions.T.reshape(-1)
    last = np.zeros(episodes * horizon, dtype=bool)
    last[horizon - 1 :: horizon] = True
    return Trajectories(
        observations=seen[:, None].astype(np.float64),
        actions=taken[:, None],
        terminated=np.zeros_like(last),
        truncated=last,
        offsets=np.arange(episodes + 1) * horizon,
        rewards=-mdp.c[seen, taken],
        final_observations=states[-1][:, None].astype(np.float64),
    )


def empirical_mu(episodes: Trajectories, mdp: MDP, eta: Eta) -> Measure:
    r"""$\hat\mu = \frac1N\sum_i\sum_{n<T_i} w_n\,\delta_{(s_n,a_n)}$ of recorded episodes.

    Unbiased but for what lies beyond the episodes, which `error` bounds:
    $\sum_{n\ge\min_iT_i}w_n$. It does not include the sampling error, of order $N^{-1/2}$.
    """
    episodes = episodes.repeated()
    states = _whole_numbers(episodes.observations, mdp.states, "observation")
    actions = _whole_numbers(episodes.actions, mdp.actions, "action")
    weights = eta.weights(mdp.gamma, int(episodes.lengths.max()))
    beyond = weights_beyond(eta, mdp.gamma, weights[: int(episodes.lengths.min())])
    time = episodes.times
    flat = np.bincount(states * mdp.actions + actions, weights=weights[time], minlength=mdp.c.size)
    return Measure(flat.reshape(mdp.c.shape) / len(episodes), beyond)


def _next_states(mdp: MDP, states: np.ndarray, actions: np.ndarray, u: np.ndarray) -> np.ndarray:
    if mdp.sparse:
        laws = sp.csr_array(mdp.rows[states * mdp.actions + actions]).toarray()
    else:
        laws = mdp.kernel[states, actions]
    return _first_above(np.cumsum(laws, axis=1), u)


def _first_above(cumulative: Float[np.ndarray, "rows n"], u: Float[np.ndarray, " draws"]):
    # Scaled by the last entry, so that rounding of a sum near 1 never falls off the end.
    return (cumulative <= u[:, None] * cumulative[:, -1:]).sum(axis=1)


def _whole_numbers(column: np.ndarray, count: int, what: str) -> Int[np.ndarray, " steps"]:
    values = column[:, 0].astype(np.int64)
    wrong = (values != column[:, 0]) | (values < 0) | (values >= count) | (column.shape[1] != 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"{what} {column[row].tolist()} in row {row} is not a number from 0 to "
            f"{count - 1} in one column"
        )
    return values
