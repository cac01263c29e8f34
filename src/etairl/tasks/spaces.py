"""Observations and actions of any engine as plain rows."""

from dataclasses import replace
from typing import Any

import numpy as np

from etairl.types import InputError, Spec, is_image, space_names

_WIDEST = 4096


def read_spec(
    environment: str, observation_space: Any, action_space: Any, by_alphabet: bool = False
) -> Spec:
    """The sizes and bounds of an environment; refuses spaces that are not supported.

    Columns of a Dict are named by its keys, in the order in which `as_rows` lays them out: by
    alphabet, as it does without a space, or as the space has them.
    """
    _refuse_images(environment, observation_space)
    obs_dim = _width(environment, observation_space)
    spec = _read_sizes(environment, obs_dim, action_space)
    if not _is_dict(observation_space):
        return spec
    try:
        names = space_names(observation_space, by_alphabet)
        return replace(spec, observation_names=names)
    except InputError:  # keys that make no names: long, unprintable, or one name for two columns
        return spec


def _read_sizes(environment: str, obs_dim: int, action_space: Any) -> Spec:
    if obs_dim > _WIDEST:
        raise InputError(
            f"{environment}: its observations have {obs_dim:,} numbers, too many for a policy "
            f"without convolutions. Wrap it so that it gives at most {_WIDEST:,} features"
        )
    if hasattr(action_space, "n") and action_space.shape == ():
        if getattr(action_space, "start", 0) != 0:
            raise InputError(f"{environment}: discrete actions must start at 0")
        return Spec(obs_dim, 1, None, None, int(action_space.n), environment)
    if not hasattr(action_space, "low"):
        raise InputError(
            f"{environment}: actions of type {type(action_space).__name__} are not supported; "
            "they must be a Box or Discrete"
        )
    low, high = np.ravel(action_space.low), np.ravel(action_space.high)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise InputError(f"{environment}: its actions have no bounds; a squashed policy needs them")
    if (low == high).any():
        raise InputError(
            f"{environment}: action column {int(np.argmax(low == high))} can take one value only; "
            "leave it out, in a wrapper"
        )
    return Spec(obs_dim, len(low), tuple(low.tolist()), tuple(high.tolist()), None, environment)


def _refuse_images(environment: str, space: Any) -> None:
    if _is_dict(space):
        for key in space.spaces:
            _refuse_images(f"{environment}, {key}", space[key])
        return
    shape = getattr(space, "shape", None) or ()
    if is_image(shape, getattr(space, "dtype", None)):
        raise InputError(
            f"{environment}: observations are {space.dtype} of shape {list(shape)}: images are not "
            "supported. Put numbers in their place (the features of an encoder), in a wrapper"
        )


def _is_dict(space: Any) -> bool:
    return hasattr(space, "spaces") and hasattr(space, "items")


def _width(environment: str, space: Any) -> int:
    if _is_dict(space):
        return sum(_width(environment, part) for _, part in sorted(space.items()))
    if not hasattr(space, "low"):
        raise InputError(
            f"{environment}: observations of type {type(space).__name__} are not supported; "
            "they must be a Box or a Dict of Boxes"
        )
    return int(np.prod(space.shape))


def as_rows(observations: Any, envs: int, space: Any = None) -> np.ndarray:
    """Rows of observations; a Dict is laid out in the order of its space, as Gymnasium does.

    Without a space the order is that of the keys: EnvPool's spaces are ordered otherwise than those
    of the same environments in Gymnasium.
    """
    if isinstance(observations, dict):
        keys = sorted(observations) if space is None else list(space.spaces)
        parts = [
            as_rows(observations[key], envs, None if space is None else space[key]) for key in keys
        ]
        return np.concatenate(parts, axis=1)
    return np.asarray(observations).reshape(envs, -1).astype(np.float32)
