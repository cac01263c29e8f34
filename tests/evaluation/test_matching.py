from itertools import combinations

import numpy as np
import pytest

from etairl.demos import load_demos
from etairl.demos.dataset import Standardiser
from etairl.eta import Geometric
from etairl.evaluation import matching
from etairl.evaluation.floors import Spread, for_few
from etairl.evaluation.matching import MEASURES, Reference, Steps, score
from etairl.evaluation.resampling import Pool, null_scale
from etairl.types import InputError, Trajectories, offsets_of


def episodes(observations, actions, lengths, rewards=None) -> Trajectories:
    offsets = offsets_of(np.asarray(lengths))
    last = np.zeros(len(observations), bool)
    last[offsets[1:] - 1] = True
    return Trajectories(observations, actions, ~last & False, last, offsets, rewards)


def walk(rng, many=6, length=40, shift=0.0, dims=2) -> Trajectories:
    steps = many * length
    observations = rng.normal(size=(steps, dims)) + shift
    actions = rng.uniform(-1, 1, size=(steps, 1))
    return episodes(observations, actions, [length] * many, rng.normal(size=steps))


def gait(rng, many: int, length: int = 60, period: int = 6) -> Trajectories:
    """A limit cycle with a random phase and little noise: neighbours in time are far apart."""
    phase = rng.uniform(0, 2 * np.pi, size=(many, 1)) + 2 * np.pi * np.arange(length) / period
    clean = np.stack([np.cos(phase), np.sin(phase)], axis=-1).reshape(-1, 2)
    noise = 0.1 * rng.normal(size=(many * length, 3))
    return episodes(clean + noise[:, :2], noise[:, 2:], [length] * many)


def offset_walk(rng, many: int) -> Trajectories:
    """Every episode has a place of its own."""
    t = walk(rng, many, 40)
    offsets = np.repeat(rng.normal(size=(many, 2)), 40, axis=0)
    return episodes(t.observations + offsets, t.actions, [40] * many)


def reference(t: Trajectories, spare: Trajectories | None = None) -> Reference:
    return Reference.of(t, Standardiser.of(t.pairs()), *([] if spare is None else [spare]))


def test_weighted_mmd_against_a_sum_over_all_pairs(rng):
    """Every pair of steps from different episodes, weighted with w_n, written out."""
    one, two = walk(rng, 3, 7, 0.4), walk(rng, 4, 7)
    assert MEASURES["mu"] == Geometric(0.99)
    w = np.array([(1 - 0.99 ** (n + 1)) for n in range(7)])  # sum of (1 - k) k^j for j <= n

    def mean(a, b, same):
        total = weight = 0.0
        for i in range(a.steps):
            for j in range(b.steps):
                if same and i // 7 == j // 7:
                    continue
                both = w[i % 7] * w[j % 7]
                difference = a.pairs()[i] - b.pairs()[j]
                total += both * np.exp(-(difference**2).sum() / 3)
                weight += both
        return total / weight

    expected = mean(one, one, True) + mean(two, two, True) - 2 * mean(one, two, False)
    found = Reference.of(two).distances(rng, Steps.of(one))["mu"]
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.error == 0.0


def test_all_steps_by_features_agree_within_their_stated_error(rng, monkeypatch):
    ours, other = reference(walk(rng, 10, 50)), walk(rng, 12, 50, 0.3)
    exact = ours.distances(rng, Steps.of(other))
    monkeypatch.setattr(matching, "EXACT", 100)
    estimated = reference(walk(np.random.default_rng(0), 10, 50)).distances(rng, Steps.of(other))
    looked_at = ours.mmd2(other)
    for name in MEASURES:
        assert estimated[name].error > 0.0
        assert abs(estimated[name].value - exact[name].value) < 4 * estimated[name].error
        # A quarter of the frequencies: twice the error.
        assert abs(looked_at[name] - exact[name].value) < 4 * 2 * estimated[name].error


