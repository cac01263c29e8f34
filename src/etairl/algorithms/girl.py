r"""GIRL, the template (Algorithm 1): a cost player and a policy player take turns.

$$\min_\pi \max_c\; -\Omega(\pi) - \psi(c) + \langle \mu^\eta_\pi - \mu^\eta_E,\, c \rangle$$

The choice of $\eta$ is a sampler, of $\psi$ and of the costs a cost family, of $\Omega$ a solver.
Every random number is keyed by seed and cycle, so a run that goes on from a checkpoint makes the
same numbers as an unbroken one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from etairl.buffers import EpisodeBuffer, Episodes
from etairl.costs.family import Cost, LogProbs, Points
from etairl.idle import Generator
from etairl.measures import FutureSampler
from etairl.rollouts import collect
from etairl.solvers.policy import ActionScaling
from etairl.solvers.sac import Batch, Pairs
from etairl.solvers.solver import Solver, SolverState
from etairl.types import InputError, MultiTask, Task, Trajectories


@dataclass(frozen=True)
class GirlConfig:
    """Sizes of a cycle and of the memory; the names of the paper's table in brackets."""

    transitions: int = 1_100_000
    """transitions of the learner in all [Max-Transitions]"""
    episodes: int = 10
    """episodes of the learner in one cycle [N]"""
    solver_updates: int = 500
    """gradient updates of the solver in one cycle [SAC-Epoch]"""
    solver_batch: int = 256
    """transitions in one of them [SAC-Batch]"""
    cost_updates: int = 50
    """gradient updates of the cost [D-Epoch]"""
    cost_batch: int = 512
    """pairs of either side in one of them [D-Batch]"""
    cost_every: int = 1
    """cycles from one round of cost updates to the next [D-Update-Rate]"""
    capacity: int = 10_000_000
    """rows that the replay of the learner holds: its transitions, and where each episode ended"""
    expert_capacity: int = 1_000_000
    """transitions that the replay of the expert holds"""
    critic_cycles: int = 0
    """first cycles in which only the critics of the solver learn, to protect a warm start"""
    fresh_share: float = 0.5
    """share of the learner's pairs for the cost that comes from its newest cycles; the others come
    from the whole replay"""
    fresh_cycles: int = 1
    """how many cycles count as new"""
    remaining_cycles: int = 100
    """the last cycles on which a run is judged: the paper's remaining replay buffer"""

    def __post_init__(self):
        for name in (
            "transitions",
            "episodes",
            "solver_updates",
            "solver_batch",
            "cost_updates",
            "cost_batch",
            "cost_every",
            "capacity",
            "expert_capacity",
            "fresh_cycles",
            "remaining_cycles",
        ):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0.0 <= self.fresh_share <= 1.0:
            raise InputError(f"fresh_share must lie in [0, 1], got {self.fresh_share}")


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
    """episodes of this cycle, with actions in the units of the task"""
    cost_info: Any
    """what the cost family has to say; None in cycles without cost updates"""
    solver_info: Any
    """what the solver has to say"""


@dataclass(frozen=True)
class Invented:
    """Futures of the expert that a generator invents (Idle), beside those that were recorded."""

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
    invented: Invented | None = None

    def init(self, expert: "Expert") -> State:
        """Untrained players."""
        key_cost, key_solver = jax.random.split(jax.random.key(self.seed))
        cost = self.cost.init(key_cost, expert.points())
        return State(cost, self.solver.init(key_solver), 0, 0)

    def make_buffer(self, task: Task) -> EpisodeBuffer:
        """Memory for the replay, and for the last cycles on which the run is judged."""
        config, spec = self.config, task.spec
        cycle = config.episodes * (task.horizon + 1)
        wanted = max(config.capacity, config.remaining_cycles * cycle)
        # No run has more rows than two for each transition: an episode has one more than steps.
        # Two cycles more: one that is being added, and one for the gap at the end of the ring.
        rows = min(wanted, 2 * config.transitions) + 2 * cycle
        return EpisodeBuffer(rows, spec.obs_dim, spec.act_dim)


