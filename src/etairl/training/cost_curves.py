"""A learned cost along episodes: of every row, smoothed, and by time."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from etairl.costs.family import Points
from etairl.evaluation.moments import mean_by_time, smoothed_episodes, window_of
from etairl.solvers.policy import ActionScaling
from etairl.tasks.column_names import named
from etairl.training.attribution import CostOf
from etairl.training.preparation import Prepared
from etairl.types import InputError, Spec, Trajectories

_BLOCK = 16_384  # rows whose cost is computed at once


@dataclass(frozen=True, eq=False)
class Costs:
    """The learned cost along the episodes of one side."""

    trajectories: Trajectories
    costs: Float[np.ndarray, " rows"]
    smooth: Float[np.ndarray, " rows"]
    """means over as many steps as a moment lasts"""
    by_time: Float[np.ndarray, " horizon"]
    """mean over the episodes at each step; NaN where none is as long"""
    alive: Float[np.ndarray, " horizon"]
    """share of the episodes that have this step"""


@dataclass(frozen=True)
class Explained:
    """A cost, and how it sees a row."""

    cost: CostOf
    spec: Spec
    """observations as the environment gives them"""
    horizon: int
    needs_next: bool = False

    @property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the columns of observations and actions."""
        spec = self.spec
        observations = spec.observation_names or tuple(f"s{i}" for i in range(spec.obs_dim))
        return observations, spec.action_names or tuple(f"a{i}" for i in range(spec.act_dim))

    def points(self, t: Trajectories) -> Points:
        """Rows as a cost sees them; where the last next state is not known, it is not looked at."""
        following = t.next_observations
        if following is None:
            following = np.roll(t.observations, -1, axis=0)
            ends = t.observations[t.last_rows]
            following[t.last_rows] = ends if t.final_observations is None else t.final_observations
        actions = ActionScaling(self.spec).to_solver(t.actions)
        arrays = (t.observations, actions, following)
        return Points(*(jnp.asarray(a, jnp.float32) for a in arrays))

    def known(self, t: Trajectories) -> Trajectories:
        """Without last rows whose next state the cost asks for and nobody knows."""
        whole = t.final_observations is not None or t.spans is not None
        if whole or not self.needs_next:
            return t
        rows = np.setdiff1d(np.arange(t.steps), t.last_rows)
        lengths = t.lengths - 1
        if (lengths < 1).any():
            raise InputError(
                "an episode of one step has no next state to explain a cost with; use longer ones"
            )
        truncated = t.truncated[rows].copy()
        truncated[np.cumsum(lengths) - 1] = True
        return t.at_rows(rows, lengths, truncated=truncated)

    def costs(self, t: Trajectories) -> Costs:
        """The cost of every row."""
        points = self.points(t)
        starts = range(0, t.steps, _BLOCK)
        blocks = [[a[i : i + _BLOCK] for a in points] for i in starts]
        costs = np.concatenate([np.asarray(self.cost(*block), np.float64) for block in blocks])
        smooth = smoothed_episodes(t, costs, window_of(self.horizon))
        by_time, counts = mean_by_time(t, costs, self.horizon)
        return Costs(t, costs, smooth, by_time, counts / len(t))


def explained(prepared: Prepared) -> Explained:
    """The learned cost of a run, as a function of observations without marks."""
    config, cost = prepared.config, prepared.game.cost.portable()
    absorbing = config.mode == "absorbing"

    def marked(obs: Array) -> Array:
        zeros = jnp.zeros((*obs.shape[:-1], 1), obs.dtype)
        return jnp.concatenate([obs, zeros], axis=-1) if absorbing else obs

    def of(obs: Array, act: Array, following: Array) -> Array:
        return cost(prepared.cost, marked(obs), act, marked(following))

    # The names of the demonstrations come first.
    spec = named(prepared.demos.spec, prepared.demos.spec, prepared.task.spec)
    return Explained(of, spec, config.horizon, cost.needs_next)
