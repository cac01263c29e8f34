"""Critics and actor of soft actor-critic at once, beside in turn: how fast, and what is learned.

    taskset -c 0 python benchmarks/two_cores.py parts
    python benchmarks/two_cores.py updates
    python benchmarks/two_cores.py learning

`parts` prints where the time of a cycle goes. `updates` prints milliseconds of one update, the
fastest of many short rounds in turn: on a busy machine that is what comes nearest to an idle one.
`learning` plays on the true cost, by block size.
"""

import sys
import time
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from etairl.bench.cycle_speed import Stopwatch
from etairl.buffers import EpisodeBuffer
from etairl.experience import Experience
from etairl.rollouts import collect
from etairl.solvers.policy import ActionScaling
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.solvers.sac_state import SACDraw
from etairl.solvers.solver import Batch
from etairl.tasks import make_task
from etairl.training.flat import configure
from etairl.training.preparation import prepare
from etairl.types import Spec

SPEC = Spec(17, 6, (-1.0,) * 6, (1.0,) * 6)
"""the sizes of HalfCheetah"""


def parts(cycles: int = 6) -> None:
    """Of the preset off-policy with an update for each transition; the fastest of some cycles."""
    settings = {"env": "HalfCheetah-v5", "demos": "HalfCheetah-v5-25x500", "mode": "fixed"}
    prepared = prepare(configure("off-policy", updates_per_step=1.0, horizon=50, **settings))
    task, solver, cost = Stopwatch(prepared.task), prepared.game.solver, prepared.game.cost
    clocks = {"draw": Clock(solver.draw), "solver": Clock(solver.updates)}
    clocks["cost"] = Clock(cost.updates)
    timed = replace(
        prepared.game,
        solver=with_clocks(solver, draw=clocks["draw"], updates=clocks["solver"]),
        cost=with_clocks(cost, updates=clocks["cost"]),
    )
    found = []
    rounds = prepared._replace(task=task, game=timed).cycles()
    for _ in range(cycles):
        task.seconds, start = 0.0, time.perf_counter()
        next(rounds)
        whole = time.perf_counter() - start
        taken = {name: clock.taken() for name, clock in clocks.items()}
        found.append({"whole": whole, "simulator": task.seconds, **taken})
    fastest = min(found[1:], key=lambda seconds: seconds["whole"])
    print({name: f"{x / fastest['whole']:.1%}" for name, x in fastest.items()})


class Clock:
    """A function that adds up its seconds."""

    def __init__(self, function):
        self.function, self.seconds = function, 0.0

    def __call__(self, *args, **options):
        """Its result, ready."""
        start = time.perf_counter()
        result = jax.block_until_ready(self.function(*args, **options))
        self.seconds += time.perf_counter() - start
        return result

    def taken(self) -> float:
        """Since the last time."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


def with_clocks(player, **clocks):
    """A player of the game, some of whose functions are timed."""
    timed = replace(player)
    for name, clock in clocks.items():
        object.__setattr__(timed, name, clock)
    return timed


def updates(rounds: int = 150) -> None:
    """Of 256 transitions each, in rounds of ten."""
    many = 10
    normal = np.random.default_rng(0).normal
    shapes = ((many, 256, 17), (many, 256, 6), (many, 256), (many, 256, 17))
    drawn = [jnp.asarray(normal(size=shape), jnp.float32) for shape in shapes]
    batches = Batch(*drawn, jnp.zeros((many, 256)))
    for width, layer_norm in ((64, False), (128, False), (128, True), (256, False)):
        config = SACConfig(hidden=(width, width), layer_norm=layer_norm)
        fastest = dict.fromkeys((0, many), np.inf)
        solvers = {k: SAC(config, SPEC, play=OffPolicy(at_once=k)) for k in fastest}
        states = {k: solver.init(jax.random.key(0)) for k, solver in solvers.items()}
        for number in range(rounds):
            for k, solver in solvers.items():
                start = time.perf_counter()
                key = jax.random.key(number)
                states[k], _ = solver.updates(key, states[k], SACDraw([batches]))
                jax.block_until_ready(states[k])
                if number:  # the first compiles
                    fastest[k] = min(fastest[k], 1e3 * (time.perf_counter() - start) / many)
        in_turn, at_once = fastest.values()
        norm = ", layer norm" if layer_norm else ""
        print(
            f"2×{width}{norm}: in turn {in_turn:.3f} ms, at once {at_once:.3f} ms, "
            f"{in_turn / at_once:.2f} times as fast",
            flush=True,
        )


def learning() -> None:
    """The mean return by quarter of a run, an update for each transition."""
    for env, horizon, copies, steps, norm in (
        ("Pendulum-v1", 200, 2, 8_000, False),
        ("HalfCheetah-v5", 100, 4, 20_000, True),
    ):
        for seed in (0, 1):
            for block in (0, 10, 25, 50):
                play = OffPolicy(updates_per_step=1.0, solver_batch=128, at_once=block)
                task = make_task(env, copies, horizon=horizon, mode="fixed", seed=seed)
                returns = np.array(learned(task, play, steps, seed, norm))
                quarters = [part.mean().round() for part in np.array_split(returns, 4)]
                print(f"{env} seed {seed}, {block} at once: {quarters}", flush=True)


def learned(task, play: OffPolicy, steps: int, seed: int, layer_norm: bool) -> list[float]:
    """The mean return of each cycle."""
    config = SACConfig(
        hidden=(64, 64),
        layer_norm=layer_norm,
        actor_lr=1e-3,
        critic_lr=1e-3,
        temperature_lr=1e-3,
        first_temperature=0.3,
        normalise="running",
    )
    solver, scaling = SAC(config, task.spec, play=play), ActionScaling(task.spec)
    state = solver.init(jax.random.key(seed))
    buffer = EpisodeBuffer(2 * steps, task.spec.obs_dim, task.spec.act_dim)
    after, returns = 0, []
    while after < steps:
        rng = np.random.default_rng([seed, len(returns)])
        played = collect(rng, task, solver.policy(state), task.envs)
        before, after = after, after + played.steps
        buffer.extend(played, scaling.to_solver(played.actions))
        state = solver.observe(state, played.observations)
        data = Experience(buffer, buffer.newest(), None, len(returns), before, after, steps)
        key = jax.random.fold_in(jax.random.key(seed), len(returns))
        state, _ = solver.updates(key, state, solver.draw(rng, data))
        assert played.rewards is not None
        returns.append(float(played.rewards.sum() / task.envs))
    return returns


if __name__ == "__main__":
    {"parts": parts, "updates": updates, "learning": learning}[sys.argv[1]]()
