"""The simplex, sets of weights and the penalty of MEGAN, against numbers worked out by hand."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from etairl.penalties import GAN, Ball, Simplex, jensen_shannon, surrogate_step
from etairl.simplex import finite_log, project_simplex
from etairl.types import InputError


def near(values, rel=1e-12, abs=1e-14):
    return pytest.approx(np.asarray(values), rel=rel, abs=abs)


def projected(x: np.ndarray) -> np.ndarray:
    """By the root in theta of sum (x - theta)_+ = 1: no sorting."""
    over = lambda theta: np.maximum(x - theta, 0.0).sum() - 1.0  # noqa: E731
    theta = brentq(over, x.min() - 2.0, x.max(), xtol=1e-15, rtol=1e-15)
    return np.maximum(x - theta, 0.0)


class TestProjection:
    @pytest.mark.parametrize(
        ("x", "nearest"),
        [
            ([0.6, 0.6, -1.0], [0.5, 0.5, 0.0]),
            ([0.5, 0.4, -3.0], [0.55, 0.45, 0.0]),
            ([5.0, 1.0, 0.5], [1.0, 0.0, 0.0]),
            ([-4.0, -4.0, -4.0, -4.0], [0.25, 0.25, 0.25, 0.25]),
            ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
            ([1.0, 0.0], [1.0, 0.0]),
            ([1e17, 0.0], [1.0, 0.0]),  # beside which the 1 would be lost
            ([7.0], [1.0]),
        ],
    )
    def test_by_hand(self, x, nearest):
        assert project_simplex(np.array(x)) == near(nearest)

    def test_each_row_of_many_axes_is_projected_by_itself(self, rng):
        x = rng.normal(size=(2, 3, 4), scale=[[[0.1]], [[2.0]]])
        found = project_simplex(x)
        assert found.shape == x.shape
        for row, here in zip(x.reshape(-1, 4), found.reshape(-1, 4), strict=True):
            assert here == near(projected(row), abs=1e-9)

    def test_the_type_stays(self):
        assert project_simplex(np.array([0.3, 0.1], np.float32)).dtype == np.float32


def test_the_logarithm_of_nothing_is_nothing():
    x = np.array([0.0, 0.25, 1.0, math.e])
    assert finite_log(np, x) == near([0.0, -2.0 * math.log(2.0), 0.0, 1.0])


class TestBall:
    def test_the_maximum(self):
        value, weights = Ball(2.0).maximum(np.array([3.0, -4.0]))
        assert float(value) == pytest.approx(10.0)
        assert weights == near([1.2, -1.6])
        value, weights = Ball(2.0).maximum(np.array([3e-9, -4e-9]), np.array([9.0, 9.0]))
        assert float(value) == pytest.approx(1e-8)
        assert weights == near([1.2, -1.6])

    def test_at_zero_every_weight_is_best_and_the_last_is_kept(self):
        zero = np.zeros(2)
        value, weights = Ball(2.0).maximum(zero, np.array([0.5, 0.25]))
        assert float(value) == 0.0
        assert weights.tolist() == [0.5, 0.25]
        assert Ball(2.0).maximum(zero)[1].tolist() == [0.0, 0.0]

    @pytest.mark.parametrize(
        ("x", "nearest"),
        [
            ([3.0, 4.0], [1.2, 1.6]),
            ([0.3, 0.4], [0.3, 0.4]),
            ([1.2, -1.6], [1.2, -1.6]),
            ([0.0, 0.0], [0.0, 0.0]),
        ],
    )
    def test_the_nearest_point(self, x, nearest):
        assert Ball(2.0).project(np.array(x)) == near(nearest)

    def test_a_step_uphill_ends_in_the_ball(self):
        ball, here, slope = Ball(2.0), np.array([1.0, 0.0]), np.array([0.0, 0.5])
        assert ball.ascend(here, slope, 0.5) == near([1.0, 0.25])
        assert ball.ascend(here, slope, 4.0) == near(2.0 * np.array([1.0, 2.0]) / math.sqrt(5.0))

    def test_what_is_outside_is_refused_beyond_rounding(self):
        Ball(2.0).check(np.array([1.2, 1.6]) * 1.0008)
        Ball(2.0).check(np.array([2.0 * (1.0 + 1e-3)]))
        for share in (1.0012, 1.0018, 5.0):
            with pytest.raises(InputError, match="norm of the weights"):
                Ball(2.0).check(np.array([1.2, 1.6]) * share)

    def test_a_radius(self):
        assert Ball().radius == 1.0
        assert Ball(0.5).radius == 0.5
        for radius in (0.0, -1.0, math.inf, math.nan):
            with pytest.raises(InputError, match="positive radius"):
                Ball(radius)


class TestSimplex:
    @pytest.mark.parametrize("previous", [None, np.array([0.1, 0.2, 0.7])])
    def test_the_maximum_is_at_a_vertex_the_first_of_several(self, previous):
        for delta, best in (([1.0, 3.0, 2.0], 1), ([-5.0, -3.0, -3.0], 1), ([2.0, 2.0, 1.0], 0)):
            value, weights = Simplex().maximum(np.array(delta), previous)
            assert float(value) == delta[best]
            assert weights.tolist() == np.eye(3)[best].tolist()

    def test_of_equal_ones_the_last_weights_are_kept(self):
        delta, last = np.full(3, -2.0), np.array([0.1, 0.2, 0.7])
        value, weights = Simplex().maximum(delta, last)
        assert float(value) == -2.0
        assert weights.tolist() == last.tolist()
        assert Simplex().maximum(delta)[1].tolist() == [1.0, 0.0, 0.0]

    def test_the_nearest_point(self):
        assert Simplex().project(np.array([0.6, 0.6, -1.0])) == near([0.5, 0.5, 0.0])

    def test_weights_grow_in_proportion(self):
        weights, delta = np.array([0.2, 0.3, 0.5]), np.array([1.0, -1.0, 0.5])
        grown = weights * np.array([math.exp(2.0), math.exp(-2.0), math.exp(1.0)])
        assert Simplex().ascend(weights, delta, 2.0) == near(grown / grown.sum())

    def test_what_is_zero_grows_from_a_ten_thousandth_of_an_even_weight(self):
        found = Simplex().ascend(np.array([0.0, 1.0]), np.array([1.0, 0.0]), 3.0)
        least = 5e-5 * math.exp(3.0)
        assert found == near([least / (least + 1.0), 1.0 / (least + 1.0)])
        far = Simplex().ascend(np.array([0.5, 0.5]), np.array([1e6, 0.0]), 1.0)
        assert far.tolist() == [1.0, 0.0]  # no overflow

    def test_what_is_outside_is_refused_beyond_rounding(self):
        Simplex().check(np.array([0.3, 0.7]))
        Simplex().check(np.array([-0.0008, 1.0008]))
        Simplex().check(np.array([-1e-3, 1.0 + 1e-3]))
        for total in (0.9992, 1.0008):
            Simplex().check(np.array([0.4, 0.6]) * total)
        for wrong in ([-0.0012, 1.0012], [0.4, 0.6012], [0.4, 0.5988], [0.0, 0.5], [-1.0, 2.0]):
            with pytest.raises(InputError, match="simplex"):
                Simplex().check(np.array(wrong))


def test_a_step_of_the_surrogate():
    """w = (.2, .3), difference (1, 2): their product is .8, the slope 2 (.8 - 1) (1, 2)."""
    weights, delta = np.array([0.2, 0.3]), np.array([1.0, 2.0])
    assert surrogate_step(weights, delta, 1.0, 0.1, None) == near([0.24, 0.38])
    inside = surrogate_step(weights, delta, 1.0, 0.1, Ball(0.1))
    assert inside == near(np.array([0.24, 0.38]) / math.hypot(2.4, 3.8))


class TestGAN:
    def test_its_penalty(self):
        cost, expert = np.array([-1.0, -2.0, 0.5, 0.0]), np.array([0.3, 0.7, 0.0, 0.0])
        g = [1.0 - math.log(1.0 - math.exp(-1.0)), 2.0 - math.log(1.0 - math.exp(-2.0))]
        assert float(GAN().penalty(cost, expert)) == pytest.approx(0.3 * g[0] + 0.7 * g[1])
        for bad in (0.0, 0.5):
            assert float(GAN().penalty(np.array([-1.0, bad]), np.array([0.5, 0.5]))) == math.inf

    def test_its_discriminator(self):
        own, expert = np.array([0.2, 0.0, 0.0, 3.0]), np.array([0.3, 0.5, 0.0, 0.0])
        assert GAN().discriminator(own, expert) == near([0.4, 0.0, 0.5, 1.0])

    def test_its_maximum(self):
        own, expert = np.array([0.2, 0.0, 0.8]), np.array([0.3, 0.5, 0.2])
        value, cost = GAN().maximum(own, expert)
        by_hand = 0.2 * math.log(0.4) + 0.8 * math.log(0.8) + 0.3 * math.log(0.6)
        assert float(value) == pytest.approx(by_hand + 0.2 * math.log(0.2))
        assert cost == near([math.log(0.4), math.log(1e-12), math.log(0.8)])
        assert GAN(floor=0.5).maximum(own, expert)[1] == near(np.log([0.5, 0.5, 0.8]))

    def test_the_best_cost_gives_its_maximum(self, rng):
        own, expert = rng.dirichlet(np.ones(5), size=2)
        value, cost = GAN().maximum(own, expert)
        game = (own - expert) @ cost - float(GAN().penalty(cost, expert))
        assert game == pytest.approx(float(value))
        js = float(jensen_shannon(own, expert))
        assert float(value) == pytest.approx(2.0 * js - math.log(4.0))


def test_the_divergence_of_jensen_and_shannon():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5])
    own = math.log(0.5 / 0.375)
    other = 0.5 * math.log(0.25 / 0.375) + 0.5 * math.log(0.5 / 0.25)
    assert float(jensen_shannon(p, q)) == pytest.approx(0.5 * (own + other))
    assert float(jensen_shannon(p, p)) == 0.0
    assert float(jensen_shannon(np.eye(2)[0], np.eye(2)[1])) == pytest.approx(math.log(2.0))
