import numpy as np
import pytest

from etairl.buffers import EpisodeBuffer, Replay
from etairl.types import Step, Trajectories


def play(replay: Replay, steps: int, length: int, start: int = 0) -> None:
    """Two copies count their steps; copy 1 is 1,000 ahead. Episodes of `length`, then a reset.

    The world ends the episodes of copy 0, a time limit those of copy 1.
    """
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
            terminated=np.array([since == length, False]),
            truncated=np.array([False, since == length]),
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
    assert (t.terminated == ((clock % 5 == 3) & (t.observations[..., 0] < 1000))).all()
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


def test_actions_since_the_latest_reset():
    replay = Replay(40, 2, 1, 1)
    play(replay, 8, length=4)  # the fifth step was a reset
    actions, ages = replay.since_reset()
    assert ages.tolist() == [3, 3]
    assert actions[:, 0, 0].tolist() == [6, 7, 8]
    long = Replay(20, 2, 1, 1)
    play(long, 8, length=100)
    assert long.since_reset()[1].tolist() == [8, 8]
    play(long, 30, length=100)
    assert long.since_reset() is None  # the ring holds nine actions, and not the first


def test_a_replay_can_be_rewound(rng):
    """To the end of a cycle, when the next one failed halfway."""
    replay, same = Replay(60, 2, 1, 1), Replay(60, 2, 1, 1)
    play(replay, 50, length=7)
    play(same, 43, length=7)
    replay.rewind(43)
    assert (replay.added, replay.next) == (same.added, same.next)
    found, expected = replay.segment(25), same.segment(25)
    for name in ("observations", "exists"):
        assert np.array_equal(found[name], expected[name])
    for name in ("actions", "rewards", "terminated"):
        assert np.array_equal(found[name][:-1], expected[name][:-1])  # no step followed the last


