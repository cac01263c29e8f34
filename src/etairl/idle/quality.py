"""How good is a generator? It is trained on some episodes, and judged on held-out ones.

A fifth of the episodes is held out. The generator learns from the others, and its futures of
held-out states are compared with true ones.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from etairl.eta import Dirac
from etairl.evaluation.generated_futures import Along, Futures, along, judge_futures
from etairl.idle.generator import Generator, IdleConfig
from etairl.idle.learning import IdleProgress, idle
from etairl.measures import FutureSampler
from etairl.tasks import task_space
from etairl.tasks.product import Goals
from etairl.types import InputError, Spec, Trajectories
from etairl.types.task_space import Mend

Watch = Callable[[IdleProgress], None]
_HELD_OUT_SHARE = 0.2
_FEWEST = 5  # episodes of which one is held out
_POINTS = 1000  # futures of each kind that are compared
_COLLAPSED = 0.2  # of the spread of true futures


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
    check_shown(t)
    if isinstance(sampler.eta.simplified(), Dirac):
        raise InputError(
            f"with {sampler.eta} every state has one recorded future, and a generator cannot be "
            "judged beside another; use a weighting with several, such as geometric:0.7"
        )
    shown, held_out = hold_out(t, seed)
    made = None
    for progress in idle(config, seed, shown, sampler, mend=mend):
        made = progress.generator
        if watch is not None:
            watch(progress)
    assert made is not None
    return Trained(made, judge_generator(made, held_out, seed))


def check_shown(t: Trajectories) -> None:
    """Refuse demonstrations from which no generator can learn."""
    if t.spans is not None:
        raise InputError(
            "these demonstrations are thinned, and a generator of futures needs all steps; leave "
            "out --every, or --idle"
        )
    if t.act_dim == 0:
        raise InputError(
            "these demonstrations have no actions, and a generator of futures makes both; leave "
            "out --idle"
        )


def hold_out(t: Trajectories, seed: int) -> tuple[Trajectories, Trajectories]:
    """Episodes to learn from, and held-out ones."""
    if len(t) < _FEWEST:
        raise InputError(
            f"a generator of futures needs at least {_FEWEST} demonstrations, one of which is held "
            f"out to judge it; there are {len(t)}"
        )
    order = np.random.default_rng([seed, 6]).permutation(len(t))
    held_out = max(1, int(_HELD_OUT_SHARE * len(t)))
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
    place, sides = list(space.place), ([], [])
    for i, target in enumerate(held_out.tasks):
        episode = held_out.take(np.array([i]))
        starts, ends = sampler.pairs(rng, episode.offsets, episode.steps)
        made, _ = generator.futures(rng, episode.observations[starts])
        path = episode.observations[:, place].astype(np.float64)
        for which, samples in zip(sides, (made[:, place], path[ends]), strict=True):
            which.append(along(path, samples, target, space.tolerance))
    means = (np.mean([(one.near_target, one.coverage) for one in which], axis=0) for which in sides)
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


def nearest_possible(spec: Spec) -> Mend | None:
    """What an environment knows of the observations that it can have; actions in [-1, 1]."""
    space = None if spec.environment is None else task_space(spec.environment)
    return space.mend if isinstance(space, Goals) else None