def test_equal_laws_are_near_zero_and_others_are_not(rng):
    ours = reference(walk(rng, 30, 50))
    same = ours.distances(rng, Steps.of(walk(rng, 30, 50)))["rho"]
    other = ours.distances(rng, Steps.of(walk(rng, 30, 50, 0.5)))["rho"]
    assert same.low < 0.0 < same.high or abs(same.value) < 2 * same.floor
    assert same.p > 0.05
    assert other.low > 5 * same.floor
    assert other.low < other.value < other.high
    assert other.p == pytest.approx(1 / 1001)


def test_rho_does_not_see_the_order_of_steps_and_mu_does(rng):
    """The second half of an episode differs: mu, which weighs late steps more, says so louder."""
    before = walk(rng, 20, 400)
    late = np.where(np.arange(before.steps) % 400 >= 200, 1.0, 0.0)[:, None]
    shifted = episodes(before.observations + late, before.actions, [400] * 20)
    found = reference(walk(rng, 20, 400)).mmd2(shifted)
    assert found["mu"] > 1.3 * found["rho"] > 0


class TestLevel:
    """With the expert's own fresh episodes as a learner, p < 0.05 in 5 % of trials.

    400 trials: the standard deviation is 1.1 %, and 5 % ± 2 % is asked for.
    """

    def test_of_the_test_on_a_gait_of_period_six(self):
        rejected = 0
        for trial in range(400):
            rng = np.random.default_rng([trial, 3])
            ours, fresh = reference(gait(rng, 8, 30)), gait(rng, 12, 30)
            pools, _ = ours.pools(Steps.of(fresh))
            rejected += pools["mu"].p_value(rng, 199) <= 0.05
        assert 0.03 <= rejected / 400 <= 0.07

    @pytest.mark.parametrize(
        ("spare", "sizes"),
        [(0, (6, 8)), pytest.param(14, (6, 8), marks=pytest.mark.slow), (0, (24, 8))],
    )
    def test_of_the_floor(self, spare, sizes):
        """5 % lie above the floor at the same sizes, drawn from spare episodes or scaled.

        200 trials: a standard deviation of 1.5 %, and twice that is allowed.
        """
        above = 0
        for trial in range(200):
            rng = np.random.default_rng([trial, *sizes, spare])
            more = gait(rng, spare, 30) if spare else None
            ours = reference(gait(rng, sizes[1], 30), more)
            pools, _ = ours.pools(Steps.of(gait(rng, sizes[0], 30)))
            floor, by = ours.floor("rho", np.full(sizes[0], 30), sizes[1])
            above += pools["rho"].value() > floor
            assert by.startswith("episodes, ")
            assert ("scaled" in by) == (sum(sizes) > sizes[1] + spare)
        assert 0.02 <= above / 200 <= 0.08


