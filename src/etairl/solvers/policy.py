"""From an actor to actions of a task: on the host, and in its units."""

from typing import Any

import numpy as np
from jaxtyping import Float, Num
from numpy.typing import ArrayLike

from etairl.networks import MLP, HostMLP, Normaliser
from etairl.solvers.heads import Head
from etairl.types import InputError, Spec


class HeadPolicy:
    """An actor on the host: observations in, actions in the units of the task out."""

    def __init__(self, actor: MLP, head: Head, spec: Spec, normaliser: Normaliser | None = None):
        self.actor, self.head, self.spec, self.normaliser = actor, head, spec, normaliser
        self._actor = HostMLP(actor)
        self._normalise = None if normaliser is None else normaliser.on_host()
        self._scaling = ActionScaling(spec)

    def __call__(
        self, rng: np.random.Generator | None, observations: Float[np.ndarray, "batch obs"]
    ) -> np.ndarray:
        """Draw actions; without a random generator the most likely ones."""
        x = observations.astype(np.float32, copy=False)
        if self._normalise is not None:
            x = self._normalise(x)
        return self._scaling.to_task(self.head.act(self._actor, rng, x))


class ActionScaling:
    """Between the units of a task and [-1, 1]; an index stays an index."""

    def __init__(self, spec: Spec):
        self._discrete = spec.discrete_actions is not None
        low = np.asarray(spec.action_low or (-1.0,) * spec.act_dim, np.float64)
        high = np.asarray(spec.action_high or (1.0,) * spec.act_dim, np.float64)
        self.middle = spec.zero_action
        self.half = ((high - low) / 2).astype(np.float32)

    def to_task(self, actions: np.ndarray) -> np.ndarray:
        """From the solver to the simulator."""
        return actions.astype(np.int64) if self._discrete else self.middle + self.half * actions

    def to_solver(self, actions: np.ndarray) -> np.ndarray:
        """From the simulator, or from demonstrations, to the solver; unknown ones are 0."""
        if actions.shape[-1] == 0:
            return np.zeros((len(actions), len(self.middle)), np.float32)
        scaled = actions if self._discrete else (actions - self.middle) / self.half
        return scaled.astype(np.float32)


def observation_rows(
    observations: ArrayLike | dict[str, Any], columns: int, of: str
) -> tuple[Float[np.ndarray, "batch obs"], bool]:
    """Observations as rows, and whether there was one alone, without a leading axis.

    Args:
        observations: one observation or many, as an array or as lists. An observation of several
            parts is a dict of them; they are laid out in the order of their names.
        columns: numbers of an observation.
        of: whose they are, for the message.
    """
    if isinstance(observations, dict):
        observations = _flat_parts(observations, columns, of)
    try:
        with np.errstate(over="ignore"):  # refused below
            x = np.asarray(observations, np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"observations must be rows of {columns} numbers: {error}") from None
    many = x.ndim >= 2 and int(np.prod(x.shape[1:])) == columns
    if not many and x.size != columns:
        raise InputError(
            f"observations of {of} have {columns} numbers each: give one of them, or rows; got the "
            f"shape {x.shape}"
        )
    rows = x.reshape(len(x) if many else 1, columns)
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        raise InputError(
            f"observations must be finite, but row {int(np.argmax(bad))} has NaN or infinity"
        )
    return rows, not many


def action_rows(actions: ArrayLike, rows: int, columns: int) -> Num[np.ndarray, "batch act"]:
    """Actions for so many rows of observations, as rows; of one column, flat ones are fine, too."""
    try:
        x = np.asarray(actions)
        x = x if x.dtype.kind in "iuf" else x.astype(np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"actions must be rows of {columns} numbers: {error}") from None
    flat = columns == 1 and x.shape == (rows,)
    if x.shape != (rows, columns) and not flat and not (rows == 1 and x.size == columns):
        raise InputError(
            f"actions must be rows of {columns} {'number' if columns == 1 else 'numbers'}, one for "
            f"each of {rows} observations; got the shape {x.shape}"
        )
    return x.reshape(rows, columns)


def _flat_parts(parts: dict[str, Any], columns: int, of: str) -> np.ndarray:
    """Side by side in the order of their names, one observation or many."""
    try:
        arrays = [np.asarray(parts[name], np.float32) for name in sorted(parts)]
    except (TypeError, ValueError) as error:
        raise InputError(f"the parts of an observation must be numbers: {error}") from None
    if sum(a.size for a in arrays) == columns:
        return np.concatenate([a.ravel() for a in arrays])
    if arrays and all(a.ndim and len(a) == len(arrays[0]) > 0 for a in arrays):
        return np.concatenate([a.reshape(len(a), -1) for a in arrays], axis=1)
    shapes = ", ".join(f"{name} {np.shape(parts[name])}" for name in sorted(parts))
    raise InputError(
        f"observations of {of} have {columns} numbers each; the parts do not make so many: "
        f"{shapes or 'there are none'}"
    )
