"""2-D navigation as Gymnasium environments, `etairl/Navigation-v0` first; registered on import."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from jaxtyping import Float, UInt8

from etairl.tasks.navigation_world import (
    MAPS,
    NAVIGATION,
    NAVIGATION_STEPS,
    LakeWorld,
    navigation_goals,
)
from etairl.types import InputError

_PIXELS = 400
_LAND, _LAKE, _TRAIL = (205, 205, 205), (66, 135, 202), (140, 90, 90)
_AGENT, _TARGET = (200, 40, 40), (40, 150, 60)


class NavigationEnv(gymnasium.Env):
    """One agent. Observations: position (2), distances from the lakes' centres (4), target (2).

    Actions are steps in the unit disc; the reward is minus the distance from the target that is
    left; `info["is_success"]` says whether it is at most 1. Nothing ends an episode but time.
    `reset(options={"position": …, "target": …})` chooses either.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None, environment: str = NAVIGATION):
        self.world = MAPS[environment]
        self.goals = navigation_goals(self.world)
        self.render_mode = render_mode
        side, lakes = self.world.half_side, len(self.world.lakes)
        far = 2.0 * side * np.sqrt(2.0)
        low = np.array([-side] * 2 + [0.0] * lakes + [-side] * 2)
        high = np.array([side] * 2 + [far] * lakes + [side] * 2)
        self.observation_space = spaces.Box(low, high, dtype=np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.position, self.target = np.zeros(2), np.zeros(2)
        self._trail: list[np.ndarray] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Draw a start and a target, or take those of `options`."""
        super().reset(seed=seed)
        self.position, self.target = self.world.draw(self.np_random, 2)
        chosen = {} if options is None else options
        if odd := set(chosen) - {"position", "target"}:
            raise InputError(f"unknown option {min(odd)!r}; there are position and target")
        if "position" in chosen:
            self.position = _point("position", chosen["position"])
            if not self.world.on_land(self.position[None])[0]:
                raise InputError(f"the position {self.position.tolist()} is not on land")
        if "target" in chosen:
            self.target = _point("target", chosen["target"])
            self.world.check_targets(self.target[None])
        self._trail = []
        return self._observation(), self._info()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Walk, up to the first border."""
        self._trail.append(self.position)
        self.position = self.world.move(self.position[None], np.asarray(action)[None])[0]
        info = self._info()
        return self._observation(), -info["distance"], False, False, info

    def pose(self, position: Float[np.ndarray, " 2"], target: Float[np.ndarray, " 2"]) -> None:
        """Be somewhere, to be drawn there."""
        same = np.array_equal(target, self.target)
        self._trail = [*self._trail, self.position] if same else []
        self.position, self.target = position, target

    def _observation(self) -> np.ndarray:
        return np.concatenate([self.world.observe(self.position[None])[0], self.target])

    def _info(self) -> dict[str, Any]:
        far = float(self.goals.distances(self.position[None], self.target[None])[0])
        return {"distance": far, "is_success": far <= self.goals.tolerance}

    def render(self) -> UInt8[np.ndarray, "height width 3"] | None:
        """The map from above: lakes blue, agent a red square, target a green frame."""
        if self.render_mode is None:
            gymnasium.logger.warn("make the environment with render_mode='rgb_array' to draw it")
            return None
        picture = _background(self.world)
        for place in self._trail:
            _square(picture, self.world, place, 2, _TRAIL)
        _square(picture, self.world, self.target, 9, _TARGET)
        _square(picture, self.world, self.target, 5, _LAND)  # red and green look alike to many
        _square(picture, self.world, self.position, 8, _AGENT)
        return picture


def _point(name: str, value: Any) -> np.ndarray:
    point = np.asarray(value, np.float64)
    if point.shape != (2,) or not np.isfinite(point).all():
        raise InputError(f"the {name} is a vector of 2 numbers, but the one given is {value}")
    return point


def _background(world: LakeWorld) -> np.ndarray:
    centres = (np.arange(_PIXELS) + 0.5) / _PIXELS * 2.0 - 1.0
    x, y = np.meshgrid(centres * world.half_side, -centres * world.half_side)
    wet = ~world.on_land(np.stack([x.ravel(), y.ravel()], axis=1)).reshape(x.shape)
    picture = np.empty((_PIXELS, _PIXELS, 3), np.uint8)
    picture[:] = _LAND
    picture[wet] = _LAKE
    return picture


def _square(
    picture: np.ndarray,
    world: LakeWorld,
    place: np.ndarray,
    half: int,
    colour: tuple[int, int, int],
) -> None:
    scale = _PIXELS / (2.0 * world.half_side)
    column = int((place[0] + world.half_side) * scale)
    row = int((world.half_side - place[1]) * scale)
    picture[max(row - half, 0) : row + half, max(column - half, 0) : column + half] = colour


for name in MAPS:
    if name not in gymnasium.registry:
        gymnasium.register(
            name,
            entry_point=f"{__name__}:NavigationEnv",
            max_episode_steps=NAVIGATION_STEPS,
            kwargs={"environment": name},
        )
