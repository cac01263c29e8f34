"""Demonstrations of which only some steps were recorded: times, weights and what follows a step."""

import math
from dataclasses import replace

import numpy as np
import pytest

from etairl.cli.app import main
from etairl.demos import Demos, Selection, limit_cycle, load_demos, save_demos
from etairl.demos.npz import read_npz
from etairl.eta import parse_eta
from etairl.evaluation.inspection import inspect
from etairl.evaluation.matching import Reference, Steps
from etairl.evaluation.timeline import earned
from etairl.experience import ExpertBuffer
from etairl.idle import IdleConfig, train_generator
from etairl.measures import FutureSampler
from etairl.tabular import MDP, empirical_mu
from etairl.tasks import make_task, with_absorbing
from etairl.types import InputError, Trajectories

LENGTHS = (37, 12, 25)
EVERY = 5


def whole(lengths=LENGTHS, seed=0) -> Trajectories:
    """Episodes that the world ended, of two columns each."""
    rng, steps = np.random.default_rng(seed), sum(lengths)
    last = np.zeros(steps, bool)
    last[np.cumsum(lengths) - 1] = True
    return Trajectories(
        observations=rng.normal(size=(steps, 2)).astype(np.float32),
        actions=rng.uniform(-1, 1, size=(steps, 1)).astype(np.float32),
        terminated=last,
        truncated=np.zeros(steps, bool),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        rewards=rng.normal(size=steps).astype(np.float32),
        final_observations=rng.normal(size=(len(lengths), 2)).astype(np.float32),
    )


def mass(name: str, k: int) -> float:
    """The weighting by its formula."""
    return {
        "dirac:3": float(k == 3),
        "geometric:0.8": 0.2 * 0.8**k,
        "poisson:4": math.exp(-4.0) * 4.0**k / math.factorial(k),
    }[name]


def time_law(name: str, gamma: float, method: str, length: int) -> list[float]:
    """Chance of each time index, by sums over start and lag."""
    law = [0.0] * length
    if method == "exact":
        for t in range(length):
            for k in range(length - t):
                law[t + k] += gamma**t * mass(name, k)
        return [p / sum(law) for p in law]
    starts = [t for t in range(length) if any(mass(name, k) for k in range(length - t))]
    for t in starts:
        start = gamma**t / sum(gamma**s for s in starts)
        left = sum(mass(name, k) for k in range(length - t))
        for k in range(length - t):
            law[t + k] += start * mass(name, k) / left
    return law


def row_law(name: str, gamma: float, method: str, choice: str) -> list[float]:
    """Chance of each kept row: that of the times from its own to before the next."""
    rows, chances = [], []
    for length in LENGTHS:
        law = time_law(name, gamma, method, length)
        weight = 1.0
        if choice == "by_weight":
            lags = range(length)
            weight = sum(gamma**t * mass(name, k) for t in lags for k in lags if t + k < length)
        rows.append([sum(law[n : n + EVERY]) for n in range(0, length, EVERY)])
        chances.append(weight)
    return [
        p * chance / sum(chances)
        for episode, chance in zip(rows, chances, strict=True)
        for p in episode
    ]


@pytest.mark.parametrize("choice", ["by_weight", "uniform"])
@pytest.mark.parametrize("method", ["exact", "two_stage"])
@pytest.mark.parametrize("gamma", [1.0, 0.9])
@pytest.mark.parametrize("name", ["dirac:3", "geometric:0.8", "poisson:4"])
def test_rows_are_drawn_with_the_weights_of_the_steps_they_stand_for(name, gamma, method, choice):
    thinned = Selection(every=EVERY)(whole())
    sampler = FutureSampler(parse_eta(name), gamma, method, choice)
    expected, draws = np.array(row_law(name, gamma, method, choice)), 40_000
    assert expected.sum() == pytest.approx(1.0)
    rng = np.random.default_rng(1)
    expert = ExpertBuffer.of(thinned, thinned.actions)
    rows = expert.episodes.rows(sampler.rows(rng, expert.episodes.offsets, draws))
    seen = {
        "batch": sampler(rng, thinned, draws).rows,
        "game": np.searchsorted(np.unique(expert.episodes.recorded), rows),
    }
    for who, drawn in seen.items():
        counts = np.bincount(drawn, minlength=thinned.steps)
        spread = np.sqrt(draws * expected * (1.0 - expected))
        assert (np.abs(counts - draws * expected) <= 5.0 * spread).all(), who
    # What is drawn is what was recorded at that time.
    points = expert.buffer.transitions(rows, (draws,))
    assert np.array_equal(points.observations, thinned.observations[seen["game"]])
    assert np.array_equal(points.actions, thinned.actions[seen["game"]])


