r"""GIRL, the template (Algorithm 1): a cost player and a policy player take turns.

$$\min_\pi \max_c\; -\Omega(\pi) - \psi(c) + \langle \mu^\eta_\pi - \mu^\eta_E,\, c \rangle$$

The choice of $\eta$ is a sampler, of $\psi$ and of the costs a cost family, of $\Omega$ a solver.
Every random number is keyed by seed and cycle, so a run that is resumed makes the same numbers
as an unbroken one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from etairl.buffers import EpisodeBuffer, Transitions
from etairl.costs.family import Cost, Points
from etairl.experience import Experience, ExpertBuffer
from etairl.hyper import is_traced
from etairl.idle import Generator
from etairl.measures import FutureSampler
from etairl.rollouts import Rollout, roll_out, rows_of_cycle
from etairl.solvers.policy import ActionScaling
from etairl.solvers.solver import Solver, SolverState, fold_in, mean_info
from etairl.tasks import with_self_loops
from etairl.types import InputError, Task, Trajectories, check_choice, check_range


@dataclass(frozen=True)
class GirlConfig:
    """Sizes of a cycle and of the memory; the names of the paper's table in brackets."""

    transitions: int = 1_100_000
    """transitions of the learner in the world in all [Max-Transitions]"""
    episodes: int = 10
    """copies of the task, and so episodes of the learner in one cycle [N]"""
    rollout: Rollout = "episodes"
    """what each copy plays in a cycle: episodes (one, to its end) or steps (as many as the horizon
    has; where an episode ends early another begins)"""
    cost_updates: int = 50
    """gradient updates of the cost in a cycle [D-Epoch]"""
    cost_updates_per_step: float | None = None
    """the same by transitions of the learner; then cost_updates does not count"""
    cost_batch: int = 512
    """pairs of either side in one of them [D-Batch]"""
    cost_every: int = 1
    """cycles from one round of cost updates to the next [D-Update-Rate]"""
    capacity: int = 10_000_000
    """rows that the replay of the learner holds: its transitions, where each episode ended, and the
    self-loops of the absorbing state"""
    expert_capacity: int = 1_000_000
    """transitions that the replay of the expert holds"""
    fresh_share: float = 0.5
    """share of the learner's pairs for the cost that comes from its newest cycles; the others come
    from the whole replay"""
    fresh_cycles: int = 1
    """how many cycles count as new"""
    remaining_cycles: int = 100
    """the last cycles on which a run is judged: the paper's remaining replay buffer"""

    def __post_init__(self):
        counts = ("transitions", "episodes", "cost_updates", "cost_batch", "cost_every")
        rows = ("capacity", "expert_capacity", "fresh_cycles", "remaining_cycles")
        check_range(self, "[1, inf)", *counts, *rows)
        check_range(self, "[1, 1000000]", "episodes")
        check_range(self, "[0, 1]", "fresh_share")
        check_range(self, "(0, inf)", "cost_updates_per_step")
        check_choice("rollout", self.rollout, get_args(Rollout))

    @staticmethod
    def upgraded(data: dict[str, Any]) -> dict[str, Any]:
        """Settings of a file, also of versions up to 0.3."""
        return {"rollout": "episodes", "cost_updates_per_step": None} | data


class State(NamedTuple):
    """Everything that changes from cycle to cycle, but for what the buffer holds."""

    cost: Any
    solver: SolverState
    cycles: int
    transitions: int


class Cycle(NamedTuple):
    """One turn of both players."""

    state: State
    rolled_out: Trajectories
    """episodes of this cycle, with actions in the units of the task and, where the task is an
    absorbing one, with its self-loops"""
    cost_info: Any
    """metrics of the cost family; None in cycles without cost updates"""
    solver_info: Any
    """metrics of the solver; None in cycles without updates of it"""


@dataclass(frozen=True)
class Generated:
    """Futures of the expert from a generator (Idle), beside those that were recorded."""

    generator: Generator
    share: float
    """of the expert's pairs"""
    warmup: int
    """first cycles without them"""


@dataclass(frozen=True)
class Girl:
    """The game: who plays it, and how large it is."""

    config: GirlConfig
    seed: int
    cost: Cost
    solver: Solver[Any]
    sampler: FutureSampler
    generated: Generated | None = None

    def __post_init__(self):
        for player in (self.cost, self.solver):
            if not is_traced(player):
                raise InputError(
                    f"{type(player).__name__} takes part in compiled programs: put @traced of "
                    "etairl.hyper above its @dataclass(frozen=True)"
                )

    def init(self, expert: ExpertBuffer) -> State:
        """Untrained players."""
        key_cost, key_solver = jax.random.split(jax.random.key(self.seed))
        shown = as_points(expert.transitions())
        cost = self.cost.init(key_cost, shown)
        solver = self.solver.begin(self.solver.init(key_solver), shown)
        return State(cost, solver, 0, 0)

    def make_buffer(self, task: Task) -> EpisodeBuffer:
        """Memory for the replay, and for the last cycles on which the run is judged."""
        config, spec = self.config, task.spec
        cycle = rows_of_cycle(config.rollout, config.episodes, task.horizon)
        wanted = max(config.capacity, config.remaining_cycles * cycle)
        # No run has more rows than three for each transition: beside its steps an episode has what
        # it led to, and perhaps a self-loop. Two cycles more: one that is being added, and one for
        # the gap at the end of the ring.
        rows = min(wanted, 3 * config.transitions) + 2 * cycle
        return EpisodeBuffer(rows, spec.obs_dim, spec.act_dim)


