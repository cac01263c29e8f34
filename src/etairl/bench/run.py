"""What a cycle of learning costs beside the simulator, and what the weighting costs beside GAIL."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import jax
import numpy as np

from etairl.algorithms.girl import Cycle, Expert, Girl, girl
from etairl.costs.discriminator import Discriminator
from etairl.eta import parse_eta
from etairl.experiments.presets import preset
from etairl.measures import FutureSampler
from etairl.rollouts import UniformPolicy, collect
from etairl.solvers.policy import ActionScaling
from etairl.solvers.sac import SAC
from etairl.tasks import make_task


@dataclass(frozen=True)
class Run:
    """Seconds of one cycle at the sizes of the paper's table, early ends switched off."""

    environment: str
    transitions: int
    """of one cycle"""
    megan: float
    gail: float
    simulator: float
    """the bare simulator, for as many transitions"""
    ratio_to_simulator: float
    limit_to_simulator: float
    ratio_to_gail: float
    limit_to_gail: float
    ok: bool


def bench_run(environment: str, name: str, rounds: int = 4) -> Run:
    """Cycles of MEGAN, cycles of GAIL and bare simulation in turn; the fastest of each counts."""
    megan, gail = (_cycles(environment, name, eta) for eta in ("geometric:0.99", "dirac:0"))
    for cycles in (megan, gail):  # the first one compiles
        next(cycles)
    taken: dict[str, list[float]] = {"megan": [], "gail": [], "simulator": []}
    for _ in range(rounds):
        for key, cycles in (("megan", megan), ("gail", gail)):
            start = time.perf_counter()
            jax.block_until_ready(next(cycles).state)
            taken[key].append(time.perf_counter() - start)
        taken["simulator"].append(_bare(environment, name))
    fastest = {key: min(values) for key, values in taken.items()}
    config = preset(name)
    to_simulator = fastest["megan"] / fastest["simulator"]
    to_gail = fastest["megan"] / fastest["gail"]
    return Run(
        environment=environment,
        transitions=config.girl.episodes * config.horizon,
        megan=fastest["megan"],
        gail=fastest["gail"],
        simulator=fastest["simulator"],
        ratio_to_simulator=to_simulator,
        limit_to_simulator=1.5,
        ratio_to_gail=to_gail,
        limit_to_gail=1.02,
        ok=to_simulator <= 1.5 and to_gail <= 1.02,
    )


def _cycles(environment: str, name: str, eta: str) -> Iterator[Cycle]:
    config = preset(name)
    task = make_task(environment, config.girl.episodes, horizon=config.horizon, mode="fixed")
    stage = make_task(environment, 10, horizon=config.horizon, mode="fixed", seed=1)
    demos = collect(np.random.default_rng(0), stage, UniformPolicy(stage), 10)
    cost = Discriminator(config.cost, task.spec)
    sampler = FutureSampler(parse_eta(eta), method=config.sampler)
    game = Girl(config.girl, 0, cost, SAC(config.sac, task.spec), sampler)
    expert = Expert.of(demos, ActionScaling(task.spec))
    return girl(game, task, expert, game.make_buffer(task), game.init(expert))


def _bare(environment: str, name: str) -> float:
    config = preset(name)
    task = make_task(environment, config.girl.episodes, horizon=config.horizon, mode="fixed")
    policy = UniformPolicy(task)
    actions = policy(np.random.default_rng(0), task.reset())
    start = time.perf_counter()
    for _ in range(config.horizon):
        task.step(actions)
    return time.perf_counter() - start
