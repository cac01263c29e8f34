"""What happened, kept in memory: each observation is stored once, learned costs never are.

`EpisodeBuffer` holds whole episodes, for algorithms that draw time indices within them; `Replay`
holds copies of a task in lockstep, for an expert that learns in the middle of its episodes.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Num

from etairl.cycle_list import CycleList
from etairl.types import Step, Trajectories, last_steps, offsets_of, ragged_rows

_FIELDS = ("observations", "actions", "rewards", "terminated", "exists")


class Transitions(NamedTuple):
    """Steps of a task as the simulator gave them."""

    observations: Float[np.ndarray, "*shape obs"]
    actions: Float[np.ndarray, "*shape act"]
    rewards: Float[np.ndarray, "*shape"]
    next_observations: Float[np.ndarray, "*shape obs"]
    terminated: Bool[np.ndarray, "*shape"]


class Episodes(NamedTuple):
    """Some episodes of a buffer, as if their steps lay one after the other.

    An episode may be named more than once.
    """

    starts: Int[np.ndarray, " episodes"]
    """row of the first step of each, in the buffer"""
    offsets: Int[np.ndarray, " episodes_and_one"]
    """number of its first step, among the steps of these episodes"""
    recorded: Int[np.ndarray, " steps"] | None = None
    """of thinned episodes: for each step the row that stands for it; `starts` are places here"""

    @staticmethod
    def of(
        starts: np.ndarray, lengths: np.ndarray, recorded: np.ndarray | None = None
    ) -> "Episodes":
        """Name episodes by where they start and how long they are."""
        return Episodes(starts, offsets_of(lengths), recorded)

    @property
    def steps(self) -> int:
        """Number of steps of all episodes together."""
        return int(self.offsets[-1])

    def rows(self, steps: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Where the steps of these numbers are in the buffer."""
        episode = np.searchsorted(self.offsets, steps, side="right") - 1
        rows = steps + (self.starts - self.offsets[:-1])[episode]
        return rows if self.recorded is None else self.recorded[rows]

    def times(self, steps: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """How many steps of their episode came before the steps of these numbers."""
        return steps - self.offsets[np.searchsorted(self.offsets, steps, side="right") - 1]


class EpisodeBuffer:
    """Whole episodes, added cycle by cycle; the oldest cycles make room for new ones.

    An episode of T steps takes T + 1 rows: the last one is the observation it led to. So the
    transition of row r is `observations[r]`, `actions[r]`, `observations[r + 1]`.
    """

    def __init__(self, rows: int, obs_dim: int, act_dim: int):
        # Zeros cost no memory before they are written to.
        self.observations = np.zeros((rows, obs_dim), np.float32)
        self.actions = np.zeros((rows, act_dim), np.float32)
        self.rewards = np.zeros(rows, np.float32)
        self.terminated = np.zeros(rows, bool)
        self._cycles, self._lap = CycleList(), 0

    def __len__(self) -> int:
        return len(self._cycles)

    def extend(self, trajectories: Trajectories, actions: Float[np.ndarray, "steps act"]) -> None:
        """Add a cycle of episodes, with `actions` as the solver sees them."""
        lengths = trajectories.lengths
        size = trajectories.steps + len(trajectories)
        begin = self._cycles.end
        if begin + size > len(self.observations):
            begin, self._lap = 0, self._lap + 1
        if size > len(self.observations):
            raise MemoryError(f"a buffer of {len(self.observations)} rows cannot hold {size}")
        self._cycles.forget(begin, begin + size, self._lap)
        starts = begin + trajectories.offsets[:-1] + np.arange(len(trajectories))
        rows = ragged_rows(starts, lengths)
        self.observations[rows] = trajectories.observations
        self.actions[rows] = actions
        self.rewards[rows] = 0.0 if trajectories.rewards is None else trajectories.rewards
        self.terminated[rows] = trajectories.terminated
        final = trajectories.final_observations
        self.observations[starts + lengths] = (
            trajectories.observations[trajectories.last_rows] if final is None else final
        )
        self._cycles.append(starts, lengths, self._lap)

    def newest(
        self, cycles: int | None = None, rows: int | None = None, first: int | None = None
    ) -> Episodes:
        """Episodes of the newest cycles: so many, or as many as fit in so many rows.

        Args:
            cycles: how many; all that are there if left out.
            rows: how many rows they may have together.
            first: only the first so many episodes of each cycle.
        """
        return Episodes.of(*self._cycles.newest(cycles, rows, first))

    def trajectories(self, episodes: Episodes) -> Trajectories:
        """Copies of episodes, with actions as the solver sees them."""
        rows = episodes.rows(np.arange(episodes.steps))
        terminated = self.terminated[rows]
        return Trajectories(
            observations=self.observations[rows],
            actions=self.actions[rows],
            terminated=terminated,
            truncated=last_steps(episodes.offsets) & ~terminated,
            offsets=episodes.offsets,
            rewards=self.rewards[rows],
            final_observations=self.observations[episodes.starts + np.diff(episodes.offsets)],
        )

    def transitions(self, rows: Int[np.ndarray, " n"], shape: tuple[int, ...]) -> Transitions:
        """What happened at these rows, in the given shape."""
        return _transitions(self, rows, rows + 1, shape)


class Replay:
    """Ring over time: row `k` holds what every copy saw and did at step `k`.

    The transition of step `k` in copy `e` is `observations[k, e]`, `actions[k, e]`,
    `observations[k + 1, e]`; it exists unless that step was a reset.
    """

    def __init__(self, capacity: int, envs: int, obs_dim: int, act_dim: int):
        self.rows = max(2, capacity // envs)
        self.observations = np.zeros((self.rows, envs, obs_dim), np.float32)
        self.actions = np.zeros((self.rows, envs, act_dim), np.float32)
        self.rewards = np.zeros((self.rows, envs), np.float32)
        self.terminated = np.zeros((self.rows, envs), bool)
        self.exists = np.zeros((self.rows, envs), bool)
        self.next, self.added = 0, 0

    def start(self, observations: Float[np.ndarray, "envs obs"]) -> None:
        """First observations, of the first or of a resumed run."""
        if self.added:
            # The row at `next` ends the last transitions; the new start takes the one after it.
            self.next = (self.next + 1) % self.rows
            self.added += 1
            self.exists[self.next] = False
        self.observations[self.next] = observations

    def add(self, actions: Float[np.ndarray, "envs act"], step: Step) -> None:
        """What followed the latest observations; actions are kept as they are given."""
        k = self.next
        self.actions[k], self.rewards[k] = actions, step.rewards
        self.terminated[k], self.exists[k] = step.terminated, ~step.fresh
        self.next = (k + 1) % self.rows
        self.added += 1
        self.observations[self.next] = step.observations
        self.exists[self.next] = False  # no action has followed it yet

    def since_reset(
        self,
    ) -> tuple[Num[np.ndarray, "steps envs act"], Int[np.ndarray, " envs"]] | None:
        """Actions since the latest reset of each copy, and how many; None if some are forgotten.

        The last rows are the latest actions; those of a copy of age `n` are the last `n` of them.
        """
        back = (self.next - 1 - np.arange(self.rows)) % self.rows  # newest first
        ages = np.argmin(self.exists[back], axis=0)  # the row at `next` never exists
        if (ages == self.rows - 1).any():
            return None
        return self.actions[back[: ages.max()][::-1]], ages

    def rewind(self, added: int) -> None:
        """Forget what was added after so many rows; what that had overwritten stays lost."""
        self.next = (self.next - (self.added - added)) % self.rows
        self.added = added
        self.exists[self.next] = False

    def segment(self, begin: int) -> dict[str, np.ndarray]:
        """Rows added since `begin`, and one more: what the last transitions led to."""
        many = self.added - begin
        rows = (self.next - many + np.arange(many + 1)) % self.rows
        return {name: getattr(self, name)[rows] for name in _FIELDS}

    def restore(self, begin: int, end: int, arrays: dict[str, np.ndarray]) -> None:
        """Put a segment back; segments come oldest first."""
        rows = (begin + np.arange(end - begin + 1)) % self.rows
        for name in _FIELDS:
            getattr(self, name)[rows] = arrays[name]
        self.added, self.next = end, end % self.rows

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Transitions:
        """Transitions, uniformly with replacement."""
        n, envs = int(np.prod(shape)), self.exists.shape[1]
        rows = min(self.added, self.rows)
        chosen = np.empty(0, np.int64)
        while len(chosen) < n:
            tried = rng.integers(rows * envs, size=n - len(chosen) + 64)
            chosen = np.concatenate([chosen, tried[self.exists.reshape(-1)[tried]]])
        now = chosen[:n]
        return _transitions(self, now, (now + envs) % (self.rows * envs), shape)


def _transitions(
    buffer: "EpisodeBuffer | Replay",
    now: Int[np.ndarray, " n"],
    after: Int[np.ndarray, " n"],
    shape: tuple[int, ...],
) -> Transitions:
    """What happened at some rows, which led to others, in the given shape.

    Where several copies of a task make a row, theirs count one after the other.
    """

    def at(rows: np.ndarray, array: np.ndarray, columns: tuple[int, ...] = ()) -> np.ndarray:
        # `take` is three times as fast as an index.
        return array.reshape(-1, *columns).take(rows, axis=0).reshape(*shape, *columns)

    obs, act = buffer.observations.shape[-1:], buffer.actions.shape[-1:]
    return Transitions(
        at(now, buffer.observations, obs),
        at(now, buffer.actions, act),
        at(now, buffer.rewards),
        at(after, buffer.observations, obs),
        at(now, buffer.terminated),
    )
