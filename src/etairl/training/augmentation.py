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
from etairl.eta import Dirac, parse_eta
from etairl.evaluation.futures import Along, Futures, along, judge_futures
from etairl.idle import Generator, IdleConfig, IdleState, Mend, Progress, Units, idle
from etairl.measures import FutureSampler
from etairl.runs import holds_anything, load_tree, save_tree, write_json
from etairl.tasks import task_space
from etairl.tasks.product import Goals
from etairl.training.preparation import Setting
from etairl.training.settings import build
from etairl.types import InputError, Spec, Trajectories

Watch = Callable[[Progress], None]
HELD_OUT = 0.2
_FEWEST = 5  # episodes of which one is held out
_POINTS = 1000  # futures of each kind that are compared
_COLLAPSED = 0.2  # of the spread of true futures
_WEIGHTS, _ABOUT = "idle.safetensors", "idle.json"


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
    mend: Mend | None = None,
) -> Trained:
    """Learn from four fifths of the episodes; be judged on the rest."""
    if isinstance(sampler.eta, Dirac):
        raise InputError(
            f"with {sampler.eta} every state has one recorded future, and a generator cannot be "
            "judged beside another; use a weighting with several, such as geometric:0.7"
        )
    shown, held_out = split(t, seed)
    made = None
    for progress in idle(config, seed, shown, sampler, mend=mend):
        made = progress.generator
        if watch is not None:
            watch(progress)
    assert made is not None
    return Trained(made, judge_generator(made, held_out, seed))


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


def judge_generator(generator: Generator, held_out: Trajectories, seed: int) -> Futures:
    """Generated futures of held-out states beside two true draws."""
    rng, sampler = np.random.default_rng([seed, 7]), generator.sampler
    starts, ends = sampler.pairs(rng, held_out.offsets, _POINTS)
    again = sampler.futures(rng, held_out.offsets, starts)
    states = held_out.observations[starts]
    pairs = np.concatenate([held_out.observations, held_out.actions], axis=1, dtype=np.float64)
    first, second = (np.concatenate(generator.futures(rng, states), axis=1) for _ in range(2))
    return judge_futures(
        rng,
        states,
        (pairs[ends], pairs[again]),
        (first.astype(np.float64), second.astype(np.float64)),
    )


class Paths(NamedTuple):
    """Generated and true futures along held-out episodes."""

    generated: Along
    true: Along


def follow_paths(generator: Generator, held_out: Trajectories, space: Goals, seed: int) -> Paths:
    """As many futures as an episode has steps, of states that the sampler starts from."""
    assert held_out.tasks is not None
    rng, sampler = np.random.default_rng([seed, 8]), generator.sampler
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
    begun = (folder / "config.json").is_file()
    if not begun and holds_anything(folder):
        raise InputError(f"{folder} exists and is no run; choose another folder")
    mend = mending(setting.task.spec)
    if begun and (folder / _WEIGHTS).is_file():
        found = load_generator(folder, mend)
    else:
        shown = setting.expert.buffer.trajectories(setting.expert.episodes)
        found = train_generator(config.generator, config.future, shown, config.seed, watch, mend)
        check_quality(found.quality, config.idle_gate)
    invented = Invented(found.generator, config.idle_share, config.idle_warmup)
    game = replace(setting.game, invented=invented)
    return setting._replace(game=game, futures=found.quality)


def mending(spec: Spec) -> Mend | None:
    """What an environment knows of the observations that it can have; actions in [-1, 1]."""
    space = None if spec.environment is None else task_space(spec.environment)
    return space.mend if isinstance(space, Goals) else None


def keep_generator(setting: Setting, folder: Path) -> None:
    """Beside a run that begins, for when it goes on."""
    if setting.game.invented is None or setting.futures is None or (folder / _WEIGHTS).is_file():
        return
    found = Trained(setting.game.invented.generator, setting.futures)
    save_generator(folder, found, setting.config.generator)


def save_generator(folder: Path, found: Trained, config: IdleConfig) -> None:
    """What it is and what it is worth as idle.json, then weights and units as idle.safetensors."""
    generator, units = found.generator, found.generator.units
    about = {
        "eta": str(generator.sampler.eta),
        "gamma_irl": generator.sampler.gamma_irl,
        "sampler": generator.sampler.method,
        "choice": generator.sampler.choice,
        "sizes": [len(units.state_mean), len(units.lowest)],
        "config": asdict(config),
        "quality": asdict(found.quality),
    }
    write_json(folder / _ABOUT, about)
    save_tree(folder / _WEIGHTS, (generator.network, units))


def load_generator(folder: Path, mend: Mend | None = None) -> Trained:
    """As it was saved."""
    try:
        about = json.loads((folder / _ABOUT).read_text())
        config, quality = build(IdleConfig, about["config"]), build(Futures, about["quality"])
        method, choice = about["sampler"], about["choice"]
        sampler = FutureSampler(parse_eta(about["eta"]), about["gamma_irl"], method, choice)
        obs, act = about["sizes"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{folder / _ABOUT}: cannot be read ({error})") from None
    like = IdleState.start(config, jax.random.key(0), Units.blank(obs, act))
    network, units = load_tree(folder / _WEIGHTS, (like.averaged, like.units))
    return Trained(Generator(network, units, sampler, mend), quality)
