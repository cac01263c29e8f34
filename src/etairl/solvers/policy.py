"""From an actor to actions of a task: on the host, and in its units."""

import numpy as np
from jaxtyping import Float

from etairl.networks import MLP, HostMLP, Normaliser
from etairl.solvers.heads import Head
from etairl.types import Spec


class HeadPolicy:
    """An actor on the host: observations in, actions in the units of the task out."""

    def __init__(self, actor: MLP, head: Head, spec: Spec, normaliser: Normaliser | None = None):
        self._actor, self._head = HostMLP(actor), head
        self._normalise = None if normaliser is None else normaliser.on_host()
        self._scaling = ActionScaling(spec)

    def __call__(
        self, rng: np.random.Generator | None, observations: Float[np.ndarray, "batch obs"]
    ) -> np.ndarray:
        """Draw actions; without a random generator the most likely ones."""
        x = observations.astype(np.float32, copy=False)
        if self._normalise is not None:
            x = self._normalise(x)
        return self._scaling.to_task(self._head.act(self._actor, rng, x))


class ActionScaling:
    """Between the units of a task and [-1, 1]; an index stays an index."""

    def __init__(self, spec: Spec):
        self._discrete = spec.discrete_actions is not None
        low = np.asarray(spec.action_low or (-1.0,) * spec.act_dim, np.float64)
        high = np.asarray(spec.action_high or (1.0,) * spec.act_dim, np.float64)
        self._middle = spec.zero_action
        self._half = ((high - low) / 2).astype(np.float32)

    def to_task(self, actions: np.ndarray) -> np.ndarray:
        """From the solver to the simulator."""
        return actions.astype(np.int64) if self._discrete else self._middle + self._half * actions

    def to_solver(self, actions: np.ndarray) -> np.ndarray:
        """From the simulator, or from demonstrations, to the solver; unknown ones are 0."""
        if actions.shape[-1] == 0:
            return np.zeros((len(actions), len(self._middle)), np.float32)
        scaled = actions if self._discrete else (actions - self._middle) / self._half
        return scaled.astype(np.float32)
