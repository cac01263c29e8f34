"""Late branching as a Gymnasium environment, `etairl/Fork-v0`; registered on import."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from jaxtyping import UInt8

from etairl.tasks.fork_world import FORK, FORK_STEPS, ForkWorld

_SCALE = 40  # pixels for a unit of length
_LAND, _WALL, _TRAIL = (205, 205, 205), (90, 90, 90), (140, 90, 90)
_WALKER, _GOAL = (200, 40, 40), (40, 150, 60)


class ForkEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One walker. Observations: place along and across the corridor, and the sign."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None):
        self.world, self.render_mode = ForkWorld(), render_mode
        low, high = np.array([0.0, -1.0, -1.0]), np.array([self.world.edge + 1.0, 1.0, 1.0])
        self.observation_space = spaces.Box(low, high, dtype=np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.state = np.zeros(3)
        self._trail: list[np.ndarray] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Draw a start and a sign."""
        super().reset(seed=seed)
        self.state, self._trail = self.world.draw(self.np_random, 1)[0], []
        return self.state.copy(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Walk; a fall ends the episode."""
        self._trail.append(self.state)
        states, fell = self.world.move(self.state[None], np.asarray(action)[None])
        self.state = states[0]
        reward = 0.0 if fell[0] else float(self.world.rewards(states)[0])
        return self.state.copy(), reward, bool(fell[0]), False, {}

    def render(self) -> UInt8[np.ndarray, "height width 3"] | None:
        """From above: the walker red, the goal of its sign green."""
        if self.render_mode is None:
            gymnasium.logger.warn("make the environment with render_mode='rgb_array' to draw it")
            return None
        world = self.world
        picture = np.full((2 * _SCALE + 20, int(20 * _SCALE), 3), _LAND, np.uint8)
        picture[:10] = picture[-10:] = _WALL
        half = max(2, int(world.post * _SCALE))
        picture[_SCALE + 10 - half : _SCALE + 10 + half, int(world.fork * _SCALE) :] = _WALL
        for place in self._trail:
            _square(picture, place, 2, _TRAIL)
        _square(picture, np.array([world.goal, 0.5 * self.state[2]]), 6, _GOAL)
        _square(picture, self.state, 6, _WALKER)
        return picture


def _square(
    picture: np.ndarray, place: np.ndarray, half: int, colour: tuple[int, int, int]
) -> None:
    column, row = int(place[0] * _SCALE), int((1.0 - place[1]) * _SCALE) + 10
    rows = slice(max(row - half, 0), row + half)
    picture[rows, max(column - half, 0) : column + half] = colour


if FORK not in gymnasium.registry:
    gymnasium.register(FORK, entry_point=f"{__name__}:ForkEnv", max_episode_steps=FORK_STEPS)
