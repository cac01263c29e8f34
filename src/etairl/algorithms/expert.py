"""An expert: soft actor-critic on the true cost of a task, to record demonstrations from."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from etairl.buffers import Replay
from etairl.rollouts import UniformPolicy
from etairl.solvers.sac import SAC, ActionScaling, Batch, SACConfig, SACInfo, SACState
from etairl.tasks import make_task
from etairl.types import InputError, Task


@dataclass(frozen=True)
class ExpertConfig:
    """How to train an expert."""

    env: str = "Pendulum-v1"
    """the environment"""
    steps: int = 1_000_000
    """transitions in all"""
    horizon: int | None = None
    """steps of an episode; the environment's own limit if left out"""
    seed: int = 0
    envs: int = 16
    """copies of the environment"""
    cycle: int = 32
    """steps of every copy between two rounds of updates"""
    warmup: int = 10_000
    """transitions with random actions before the first update"""
    updates_per_step: float = 1.0
    """gradient updates per transition"""
    batch: int = 256
    """transitions in one update"""
    capacity: int = 1_000_000
    """transitions that the replay memory holds"""
    sac: SACConfig = field(default_factory=SACConfig)

    def __post_init__(self):
        for name in ("steps", "envs", "cycle", "batch"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.capacity < 2 * self.envs or self.updates_per_step <= 0:
            raise InputError("capacity must hold two steps, and updates_per_step be > 0")


class Progress(NamedTuple):
    """Everything that changes; what a checkpoint holds."""

    solver: SACState
    replay: Replay
    steps: int
    cycles: int


class Cycle(NamedTuple):
    """One round of steps and updates."""

    progress: Progress
    returns: list[float]
    """of the episodes that ended in this cycle"""
    info: SACInfo | None
    """None before the first update"""


def make_expert_task(config: ExpertConfig) -> Task:
    """The copies of the environment that an expert trains in."""
    return make_task(config.env, config.envs, horizon=config.horizon, seed=config.seed)


def make_solver(config: ExpertConfig, task: Task) -> SAC:
    """Soft actor-critic of the right size."""
    return SAC(config.sac, task.spec)


def begin(config: ExpertConfig, task: Task, solver: SAC) -> Progress:
    """Nothing learned, nothing seen."""
    replay = Replay(config.capacity, config.envs, task.spec.obs_dim, task.spec.act_dim)
    return Progress(solver.init(jax.random.key(config.seed)), replay, 0, 0)


def train_expert(
    config: ExpertConfig, task: Task, solver: SAC, progress: Progress
) -> Iterator[Cycle]:
    """Go on from `progress` until `config.steps` transitions are made; yields once per cycle.

    Every random number is keyed by seed and cycle.
    """
    state, replay, steps, cycles = progress
    observations = task.reset()
    replay.start(observations)
    episode_returns = np.zeros(task.envs)
    scaling = ActionScaling(task.spec)
    while steps < config.steps:
        rng = np.random.default_rng([config.seed, cycles])
        policy = UniformPolicy(task) if steps < config.warmup else solver.policy(state)
        returns = []
        for _ in range(config.cycle):
            actions = policy(rng, observations)
            step = task.step(actions)
            replay.add(scaling.to_solver(actions), step)
            observations = step.observations
            state = solver.observe(state, observations)
            episode_returns += np.where(step.fresh, 0.0, step.rewards)
            ended = step.terminated | step.truncated
            returns += episode_returns[ended].tolist()
            episode_returns[ended] = 0.0
            steps += int((~step.fresh).sum())
        info = None
        if steps >= config.warmup:
            updates = max(1, round(config.cycle * task.envs * config.updates_per_step))
            drawn = replay.draw(rng, (updates, config.batch))
            batches = Batch(
                obs=jnp.asarray(drawn.observations),
                act=jnp.asarray(drawn.actions),
                cost=jnp.asarray(-drawn.rewards),
                next_obs=jnp.asarray(drawn.next_observations),
                terminated=jnp.asarray(drawn.terminated, jnp.float32),
            )
            key = jax.random.fold_in(jax.random.key(config.seed), cycles + 1)
            state, info = solver.updates(state, batches, key)
        cycles += 1
        yield Cycle(Progress(state, replay, steps, cycles), returns, info)
