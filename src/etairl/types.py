"""The data everything shares: trajectories, batches, and the roles that other modules fill."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int, Num


class InputError(ValueError):
    """Something the user gave is wrong. The message says what, where, and what to do about it."""


class DivergedError(InputError):
    """A policy broke down while it learned: there is nothing in it to go on from."""


def check_seed(seed: int) -> int:
    """`seed` if all generators take it, and tell it from all others."""
    if not 0 <= seed < 2**32:
        raise InputError(f"the seed must be >= 0 and below 2^32, got {seed}")
    return seed


@dataclass(frozen=True)
class Spec:
    """What a task looks like from outside: sizes, and the range of its actions."""

    obs_dim: int
    act_dim: int
    action_low: tuple[float, ...] | None = None
    action_high: tuple[float, ...] | None = None
    discrete_actions: int | None = None
    """Number of actions when an action is an index (one column); None when it is a vector."""
    environment: str | None = None

    def __post_init__(self):
        if (self.action_low is None) != (self.action_high is None):
            raise InputError("give both bounds of the actions, or none")
        if self.action_low is not None and self.action_high is not None:
            if not len(self.action_low) == len(self.action_high) == self.act_dim:
                raise InputError(
                    f"the action bounds have {len(self.action_low)} and {len(self.action_high)} "
                    f"numbers, but actions have {self.act_dim}"
                )
            if not all(
                low <= high for low, high in zip(self.action_low, self.action_high, strict=True)
            ):
                raise InputError(
                    f"action bounds are crossed: low {self.action_low}, high {self.action_high}"
                )
        if self.environment is not None and not (
            self.environment.isprintable() and len(self.environment) <= 200
        ):
            raise InputError("the name of the environment must be short and printable")
        if self.discrete_actions is not None and (self.discrete_actions < 1 or self.act_dim != 1):
            raise InputError(
                "discrete actions are one column of indices, with at least one action; "
                f"got {self.act_dim} columns and {self.discrete_actions} actions"
            )


@dataclass(frozen=True, eq=False)
class Trajectories:
    r"""Episodes of unequal length: one flat array per field, and where each episode starts.

    Episode $i$ is rows `offsets[i]` to `offsets[i + 1]` of every per-step array. The arrays are
    checked once, here, and are read-only afterwards.
    """

    observations: Float[np.ndarray, "steps obs"]
    actions: Num[np.ndarray, "steps act"]
    terminated: Bool[np.ndarray, " steps"]
    """The world ended the episode after this step: nothing to bootstrap from."""
    truncated: Bool[np.ndarray, " steps"]
    """The recording or the time limit ended the episode after this step."""
    offsets: Int[np.ndarray, " episodes_and_one"]
    rewards: Float[np.ndarray, " steps"] | None = None
    """What the environment paid. For evaluation only: no loss ever sees it."""
    final_observations: Float[np.ndarray, "episodes obs"] | None = None
    """The observation after the last action of each episode, where it is known."""
    tasks: Float[np.ndarray, "episodes task"] | None = None
    """The task vector of each episode in the multi-task setting."""
    lengths: Int[np.ndarray, " episodes"] = field(init=False, repr=False)

    def __post_init__(self):
        for name in self.__dataclass_fields__:
            array = getattr(self, name, None)
            if array is not None:
                object.__setattr__(self, name, _frozen(array))
        object.__setattr__(self, "offsets", _frozen(_whole(self.offsets)))
        _check_arrays(self)
        object.__setattr__(self, "lengths", _frozen(np.diff(self.offsets)))

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def steps(self) -> int:
        """Number of transitions over all episodes."""
        return len(self.observations)

    @property
    def obs_dim(self) -> int:
        """Columns of an observation."""
        return self.observations.shape[1]

    @property
    def act_dim(self) -> int:
        """Columns of an action."""
        return self.actions.shape[1]

    @property
    def last_rows(self) -> Int[np.ndarray, " episodes"]:
        """Row of the last step of each episode."""
        return self.offsets[1:] - 1

    @property
    def episode_numbers(self) -> Int[np.ndarray, " steps"]:
        """Number of the episode that each step belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def times(self) -> Int[np.ndarray, " steps"]:
        """Steps since its episode began, for each step."""
        return np.arange(self.steps) - np.repeat(self.offsets[:-1], self.lengths)

    @property
    def returns(self) -> Float[np.ndarray, " episodes"] | None:
        """Sum of the rewards of each episode, in double precision."""
        if self.rewards is None:
            return None
        return np.add.reduceat(self.rewards.astype(np.float64), self.offsets[:-1])

    def pairs(self) -> Float[np.ndarray, "steps dims"]:
        """State-action pairs $(s, a)$ as one array, as a discriminator or an MMD sees them."""
        return np.concatenate([self.observations, self.actions], axis=1, dtype=np.float64)

    def take(self, episodes: Int[np.ndarray, " chosen"]) -> "Trajectories":
        """The chosen episodes, in the order given; an episode may be chosen twice."""
        if len(episodes) == 0 or episodes.min() < 0 or episodes.max() >= len(self):
            raise InputError(
                f"choose at least one episode, from 0 to {len(self) - 1}, got {episodes.tolist()}"
            )
        lengths = self.lengths[episodes]
        rows = ragged_rows(self.offsets[episodes], lengths)
        return Trajectories(
            observations=self.observations[rows],
            actions=self.actions[rows],
            terminated=self.terminated[rows],
            truncated=self.truncated[rows],
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
            rewards=None if self.rewards is None else self.rewards[rows],
            final_observations=None
            if self.final_observations is None
            else self.final_observations[episodes],
            tasks=None if self.tasks is None else self.tasks[episodes],
        )


