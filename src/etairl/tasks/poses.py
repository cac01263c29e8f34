"""From a recorded observation back to the state of the simulator, to draw what was recorded."""

from typing import Any

import numpy as np
from jaxtyping import Float

from etairl.tasks.lame import sound
from etairl.tasks.navigation_world import MAPS

# How many leading positions the observations of these MuJoCo environments leave out.
_LEFT_OUT = {
    "Ant-": 2,
    "HalfCheetah-": 1,
    "Hopper-": 1,
    "Humanoid-": 2,
    "HumanoidStandup-": 2,
    "InvertedPendulum-": 0,
    "Swimmer-": 2,
    "Walker2d-": 1,
}
# Classic control: the columns that hold the cosine and sine of an angle come first.
_ANGLES = {"Acrobot-": 2, "CartPole-": 0, "MountainCar": 0, "Pendulum-": 1}
_TOLERANCE = 1e-4


def find_poser(
    environment: str, world: Any, observations: Float[np.ndarray, "steps obs"]
) -> "Poser | None":
    """What puts `world` into recorded states; None where an observation does not tell the state.

    `world`, the environment without wrappers, is put into the first state of the episode.
    """
    poser: Poser
    environment = sound(environment)
    if environment in MAPS:
        poser = NavigationPoser(world, observations)
    elif (left_out := _of(environment, _LEFT_OUT)) is not None and hasattr(world, "set_state"):
        poser = MujocoPoser(world, observations, left_out)
    elif (angles := _of(environment, _ANGLES)) is not None and hasattr(world, "state"):
        poser = ClassicPoser(world, observations, angles)
    else:
        return None
    return poser if poser.fits else None


def _of(environment: str, table: dict[str, int]) -> int | None:
    return next((value for name, value in table.items() if environment.startswith(name)), None)


class NavigationPoser:
    """2-D navigation: position and target are in the observation."""

    def __init__(self, world: Any, observations: np.ndarray):
        self._world, self._rows = world, observations.astype(np.float64)
        self.fits = self._rows.shape[1] == world.observation_space.shape[0]

    def __call__(self, step: int, _: np.ndarray | None) -> None:
        """Be where the agent was before step `step`."""
        row = self._rows[step]
        self._world.pose(row[:2], row[-2:])


class MujocoPoser:
    """Locomotion: positions and velocities are in the observation, but for the place.

    The place starts at 0 and follows the recorded velocity by the trapezoidal rule. Velocities that
    the environment clips stay clipped; only the place depends on them.
    """

    def __init__(self, world: Any, observations: np.ndarray, left_out: int):
        self._world = world
        positions, velocities = world.model.nq, world.model.nv
        known = positions + velocities - left_out
        self.fits = observations.shape[1] >= known
        if not self.fits:
            return
        rows = observations[:, :known].astype(np.float64)
        self._velocities = rows[:, positions - left_out :]
        pace = self._velocities[:, :left_out]
        place = np.zeros((len(rows), left_out))
        np.cumsum((pace[:-1] + pace[1:]) / 2 * world.dt, axis=0, out=place[1:])
        self._positions = np.concatenate([place, rows[:, : positions - left_out]], axis=1)
        self(0, None)
        again = np.asarray(world._get_obs())[:known]
        self.fits = bool(np.allclose(again, rows[0], atol=_TOLERANCE))

    def __call__(self, step: int, _: np.ndarray | None) -> None:
        """Put the world into the state before step `step`; no dynamics are computed."""
        self._world.set_state(self._positions[step], self._velocities[step])


class ClassicPoser:
    """Classic control: the state is the observation, with angles instead of cosines and sines."""

    def __init__(self, world: Any, observations: np.ndarray, angles: int):
        self._world = world
        rows = observations.astype(np.float64)
        self.fits = rows.shape[1] == len(world.state) + angles
        if self.fits:
            cosines, sines = rows[:, 0 : 2 * angles : 2], rows[:, 1 : 2 * angles : 2]
            turned = np.arctan2(sines, cosines)
            self._states = np.concatenate([turned, rows[:, 2 * angles :]], axis=1)

    def __call__(self, step: int, action: np.ndarray | None) -> None:
        """Put the world into the state before step `step`, reached by `action`."""
        self._world.state = self._states[step]
        if hasattr(self._world, "last_u"):  # Pendulum draws its torque
            self._world.last_u = None if action is None else float(action[0])


Poser = MujocoPoser | ClassicPoser | NavigationPoser
