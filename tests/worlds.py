"""Finite MDPs as environments, for tests that compare learning with exact answers."""

from collections.abc import Iterator
from contextlib import contextmanager

import gymnasium
import jax.numpy as jnp
import numpy as np

from etairl.tabular import MDP


class World(gymnasium.Env):
    """A finite MDP; the observation is one column per state, the reward minus the cost."""

    def __init__(self, mdp: MDP):
        self.mdp, self.state = mdp, 0
        self.rows = np.eye(mdp.states, dtype=np.float32)
        self.costs = mdp.c.tolist()
        # Where there is one successor, no number is drawn; else as `np_random.choice` draws.
        laws = mdp.kernel
        self.certain = np.where(laws.max(axis=2) == 1.0, laws.argmax(axis=2), -1).tolist()
        self.cumulative = laws.cumsum(axis=2)
        self.cumulative /= self.cumulative[..., -1:]
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (mdp.states,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(mdp.actions)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = int(self.np_random.choice(self.mdp.states, p=self.mdp.p0))
        return self.rows[self.state], {}

    def step(self, action):
        cost, following = self.costs[self.state][action], self.certain[self.state][action]
        if following < 0:
            law = self.cumulative[self.state, action]
            following = int(law.searchsorted(self.np_random.random(), side="right"))
        self.state = following
        return self.rows[following], -cost, False, False, {}


@contextmanager
def registered(mdp: MDP, name: str = "World-v0") -> Iterator[str]:
    """A name for `make_task`, as long as the context lasts."""
    bare = {"disable_env_checker": True, "order_enforce": False}
    gymnasium.register(name, entry_point=lambda **_: World(mdp), **bare)
    try:
        yield name
    finally:
        del gymnasium.registry[name]


class TablePolicy:
    """Draws actions of a table [state, action]."""

    def __init__(self, table: np.ndarray):
        self.cumulative = np.cumsum(table, axis=1)

    def __call__(self, rng, seen):
        rows = self.cumulative[seen.argmax(axis=1)]
        return (rows < rng.random((len(rows), 1))).sum(axis=1, keepdims=True)


def chances(solver, state, states: int, actions: int) -> np.ndarray:
    """The policy of a solver as a table."""
    obs = jnp.eye(states)
    columns = [solver.log_prob(state, obs, jnp.full((states, 1), float(a))) for a in range(actions)]
    table = np.exp(np.stack([np.asarray(c, np.float64) for c in columns], axis=1))
    return table / table.sum(axis=1, keepdims=True)
