r"""Generalised RL (Eq. 2): a policy for the true cost of a task, by any solver.

$$\min_\pi J_\eta(\pi) = \mathbb{E}\sum_n w_n\big(c_n - \alpha\Omega(\pi(s_n))\big)$$

The loop is that of `girl` without the cost player: to try a solver where the answer is known.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import jax
import numpy as np

from etairl.algorithms.girl import Rollout
from etairl.buffers import EpisodeBuffer
from etairl.eta import Eta
from etairl.experience import Experience
from etairl.rollouts import roll_out, rows_of_cycle
from etairl.solvers.policy import ActionScaling
from etairl.solvers.solver import Solver, SolverState
from etairl.tasks import with_self_loops
from etairl.types import Task, Trajectories, check_choice, check_range


@dataclass(frozen=True)
class GrlConfig:
    """Sizes of a cycle."""

    cycles: int = 100
    """in all"""
    episodes: int = 20
    """copies of the task, and so episodes in one cycle"""
    rollout: Rollout = "episodes"
    """what each copy plays in a cycle: episodes, or as many steps as the horizon has"""
    memory: int = 2
    """newest cycles to learn from: the gradient is that of the policy that played them"""

    def __post_init__(self):
        check_range(self, "[1, inf)", "cycles", "episodes", "memory")
        check_choice("rollout", self.rollout, get_args(Rollout))


class Round(NamedTuple):
    """One cycle."""

    state: SolverState
    """after its updates"""
    rolled_out: Trajectories
    """episodes played before them"""
    info: Any


def grl(config: GrlConfig, task: Task, solver: Solver[Any], seed: int = 0) -> Iterator[Round]:
    """Play, learn from the true costs of the newest cycles, and again."""
    scaling, spec = ActionScaling(task.spec), task.spec
    most = config.episodes * task.horizon
    rows = (config.memory + 2) * rows_of_cycle(config.rollout, config.episodes, task.horizon)
    buffer = EpisodeBuffer(rows, spec.obs_dim, spec.act_dim)
    key_init, key_updates = jax.random.split(jax.random.key(seed))
    state, transitions = solver.init(key_init), 0
    for cycle in range(config.cycles):
        rng = np.random.default_rng([seed, cycle])
        played = roll_out(config.rollout, rng, task, solver.policy(state), config.episodes)
        before, transitions = transitions, transitions + played.steps
        played = with_self_loops(played, task)
        buffer.extend(played, scaling.to_solver(played.actions))
        state = solver.observe(state, played.observations)
        newest, total = buffer.newest(cycles=config.memory), config.cycles * most
        data = Experience(buffer, newest, None, cycle, before, transitions, total)
        key = jax.random.fold_in(key_updates, cycle)
        state, info = solver.updates(key, state, solver.draw(rng, data))
        yield Round(state, played, info)


def weighted_cost(played: Trajectories, eta: Eta, gamma: float) -> float:
    r"""$\sum_n w_nc_n$, averaged over episodes: $J_\eta$ but for $\Omega$ and what comes after."""
    assert played.rewards is not None
    weights = eta.weights(gamma, int(played.lengths.max()))
    time = played.times
    return float(-(weights[time] * played.rewards).sum() / len(played))
