"""What solvers learn from: draws of the learner's transitions and of the expert's."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from etairl.buffers import EpisodeBuffer, Episodes, Transitions
from etairl.experience import Experience
from etairl.solvers.solver import Batch, ExpertPairs


def replay_batches(
    rng: np.random.Generator,
    data: Experience,
    shape: tuple[int, int],
    timed: bool = False,
    expert_share: float = 0.0,
) -> Batch:
    """Transitions of the replay, uniformly with replacement; a share of them the expert's."""
    if shown := round(expert_share * shape[1]):
        own = replay_batches(rng, data, (shape[0], shape[1] - shown), timed)
        assert data.expert is not None
        sides = data.expert.buffer, data.expert.episodes
        theirs = _batches(rng, *sides, (shape[0], shown), timed)
        return jax.tree.map(lambda *both: jnp.concatenate(both, axis=1), own, theirs)
    return _batches(rng, data.buffer, data.replay, shape, timed)


def _batches(
    rng: np.random.Generator,
    buffer: EpisodeBuffer,
    episodes: Episodes,
    shape: tuple[int, int],
    timed: bool,
) -> Batch:
    t, steps = _uniform(rng, buffer, episodes, shape)
    return Batch.of(t, episodes.times(steps).reshape(shape) if timed else None)


def _uniform(
    rng: np.random.Generator, buffer: EpisodeBuffer, episodes: Episodes, shape: tuple[int, int]
) -> tuple[Transitions, np.ndarray]:
    """Transitions of some episodes, with replacement, and which steps they are."""
    steps = rng.integers(episodes.steps, size=shape[0] * shape[1])
    return buffer.transitions(episodes.rows(steps), shape), steps


class NewestRows(NamedTuple):
    """Every step of the newest cycle, episode by episode, filled up to whole minibatches."""

    batch: Batch
    """with time indices"""
    last: Float[Array, " rows"]
    """1 where an episode ends"""
    mask: Float[Array, " rows"]
    """0 in rows that only fill up"""
    progress: float = 0.0
    """of the run, from 0 to 1"""


def newest_rows(data: Experience, multiple: int) -> NewestRows:
    """For on-policy solvers; filled up to a multiple of some number, so that few sizes occur."""
    newest = data.buffer.newest(cycles=1)
    many = newest.steps
    steps = np.minimum(np.arange(-(-many // multiple) * multiple), many - 1)
    t = data.buffer.transitions(newest.rows(steps), (len(steps),))
    last = np.zeros(len(steps), np.float32)
    last[newest.offsets[1:] - 1] = 1.0
    last[many:] = 1.0
    mask = (np.arange(len(steps)) < many).astype(np.float32)
    batch = Batch.of(t, newest.times(steps))
    return NewestRows(batch, jnp.asarray(last), jnp.asarray(mask), data.progress)


def expert_pairs(rng: np.random.Generator, data: Experience, shape: tuple[int, int]) -> ExpertPairs:
    """Pairs of the demonstrations, uniformly with replacement."""
    assert data.expert is not None
    t, _ = _uniform(rng, data.expert.buffer, data.expert.episodes, shape)
    return ExpertPairs(jnp.asarray(t.observations), jnp.asarray(t.actions))