def episodes(rng, lengths) -> Trajectories:
    """Observations count up, so that every row says where it came from."""
    lengths = np.asarray(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    last = np.zeros(offsets[-1], bool)
    last[offsets[1:] - 1] = True
    terminated = last & np.repeat(rng.random(len(lengths)) < 0.5, lengths)
    observations = rng.normal(size=(offsets[-1], 2)).astype(np.float32)
    return Trajectories(
        observations=observations,
        actions=rng.normal(size=(offsets[-1], 1)).astype(np.float32),
        terminated=terminated,
        truncated=last & ~terminated,
        offsets=offsets,
        rewards=rng.normal(size=offsets[-1]).astype(np.float32),
        final_observations=rng.normal(size=(len(lengths), 2)).astype(np.float32),
    )


def test_episodes_come_back_whole(rng, assert_same):
    buffer = EpisodeBuffer(1000, 2, 1)
    added = [episodes(rng, rng.integers(1, 9, size=5)) for _ in range(4)]
    for t in added:
        buffer.extend(t, t.actions)
    assert_same(buffer.trajectories(buffer.newest(cycles=1)), added[-1])
    two = buffer.trajectories(buffer.newest(cycles=2))
    assert_same(two.take(np.arange(5)), added[-2])
    assert buffer.newest().steps == sum(t.steps for t in added)


def test_transitions_lead_to_the_next_observation(rng):
    buffer = EpisodeBuffer(1000, 2, 1)
    t = episodes(rng, [3, 1, 4])
    buffer.extend(t, t.actions)
    view = buffer.newest()
    rows = view.rows(np.arange(8))
    found = buffer.transitions(rows, (2, 4))
    following = np.concatenate(
        [
            np.vstack([t.observations[a + 1 : b], f])
            for a, b, f in zip(t.offsets[:-1], t.offsets[1:], t.final_observations, strict=True)
        ]
    )
    assert found.observations.shape == (2, 4, 2)
    assert np.array_equal(found.observations.reshape(8, 2), t.observations)
    assert np.array_equal(found.next_observations.reshape(8, 2), following)
    assert np.array_equal(found.terminated.ravel(), t.terminated)
    assert view.times(np.arange(8)).tolist() == [0, 1, 2, 0, 0, 1, 2, 3]


def test_old_cycles_make_room_and_the_window_is_always_whole(rng, assert_same):
    """Ragged cycles wrap around; the newest `capacity` rows survive wherever the ring breaks."""
    capacity, longest = 60, 4 * 8
    buffer = EpisodeBuffer(capacity + 2 * longest, 2, 1)
    added = []
    for _ in range(60):
        t = episodes(rng, rng.integers(1, 8, size=4))
        buffer.extend(t, t.actions)
        added.append(t)
        window = buffer.newest(rows=capacity)
        sizes = np.cumsum([x.steps + len(x) for x in reversed(added)])
        expected = added[-max(1, int((sizes <= capacity).sum())) :]
        whole = buffer.trajectories(window)
        assert len(whole) == 4 * len(expected)
        for index, one in enumerate(expected):
            assert_same(whole.take(np.arange(4 * index, 4 * index + 4)), one)
    assert len(buffer) < 30


def test_ten_million_transitions_of_halfcheetah_fit_in_1500_mb():
    rows = 10_000_000 + 20_000 + 2 * 90 * 501
    size = rows * (4 * (17 + 6 + 1) + 1)
    buffer = EpisodeBuffer(1000, 17, 6)
    per_row = sum(
        getattr(buffer, name).nbytes
        for name in ("observations", "actions", "rewards", "terminated")
    )
    assert per_row / 1000 == size / rows
    assert size < 1.5e9


class PlainList:
    """What a buffer holds, looked for among all cycles each time."""

    def __init__(self, rows):
        self.rows, self.cycles = rows, []

    def extend(self, lengths):
        begin, size = 0, int(lengths.sum()) + len(lengths)
        if self.cycles:
            starts, last = self.cycles[-1]
            begin = int(starts[-1] + last[-1] + 1)
        begin = 0 if begin + size > self.rows else begin
        self.cycles = [c for c in self.cycles if not self.overlap(c, begin, begin + size)]
        self.cycles.append((begin + np.cumsum(lengths + 1) - lengths - 1, lengths))

    @staticmethod
    def overlap(cycle, begin, end):
        starts, lengths = cycle
        return starts[0] < end and starts[-1] + lengths[-1] + 1 > begin

    def newest(self, cycles=None, rows=None, first=None):
        chosen = self.cycles if cycles is None else self.cycles[-cycles:]
        chosen = [(starts[:first], lengths[:first]) for starts, lengths in chosen]
        if rows is not None:
            totals = np.cumsum([lengths.sum() + len(lengths) for _, lengths in chosen[::-1]])
            chosen = chosen[-max(1, int((totals <= rows).sum())) :]
        return [np.concatenate(part) for part in zip(*chosen, strict=True)]


@pytest.mark.parametrize("seed", range(12))
def test_what_a_buffer_holds_is_what_a_search_finds(seed):
    """Also at its end, where laps of other sizes leave a cycle behind that is older than others."""
    rng = np.random.default_rng(seed)
    rows, most = int(rng.integers(20, 150)), int(rng.choice([3, 8, 30]))
    buffer, plain = EpisodeBuffer(rows, 1, 1), PlainList(rows)
    for _ in range(80):
        lengths = rng.integers(1, most, size=int(rng.integers(1, 4)))
        steps = int(lengths.sum())
        if steps + len(lengths) > rows:
            continue
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        last = np.zeros(steps, bool)
        last[offsets[1:] - 1] = True
        column = np.zeros((steps, 1), np.float32)
        buffer.extend(Trajectories(column, column, ~last & last, last, offsets), column)
        plain.extend(lengths)
        assert len(buffer) == len(plain.cycles)
        for asked in (
            {},
            {"cycles": 2},
            {"rows": 20},
            {"cycles": 3, "first": 1},
            {"first": 2, "rows": 9},
        ):
            found, (starts, counts) = buffer.newest(**asked), plain.newest(**asked)
            assert found.starts.tolist() == starts.tolist()
            assert np.diff(found.offsets).tolist() == counts.tolist()
