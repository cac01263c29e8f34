"""Where the time of a cycle goes: gradient updates, and rollouts beside the bare simulator."""

import os
import warnings
from dataclasses import dataclass

import jax
import numpy as np

from etairl.bench.best_times import best_times
from etairl.buffers import Replay
from etairl.rollouts import collect
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import SACConfig
from etairl.solvers.sac_state import SACDraw
from etairl.solvers.solver import Batch
from etairl.tasks import make_task
from etairl.types import Spec

SIZES = {"Hopper-v5": (11, 3), "Ant-v5": (27, 8)}
"""columns of observations and actions; Ant without contact forces"""


@dataclass(frozen=True)
class Rollouts:
    """Simulator steps per second, with the policy in the loop and with fixed actions."""

    environment: str
    envs: int
    steps: int
    with_policy: float
    fixed_actions: float
    ratio: float
    """with the policy, to the bare simulator"""
    limit: float
    ok: bool


@dataclass(frozen=True)
class UpdateSpeed:
    """Time of one gradient update, with its share of the draw from the replay."""

    environment: str
    hidden: tuple[int, ...]
    batch: int
    milliseconds: float


def bench_rollouts(environment: str, envs: int = 90, steps: int = 500, rounds: int = 2) -> Rollouts:
    """Time whole episodes against the same number of bare simulator steps."""
    task = make_task(environment, envs, horizon=steps, mode="fixed", seed=0)
    solver = SAC(SACConfig(hidden=(64, 64, 64)), task.spec)
    policy = solver.policy(solver.init(jax.random.key(0)))
    rng = np.random.default_rng(0)
    own, bare = [], []
    for _ in range(rounds):
        own += best_times(1, lambda: collect(rng, task, policy, envs))
        bare.append(_bare(rng, environment, envs, steps))
    rate, ratio = envs * steps, min(bare) / min(own)
    return Rollouts(
        environment, envs, steps, rate / min(own), rate / min(bare), ratio, 0.85, ratio >= 0.85
    )


def _bare(rng: np.random.Generator, environment: str, envs: int, steps: int) -> float:
    """EnvPool itself with fixed actions, none of our code in the loop."""
    import envpool

    options = {} if environment == "Pendulum-v1" else {"terminate_when_unhealthy": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Gymnasium on the precision of bounds
        pool = envpool.make(
            environment,
            env_type="gymnasium",
            num_envs=envs,
            num_threads=min(os.cpu_count() or 1, envs),
            max_episode_steps=steps,
            **options | ({"use_contact_force": False} if environment == "Ant-v5" else {}),
        )
        space, _ = pool.action_space, pool.observation_space
    actions = rng.uniform(-1, 1, (envs, *space.shape)).astype(space.dtype)
    pool.reset()
    return best_times(1, lambda: [pool.step(actions) for _ in range(steps)])[0]


def bench_update(
    environment: str, hidden: tuple[int, ...], batch: int = 256, updates: int = 200
) -> UpdateSpeed:
    """Time a round of updates of soft actor-critic, from the replay to the new weights."""
    obs_dim, act_dim = SIZES[environment]
    solver = SAC(
        SACConfig(hidden=hidden), Spec(obs_dim, act_dim, (-1.0,) * act_dim, (1.0,) * act_dim)
    )
    rng = np.random.default_rng(0)
    replay = full_replay(rng, obs_dim, act_dim)
    state = solver.init(jax.random.key(0))

    def one_round() -> None:
        nonlocal state
        drawn = SACDraw([Batch.of(replay.draw(rng, (updates, batch)))])
        state, _ = solver.updates(jax.random.key(0), state, drawn)
        jax.block_until_ready(state)

    one_round()  # compiles
    return UpdateSpeed(environment, hidden, batch, 1e3 * best_times(3, one_round)[0] / updates)


def full_replay(rng: np.random.Generator, obs_dim: int, act_dim: int) -> Replay:
    """A replay of 100,000 random transitions."""
    replay = Replay(100_000, 1, obs_dim, act_dim)
    replay.observations[:] = rng.normal(size=replay.observations.shape)
    replay.actions[:] = rng.uniform(-1, 1, replay.actions.shape)
    replay.rewards[:] = rng.normal(size=replay.rewards.shape)
    replay.exists[:-1] = True
    replay.added = replay.rows
    return replay