def ragged_rows(
    starts: Int[np.ndarray, " episodes"], counts: Int[np.ndarray, " episodes"], stride: int = 1
) -> Int[np.ndarray, " rows"]:
    """Rows `starts[i], starts[i] + stride, …` (`counts[i]` of them) of every episode in turn."""
    before = np.cumsum(counts) - counts
    within = np.arange(counts.sum()) - np.repeat(before, counts)
    return np.repeat(starts, counts) + stride * within


def _frozen(array: np.ndarray) -> np.ndarray:
    """An array that nobody else can change: a copy, unless it could not be changed before."""
    array = np.asarray(array)
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def _whole(offsets: np.ndarray) -> np.ndarray:
    if offsets.dtype.kind not in "iu" or offsets.ndim != 1 or len(offsets) < 2:
        raise InputError("offsets must be a list of whole numbers, one more than episodes")
    return offsets.astype(np.int64)


def _check_arrays(t: Trajectories) -> None:
    for name in ("observations", "actions"):
        array = getattr(t, name)
        if array.ndim != 2 or array.shape[1] == 0:
            raise InputError(
                f"{name} must be 2-dimensional [steps, size] with at least one column, "
                f"got shape {array.shape}"
            )
    steps, obs_dim = t.observations.shape
    if steps == 0:
        raise InputError("there are no steps: a trajectory needs at least one")
    _check_offsets(t.offsets, steps)
    episodes = len(t.offsets) - 1
    _check_kind("observations", t.observations, "f", (steps, obs_dim))
    _check_kind("actions", t.actions, "fiu", (steps, t.actions.shape[1]))
    _check_kind("terminated", t.terminated, "b", (steps,))
    _check_kind("truncated", t.truncated, "b", (steps,))
    _check_kind("rewards", t.rewards, "f", (steps,))
    _check_kind("final_observations", t.final_observations, "f", (episodes, obs_dim))
    if t.final_observations is not None and t.final_observations.dtype != t.observations.dtype:
        raise InputError(
            f"final_observations are {t.final_observations.dtype}, "
            f"observations {t.observations.dtype}; store both alike"
        )
    if t.tasks is not None:
        if t.tasks.ndim != 2:
            raise InputError(f"tasks must be [episodes, size], got shape {t.tasks.shape}")
        _check_kind("tasks", t.tasks, "f", (episodes, t.tasks.shape[1]))
    for name in ("observations", "actions", "rewards", "final_observations", "tasks"):
        _check_finite(name, getattr(t, name))
    _check_ends(t)


def _check_offsets(offsets: np.ndarray, steps: int) -> None:
    lengths = np.diff(offsets)
    if (lengths < 1).any():
        raise InputError(
            f"episode {int(np.argmax(lengths < 1))} is empty: every episode needs at least one step"
        )
    if offsets[0] != 0 or offsets[-1] != steps:
        raise InputError(
            f"the episode lengths sum to {int(lengths.sum())}, but there are {steps} steps"
        )


_KIND_NAMES = {
    "f": "float32 or float64",
    "b": "boolean",
    "fiu": "float32, float64 or integer",
}
_LARGEST = 1e30  # squares and sums of larger values overflow


def _check_kind(name: str, array: np.ndarray | None, kinds: str, shape: tuple[int, ...]) -> None:
    if array is None:
        return
    if array.dtype.kind not in kinds or (
        array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8)
    ):
        raise InputError(f"{name} must be {_KIND_NAMES[kinds]}, got {array.dtype}")
    if array.shape != shape:
        raise InputError(f"{name} must have shape {shape}, got {array.shape}")


