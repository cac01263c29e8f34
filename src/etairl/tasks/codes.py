"""Tasks that nobody has named: a code in the place of the task, drawn anew in every episode.

Demonstrations of several tasks may not say which they show. A learner then gets a code, one of so
many, beside its state, and finds out by itself what each code is to stand for (`costs.coded`).
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Num

from etairl.tasks.product import Goals, LawName, StateRows, TaskLaw, Tasks
from etairl.types import InputError, Trajectories


@dataclass(frozen=True)
class Codes:
    """Tasks are codes, rows of a unit matrix. What they stand for is open: any place will do.

    The true cost, for evaluation alone, is the distance from the nearest of the hidden places.
    """

    number: int
    goals: Goals
    """of the tasks as they were; says which columns are the state"""
    places: tuple[tuple[float, ...], ...]
    """the tasks of the demonstrations"""

    def __post_init__(self):
        if self.number < 2 or not self.places:
            raise InputError("hidden tasks need at least 2 codes, and the places that they lead to")

    @property
    def dim(self) -> int:
        """One column per code."""
        return self.number

    @property
    def columns(self) -> slice:
        """Those of the state."""
        return self.goals.columns

    @property
    def laws(self) -> dict[LawName, TaskLaw]:
        """Every code as often as any other."""
        return {"training": self.draw, "full": self.draw}

    def draw(self, rng: np.random.Generator, n: int) -> Tasks:
        """So many codes."""
        return np.eye(self.number)[rng.integers(self.number, size=n)]

    def check(self, tasks: Tasks) -> None:
        """Refuse rows that are no codes."""
        if not are_codes(tasks):
            raise InputError(f"a code has a single 1 and {self.number - 1} zeros")

    def costs(
        self, states: StateRows, actions: Num[np.ndarray, "n act"], reached: StateRows, tasks: Tasks
    ) -> Float[np.ndarray, " n"]:
        """The distance from the nearest place."""
        del states, actions, tasks
        return self.distances(reached).min(axis=1)

    def distances(self, states: StateRows) -> Float[np.ndarray, "n places"]:
        """From every place."""
        rows = [np.broadcast_to(place, (len(states), len(place))) for place in self.places]
        return np.stack([self.goals.distances(states, row) for row in rows], axis=1)

    def success(self, states: StateRows, tasks: Tasks) -> Bool[np.ndarray, " n"]:
        """At one of the places."""
        del tasks
        return self.distances(states).min(axis=1) <= self.goals.tolerance


def are_codes(rows: Num[np.ndarray, "n codes"]) -> bool:
    """Whether each row has a single 1, and zeros."""
    ones, zeros = (rows == 1.0).sum(axis=1), (rows == 0.0).sum(axis=1)
    return bool(((ones == 1) & (zeros == rows.shape[1] - 1)).all())


def without_tasks(t: Trajectories, codes: int, seed: int = 0) -> Trajectories:
    """Demonstrations whose tasks are gone: in their place are codes that mean nothing.

    Args:
        t: demonstrations with tasks, which their observations end with.
        codes: how many codes there are.
        seed: of the codes.
    """
    if t.tasks is None:
        raise InputError(
            "these demonstrations have no tasks that could be left out; leave --codes away"
        )
    drawn = np.random.default_rng([seed, 23]).integers(codes, size=len(t))
    rows = np.eye(codes, dtype=np.float32)[drawn]
    known = t.obs_dim - t.tasks.shape[1]
    last = t.final_observations
    return replace(
        t,
        observations=np.concatenate([t.observations[:, :known], rows[t.episode_numbers]], axis=1),
        final_observations=None
        if last is None
        else np.concatenate([last[:, :known], rows], axis=1),
        tasks=rows,
    )
