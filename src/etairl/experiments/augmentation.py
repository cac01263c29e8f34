"""Idle beside a run: a generator of the expert's futures is trained, judged, let in or refused.

A fifth of the episodes is held out. The generator learns from the others, and its futures of
held-out states are compared with true ones.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from etairl.algorithms.girl import Invented
from etairl.evaluation.futures import Along, Futures, along, judge_futures
from etairl.experiments.preparation import Setting
from etairl.idle import Generator, IdleConfig, IdleState, Progress, Units, idle
from etairl.measures import FutureSampler
from etairl.runs import load_tree, save_tree, write_atomic
from etairl.tasks.product import Goals
from etairl.types import InputError, Spec, Trajectories

Watch = Callable[[Progress], None]
HELD_OUT = 0.2
_FEWEST = 5  # episodes of which one is held out
_POINTS = 1000  # futures of each kind that are compared
_COLLAPSED = 0.2  # of the spread of true futures
_WEIGHTS, _WORTH = "idle.safetensors", "idle.json"


class Trained(NamedTuple):
    """A generator and what it is worth."""

    generator: Generator
    quality: Futures


def train_generator(
    config: IdleConfig,
    sampler: FutureSampler,
    t: Trajectories,
    seed: int = 0,
    watch: Watch | None = None,
) -> Trained:
    """Learn from four fifths of the episodes; be judged on the rest."""
    shown, held_out = split(t, seed)
    made = None
    for progress in idle(config, seed, shown, sampler):
        made = progress.generator
        if watch is not None:
            watch(progress)
    assert made is not None
    return Trained(made, judge_generator(made, sampler, held_out, seed))


def split(t: Trajectories, seed: int) -> tuple[Trajectories, Trajectories]:
    """Episodes to learn from, and held-out ones."""
    if len(t) < _FEWEST:
        raise InputError(
            f"a generator of futures needs at least {_FEWEST} demonstrations, one of which is held "
            f"out to judge it; there are {len(t)}"
        )
    order = np.random.default_rng([seed, 6]).permutation(len(t))
    held_out = max(1, int(HELD_OUT * len(t)))
    return t.take(np.sort(order[held_out:])), t.take(np.sort(order[:held_out]))


def judge_generator(
    generator: Generator, sampler: FutureSampler, held_out: Trajectories, seed: int
) -> Futures:
    """Generated futures of held-out states beside two true draws."""
    rng = np.random.default_rng([seed, 7])
    starts, ends = sampler.pairs(rng, held_out.offsets, _POINTS)
    again = sampler.futures(rng, held_out.offsets, starts)
    states = held_out.observations[starts]
    pairs = np.concatenate([held_out.observations, held_out.actions], axis=1, dtype=np.float64)
    generated = np.concatenate(generator.futures(rng, states), axis=1)
    return judge_futures(rng, states, pairs[ends], pairs[again], generated)


class Paths(NamedTuple):
    """Generated and true futures along held-out episodes."""

    generated: Along
    true: Along


def follow_paths(
    generator: Generator, sampler: FutureSampler, held_out: Trajectories, space: Goals, seed: int
) -> Paths:
    """As many futures as an episode has steps, of states that the sampler starts from."""
    assert held_out.tasks is not None
    rng = np.random.default_rng([seed, 8])
    place, found = list(space.place), ([], [])
    for i, target in enumerate(held_out.tasks):
        episode = held_out.take(np.array([i]))
        starts, ends = sampler.pairs(rng, episode.offsets, episode.steps)
        made, _ = generator.futures(rng, episode.observations[starts])
        path = episode.observations[:, place].astype(np.float64)
        for which, samples in zip(found, (made[:, place], path[ends]), strict=True):
            which.append(along(path, samples, target, space.tolerance))
    means = (np.mean([(one.near_target, one.coverage) for one in which], axis=0) for which in found)
    return Paths(*(Along(float(near), float(covered)) for near, covered in means))


def check_quality(quality: Futures, gate: float) -> None:
    """Refuse a generator whose futures are too far from true ones, or all alike."""
    remedy = (
        "Use a weighting that looks less far ahead, more demonstrations or more --idle-steps; with "
        "--idle-gate 0 it is used all the same"
    )
    if gate and quality.spread < _COLLAPSED:
        raise InputError(
            f"the generator has collapsed: its futures scatter {quality.spread:.2f} times as far "
            f"as true ones. {remedy}"
        )
    if gate and not quality.ratio <= gate:
        raise InputError(
            f"generated futures are {quality.ratio:.1f} times as far from true ones (MMD² "
            f"{quality.mmd2:.5f}) as two true draws from each other ({quality.floor:.5f}); the "
            f"limit is {gate:g}. {remedy}"
        )


def augmented(setting: Setting, folder: Path, watch: Watch | None = None) -> Setting:
    """With a generator, where the settings ask for one: the run's own, or a new one."""
    config = setting.config
    if config.idle is None:
        return setting
    if (folder / _WEIGHTS).is_file():
        found = load_generator(folder, config.generator, setting.task.spec, config.gamma_irl)
    else:
        shown = setting.expert.buffer.trajectories(setting.expert.episodes)
        found = train_generator(config.generator, config.future, shown, config.seed, watch)
        check_quality(found.quality, config.idle_gate)
    invented = Invented(found.generator, config.idle_share, config.idle_warmup)
    game = replace(setting.game, invented=invented)
    return setting._replace(game=game, futures=found.quality)


def keep_generator(setting: Setting, folder: Path) -> None:
    """Beside a run that begins, for when it goes on."""
    if setting.game.invented is not None and setting.futures is not None:
        save_generator(folder, Trained(setting.game.invented.generator, setting.futures))


def save_generator(folder: Path, found: Trained) -> None:
    """Its worth as idle.json, then its weights and units as idle.safetensors."""
    write_atomic(folder / _WORTH, (json.dumps(asdict(found.quality), indent=1) + "\n").encode())
    save_tree(folder / _WEIGHTS, (found.generator.network, found.generator.units))


def load_generator(folder: Path, config: IdleConfig, spec: Spec, gamma_irl: float) -> Trained:
    """As it was saved, for the same settings."""
    like = IdleState.start(config, jax.random.key(0), Units.blank(spec.obs_dim, spec.act_dim))
    network, units = load_tree(folder / _WEIGHTS, (like.averaged, like.units))
    try:
        quality = Futures(**json.loads((folder / _WORTH).read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{folder / _WORTH}: cannot be read ({error})") from None
    return Trained(Generator(network, units, gamma_irl), quality)
