"""Where the time of a cycle goes: gradient updates, and rollouts beside the bare simulator."""

import json
import os
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from etairl.types import InputError, Spec

SIZES = {"Hopper-v5": (11, 3), "Ant-v5": (27, 8)}
"""columns of observations and actions; Ant without contact forces"""
UPDATES_PER_CALL = (1, 200)
"""of a peer: its default, and what is fastest"""


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


@dataclass(frozen=True)
class Peer:
    """The same update in another library, timed just before and after ours."""

    library: str
    version: str
    environment: str
    hidden: tuple[int, ...]
    batch: int
    updates_per_call: int
    milliseconds: float
    ours_milliseconds: float
    ratio: float
    """its time to ours"""
    limit: float | None
    """for its default, one update in a call"""
    ok: bool


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
    replay = _full_replay(rng, obs_dim, act_dim)
    state = solver.init(jax.random.key(0))

    def one_round() -> None:
        nonlocal state
        drawn = SACDraw([Batch.of(replay.draw(rng, (updates, batch)))])
        state, _ = solver.updates(jax.random.key(0), state, drawn)
        jax.block_until_ready(state)

    one_round()  # compiles
    return UpdateSpeed(environment, hidden, batch, 1e3 * best_times(3, one_round)[0] / updates)


def _full_replay(rng: np.random.Generator, obs_dim: int, act_dim: int) -> Replay:
    replay = Replay(100_000, 1, obs_dim, act_dim)
    replay.observations[:] = rng.normal(size=replay.observations.shape)
    replay.actions[:] = rng.uniform(-1, 1, replay.actions.shape)
    replay.rewards[:] = rng.normal(size=replay.rewards.shape)
    replay.exists[:-1] = True
    replay.added = replay.rows
    return replay


def bench_peer(
    python: Path, library: str, environment: str, hidden: tuple[int, ...], limit: float
) -> list[Peer]:
    """Time an update of a peer between two of ours, in the environment of `python`."""
    script = Path(__file__).with_name("peers.py")
    command = [str(python), str(script), library, environment, *map(str, hidden)]
    peers = []
    for calls in UPDATES_PER_CALL:
        before = bench_update(environment, hidden).milliseconds
        answer = _ask([*command, f"--updates-per-call={calls}"], library)
        ours = min(before, bench_update(environment, hidden).milliseconds)
        theirs, least = answer["milliseconds"], limit if calls == 1 else None
        peers.append(
            Peer(
                *(library, answer["version"], environment, hidden, 256, calls, theirs, ours),
                ratio=theirs / ours,
                limit=least,
                ok=least is None or theirs / ours >= least,
            )
        )
    return peers


def _ask(command: list[str], library: str) -> dict[str, Any]:
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": ""}
        )
    except OSError as error:
        raise InputError(f"the peers' Python cannot be run: {error}") from None
    except subprocess.CalledProcessError as error:
        last = error.stderr.strip().splitlines()[-1:] or ["no message"]
        raise InputError(f"{library} cannot be timed with {command[0]}: {last[0]}") from None
    return json.loads(ran.stdout.strip().splitlines()[-1])