class TestShorterEpisodes:
    """The floor is of the learner's lengths, too: parts of the expert's episodes stand for it."""

    def test_parts_have_the_lengths_of_others_by_rank_and_favour_no_step(self):
        t = episodes(np.arange(60.0)[:, None], np.zeros((60, 1)), [30, 10, 20])
        steps, seen = Steps.of(t), np.zeros(60)
        for seed in range(600):
            parts = steps.parts(np.random.default_rng(seed), np.array([6, 12, 3, 6, 12, 3]))
            assert [part.lengths.tolist() for part in parts] == [[12, 3, 6]] * 2
            assert (np.diff(parts[1].groups) >= 0).all()
            seen[parts[1].pairs[:, 0].astype(int)] += 1
        for rows, share in ((slice(30), 12 / 30), (slice(30, 40), 3 / 10), (slice(40, 60), 6 / 20)):
            # 600 draws: a standard deviation of 0.02, and 60 steps are looked at.
            assert np.abs(seen[rows] / 600 - share).max() < 0.08

    def test_nearly_whole_episodes_stay_whole(self, rng):
        t = walk(rng, 9, 40)
        assert Steps.of(t).parts(rng, np.full(5, 39)) == []
        assert Steps.of(t).parts(rng, np.full(5, 400)) == []  # none gets longer
        assert [len(Steps.of(t).parts(rng, np.full(5, n))) for n in (30, 10, 1)] == [2, 4, 8]
        whole = reference(t).floor("mu", np.full(4, 40), 5)
        assert whole == reference(t).floor("mu", np.full(4, 400), 5)

    @pytest.mark.parametrize("spare", [0, pytest.param(14, marks=pytest.mark.slow)])
    def test_of_one_law_five_percent_are_above_it(self, spare):
        """A gait is the same at all times: fresh short episodes are of the law of the long ones.

        200 trials, as in `TestLevel`: 2 to 8 %. A floor of whole episodes is far too low.
        """
        above = whole = 0
        for trial in range(200):
            rng = np.random.default_rng([trial, 5, spare])
            ours = reference(gait(rng, 8, 60), gait(rng, spare, 60) if spare else None)
            pools, _ = ours.pools(Steps.of(gait(rng, 6, 5)))
            floor, by = ours.floor("rho", np.full(6, 5), 8)
            assert by.endswith("the first as short as the learner's")
            above += pools["rho"].value() > floor
            whole += pools["rho"].value() > ours.floor("rho", np.full(6, 60), 8).value
        assert 0.02 <= above / 200 <= 0.08
        assert whole / 200 > 0.2

    def test_blocks_of_time_are_scaled(self, rng):
        """Half as many blocks of the learner: σ(n·10/2, m·10)/σ(n·10, m·10) times the floor."""
        ours = reference(walk(rng, 3, 100))
        half, whole = (ours.floor("rho", np.full(4, n), 3).value for n in (50, 100))
        assert half / whole == pytest.approx(null_scale(20, 30) / null_scale(40, 30))

    def test_a_fall_is_not_excused(self, rng):
        """Who ends where the expert is only at first is above the floor of short episodes."""
        drift = np.tile(np.linspace(0.0, 3.0, 100), 20)[:, None]
        t = walk(rng, 20, 100)
        ours = reference(episodes(t.observations + drift, t.actions, [100] * 20))
        early = ours.distances(rng, Steps.of(walk(rng, 12, 20)))["rho"]
        assert early.value > 3 * early.floor


@pytest.mark.parametrize("exact", [True, False])
def test_the_floor_of_a_real_gait_is_that_of_all_steps(exact):
    """HalfCheetah, 5 against 5 of ten: within 20 % of 0.0006, written out over all splits.

    A gait of period 6, and every second step of it, gave 0.0165.
    """
    t = load_demos("HalfCheetah-v5-25x500").trajectories.take(np.arange(10))
    pairs = (t.pairs() - t.pairs().mean(axis=0)) / t.pairs().std(axis=0)
    x, w = pairs.astype(np.float32).reshape(10, 500, -1), 1 - 0.99 ** np.arange(1, 501)
    sums = np.zeros((10, 10))
    for i, j in combinations(range(10), 2):
        squares = (x[i] ** 2).sum(axis=1)[:, None] + (x[j] ** 2).sum(axis=1) - 2 * x[i] @ x[j].T
        sums[i, j] = sums[j, i] = w @ np.exp(-squares / x.shape[2]) @ w / w.sum() ** 2
    values = []
    for some in combinations(range(10), 5):
        a, b = list(some), [i for i in range(10) if i not in some]
        inside = sums[np.ix_(a, a)].sum() / 20 + sums[np.ix_(b, b)].sum() / 20
        values.append(inside - 2 * sums[np.ix_(a, b)].mean())
    expected = np.quantile(values, 0.95)
    assert expected == pytest.approx(0.0006, rel=0.05)
    ours = Reference.of(t, Standardiser.of(t.pairs()), exact=exact)
    floor, _ = ours.floor("mu", np.full(5, 500), 5)
    assert expected < floor < 1.2 * expected  # ten episodes: the floor is raised a little


