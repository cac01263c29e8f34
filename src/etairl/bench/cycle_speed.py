"""What a cycle of learning costs beside the simulator, and what the weighting costs beside GAIL."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np
from typing_extensions import override

from etairl.bench.best_times import best_times
from etairl.rollouts import UniformPolicy
from etairl.tasks import make_task
from etairl.training.flat import configure
from etairl.training.preparation import prepare
from etairl.training.settings import TrainConfig
from etairl.types import Step, Task


@dataclass(frozen=True)
class CycleSpeed:
    """Seconds of one cycle at the sizes of the paper's table, early ends switched off."""

    environment: str
    transitions: int
    """of one cycle"""
    megan: float
    gail: float
    """both with the simulator's seconds of `played`: their policies soon differ, and how long a
    simulator takes depends on what it is told to do, so each playing its own episodes would compare
    those"""
    played: float
    """the simulator inside a cycle, the median over the cycles of both"""
    simulator: float
    """the bare simulator, for as many transitions, with actions that stay the same"""
    ratio_to_simulator: float
    limit_to_simulator: float
    ratio_to_gail: float
    limit_to_gail: float
    ok: bool


class Seconds(NamedTuple):
    """Of one cycle."""

    played: float
    others: float
    """draws, updates of both players, actions of the policy"""


def bench_run(config: TrainConfig, rounds: int = 6) -> CycleSpeed:
    """Cycles of MEGAN, cycles of GAIL and bare simulation in turn; the fastest of each counts."""
    etas = {"megan": "geometric:0.99", "gail": "dirac:0"}
    arms = {arm: _cycles(configure(config, eta=eta)) for arm, eta in etas.items()}
    for cycles in arms.values():  # the first one compiles
        next(cycles)
    taken: dict[str, list[Seconds]] = {arm: [] for arm in arms}
    bare = []
    for _ in range(rounds):
        for arm, cycles in arms.items():
            taken[arm].append(next(cycles))
        bare.append(_bare(config))
    played = float(np.median([seconds.played for arm in taken.values() for seconds in arm]))
    fastest = {arm: played + min(seconds.others for seconds in x) for arm, x in taken.items()}
    to_simulator, to_gail = fastest["megan"] / min(bare), fastest["megan"] / fastest["gail"]
    return CycleSpeed(
        environment=config.env,
        transitions=config.girl.episodes * config.horizon,
        **fastest,
        played=played,
        simulator=min(bare),
        ratio_to_simulator=to_simulator,
        limit_to_simulator=1.5,
        ratio_to_gail=to_gail,
        limit_to_gail=1.02,
        ok=to_simulator <= 1.5 and to_gail <= 1.02,
    )


def _cycles(config: TrainConfig) -> Iterator[Seconds]:
    prepared = prepare(config)
    task = Stopwatch(prepared.task)
    cycles = prepared._replace(task=task).cycles()
    while True:
        start, task.seconds = time.perf_counter(), 0.0
        jax.block_until_ready(next(cycles).state)
        yield Seconds(task.seconds, time.perf_counter() - start - task.seconds)


class Stopwatch(Task):
    """A task that adds up the seconds of its steps."""

    def __init__(self, task: Task):
        self.task, self.seconds = task, 0.0
        self.spec, self.envs, self.horizon = task.spec, task.envs, task.horizon
        self.resets = task.resets

    @override
    def replay(self, resets: np.ndarray) -> None:
        self.task.replay(resets)

    @override
    def reset(self) -> np.ndarray:
        return self.task.reset()

    @override
    def step(self, actions: np.ndarray) -> Step:
        start = time.perf_counter()
        step = self.task.step(actions)
        self.seconds += time.perf_counter() - start
        return step


def _bare(config: TrainConfig) -> float:
    task = make_task(config.env, config.girl.episodes, horizon=config.horizon, mode=config.mode)
    policy = UniformPolicy(task)
    actions = policy(np.random.default_rng(0), task.reset())
    return best_times(1, lambda: [task.step(actions) for _ in range(config.horizon)])[0]
