"""Where the time of a cycle goes: gradient updates, and rollouts beside the bare simulator."""

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from etairl.rollouts import collect
from etairl.solvers.sac import SAC, Batch, SACConfig
from etairl.tasks import make_task
from etairl.types import InputError, Spec, Task


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
class Update:
    """Time of one gradient update in a compiled scan."""

    hidden: tuple[int, ...]
    batch: int
    milliseconds: float


@dataclass(frozen=True)
class Peer:
    """The same update in another library, timed just before and after ours."""

    library: str
    version: str
    hidden: tuple[int, ...]
    batch: int
    milliseconds: float
    ours_milliseconds: float
    ratio: float
    """its time to ours"""
    limit: float
    ok: bool


def bench_rollouts(environment: str, envs: int = 90, steps: int = 500, rounds: int = 2) -> Rollouts:
    """Time whole episodes against the same number of bare simulator steps."""
    task = make_task(environment, envs, horizon=steps, mode="fixed", seed=0)
    solver = SAC(SACConfig(hidden=(64, 64, 64)), task.spec)
    policy = solver.policy(solver.init(jax.random.key(0)))
    rng = np.random.default_rng(0)
    own, bare = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        collect(rng, task, policy, envs)
        own.append(time.perf_counter() - start)
        bare.append(_bare(rng, task, steps))
    ratio = min(bare) / min(own)
    rate = envs * steps
    return Rollouts(
        environment, envs, steps, rate / min(own), rate / min(bare), ratio, 0.85, ratio >= 0.85
    )


def _bare(rng: np.random.Generator, task: Task, steps: int) -> float:
    actions = rng.uniform(-1, 1, (task.envs, task.spec.act_dim)).astype(np.float32)
    task.reset()
    start = time.perf_counter()
    for _ in range(steps):
        task.step(actions)
    return time.perf_counter() - start


def bench_update(hidden: tuple[int, ...], batch: int = 256, updates: int = 200) -> Update:
    """Time the update of soft actor-critic at the sizes of Hopper."""
    solver = SAC(SACConfig(hidden=hidden), Spec(11, 3, (-1.0,) * 3, (1.0,) * 3))
    rng = np.random.default_rng(0)
    shape = (updates, batch)
    batches = Batch(
        obs=jnp.asarray(rng.normal(size=(*shape, 11)), jnp.float32),
        act=jnp.asarray(rng.uniform(-1, 1, (*shape, 3)), jnp.float32),
        cost=jnp.asarray(rng.normal(size=shape), jnp.float32),
        next_obs=jnp.asarray(rng.normal(size=(*shape, 11)), jnp.float32),
        terminated=jnp.zeros(shape),
    )
    state = solver.init(jax.random.key(0))
    taken = []
    for number in range(4):  # the first one compiles
        start = time.perf_counter()
        state, _ = solver.updates(state, batches, jax.random.key(number))
        jax.block_until_ready(state)
        taken.append(time.perf_counter() - start)
    return Update(hidden, batch, 1e3 * min(taken[1:]) / updates)


def bench_peer(python: Path, library: str, hidden: tuple[int, ...], limit: float) -> Peer:
    """Time an update of a peer between two of ours, in the environment of `python`."""
    script = Path(__file__).with_name("peers.py")
    command = [str(python), str(script), library, *map(str, hidden)]
    before = bench_update(hidden).milliseconds
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": ""}
        )
    except OSError as error:
        raise InputError(f"the peers' Python cannot be run: {error}") from None
    except subprocess.CalledProcessError as error:
        last = error.stderr.strip().splitlines()[-1:] or ["no message"]
        raise InputError(f"{library} cannot be timed with {python}: {last[0]}") from None
    found = json.loads(done.stdout.strip().splitlines()[-1])
    ours = min(before, bench_update(hidden).milliseconds)
    ratio = found["milliseconds"] / ours
    return Peer(
        library,
        found["version"],
        hidden,
        256,
        found["milliseconds"],
        ours,
        ratio,
        limit,
        ratio >= limit,
    )
