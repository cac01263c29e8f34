import numpy as np
import pytest

from etairl.buffers import Replay
from etairl.types import Step


def play(replay: Replay, steps: int, length: int, start: int = 0) -> None:
    """Two copies count their steps; copy 1 is 1,000 ahead. Episodes of `length`, then a reset."""
    clock = start
    offset = np.array([0.0, 1000.0])
    replay.start((clock + offset)[:, None].astype(np.float32))
    since = 0
    for _ in range(steps):
        fresh = since == length
        since = 0 if fresh else since + 1
        clock += 1
        step = Step(
            observations=(clock + offset)[:, None].astype(np.float32),
            rewards=np.full(2, clock, np.float32),
            terminated=np.full(2, since == length),
            truncated=np.zeros(2, bool),
            fresh=np.full(2, fresh),
        )
        replay.add(np.full((2, 1), clock, np.float32), step)


@pytest.mark.parametrize("steps", [3, 19, 20, 21, 57])
def test_transitions_are_consecutive_and_resets_are_none(rng, steps):
    replay = Replay(40, 2, 1, 1)
    play(replay, steps, length=4)
    t = replay.draw(rng, (50, 20))
    assert t.observations.shape == (50, 20, 1)
    assert (t.next_observations == t.observations + 1).all()
    clock = t.observations[..., 0] % 1000
    assert (t.actions[..., 0] == clock + 1).all()
    assert (t.rewards == clock + 1).all()
    # Steps 5, 10, 15, ... are resets: their rows are no transitions.
    assert (clock % 5 != 4).all()
    assert (t.terminated == (clock % 5 == 3)).all()
    assert clock.min() >= max(0, steps - 20)
    kept = [c for c in range(max(0, steps - 19), steps) if c % 5 != 4]
    assert set(kept) <= set(np.unique(clock).astype(int))


def test_a_second_start_does_not_invent_a_transition(rng):
    replay = Replay(200, 2, 1, 1)
    play(replay, 6, length=100)
    play(replay, 6, length=100, start=500)
    t = replay.draw(rng, (2000,))
    assert (t.next_observations == t.observations + 1).all()
    assert {0, 5, 500, 505} <= set(np.unique(t.observations).astype(int))