class Expert(NamedTuple):
    """The demonstrations, prepared for a task, in memory once."""

    buffer: EpisodeBuffer
    episodes: Episodes
    tasks: np.ndarray | None = None
    """the task vector of each demonstration, in the multi-task setting"""

    @staticmethod
    def of(trajectories: Trajectories, scaling: ActionScaling, with_next: bool = False) -> "Expert":
        """From demonstrations; `with_next` leaves out steps whose next observation is unknown."""
        rows = trajectories.steps + len(trajectories)
        buffer = EpisodeBuffer(rows, trajectories.obs_dim, trajectories.act_dim)
        buffer.extend(trajectories, scaling.to_solver(trajectories.actions))
        known = buffer.newest()
        if with_next and trajectories.final_observations is None:
            lengths = trajectories.lengths - 1
            if (lengths < 1).any():
                raise InputError("a demonstration of one step has no next state to learn from")
            known = Episodes.of(known.starts, lengths)
        return Expert(buffer, known, trajectories.tasks)

    def points(self) -> Points:
        """Every step of every demonstration, once."""
        rows = self.episodes.rows(np.arange(self.episodes.steps))
        return _points(self.buffer, rows, (len(rows),))

    def drawn(self, seed: int, cycle: int, each: int) -> np.ndarray:
        """Numbers of the demonstrations that are drawn in a cycle."""
        return np.random.default_rng([seed, cycle, 1]).integers(
            len(self.episodes.starts), size=each
        )

    def replay(self, seed: int, cycle: int, each: int, capacity: int) -> Episodes:
        """The expert's replay after `cycle`: `each` demonstrations were drawn in every cycle.

        Demonstrations repeat, but are in memory once: the replay is a list of their numbers, and
        follows from the seed alone.
        """
        lengths = np.diff(self.episodes.offsets)
        cycles = max(1, int(capacity // (each * lengths.mean())))
        chosen = np.concatenate(
            [self.drawn(seed, c, each) for c in range(max(0, cycle + 1 - cycles), cycle + 1)]
        )
        return Episodes.of(self.episodes.starts[chosen], lengths[chosen])


def girl(
    game: Girl, task: Task, expert: Expert, buffer: EpisodeBuffer, state: State
) -> Iterator[Cycle]:
    """Algorithm 1 from `state` on; yields once per cycle. `buffer` fills as it goes."""
    config = game.config
    scaling = ActionScaling(task.spec)
    cost_state, solver_state, cycle, transitions = state
    while transitions < config.transitions:
        rng = np.random.default_rng([game.seed, cycle, 0])
        key_cost, key_solver = jax.random.split(
            jax.random.fold_in(jax.random.key(game.seed), cycle + 1)
        )
        if isinstance(task, MultiTask) and expert.tasks is not None:
            # The learner is given the tasks of the demonstrations that are drawn with it.
            task.assign(expert.tasks[expert.drawn(game.seed, cycle, config.episodes)])
        rolled_out = collect(rng, task, game.solver.policy(solver_state), config.episodes)  # line 3
        buffer.extend(rolled_out, scaling.to_solver(rolled_out.actions))
        transitions += rolled_out.steps
        cost_info = None
        if cycle % config.cost_every == 0:
            own = _draw_own(game, rng, buffer)  # line 4
            theirs = _draw_expert(game, rng, expert, cycle)  # line 5
            # Before anything of the solver changes: log pi is that of the policy that acted.
            log_probs = _log_probs(game, solver_state, own, theirs)
            cost_state, cost_info = game.cost.updates(
                key_cost, cost_state, own, theirs, log_probs
            )  # line 6
        solver_state = game.solver.observe(solver_state, rolled_out.observations)
        batches = _draw_transitions(config, rng, buffer, game.solver.timed)
        if game.solver.clones:
            batches = batches._replace(expert=_draw_pairs(config, rng, expert))
        protect = cycle < config.critic_cycles
        solver_state, solver_info = game.solver.updates(
            solver_state, batches, key_solver, game.cost, cost_state, protect
        )  # line 7
        cycle += 1
        yield Cycle(
            State(cost_state, solver_state, cycle, transitions), rolled_out, cost_info, solver_info
        )


def _draw_own(game: Girl, rng: np.random.Generator, buffer: EpisodeBuffer) -> Points:
    config = game.config
    fresh = round(config.fresh_share * config.cost_batch)
    parts = []
    for episodes, each in (
        (buffer.newest(cycles=config.fresh_cycles), fresh),
        (buffer.newest(rows=config.capacity), config.cost_batch - fresh),
    ):
        steps = game.sampler.rows(rng, episodes.offsets, config.cost_updates * each)
        parts.append(episodes.rows(steps).reshape(config.cost_updates, each))
    rows = np.concatenate(parts, axis=1)
    return _points(buffer, rows.ravel(), rows.shape)


def _draw_expert(game: Girl, rng: np.random.Generator, expert: Expert, cycle: int) -> Points:
    config, invented = game.config, game.invented
    episodes = expert.replay(game.seed, cycle, config.episodes, config.expert_capacity)
    made = 0
    if invented is not None and cycle >= invented.warmup:
        made = round(invented.share * config.cost_batch)
    shape = (config.cost_updates, config.cost_batch - made)
    steps = game.sampler.rows(rng, episodes.offsets, shape[0] * shape[1])
    points = _points(expert.buffer, episodes.rows(steps), shape)
    if invented is None or not made:
        return points
    shape = (config.cost_updates, made)
    starts = invented.generator.starts(rng, episodes.offsets, shape[0] * shape[1])
    states = expert.buffer.observations[episodes.rows(starts)]
    drawn = (part.reshape(*shape, -1) for part in invented.generator.futures(rng, states))
    obs, act = map(jnp.asarray, drawn)
    # What follows an invented pair is not known; costs that ask for it are refused beforehand.
    return jax.tree.map(lambda *both: jnp.concatenate(both, axis=1), points, Points(obs, act, obs))


def _log_probs(game: Girl, state: SolverState, own: Points, theirs: Points) -> LogProbs | None:
    if not game.cost.needs_policy:
        return None
    return LogProbs(*(game.solver.log_prob(state, side.obs, side.act) for side in (own, theirs)))


def _points(buffer: EpisodeBuffer, rows: np.ndarray, shape: tuple[int, ...]) -> Points:
    t = buffer.transitions(rows, shape)
    return Points(*map(jnp.asarray, (t.observations, t.actions, t.next_observations)))


def _draw_transitions(
    config: GirlConfig, rng: np.random.Generator, buffer: EpisodeBuffer, timed: bool
) -> Batch:
    episodes = buffer.newest(rows=config.capacity)
    shape = (config.solver_updates, config.solver_batch)
    steps = rng.integers(episodes.steps, size=shape[0] * shape[1])
    t = buffer.transitions(episodes.rows(steps), shape)
    unknown = np.zeros(shape, np.float32)  # relabelled with today's cost inside the scan
    return Batch.of(t, unknown, episodes.times(steps).reshape(shape) if timed else None)


def _draw_pairs(config: GirlConfig, rng: np.random.Generator, expert: Expert) -> Pairs:
    shape = (config.solver_updates, config.solver_batch)
    rows = expert.episodes.rows(rng.integers(expert.episodes.steps, size=shape[0] * shape[1]))
    t = expert.buffer.transitions(rows, shape)
    return Pairs(jnp.asarray(t.observations), jnp.asarray(t.actions))
