"""A few pictures of the learner and of a demonstration, for the same steps."""

from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt8

from etairl.tasks import task_space
from etairl.tasks.environments import imported
from etairl.tasks.rendering import Scene
from etairl.training.result import Result
from etairl.training.scenes import make_scene
from etairl.types import InputError, Trajectories

SIZE = (280, 210)
_DRAWN, _KEPT = 160, 36  # while it is not known how long an episode lasts; and afterwards


class FilmFrame(NamedTuple):
    """One step of one side."""

    step: int
    pixels: UInt8[np.ndarray, "height width 3"]


class Film(NamedTuple):
    """An episode of the learner, and pictures of both sides; or why there are none."""

    episode: Trajectories | None = None
    learner: tuple[FilmFrame, ...] = ()
    demonstration: tuple[FilmFrame, ...] = ()
    """of the first demonstration"""
    notes: tuple[str, ...] = ()


def film(result: Result, seed: int = 0, size: tuple[int, int] = SIZE) -> Film:
    """Play and draw; what cannot be drawn is left out, with a note that says why."""
    if task_space(imported(result.config.env)) is not None:
        return Film(notes=("Worlds with many tasks have no pictures.",))
    notes: list[str] = []
    with ExitStack() as stack:
        try:
            scene = make_scene(result, size, seed)
            stack.callback(scene.close)
            episode, pictures = _play(result, scene, seed)
        except InputError as error:
            return Film(notes=(f"There are no pictures: {error}.",))
        try:
            shown = _demonstration(result, scene)
        except InputError as error:
            shown = ()
            notes.append(f"There are no pictures of the demonstration: {error}.")
    return Film(episode, pictures, shown, tuple(notes))


def _play(result: Result, scene: Scene, seed: int) -> tuple[Trajectories, tuple[FilmFrame, ...]]:
    config = result.config
    greedy = result.playing[0] == "greedy"
    rng = None if greedy else np.random.default_rng([config.seed, seed, 13])
    every = max(1, config.horizon // _DRAWN)
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
    return episode, _few(drawn)


def _demonstration(result: Result, scene: Scene) -> tuple[FilmFrame, ...]:
    episode = result.demonstrations.take(np.array([0]))
    if episode.spans is not None:
        raise InputError("what happened between its steps is not known")
    if not scene.load(episode.observations):
        raise InputError("its observations do not tell the state of the simulator")
    chosen = np.unique(np.linspace(0, episode.steps - 1, _KEPT).round().astype(int)).tolist()
    pictures = []
    for row in chosen:
        before = episode.actions[row - 1] if row and episode.act_dim else None
        scene.pose(row, before)
        pictures.append(FilmFrame(row, scene.draw()))
    return tuple(pictures)


def _few(pictures: list[FilmFrame]) -> tuple[FilmFrame, ...]:
    chosen = np.unique(np.linspace(0, len(pictures) - 1, _KEPT).round().astype(int))
    return tuple(pictures[i] for i in chosen)