def girl(
    game: Girl, task: Task, expert: ExpertBuffer, buffer: EpisodeBuffer, state: State
) -> Iterator[Cycle]:
    """Algorithm 1 from `state` on; yields once per cycle. `buffer` fills as it goes."""
    config, scaling = game.config, ActionScaling(task.spec)
    cost_state, solver_state, cycle, transitions = state
    while transitions < config.transitions:
        rng = np.random.default_rng([game.seed, cycle, 0])
        key_cost, key_solver = jax.random.split(
            jax.random.fold_in(jax.random.key(game.seed), cycle + 1)
        )
        expert.assign_tasks(task, game.seed, cycle, config.episodes)
        policy, before = game.solver.policy(solver_state), transitions
        played = roll_out(config.rollout, rng, task, policy, config.episodes)  # line 3
        transitions += played.steps
        rolled_out = with_self_loops(played, task)
        buffer.extend(rolled_out, scaling.to_solver(rolled_out.actions))
        replay = buffer.newest(rows=config.capacity)
        data = Experience(buffer, replay, expert, cycle, before, transitions, config.transitions)
        cost_info = None
        if game.cost.learns and cycle % config.cost_every == 0:
            # Before anything of the solver changes: log pi is that of the policy that acted.
            log_prob = partial(game.solver.log_prob, solver_state)
            infos = []
            for many in data.scans(config.cost_updates, config.cost_updates_per_step):
                own = _draw_own(game, rng, data, many)  # line 4
                theirs = _draw_expert(game, rng, expert, cycle, many)  # line 5
                cost_state, info = game.cost.updates(
                    fold_in(key_cost, len(infos)), cost_state, own, theirs, log_prob
                )  # line 6
                infos.append(info)
            cost_info = mean_info(infos)
        solver_state = game.solver.observe(solver_state, rolled_out.observations)
        drawn = game.solver.draw(rng, data)
        solver_state, solver_info = game.solver.updates(
            key_solver, solver_state, drawn, game.cost, cost_state
        )  # line 7
        cycle += 1
        yield Cycle(
            State(cost_state, solver_state, cycle, transitions), rolled_out, cost_info, solver_info
        )


def _draw_own(game: Girl, rng: np.random.Generator, data: Experience, many: int) -> Points:
    config = game.config
    fresh = round(config.fresh_share * config.cost_batch)
    parts = []
    for episodes, each in (
        (data.buffer.newest(cycles=config.fresh_cycles), fresh),
        (data.replay, config.cost_batch - fresh),
    ):
        steps = game.sampler.rows(rng, episodes.offsets, many * each)
        parts.append(episodes.rows(steps).reshape(many, each))
    rows = np.concatenate(parts, axis=1)
    return as_points(data.buffer.transitions(rows.ravel(), rows.shape))


def _draw_expert(
    game: Girl, rng: np.random.Generator, expert: ExpertBuffer, cycle: int, many: int
) -> Points:
    config, generated = game.config, game.generated
    episodes = expert.replay(game.seed, cycle, config.episodes, config.expert_capacity)
    made = 0
    if generated is not None and cycle >= generated.warmup:
        made = round(generated.share * config.cost_batch)
    shape = (many, config.cost_batch - made)
    steps = game.sampler.rows(rng, episodes.offsets, shape[0] * shape[1])
    points = as_points(expert.buffer.transitions(episodes.rows(steps), shape))
    if generated is None or not made:
        return points
    shape = (many, made)
    starts = generated.generator.starts(rng, episodes.offsets, shape[0] * shape[1])
    states = expert.buffer.observations[episodes.rows(starts)]
    futures = (part.reshape(*shape, -1) for part in generated.generator.futures(rng, states))
    obs, act = map(jnp.asarray, futures)
    # What follows a generated pair is unknown; costs that ask for it are refused beforehand.
    return jax.tree.map(lambda *both: jnp.concatenate(both, axis=1), points, Points(obs, act, obs))


def as_points(t: Transitions) -> Points:
    """Transitions as a cost sees them, on the device."""
    return Points(*map(jnp.asarray, (t.observations, t.actions, t.next_observations)))
