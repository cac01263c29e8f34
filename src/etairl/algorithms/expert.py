"""An expert: soft actor-critic on the true cost of a task, to record demonstrations from."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from etairl.buffers import Replay
from etairl.networks import MLP, Normaliser, all_finite
from etairl.rollouts import UniformPolicy, collect
from etairl.solvers.policy import ActionScaling, HeadPolicy
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import SACConfig
from etairl.solvers.sac_state import SACDraw, SACInfo, SACState
from etairl.solvers.solver import Batch
from etairl.tasks import make_task
from etairl.types import (
    DivergedError,
    InputError,
    Policy,
    RejoinableTask,
    Step,
    Task,
    check_range,
    check_seed,
)

_LONGEST_SCAN = 512
"""updates whose batches are in memory at once"""


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
    """random seed"""
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
        counts = ("steps", "envs", "cycle", "batch", "judge_every", "judge_episodes")
        check_range(self, "[1, inf)", *counts)
        check_seed(self.seed)
        check_range(self, "[0, inf)", "warmup")
        check_range(self, "(0, inf)", "updates_per_step")
        if self.capacity < 3 * self.envs:
            # With two, one that begins and one that is a reset would leave nothing to draw.
            raise InputError(
                f"capacity must hold three steps of {self.envs} copies, got {self.capacity}"
            )


class BestExpert(NamedTuple):
    """The policy with the highest judged return so far."""

    actor: MLP
    normaliser: Normaliser
    score: Float[Array, ""]
    """mean return of its judgement; -inf before the first"""


class Simulators(NamedTuple):
    """Where the simulators are, in plain numbers: enough to resume in the middle of episodes."""

    added: int
    """rows of the replay, whose latest actions lead from the last resets to here"""
    resets: list[int]
    """of each copy of the task"""
    judge_resets: list[int]
    """of each copy that judges"""
    running: list[float]
    """returns so far of the running episodes"""


class ExpertProgress(NamedTuple):
    """Everything that changes; what a checkpoint holds."""

    solver: SACState
    replay: Replay
    """keeps changing; `world.added` says what of it belongs here"""
    best: BestExpert
    steps: int
    cycles: int
    world: Simulators


class ExpertCycle(NamedTuple):
    """One round of steps and updates."""

    progress: ExpertProgress
    returns: list[float]
    """of the episodes that ended in this cycle"""
    info: SACInfo | None
    """None before the first update"""
    judged: float | None
    """mean return without noise, in the cycles that judge the policy"""


def make_expert_task(config: ExpertConfig) -> RejoinableTask:
    """The copies of the environment that an expert trains in."""
    task = make_task(config.env, config.envs, horizon=config.horizon, seed=config.seed)
    assert isinstance(task, RejoinableTask)  # all are, but for the absorbing mode
    return task


def make_solver(config: ExpertConfig, task: Task) -> SAC:
    """Soft actor-critic of the right size."""
    return SAC(config.sac, task.spec)


def begin(config: ExpertConfig, task: Task, solver: SAC) -> ExpertProgress:
    """Nothing learned, nothing seen."""
    replay = Replay(config.capacity, config.envs, task.spec.obs_dim, task.spec.act_dim)
    state = solver.init(jax.random.key(config.seed))
    world = Simulators(0, [0] * config.envs, [0] * config.judge_episodes, [0.0] * config.envs)
    return ExpertProgress(state, replay, _keep(state, -np.inf), 0, 0, world)


def train_expert(
    config: ExpertConfig, task: RejoinableTask, solver: SAC, progress: ExpertProgress
) -> Iterator[ExpertCycle]:
    """Continue from `progress` until `config.steps` transitions are made; yields once per cycle.

    Every random number is keyed by seed and cycle, and a fresh `task` continues where the one of
    `progress` was: a run that was stopped ends with the bytes of an unbroken one. Return swings
    from cycle to cycle, so the policy is judged now and then in copies of the task with seeds of
    their own, and the best one kept.
    """
    state, replay, best, steps, cycles, world = progress
    stage = make_task(
        config.env, config.judge_episodes, horizon=config.horizon, seed=config.seed + 2_000_003
    )
    stage.replay(np.array(world.judge_resets))
    observations, running = _enter(task, replay, world)
    while steps < config.steps:
        rng = np.random.default_rng([config.seed, cycles])
        policy = UniformPolicy(task) if steps < config.warmup else solver.policy(state)
        returns, before = list[float](), steps
        for _ in range(config.cycle):
            step = _act(task, policy, rng, observations, replay)
            observations = step.observations
            state = solver.observe(state, observations)
            returns += _ended_returns(running, step)
            steps += int((~step.fresh).sum())
        info, judged, failure = None, None, None
        cycles += 1
        if steps >= config.warmup:
            key = jax.random.fold_in(jax.random.key(config.seed), cycles)
            state, info = _learn(config, solver, state, replay, rng, key)
            if not all_finite(state):
                raise DivergedError(
                    f"the solver diverged: NaN or infinity in its weights after {steps:,} steps. "
                    "Lower the learning rates, in a new run"
                )
            if steps // config.judge_every > before // config.judge_every or steps >= config.steps:
                try:
                    judged = _judge(solver.policy(state), stage)
                except DivergedError:
                    raise
                except InputError as error:
                    failure = error
                if judged is not None and judged > best.score:
                    best = _keep(state, judged)
        judge_resets = world.judge_resets if failure else stage.resets.tolist()
        world = Simulators(replay.added, task.resets.tolist(), judge_resets, running.tolist())
        yield ExpertCycle(
            ExpertProgress(state, replay, best, steps, cycles, world), returns, info, judged
        )
        if failure is not None:
            raise failure  # not before: what was learned in this cycle can be kept


def _act(
    task: Task, policy: Policy, rng: np.random.Generator, observations: np.ndarray, replay: Replay
) -> Step:
    """One step in all copies, which the replay keeps."""
    actions = policy(rng, observations)
    step = task.step(actions)
    replay.add(actions.astype(np.float32), step)
    return step


def _ended_returns(running: np.ndarray, step: Step) -> list[float]:
    """Returns of the episodes that ended; `running` then has those of the others."""
    running += np.where(step.fresh, 0.0, step.rewards)
    ended = step.terminated | step.truncated
    returns = running[ended].tolist()
    running[ended] = 0.0
    return returns


def _enter(
    task: RejoinableTask, replay: Replay, world: Simulators
) -> tuple[np.ndarray, np.ndarray]:
    """First observations and returns so far: of new episodes, or in the middle of old ones."""
    resets, running = np.array(world.resets), np.array(world.running)
    history = replay.since_reset() if world.added else None
    if history is None:  # nothing happened yet, or an episode is longer than the memory
        task.replay(resets)
        observations, running = task.reset(), np.zeros(task.envs)
    else:
        observations = task.rejoin(resets, *history)
        if np.array_equal(observations, replay.observations[replay.next]):
            return observations, running
    # A simulator that draws numbers while it steps is somewhere else now: no transition leads here.
    replay.start(observations)
    return observations, running


def _learn(
    config: ExpertConfig,
    solver: SAC,
    state: SACState,
    replay: Replay,
    rng: np.random.Generator,
    key: PRNGKeyArray,
) -> tuple[SACState, SACInfo]:
    """The updates of a cycle, in scans that are not too long; info is averaged over all."""
    scaling = ActionScaling(solver.spec)
    updates = max(1, round(config.cycle * config.envs * config.updates_per_step))
    infos: list[SACInfo] = []
    for begin in range(0, updates, _LONGEST_SCAN):
        many = min(_LONGEST_SCAN, updates - begin)
        drawn = replay.draw(rng, (many, config.batch))
        drawn = drawn._replace(actions=scaling.to_solver(drawn.actions))
        key_scan = jax.random.fold_in(key, begin) if begin else key
        state, info = solver.updates(key_scan, state, SACDraw([Batch.of(drawn)]))
        infos.append(jax.tree.map(lambda x, share=many / updates: x * share, info))
    return state, jax.tree.map(lambda *parts: sum(parts), *infos)


def _judge(policy: HeadPolicy, stage: Task) -> float:
    played = collect(np.random.default_rng(0), stage, policy, stage.envs, stochastic=False)
    assert played.returns is not None
    return float(played.returns.mean())


def _keep(state: SACState, score: float) -> BestExpert:
    # Copies: the updates that follow give up the memory of this state.
    actor, normaliser = jax.tree.map(jnp.copy, (state.actor, state.normaliser))
    return BestExpert(actor, normaliser, jnp.asarray(score, jnp.float32))
