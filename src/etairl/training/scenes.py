"""What a clip shows: the learner at work, and a demonstration as it was recorded."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

from etairl.tasks import task_space
from etairl.tasks.environments import imported
from etairl.tasks.navigation_world import MAPS
from etairl.tasks.rendering import Scene
from etairl.training.playing import playing_seed
from etairl.training.result import Result
from etairl.types import InputError, Trajectories


class Panel(NamedTuple):
    """One picture of one side, and what is known by then."""

    picture: UInt8[np.ndarray, "height width 3"]
    name: str
    step: int
    total: float | None
    """sum of the rewards so far; None where a recording has none"""
    ended: bool = False

    @property
    def caption(self) -> str:
        """What stands above the picture."""
        when = f"ended at step {self.step}" if self.ended else f"step {self.step}"
        return ", ".join([self.name, when, *self._sum()])

    def _sum(self) -> list[str]:
        return [] if self.total is None else [f"return {self.total:.0f}"]


def make_scene(result: Result, size: tuple[int, int], seed: int) -> Scene:
    """The environment of a run, ready to be drawn; the seed is none of the training."""
    config = result.config
    if task_space(imported(config.env)) is not None and imported(config.env) not in MAPS:
        raise InputError(
            f"{config.env} cannot be drawn: its tasks are put over the simulator, which would draw "
            "a goal of its own"
        )
    return Scene(config.env, config.mode, config.horizon, playing_seed(config, seed), size)


def learner(result: Result, scene: Scene, steps: int, rng: np.random.Generator) -> Iterator[Panel]:
    """The learned policy, drawing its actions with `rng` as in training and evaluation."""
    return _played(scene, "learner", steps, lambda _, seen: result.policy(seen, rng))


def demonstration(
    demonstrations: Trajectories, number: int, scene: Scene, steps: int
) -> Iterator[Panel]:
    """A recorded episode: its states where they are known, else its actions from another start."""
    if not 0 <= number < len(demonstrations):
        raise InputError(
            f"there is no demonstration {number}; the run learned from {len(demonstrations)}, "
            f"0 to {len(demonstrations) - 1}"
        )
    episode = demonstrations.take(np.array([number]))
    name = f"demonstration {number}"
    if episode.spans is not None:
        raise InputError(
            f"{name} is thinned: what happened between its steps is not known; draw the learner "
            "alone (--beside nothing)"
        )
    if scene.load(_every_observation(episode)):
        return _recorded(episode, name, scene, steps)
    if episode.act_dim == 0:
        raise InputError(
            f"{name} has no actions to play again, and its states cannot be shown; draw the "
            "learner alone (--beside nothing)"
        )
    name, steps = f"actions of {name}, other start", min(steps, episode.steps)
    return _played(scene, name, steps, lambda row, _: episode.actions[row][None])


def _every_observation(episode: Trajectories) -> np.ndarray:
    final = episode.final_observations
    rows = episode.observations
    return rows if final is None else np.concatenate([rows, final])


def _recorded(episode: Trajectories, name: str, scene: Scene, steps: int) -> Iterator[Panel]:
    totals = None
    if episode.rewards is not None:
        totals = np.concatenate([[0.0], np.cumsum(episode.rewards, dtype=np.float64)])
    rows = len(_every_observation(episode))
    for row in range(min(rows, steps + 1)):
        scene.pose(row, episode.actions[row - 1] if row and episode.act_dim else None)
        ended = row == rows - 1 and bool(episode.terminated[-1])
        total = None if totals is None else float(totals[row])
        yield Panel(scene.draw(), name, row, total, ended)


def _played(
    scene: Scene, name: str, steps: int, act: Callable[[int, np.ndarray], np.ndarray]
) -> Iterator[Panel]:
    """A new episode, whose actions follow from the number of the step and from what is seen."""
    observations, total = scene.reset(), 0.0
    yield Panel(scene.draw(), name, 0, total)
    for number in range(1, steps + 1):
        step = scene.step(act(number - 1, observations))
        observations, total = step.observations, total + float(step.rewards[0])
        ended = bool(step.terminated[0])
        yield Panel(scene.draw(), name, number, total, ended)
        if ended or step.truncated[0]:
            return


def side_by_side(sides: Sequence[Iterator[Panel]]) -> Iterator[list[Panel]]:
    """The panels of all sides, step by step; a side that has ended keeps its last picture."""
    shown = [next(side) for side in sides]
    while True:
        yield list(shown)
        following = [next(side, None) for side in sides]
        if all(panel is None for panel in following):
            return
        shown = [new or old for new, old in zip(following, shown, strict=True)]