class TestSpread:
    """What the floor is scaled and raised by, beside values that are known."""

    def test_the_variance_of_mmd2_of_two_kinds(self, rng):
        """Groups as points with the kernel x·y, x of covariance diag(4, 1) and y of diag(1, 1).

        40,000 values: a variance of a skewed law is known to some percent.
        """
        n, m, spread = 6, 8, Spread(5.0, 2.0, 16.0 + 1.0, 2.0, 4.0 + 1.0)
        x = rng.normal(size=(40_000, n, 2)) * [2.0, 1.0]
        y = rng.normal(size=(40_000, m, 2))
        sides = [side.sum(axis=1) for side in (x, y)]
        inside = [
            ((total**2).sum(axis=1) - (side**2).sum(axis=(1, 2))) / (k * (k - 1))
            for total, side, k in zip(sides, (x, y), (n, m), strict=True)
        ]
        values = sum(inside) - 2 * (sides[0] * sides[1]).sum(axis=1) / (n * m)
        assert values.var() == pytest.approx(2 * spread.scale(n, m) ** 2, rel=0.06)

    def test_its_moments_are_found(self, rng):
        """300 groups of such points, of different sizes: by their sums, which are all there is."""
        points = rng.normal(size=(600, 2)) * np.repeat([[2.0, 1.0], [1.0, 1.0]], 300, axis=0)
        sizes, of_x = np.full(600, 3.0), np.arange(600) < 300
        summed = (points + 5.0) * sizes[:, None]  # wherever the mean is
        pool = Pool(summed @ summed.T, sizes, of_x, False)
        found = Spread.of(pool, np.arange(600) % 300, of_x, ~of_x)
        # Means of 300 squares: 10 % are about two standard deviations.
        assert found == pytest.approx((5.0, 2.0, 17.0, 2.0, 5.0), rel=0.2)
        assert Spread.of(pool, np.arange(600), ~of_x, ~of_x).scale(7, 5) / found.yy**0.5 == (
            pytest.approx(null_scale(7, 5))
        )

    def test_directions(self):
        """Five alike are five; of eigenvalues 4 and 1 there are 25/17."""
        assert Spread(5.0, 5.0, 5.0, 5.0, 5.0).dimensions(3, 9) == pytest.approx(5.0)
        assert Spread(5.0, 5.0, 17.0, 17.0, 17.0).dimensions(4, 4) == pytest.approx(25 / 17)
        assert Spread(0.0, 0.0, 0.0, 0.0, 0.0).dimensions(4, 4) == 1e6

    def test_few_episodes_raise_a_floor_by_the_tables_of_f(self):
        """F(1, 7) = 5.591, F(4, 28) = 2.714; chi²(1) = 3.841, chi²(4) = 9.488."""
        assert for_few(1, 7) == pytest.approx(4.591 / 2.841, rel=1e-3)
        assert for_few(4, 7) == pytest.approx(1.714 / (9.488 / 4 - 1), rel=1e-3)
        assert for_few(1e6, 7) == pytest.approx(np.sqrt(8 / 7), rel=1e-2)  # both are normal
        assert for_few(3, 1e6) == pytest.approx(1.0, rel=1e-4)


def test_the_floor_of_a_gait_does_not_see_its_rhythm(rng):
    """Of all steps and of a sixth of them, at random: nothing like the aliasing of a stride."""
    many = reference(gait(rng, 20, 120))
    floor, _ = many.floor("rho", np.full(10, 120), 10)
    t = gait(rng, 20, 120)
    every_second = np.flatnonzero(t.times % 2 == 0)
    strided = Steps(t.pairs(every_second), t.episode_numbers[every_second], t.times[every_second])
    aliased, _ = Reference(strided, None, many.scale).floor("rho", np.full(10, 60), 10)
    assert aliased > 2 * floor  # what a stride would have made of it


