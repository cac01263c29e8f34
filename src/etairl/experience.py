"""What both players of the game know and draw from: the learner's episodes, the expert's."""

from dataclasses import replace
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from etairl.buffers import EpisodeBuffer, Episodes, Transitions
from etairl.eta import Eta
from etairl.regularisers import Regulariser
from etairl.types import InputError, Spec, Task, Trajectories, offsets_of


@runtime_checkable
class IndexSampler(Protocol):
    """Draws steps of episodes with the time weights of a run."""

    def rows(
        self, rng: np.random.Generator, offsets: Int[np.ndarray, " episodes_and_one"], n: int
    ) -> Int[np.ndarray, " n"]:
        r"""Steps of $\mu^\eta$ among episodes that lie one after the other."""
        ...

    def from_start(self) -> "IndexSampler":
        r"""The sampler of $P^\eta$: $\eta$ steps after the start of an episode."""
        ...


class World(NamedTuple):
    """What a player may know of a run when it is made."""

    spec: Spec
    absorbing: bool
    """the last column of an observation marks the absorbing state"""
    horizon: int
    eta: Eta
    omega: Regulariser
    gamma_rl: float
    sampler: IndexSampler


class ExpertBuffer(NamedTuple):
    """The demonstrations, prepared for a task, in memory once."""

    buffer: EpisodeBuffer
    episodes: Episodes
    tasks: np.ndarray | None = None
    """the task vector of each demonstration, in the multi-task setting"""

    @staticmethod
    def of(
        trajectories: Trajectories, actions: np.ndarray, with_next: bool = False
    ) -> "ExpertBuffer":
        """From demonstrations.

        Args:
            trajectories: the demonstrations.
            actions: their actions as the solver sees them.
            with_next: leave out steps whose next observation is unknown.
        """
        stored = _apart(trajectories, with_next)
        buffer = EpisodeBuffer(stored.steps + len(stored), stored.obs_dim, actions.shape[1])
        buffer.extend(stored, actions)
        episodes = buffer.newest()
        if trajectories.spans is not None:
            starts = offsets_of(trajectories.durations)[:-1]
            recorded = episodes.starts[trajectories.row_of_step]
            episodes = Episodes.of(starts, trajectories.durations, recorded)
        elif with_next and trajectories.final_observations is None:
            lengths = trajectories.lengths - 1
            if (lengths < 1).any():
                raise InputError(
                    "a demonstration of one step has no next state to learn from; leave it out"
                )
            episodes = Episodes.of(episodes.starts, lengths)
        return ExpertBuffer(buffer, episodes, trajectories.tasks)

    def transitions(self) -> Transitions:
        """Every recorded step of every demonstration, once."""
        rows = self.episodes.rows(np.arange(self.episodes.steps))
        if self.episodes.recorded is not None:
            rows = np.unique(rows)
        return self.buffer.transitions(rows, (len(rows),))

    def drawn(self, seed: int, cycle: int, each: int) -> np.ndarray:
        """Numbers of the demonstrations that are drawn in a cycle."""
        return np.random.default_rng([seed, cycle, 1]).integers(
            len(self.episodes.starts), size=each
        )

    def assign_tasks(self, task: Task, seed: int, cycle: int, each: int) -> None:
        """Give the learner the tasks of the demonstrations that are drawn with it, if any."""
        if task.multi is not None and self.tasks is not None:
            task.multi.assign(self.tasks[self.drawn(seed, cycle, each)])

    def replay(self, seed: int, cycle: int, each: int, capacity: int) -> Episodes:
        """The expert's replay after `cycle`: `each` demonstrations were drawn in every cycle.

        Demonstrations repeat, but are in memory once: the replay is a list of their numbers, and
        follows from the seed alone.
        """
        lengths = np.diff(self.episodes.offsets)
        cycles = max(1, int(capacity // (each * lengths.mean())))
        chosen = np.concatenate(
            [self.drawn(seed, c, each) for c in range(max(0, cycle + 1 - cycles), cycle + 1)]
        )
        return Episodes.of(self.episodes.starts[chosen], lengths[chosen], self.episodes.recorded)


def _apart(t: Trajectories, with_next: bool) -> Trajectories:
    """Rows of thinned episodes as episodes of one step each: the next row is not what followed."""
    if t.spans is None:
        return t
    if with_next and t.next_observations is None:
        raise InputError(
            "these demonstrations are thinned, and what followed each step was not recorded: take "
            "a cost that does not look at next states (--inputs state_action or state), or record "
            "next_observations"
        )
    ended = t.terminated & (t.spans == 1)
    return replace(
        t,
        terminated=ended,
        truncated=~ended,
        offsets=np.arange(t.steps + 1),
        final_observations=t.next_observations,
        tasks=None,
        spans=None,
        next_observations=None,
    )


SCAN = 50
"""updates in one compiled program, where their number follows from that of the transitions"""


class Experience(NamedTuple):
    """What there is to draw from after the rollouts of a cycle."""

    buffer: EpisodeBuffer
    """the learner's episodes; `buffer.newest(cycles=1)` are those of the current policy"""
    replay: Episodes
    """the newest of them, as many as the capacity allows"""
    expert: ExpertBuffer | None
    """None where there is nobody to imitate"""
    cycle: int
    before: int = 0
    """transitions of the learner before this cycle"""
    after: int = 0
    """and after it"""
    total: int = 0
    """transitions of the whole run; 0 if that is not known"""

    @property
    def progress(self) -> float:
        """How much of the run was over when this cycle began, from 0 to 1."""
        return min(1.0, self.before / self.total) if self.total else 0.0

    def scans(self, per_cycle: int, per_step: float | None) -> list[int]:
        """The updates that are due: one scan of `per_cycle`, or as many of `SCAN` as fit.

        What does not fill a scan is made up for in a later cycle.
        """
        if per_step is None:
            return [per_cycle]
        done, due = (int(steps * per_step) // SCAN for steps in (self.before, self.after))
        return [SCAN] * (due - done)
