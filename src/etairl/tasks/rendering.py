"""An environment that draws itself, frame by frame, without a screen.

Drawing goes through Gymnasium, also where training went through EnvPool: the environments are the
same, but for the version of the physics engine.
"""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import load_env_creator
from jaxtyping import Float, Num, UInt8

from etairl.tasks.environments import gymnasium_options, imported
from etairl.tasks.gymnasium import GymnasiumTask, gymnasium_names
from etairl.tasks.offscreen import need, prepare_offscreen
from etairl.tasks.poses import find_poser
from etairl.types import HorizonMode, InputError, Step

_MUJOCO, _ROBOTICS = "gymnasium.envs.mujoco", "gymnasium_robotics"
_PLANE = 0  # mujoco.mjtGeom.mjGEOM_PLANE
_PYGAME = ("gymnasium.envs.classic_control", "gymnasium.envs.box2d", "gymnasium.envs.toy_text")


class Scene:
    """One copy of an environment, in a state that can be drawn."""

    def __init__(
        self, environment: str, mode: HorizonMode, horizon: int, seed: int, size: tuple[int, int]
    ):
        """Make the environment ready to be drawn.

        The mode `absorbing` ends at an early end, for there is nothing to see. `size` is width and
        height of a picture; environments of a fixed size have their own.
        """
        environment = imported(environment)
        module = _prepare(environment)
        options = gymnasium_options(environment, mode) | {"render_mode": "rgb_array"}
        if module.startswith(_MUJOCO):
            # The camera that follows the body; a model without one has a camera that stands still.
            options |= {"width": size[0], "height": size[1], "camera_name": "track"}
        with _quiet():
            self._task = GymnasiumTask(environment, 1, horizon, seed, options)
        self._environment = environment
        self._env: Any = self._task.copies[0]
        self._poser = None
        if module.startswith(_MUJOCO):
            _prepare_looks(self._env.unwrapped.model)

    @property
    def fps(self) -> float:
        """Frames per second, as the environment says."""
        return float(self._env.metadata.get("render_fps") or 30.0)

    def reset(self) -> Float[np.ndarray, "one obs"]:
        """Start an episode; the next one differs."""
        with _quiet():
            return self._task.reset()

    def step(self, actions: Num[np.ndarray, "one act"]) -> Step:
        """Act."""
        with _quiet():
            return self._task.step(actions)

    def load(self, observations: Float[np.ndarray, "steps obs"]) -> bool:
        """Get ready to show recorded states; False where observations do not tell the state."""
        self.reset()
        self._poser = find_poser(self._environment, self._env.unwrapped, observations)
        return self._poser is not None

    def pose(self, step: int, action: Num[np.ndarray, " act"] | None) -> None:
        """Go to row `step` of what was loaded, which `action` led to."""
        assert self._poser is not None, "load observations first"
        self._poser(step, action)

    def draw(self) -> UInt8[np.ndarray, "height width 3"]:
        """A picture of the present state."""
        renderer = getattr(self._env.unwrapped, "mujoco_renderer", None)
        viewer = getattr(renderer, "viewer", None)
        if viewer is not None:
            viewer.make_context_current()  # another scene may have drawn in between
        try:
            with _quiet():
                picture = np.asarray(self._env.render())
        except Exception as error:
            raise InputError(
                f"{self._environment} cannot be drawn: {type(error).__name__}: {error}"
            ) from error
        if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
            raise InputError(
                f"{self._environment} cannot be drawn: its pictures are {picture.dtype} of shape "
                f"{picture.shape}, not bytes [height, width, 3]"
            )
        return picture

    def close(self) -> None:
        """Give the memory of pictures back."""
        self._env.close()


def _prepare_looks(model: Any) -> None:
    """Changes of what is seen; physics do not look at them."""
    # Without a graphics card most of the time of a picture goes into its shadows.
    model.vis.quality.shadowsize = 1024
    # The ground ends after 40 m, where a good runner soon is. Same tiles, only more of them.
    ground = model.geom_type == _PLANE
    materials = np.unique(model.geom_matid[ground & (model.geom_matid >= 0)])
    model.geom_size[ground, :2] *= 25
    model.mat_texrepeat[materials] *= 25


def _prepare(environment: str) -> str:
    """The module of an environment, once everything that drawing it needs is there."""
    if environment not in gymnasium_names():
        raise InputError(
            f"{environment} cannot be drawn: Gymnasium does not have it, and drawing needs it there"
        )
    entry = gymnasium.spec(environment).entry_point
    module = entry.split(":")[0] if isinstance(entry, str) else getattr(entry, "__module__", "")
    if module.startswith((_MUJOCO, _ROBOTICS)):
        prepare_offscreen()
    elif module.startswith(_PYGAME):
        need("pygame", f"drawing {environment}")
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    made = _creator(environment, entry)
    bases = [base.__module__ for base in getattr(made, "__mro__", ())]
    if any(name.startswith((_MUJOCO, _ROBOTICS)) for name in bases):
        prepare_offscreen()  # an environment of the user's own, built on MuJoCo's
    modes = (getattr(made, "metadata", None) or {}).get("render_modes", ())
    if "rgb_array" not in modes:
        known = ", ".join(modes) or "none"
        raise InputError(
            f"{environment} cannot be drawn: its render modes are {known}; give it one "
            "called rgb_array"
        )
    return module


def _creator(environment: str, entry: Any) -> Any:
    try:
        with _quiet():
            return load_env_creator(entry) if isinstance(entry, str) else entry
    except (ImportError, AttributeError, RuntimeError, gymnasium.error.Error) as error:
        raise InputError(f"{environment} cannot be drawn: {error}") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Without remarks on old versions, bounds and model files: they are not about drawing.

    MuJoCo would also write its remarks into a file of the current folder.
    """
    mujoco = sys.modules.get("mujoco")
    before = None if mujoco is None else mujoco.get_mju_user_warning()
    if mujoco is not None:
        mujoco.set_mju_user_warning(lambda _: None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if mujoco is not None:
            mujoco.set_mju_user_warning(before)
