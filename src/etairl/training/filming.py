"""Pictures of the episodes that a page shows: learner and demonstrations, at the same steps."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt8

from etairl.tasks import task_space
from etairl.tasks.environments import imported
from etairl.tasks.rendering import Scene
from etairl.training.explaining import RunExplanation
from etairl.training.result import Result
from etairl.training.scenes import make_scene
from etairl.types import InputError, Trajectories

SIZE = (280, 210)
_FILMED = 12  # episodes of either side
_POINTS = 60_000  # steps of either side whose costs are on the page
_DRAWN = 180  # while it is not known how long an episode lasts
_DENSE, _SPARSE = 80, 20  # of the first episode of either side, and of each other one


class FilmFrame(NamedTuple):
    """One step of one side."""

    step: int
    pixels: UInt8[np.ndarray, "height width 3"]


Pictures = dict[int, tuple[FilmFrame, ...]]
"""by the number of the episode"""


@dataclass(frozen=True, eq=False)
class Film:
    """An episode of the learner, and pictures of both sides; or why there are none."""

    episode: Trajectories | None = None
    learner: Pictures = field(default_factory=dict)
    demonstrations: Pictures = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def shown_episodes(found: RunExplanation, longest: int = 1000) -> dict[str, list[int]]:
    """All of each side, as far as there is room for their curves of `longest` points at most.

    The first episode and those of moments are among them in any case.
    """
    chosen = _first(found, lambda t: max(_FILMED, _POINTS // min(int(t.max()), longest)))
    return {name: sorted(numbers) for name, numbers in chosen.items()}


def filmed_episodes(found: RunExplanation) -> dict[str, list[int]]:
    """Of each side the first episode, those of moments, and more: pictures are large."""
    return {name: sorted(numbers) for name, numbers in _first(found, lambda _: _FILMED).items()}


def _first(found: RunExplanation, many: Callable[[np.ndarray], int]) -> dict[str, list[int]]:
    needed = {"demonstrations": [0], "learner": [0, *(m.episode for m in found.moments)]}
    chosen = {}
    for name, side in found.sides.items():
        t = side.trajectories
        wanted = list(dict.fromkeys([*needed[name], *range(len(t))]))
        chosen[name] = wanted[: max(many(t.durations), len(set(needed[name])))]
    return chosen


def film(result: Result, seed: int = 0, size: tuple[int, int] = SIZE) -> Film:
    """Play and draw an episode of the learner; if that is not possible, a note says why.

    Where there are many tasks nothing is played: those of the demonstrations are the ones to show.
    """
    with ExitStack() as stack:
        try:
            scene = make_scene(result, size, seed)
            stack.callback(scene.close)
            if task_space(imported(result.config.env)) is not None:
                return Film()
            episode, pictures = _play(result, scene, seed)
        except InputError as error:
            return Film(notes=(f"There are no pictures: {error}.",))
    return Film(episode, {0: pictures})


def with_others(
    result: Result, found: RunExplanation, filmed: Film, size: tuple[int, int] = SIZE
) -> Film:
    """Draw other episodes, too, where observations tell the state of the simulator.

    Pictures of both sides are of the same steps, and there is one of each moment.
    """
    if filmed.notes:
        return filmed
    chosen = filmed_episodes(found)
    longest = int(max(side.trajectories.durations.max() for side in found.sides.values()))
    base = _base(result.config.horizon)
    dense = base * -(-longest // (base * _DENSE))
    sparse = dense * -(-longest // (dense * _SPARSE))
    moments = {m.step for m in found.moments}
    pictures: dict[str, Pictures] = {
        "learner": {n: _every(p, dense) for n, p in filmed.learner.items()},
        "demonstrations": {},
    }
    notes = []
    with ExitStack() as stack:
        scene = make_scene(result, size, 0)
        stack.callback(scene.close)
        for name, side in found.sides.items():
            for number in chosen[name]:
                if number in pictures[name]:
                    continue
                more = {m.step for m in found.moments if m.episode == number}
                more = more if name == "learner" else set() if number else moments
                every = dense if number == 0 else sparse
                try:
                    drawn = _posed(scene, side.trajectories, number, every, more)
                except InputError as error:
                    notes.append(_left_out(name, bool(pictures[name]), error))
                    break
                pictures[name][number] = drawn
    return replace(filmed, **pictures, notes=tuple(notes))


def _left_out(name: str, some: bool, error: InputError) -> str:
    others = "other episodes of the learner" if some else f"the {name}"
    return f"There are no pictures of {others}: {error}."


def _base(horizon: int) -> int:
    """Steps from one picture to the next while the learner plays."""
    return max(1, horizon // _DRAWN)


def _play(result: Result, scene: Scene, seed: int) -> tuple[Trajectories, tuple[FilmFrame, ...]]:
    config = result.config
    greedy = result.playing[0] == "greedy"
    rng = None if greedy else np.random.default_rng([config.seed, seed, 13])
    every = _base(config.horizon)
    rows: dict[str, list[Any]] = {"observations": [], "actions": [], "rewards": []}
    observations, terminated, number = scene.reset(), False, 0
    drawn = [FilmFrame(0, scene.draw())]
    for number in range(1, config.horizon + 1):
        actions = result.policy(observations, rng)
        step = scene.step(actions)
        for name, row in zip(rows, (observations[0], actions[0], step.rewards[0]), strict=True):
            rows[name].append(row)
        observations, terminated = step.observations, bool(step.terminated[0])
        if terminated or step.truncated[0]:
            break
        if number % every == 0:
            drawn.append(FilmFrame(number, scene.draw()))
    drawn.append(FilmFrame(number, scene.draw()))
    last = np.arange(number) == number - 1
    episode = Trajectories(
        observations=np.array(rows["observations"]),
        actions=np.array(rows["actions"]),
        rewards=np.array(rows["rewards"], np.float64),
        terminated=last & terminated,
        truncated=last & (not terminated),
        offsets=np.array([0, number]),
        final_observations=observations,
    )
    return episode, tuple(drawn)


def _every(drawn: tuple[FilmFrame, ...], every: int) -> tuple[FilmFrame, ...]:
    """Those whose step is a multiple, and the last one."""
    return (*(frame for frame in drawn[:-1] if frame.step % every == 0), drawn[-1])


def _posed(
    scene: Scene, t: Trajectories, number: int, every: int, more: Iterable[int]
) -> tuple[FilmFrame, ...]:
    episode = t.take(np.array([number]))
    if episode.spans is not None:
        raise InputError("what happened between its steps is not known")
    if not scene.load(episode.observations):
        raise InputError("observations do not tell the state of the simulator")
    last = episode.steps - 1
    steps = {*range(0, last, every), last, *(step for step in more if step < last)}
    pictures = []
    for row in sorted(steps):
        before = episode.actions[row - 1] if row and episode.act_dim else None
        scene.pose(row, before)
        pictures.append(FilmFrame(row, scene.draw()))
    return tuple(pictures)