def test_every_keeps_times_returns_ends_and_what_followed():
    t = whole()
    thinned = Selection(every=EVERY)(t)
    assert thinned.lengths.tolist() == [8, 3, 5]
    assert thinned.durations.tolist() == list(LENGTHS)
    assert thinned.spans.tolist() == [5] * 7 + [2] + [5, 5, 2] + [5] * 5
    assert thinned.times.tolist() == [*range(0, 37, 5), *range(0, 12, 5), *range(0, 25, 5)]
    assert thinned.returns == pytest.approx(t.returns, rel=1e-5)
    assert thinned.terminated[thinned.last_rows].all()
    kept = t.times % EVERY == 0
    following = np.insert(t.observations, t.offsets[1:], t.final_observations, axis=0)
    places = np.flatnonzero(kept) + t.episode_numbers[kept] + 1
    assert np.array_equal(thinned.next_observations, following[places])
    again = Selection(every=10)(thinned)
    assert again.times.tolist() == Selection(every=10)(t).times.tolist()
    assert np.array_equal(again.spans, Selection(every=10)(t).spans)
    assert Selection(every=1)(thinned) is thinned
    with pytest.raises(InputError, match="0, 7, 14, … were not recorded"):
        Selection(every=7)(thinned)


def test_a_cut_counts_the_steps_of_the_whole_episode():
    thinned = Selection(every=EVERY)(whole())
    cut = Selection(steps=12)(thinned)
    assert cut.durations.tolist() == [12, 12, 12]
    assert cut.spans.tolist() == [5, 5, 2] * 3
    assert cut.truncated[cut.last_rows].tolist() == [True, False, True]
    assert cut.final_observations is None
    at_a_row = Selection(steps=10)(thinned)
    assert np.array_equal(at_a_row.final_observations, thinned.observations[[2, 10, 13]])
    assert Selection(steps=100)(thinned).final_observations is not None


def test_next_states_are_true_ones_and_only_a_kept_end_is_an_end():
    t = whole(lengths=(11, 13))  # the last of 11 steps is kept, the last of 13 is not
    thinned = Selection(every=EVERY)(t)
    seen = ExpertBuffer.of(thinned, thinned.actions, with_next=True).transitions()
    assert np.array_equal(seen.next_observations, thinned.next_observations)
    assert seen.terminated.tolist() == [False, False, True, False, False, False]
    unknown = replace(t, final_observations=None)
    bare = Selection(every=EVERY)(unknown)
    assert bare.next_observations is None
    assert Selection(steps=10, every=EVERY)(unknown).next_observations is not None
    with pytest.raises(InputError, match="what followed each step was not recorded"):
        ExpertBuffer.of(bare, bare.actions, with_next=True)


def test_an_absorbing_end_comes_at_its_own_time():
    t = replace(
        Selection(every=EVERY)(limit_cycle(np.random.default_rng(0), 3, 12).trajectories),
        observations=np.zeros((9, 3), np.float32),
        actions=np.zeros((9, 1), np.float32),
        terminated=np.tile([False, False, True], 3),
        truncated=np.zeros(9, bool),
        final_observations=None,
        next_observations=np.ones((9, 3), np.float32),
    )
    task = make_task("Pendulum-v1", 1, horizon=50, mode="absorbing")
    marked = with_absorbing(t, task)
    assert marked.durations.tolist() == [13, 13, 13]
    assert marked.times[marked.last_rows].tolist() == [12, 12, 12]
    assert marked.spans[marked.last_rows].tolist() == [1, 1, 1]
    alive, loop = np.array([1.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0])
    assert np.array_equal(marked.next_observations[:4], [alive, alive, alive, loop])
    assert with_absorbing(t, make_task("Pendulum-v1", 1, horizon=12, mode="absorbing")).steps == 9


def brute_mmd2(sides: list[Trajectories], scale: float, kappa: float | None) -> float:
    """Over all pairs of rows of different episodes, by the weights of the steps they stand for."""

    def episodes(t: Trajectories):
        for i in range(len(t)):
            rows = range(int(t.offsets[i]), int(t.offsets[i + 1]))
            found, n = [], 0
            for row in rows:
                span = 1 if t.spans is None else int(t.spans[row])
                w = sum(
                    1.0 if kappa is None else 1.0 - kappa ** (m + 1) for m in range(n, n + span)
                )
                found.append((np.append(t.observations[row], t.actions[row]) / scale, w))
                n += span
            yield found

    def mean(a: list, b: list, apart: bool) -> float:
        top = bottom = 0.0
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                if not apart or i != j:
                    for p, v in x:
                        for q, w in y:
                            top += v * w * math.exp(-float(((p - q) ** 2).sum()) / len(p))
                            bottom += v * w
        return top / bottom

    x, y = (list(episodes(t)) for t in sides)
    return mean(x, x, True) + mean(y, y, True) - 2.0 * mean(x, y, False)


