"""What the columns of well-known environments are called, where neither file nor world says it."""

from collections.abc import Iterable
from dataclasses import replace

from etairl.tasks.navigation_world import NAVIGATION, LakeWorld
from etairl.types import Spec

_Names = tuple[str, ...]
MARK = "absorbing"
_LEGS = ("thigh", "leg", "foot")
_CHEETAH = tuple(
    f"{side} {part}" for side in ("back", "front") for part in ("thigh", "shin", "foot")
)
_WALKER = (*_LEGS, *(f"left {part}" for part in _LEGS))
_ANT = tuple(f"{joint} {number}" for number in (1, 2, 3, 4) for joint in ("hip", "ankle"))
_ANT_ACTIONS = tuple(
    f"{joint} {number}" for number in (4, 1, 2, 3) for joint in ("hip", "ankle")
)  # as its motors are listed


def _planar(joints: _Names) -> _Names:
    """Height and angles, then their velocities."""
    angles = tuple(f"{joint} angle" for joint in ("torso", *joints))
    speeds = ("velocity x", "velocity z", *(f"{angle} velocity" for angle in angles))
    return "height", *angles, *speeds


_ANT_OBSERVATIONS = (
    "height",
    *(f"orientation {part}" for part in "wxyz"),
    *(f"{joint} angle" for joint in _ANT),
    *(f"velocity {axis}" for axis in "xyz"),
    *(f"angular velocity {axis}" for axis in "xyz"),
    *(f"{joint} angle velocity" for joint in _ANT),
)
_LAKES = tuple(f"to lake {i + 1}" for i in range(len(LakeWorld().lakes)))
# By the name of the environment without its version: columns of observations and of actions.
_KNOWN: dict[str, tuple[_Names, _Names]] = {
    NAVIGATION.rpartition("-v")[0]: (
        ("x", "y", *_LAKES, "target x", "target y"),
        ("step x", "step y"),
    ),
    "Pendulum": (("cos angle", "sin angle", "angular velocity"), ("torque",)),
    "CartPole": (("position", "velocity", "pole angle", "pole angular velocity"), ()),
    "MountainCar": (("position", "velocity"), ()),
    "MountainCarContinuous": (("position", "velocity"), ("force",)),
    "Hopper": (_planar(_LEGS), _LEGS),
    "HalfCheetah": (_planar(_CHEETAH), _CHEETAH),
    "Walker2d": (_planar(_WALKER), _WALKER),
    "Ant": (_ANT_OBSERVATIONS, _ANT_ACTIONS),
}


def named(spec: Spec, *givers: Spec, absorbing: bool = False) -> Spec:
    """With names of columns: the first that one of the givers has, else those that are usual.

    With `absorbing`, the last column of `spec` marks the absorbing state.
    """
    usual = _usual(spec.environment or next((g.environment for g in givers if g.environment), ""))
    seen = (*(g.observation_names for g in givers), usual[0])
    done = (*(g.action_names for g in givers), usual[1])
    states = _fitting(spec.obs_dim - absorbing, seen)
    if absorbing and states is not None:
        states = (*states, MARK)
    return replace(spec, observation_names=states, action_names=_fitting(spec.act_dim, done))


def _usual(environment: str) -> tuple[_Names, _Names]:
    name, _, version = environment.rpartition(":")[2].rpartition("-v")
    return _KNOWN.get(name, ((), ())) if version.isdigit() else ((), ())


def _fitting(columns: int, candidates: Iterable[_Names | None]) -> _Names | None:
    for names in candidates:
        plain = names[:-1] if names and names[-1] == MARK else names
        if plain and len(plain) == columns:
            return plain
    return None