class TestOneDemonstration:
    """Blocks of time stand for episodes, and are named as such."""

    def test_it_is_compared(self, rng):
        ours = reference(walk(rng, 1, 200))
        same = ours.distances(rng, Steps.of(walk(rng, 5, 200)))["mu"]
        other = ours.distances(rng, Steps.of(walk(rng, 5, 200, 0.5)))["mu"]
        for found in (same, other):
            assert found.floor_by.startswith("blocks of time")
            assert found.floor_by.endswith(": a hint")
            assert found.hinted
            assert found.low <= found.value <= found.high
            assert np.isfinite([found.floor, found.p, found.value, found.low, found.high]).all()
        assert same.value < 2 * same.floor < other.value
        assert other.p < 0.05 < same.p

    def test_more_episodes_of_its_expert_make_a_floor_of_episodes(self):
        """Episodes with an offset of their own: blocks of one are alike, and say too little.

        20 trials of one demonstration against 6 episodes: about one is above the floor.
        """
        above = 0
        for trial in range(20):
            rng = np.random.default_rng([trial, 9])
            played = [offset_walk(rng, many) for many in (1, 6, 12)]
            ours = reference(played[0], played[2])
            found = ours.distances(rng, Steps.of(played[1]))["rho"]
            assert found.floor_by == "episodes, drawn from the demonstrations"
            assert not found.hinted
            above += found.value > found.floor
        assert above <= 5  # 20 of 5 %: more than 5 in 0.03 % of cases

    def test_a_lone_survivor(self, rng):
        """One episode of the learner reaches a window that many of the expert's do."""
        found = reference(walk(rng, 12, 60)).distances(rng, Steps.of(walk(rng, 1, 60)))["rho"]
        assert found.floor_by == "episodes, splits into 1 and 11, scaled to 1 and 12"
        assert found.value < 3 * found.floor

    @pytest.mark.parametrize(("expert", "learner"), [(1, 1), (2, 1), (3, 2), (2, 5), (4, 1)])
    def test_few_of_either_side(self, rng, expert, learner):
        ours = reference(walk(rng, expert, 60))
        found = ours.distances(rng, Steps.of(walk(rng, learner, 60)))
        looked_at = ours.mmd2(walk(rng, learner, 60))
        for name, d in found.items():
            assert d.low <= d.value <= d.high
            assert np.isfinite([d.value, d.low, d.high, d.floor, d.p, looked_at[name]]).all()
            assert d.floor_by.startswith("blocks of time")

    def test_a_single_step_is_refused(self, rng):
        with pytest.raises(InputError, match="2 episodes of either side, or 2 steps"):
            reference(walk(rng, 1, 30)).distances(rng, Steps.of(walk(rng, 1, 1)))


def test_an_interval_holds_its_estimate(rng):
    """Three episodes: a resample of one of them over and over has no pairs, and is left out."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = reference(walk(rng, 3, 20)).distances(rng, Steps.of(walk(rng, 3, 20, 0.1)))
        for d in found.values():
            assert d.low <= d.value <= d.high
            assert d.high - d.low < 0.5


def test_a_window_is_the_steps_of_its_times(rng):
    t = episodes(rng.normal(size=(17, 2)), rng.normal(size=(17, 1)), [10, 3, 4])
    steps = Steps.of(t).window(3, 6)
    assert steps.time.tolist() == [3, 4, 5, 3]
    assert steps.groups.tolist() == [0, 0, 0, 2]
    assert steps.episodes == 2
    assert reference(t).window(3, 6).steps.pairs.tolist() == steps.pairs.tolist()
    assert reference(t).window(10, 20) is None
    # The weight of a step is that of its time in the whole episode, up to a common factor.
    weights = steps.weights()[1] / (1 - 0.99 ** (steps.time + 1))
    assert weights == pytest.approx(weights[0])


def test_unequal_lengths_and_constant_columns(rng):
    """A short episode among long ones counts with its steps; a constant column keeps its unit."""
    lengths = np.array([100, 1, 2, 5, 9, 100, 3])
    x = rng.normal(size=(lengths.sum(), 3))
    x[:, 1] = 7.0
    t = episodes(x, rng.normal(size=(lengths.sum(), 1)), lengths)
    steps = Steps.of(t)
    assert np.bincount(steps.groups).tolist() == lengths.tolist()
    for d in reference(t).distances(rng, steps).values():
        assert np.isfinite([d.value, d.low, d.high, d.floor]).all()


def test_score():
    assert score(100.0, 100.0, -20.0) == 1.0
    assert score(-20.0, 100.0, -20.0) == 0.0
    assert score(220.0, 100.0, -20.0) == 2.0
    with pytest.raises(InputError, match="nothing to scale"):
        score(1.0, 2.0, 2.0)
