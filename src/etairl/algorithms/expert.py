"""An expert: soft actor-critic on the true cost of a task, to record demonstrations from."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from etairl.buffers import Replay
from etairl.networks import MLP, Normaliser
from etairl.rollouts import UniformPolicy, collect
from etairl.solvers.sac import SAC, ActionScaling, Batch, HeadPolicy, SACConfig, SACInfo, SACState
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
    judge_every: int = 20_000
    """transitions between two judgements of the policy without noise; the best one is kept"""
    judge_episodes: int = 10
    """episodes of one judgement"""
    sac: SACConfig = field(default_factory=SACConfig)

    def __post_init__(self):
        for name in ("steps", "envs", "cycle", "batch", "judge_every", "judge_episodes"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.capacity < 2 * self.envs or self.updates_per_step <= 0:
            raise InputError("capacity must hold two steps, and updates_per_step be > 0")


class Best(NamedTuple):
    """The policy with the highest judged return so far."""

    actor: MLP
    normaliser: Normaliser
    score: Float[Array, ""]
    """mean return of its judgement; -inf before the first"""


class Progress(NamedTuple):
    """Everything that changes; what a checkpoint holds."""

    solver: SACState
    replay: Replay
    best: Best
    steps: int
    cycles: int


class Cycle(NamedTuple):
    """One round of steps and updates."""

    progress: Progress
    returns: list[float]
    """of the episodes that ended in this cycle"""
    info: SACInfo | None
    """None before the first update"""
    judged: float | None
    """mean return without noise, in the cycles that judge the policy"""


def make_expert_task(config: ExpertConfig) -> Task:
    """The copies of the environment that an expert trains in."""
    return make_task(config.env, config.envs, horizon=config.horizon, seed=config.seed)


def make_solver(config: ExpertConfig, task: Task) -> SAC:
    """Soft actor-critic of the right size."""
    return SAC(config.sac, task.spec)


def begin(config: ExpertConfig, task: Task, solver: SAC) -> Progress:
    """Nothing learned, nothing seen."""
    replay = Replay(config.capacity, config.envs, task.spec.obs_dim, task.spec.act_dim)
    state = solver.init(jax.random.key(config.seed))
    return Progress(state, replay, _keep(state, -np.inf), 0, 0)


def train_expert(
    config: ExpertConfig, task: Task, solver: SAC, progress: Progress
) -> Iterator[Cycle]:
    """Go on from `progress` until `config.steps` transitions are made; yields once per cycle.

    Every random number is keyed by seed and cycle. Return swings from cycle to cycle, so the policy
    is judged now and then in copies of the task with seeds of their own, and the best one kept.
    """
    state, replay, best, steps, cycles = progress
    stage = make_task(
        config.env, config.judge_episodes, horizon=config.horizon, seed=config.seed + 2_000_003
    )
    observations = task.reset()
    replay.start(observations)
    episode_returns = np.zeros(task.envs)
    scaling = ActionScaling(task.spec)
    while steps < config.steps:
        rng = np.random.default_rng([config.seed, cycles])
        policy = UniformPolicy(task) if steps < config.warmup else solver.policy(state)
        returns, before = [], steps
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
        info, judged = None, None
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
            if steps // config.judge_every > before // config.judge_every or steps >= config.steps:
                judged = _judge(solver.policy(state), stage)
                if judged > best.score:
                    best = _keep(state, judged)
        cycles += 1
        yield Cycle(Progress(state, replay, best, steps, cycles), returns, info, judged)


def _judge(policy: HeadPolicy, stage: Task) -> float:
    played = collect(np.random.default_rng(0), stage, policy, stage.envs, stochastic=False)
    assert played.returns is not None
    return float(played.returns.mean())


def _keep(state: SACState, score: float) -> Best:
    # Copies: the updates that follow give up the memory of this state.
    actor, normaliser = jax.tree.map(jnp.copy, (state.actor, state.normaliser))
    return Best(actor, normaliser, jnp.asarray(score, jnp.float32))