def test_mmd2_weighs_a_row_by_the_steps_it_stands_for():
    expert, played = Selection(every=4)(whole((14, 9), 1)), whole((10, 6, 8), 2)
    pools, _ = Reference.of(expert).pools(Steps.of(played))
    assert pools["rho"].value() == pytest.approx(brute_mmd2([played, expert], 1.0, None))
    assert pools["mu"].value() == pytest.approx(brute_mmd2([played, expert], 1.0, 0.99))
    mdp = MDP(np.ones((1, 2, 1)), np.zeros((1, 2)), np.ones(1), 0.9)
    t = replace(
        Selection(every=3)(whole((7,))),
        observations=np.zeros((3, 1)),
        next_observations=np.zeros((3, 1)),
        final_observations=None,
        actions=np.array([[0], [1], [0]]),
    )
    weights = parse_eta("geometric:0.5").weights(0.9, 7)
    found = empirical_mu(t, mdp, parse_eta("geometric:0.5")).values
    assert found[0] == pytest.approx([weights[:3].sum() + weights[6], weights[3:6].sum()])


def test_what_a_quarter_earned_is_known_where_no_row_straddles_it():
    t = limit_cycle(np.random.default_rng(0), 2, 40).trajectories
    for every, known in ((5, True), (10, True), (4, False)):
        thinned = Selection(every=every)(t)
        assert earned(thinned, 40) == pytest.approx(earned(t, 40), rel=1e-5)
        if known:
            assert earned(thinned, 40, 1) == pytest.approx(earned(t, 40, 1), rel=1e-4)
        else:
            assert earned(thinned, 40, 1) is None


def test_a_file_keeps_the_spans(assert_same, demos, tmp_path):
    thin = Demos.of(Selection(every=7)(demos.trajectories), demos.spec)
    save_demos(thin, tmp_path / "thin.npz")
    again = load_demos(tmp_path / "thin.npz").trajectories
    assert_same(thin.trajectories, again)
    assert np.array_equal(again.spans, thin.trajectories.spans)
    assert np.array_equal(again.next_observations, thin.trajectories.next_observations)
    with pytest.raises(InputError, match="Minari has no field for thinned demonstrations"):
        save_demos(thin, "minari:thin/walk-v0")


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ([5, 0], r"spans\[1\] is 0: a row stands for 1 to 1,000,000 steps"),
        ([5, 2**62], r"spans\[1\] is 4611686018427387904: a row"),
        ([999_999, 2], "the spans of episode 0 sum to 1,000,001 steps; the longest"),
        ([1.0, 2.0], "spans must be integer, it is float64"),
        ([1, 2, 3], "spans has 3 steps, observations has 2"),
        ([[1, 2]], "spans must have 1 dimensions"),
    ],
)
def test_spans_of_a_file_are_checked(tmp_path, spans, said):
    file = tmp_path / "mine.npz"
    arrays = {
        "observations": np.zeros((2, 3)),
        "actions": np.zeros((2, 1)),
        "terminals": np.zeros(2, bool),
        "timeouts": np.array([False, True]),
        "episode_lengths": np.array([2]),
    }
    np.savez(file, **arrays, spans=np.array(spans))
    with pytest.raises(InputError, match=said):
        read_npz(file)
    np.savez(file, **arrays, spans=np.array([900_000, 1]))
    with pytest.raises(InputError, match="all steps that its rows stand for would take"):
        read_npz(file, max_bytes=10_000_000)
    arrays |= {"next_observations": np.zeros((2, 2), np.float32)}
    np.savez(file, **arrays)
    assert read_npz(file)[0].spans is None  # where all steps are there, what follows is known
    np.savez(file, **arrays, spans=np.array([1, 2]))
    with pytest.raises(InputError, match="next_observations has 2 observation columns"):
        read_npz(file)


def test_info_says_what_thinned_demonstrations_cannot_tell(tmp_path, capsys):
    demos = limit_cycle(np.random.default_rng(0), 6, 200)
    found = inspect(Demos.of(Selection(every=8)(demos.trajectories), demos.spec))
    assert (found.steps, found.thinned_from, found.length.mean) == (150, 1200, 200)
    assert found.cycle is None
    assert found.mixing_time is None
    assert found.advice.reason.startswith("steps were dropped, so that no rhythm can be measured")
    assert found.warnings == []
    file = str(tmp_path / "circle.npz")
    save_demos(demos, file)
    assert main(["demos", "info", file, "--every", "8"]) == 0
    said = capsys.readouterr().out
    assert "6 with 150 of 1200 steps" in said
    assert "unknown: steps were dropped, and a short cycle would look like a longer one" in said
    assert main(["demos", "import", file, "-o", file[:-4] + "-8.npz", "--every", "8"]) == 0
    assert "6 episodes, 150 of 1200 steps → " in capsys.readouterr().out


def test_a_generator_of_futures_needs_all_steps():
    t = Selection(every=5)(limit_cycle(np.random.default_rng(0), 6, 40).trajectories)
    with pytest.raises(InputError, match="these demonstrations are thinned"):
        train_generator(IdleConfig(), FutureSampler(parse_eta("geometric:0.7")), t)
    with pytest.raises(InputError, match="give their spans, too"):
        replace(t, spans=None)
