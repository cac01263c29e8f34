"""What etairl is timed at beside its peers, in a process of its own (see `timed_works.py`)."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from etairl.algorithms.expert import (
    ExpertConfig,
    begin,
    make_solver,
    train_expert,
)
from etairl.algorithms.girl import Cycle, as_points
from etairl.bench.draw_speed import products_of
from etairl.bench.solver_speed import full_replay
from etairl.buffers import EpisodeBuffer, Episodes
from etairl.checkpoints import Checkpoints
from etairl.costs.family import Points
from etairl.eta import parse_eta
from etairl.evaluation.mmd import mmd2
from etairl.measures import FutureSampler
from etairl.rollouts import collect_steps
from etairl.solvers.policy import ActionScaling
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import SACConfig
from etairl.solvers.sac_state import SACDraw
from etairl.solvers.solver import Batch
from etairl.tasks import make_task
from etairl.training.flat import configure
from etairl.training.preparation import Prepared, prepare
from etairl.types import RejoinableTask, Trajectories, last_steps, offsets_of

_Work = Callable[[int], object]
_Settings = dict[str, Any]


def _simulator(settings: _Settings) -> _Work:
    """Steps of copies of an environment with actions that stay the same."""
    copies = settings["copies"]
    task = make_task(settings["environment"], copies, threads=settings["cores"])
    actions = np.random.default_rng(0).uniform(-1, 1, (copies, task.spec.act_dim))
    actions = actions.astype(np.float32)
    task.reset()
    return lambda steps: [task.step(actions) for _ in range(steps // copies)]


def _rollouts(settings: _Settings) -> _Work:
    """Steps with the policy of a soft actor-critic, into the replay."""
    copies = settings["copies"]
    task = make_task(settings["environment"], copies, threads=settings["cores"])
    solver = SAC(SACConfig(hidden=tuple(settings["hidden"])), task.spec)
    policy, scaling = solver.policy(solver.init(jax.random.key(0))), ActionScaling(task.spec)
    rng = np.random.default_rng(0)
    replay = EpisodeBuffer(1_000_000, task.spec.obs_dim, task.spec.act_dim)

    def work(steps: int) -> None:
        played = collect_steps(rng, task, policy, steps // copies)
        replay.extend(played, scaling.to_solver(played.actions))

    return work


def _updates(settings: _Settings) -> _Work:
    """Gradient updates of soft actor-critic from the replay, as many as are asked for in a scan."""
    task = make_task(settings["environment"], 1)
    solver = SAC(SACConfig(hidden=tuple(settings["hidden"])), task.spec)
    rng = np.random.default_rng(0)
    replay = full_replay(rng, task.spec.obs_dim, task.spec.act_dim)
    state = solver.init(jax.random.key(0))

    def work(many: int) -> None:
        nonlocal state
        drawn = SACDraw([Batch.of(replay.draw(rng, (many, 256)))])
        state, _ = solver.updates(jax.random.key(0), state, drawn)
        jax.block_until_ready(state)

    return work


def random_episodes(episodes: int, length: int, obs_dim: int, act_dim: int) -> Trajectories:
    """Numbers that mean nothing."""
    rng, offsets = np.random.default_rng(1), offsets_of(np.full(episodes, length))
    steps = episodes * length
    last = last_steps(offsets)
    normal = rng.normal(size=(steps, obs_dim)).astype(np.float32)
    actions = rng.uniform(-1, 1, (steps, act_dim)).astype(np.float32)
    nothing = np.zeros(steps, bool)
    rewards, final = np.zeros(steps, np.float32), normal[last]
    return Trajectories(normal, actions, nothing, last, offsets, rewards, final)


def _draws(settings: _Settings) -> _Work:
    """Transitions drawn by a weighting and copied; all indices at once, as a cycle does."""
    rng, stored = np.random.default_rng(0), settings["stored"]
    played = random_episodes(stored // 500, 500, *settings["sizes"])
    buffer = EpisodeBuffer(2 * stored, *settings["sizes"])
    buffer.extend(played, played.actions)
    episodes, sampler = buffer.newest(), FutureSampler(parse_eta(settings["eta"]))
    shape = settings["batch"]

    def work(many: int) -> None:
        rows = episodes.rows(sampler.rows(rng, episodes.offsets, many))
        buffer.transitions(rows, (many // shape, shape))

    return work


def _distances(settings: _Settings) -> _Work:
    """MMD² of two samples."""
    x, y = _two_samples(settings)
    return lambda times: [mmd2(x, y) for _ in range(times)]


def _products(settings: _Settings) -> _Work:
    """The three matrix products in it alone."""
    x, y = (sample.astype(np.float32) for sample in _two_samples(settings))
    return lambda times: [products_of([(x, x), (y, y), (x, y)]) for _ in range(times)]


def _two_samples(settings: _Settings) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.random.default_rng(0).standard_normal((2, settings["points"], settings["dims"]))
    return x, y


def _prepared(settings: _Settings) -> Prepared:
    config = configure(settings["preset"], **settings["config"])
    config = replace(config, girl=replace(config.girl, transitions=10**9))
    return prepare(config, threads=settings["cores"])


def _played(settings: _Settings) -> tuple[Prepared, Cycle, EpisodeBuffer]:
    prepared = _prepared(settings)
    buffer = prepared.make_buffer()
    return prepared, next(prepared.cycles(buffer=buffer)), buffer


def _cost_updates(settings: _Settings) -> _Work:
    """Updates of the discriminator with their draws, as many as are asked for in a scan."""
    prepared, cycle, buffer = _played(settings)
    game, expert = prepared.game, prepared.expert
    state, rng = cycle.state.cost, np.random.default_rng(0)
    played = buffer.newest()
    shown = expert.replay(0, 0, game.config.episodes, game.config.expert_capacity)
    log_prob = partial(game.solver.log_prob, cycle.state.solver)

    def drawn(kept: EpisodeBuffer, episodes: Episodes, shape: tuple[int, int]) -> Points:
        steps = game.sampler.rows(rng, episodes.offsets, shape[0] * shape[1])
        return as_points(kept.transitions(episodes.rows(steps), shape))

    def work(many: int) -> None:
        nonlocal state
        shape = many, game.config.cost_batch
        own, theirs = drawn(buffer, played, shape), drawn(expert.buffer, shown, shape)
        state, _ = game.cost.updates(jax.random.key(0), state, own, theirs, log_prob)
        jax.block_until_ready(state)

    return work


def _checkpoint(settings: _Settings) -> _Work:
    """Both players, and what a cycle added to a replay, to files that survive a loss of power."""
    _, cycle, _ = _played(settings)
    played, folder = cycle.rolled_out, tempfile.TemporaryDirectory()
    kept, cycles = Checkpoints(Path(folder.name)), 0
    arrays = {
        "observations": played.observations,
        "actions": played.actions,
        "rewards": played.rewards,
        "terminated": played.terminated,
        "lengths": played.lengths,
    }
    stored = settings["stored"] // played.steps

    def work(times: int) -> None:
        nonlocal cycles
        for _ in range(times):
            cycles += 1
            kept.save_segment(cycles - 1, cycles, arrays)
            trees = {"cost": cycle.state.cost, "solver": cycle.state.solver}
            kept.save(cycles, trees, {}, since=cycles - stored)

    work(stored)
    return work


def _cycle(settings: _Settings) -> _Work:
    """Cycles of an imitator."""
    prepared = _prepared(settings)
    per_cycle = prepared.config.girl.episodes * prepared.config.horizon
    return _cycles((jax.block_until_ready(c.state) for c in prepared.cycles()), per_cycle)


def _cycle_on_rewards(settings: _Settings) -> _Work:
    """Cycles of soft actor-critic on the true rewards: an update for each transition."""
    config = ExpertConfig(
        env=settings["environment"],
        steps=10**9,
        warmup=settings["warmup"],
        judge_every=10**9,
        sac=SACConfig(hidden=tuple(settings["hidden"])),
    )
    task = make_task(config.env, config.envs, threads=settings["cores"])
    assert isinstance(task, RejoinableTask)
    solver = make_solver(config, task)
    rounds = train_expert(config, task, solver, begin(config, task, solver))
    states = (jax.block_until_ready(c.progress.solver) for c in rounds)
    return _cycles(states, config.envs * config.cycle)


def _cycles(each: Iterator[Any], transitions: int) -> _Work:
    return lambda many: [next(each) for _ in range(many // transitions)]


WORKS = {
    "simulator": _simulator,
    "rollouts": _rollouts,
    "updates": _updates,
    "draws": _draws,
    "distances": _distances,
    "products": _products,
    "cost_updates": _cost_updates,
    "checkpoint": _checkpoint,
    "cycle": _cycle,
    "cycle_on_rewards": _cycle_on_rewards,
}
