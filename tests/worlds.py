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
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (mdp.states,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(mdp.actions)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = int(self.np_random.choice(self.mdp.states, p=self.mdp.p0))
        return self._seen(), {}

    def step(self, action):
        cost = self.mdp.c[self.state, int(action)]
        law = self.mdp.kernel[self.state, int(action)]
        if law.max() == 1.0:
            self.state = int(law.argmax())
        else:
            self.state = int(self.np_random.choice(self.mdp.states, p=law))
        return self._seen(), -float(cost), False, False, {}

    def _seen(self):
        return np.eye(self.mdp.states, dtype=np.float32)[self.state]


@contextmanager
def registered(mdp: MDP, name: str = "World-v0") -> Iterator[str]:
    """A name for `make_task`, as long as the context lasts."""
    gymnasium.register(name, entry_point=lambda **_: World(mdp))
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