def _check_finite(name: str, array: np.ndarray | None) -> None:
    if array is None or array.dtype.kind != "f":
        return
    bad = ~(np.abs(array) <= _LARGEST)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        value = array[first]
        word = "NaN" if np.isnan(value) else "infinite" if np.isinf(value) else f"{value:.3g}"
        raise InputError(
            f"{name}{list(first)} is {word} ({int(bad.sum())} values are NaN, infinite or beyond "
            f"{_LARGEST:g}); remove those episodes before learning from them"
        )


def _check_ends(t: Trajectories) -> None:
    ends = t.terminated | t.truncated
    last = np.zeros(t.steps, dtype=bool)
    last[t.offsets[1:] - 1] = True
    wrong = ends != last
    if wrong.any():
        row = int(np.argmax(wrong))
        episode = int(np.searchsorted(t.offsets, row, side="right")) - 1
        what = (
            "has no end mark on its last step: set terminated or truncated there"
            if last[row]
            else f"is marked as ended at step {row - int(t.offsets[episode])}, before its last step"
        )
        raise InputError(f"episode {episode} {what}")


class FutureBatch(NamedTuple):
    r"""State-action pairs $(s_+, a_+)$ drawn from a measure, and the rows they came from."""

    observations: Float[np.ndarray, "batch obs"]
    actions: Num[np.ndarray, "batch act"]
    rows: Int[np.ndarray, " batch"]


@runtime_checkable
class Sampler(Protocol):
    r"""Draws state-action pairs from a measure of a collection of episodes."""

    def __call__(self, rng: np.random.Generator, trajectories: Trajectories, n: int) -> FutureBatch:
        """Draw `n` pairs."""
        ...


HorizonMode = Literal["terminating", "fixed", "absorbing"]
"""terminating: as the environment does. fixed: early ends switched off. absorbing: early ends are
followed by an absorbing state up to the horizon."""


class Step(NamedTuple):
    """What all copies of a task did in one step."""

    observations: Float[np.ndarray, "envs obs"]
    rewards: Float[np.ndarray, " envs"]
    terminated: Bool[np.ndarray, " envs"]
    truncated: Bool[np.ndarray, " envs"]
    fresh: Bool[np.ndarray, " envs"]
    """the copy was reset instead of stepped: its row starts an episode and is no transition"""


@runtime_checkable
class Task(Protocol):
    """Copies of one environment, stepped together. An ended copy is reset by the next step."""

    spec: Spec
    envs: int
    horizon: int
    resets: Int[np.ndarray, " envs"]
    """how often each copy was reset; with the seed this fixes where its next episode starts"""

    def replay(self, resets: Int[np.ndarray, " envs"]) -> None:
        """Bring a fresh task to where one with these `resets` was, to go on as it would have."""
        ...

    def reset(self) -> Float[np.ndarray, "envs obs"]:
        """Start all copies anew."""
        ...

    def step(self, actions: Num[np.ndarray, "envs act"]) -> Step:
        """Act in all copies, with actions in the units of the environment."""
        ...


@runtime_checkable
class RejoinableTask(Task, Protocol):
    """A task that can go on in the middle of its episodes."""

    def rejoin(
        self,
        resets: Int[np.ndarray, " envs"],
        actions: Num[np.ndarray, "steps envs act"],
        ages: Int[np.ndarray, " envs"],
    ) -> Float[np.ndarray, "envs obs"]:
        """Bring a fresh task to where one with these `resets` was, and act again since then.

        Args:
            resets: how often each copy was reset, the current episode included.
            actions: the latest actions; those of a copy of age `n` are the last `n` rows.
            ages: steps of each copy in its current episode.

        Returns:
            The latest observations.
        """
        ...


@runtime_checkable
class MultiTask(Task, Protocol):
    """A task whose copies have a task vector each, which their observations end with."""

    tasks: Float[np.ndarray, "envs task"]
    """of the current episode of each copy"""

    def assign(self, tasks: Float[np.ndarray, "envs task"] | None) -> None:
        """Tasks of the episodes that start from now on, copy by copy; None draws them again."""
        ...

    def success(self, observations: Float[np.ndarray, "n obs"]) -> Bool[np.ndarray, " n"]:
        """In which of these observations, which hold their tasks, is the task solved?"""
        ...


@runtime_checkable
class Policy(Protocol):
    """Chooses actions, in the units of the environment, for a batch of observations."""

    def __call__(
        self, rng: np.random.Generator | None, observations: Float[np.ndarray, "batch obs"]
    ) -> Num[np.ndarray, "batch act"]:
        """Draw actions; without a random generator the most likely ones."""
        ...
