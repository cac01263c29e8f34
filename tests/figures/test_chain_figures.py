"""The figures of the criterion: what they say is what was computed, for other numbers too."""

import pytest

from etairl.figures.chain_figures import (
    duality_gap_figure,
    occupancy_curve_figure,
    stay_or_go_figure,
)


def words(axes):
    return " | ".join(text.get_text() for text in axes.texts)


def test_stay_or_go_cross_at_kappa_one_fifth():
    (axes,) = stay_or_go_figure().axes
    stay, go = (line.get_ydata() for line in axes.lines)
    kappas = axes.lines[0].get_xdata()
    assert stay == pytest.approx(0.8)
    assert go == pytest.approx(1 - kappas)
    assert "loses" in words(axes)
    assert axes.get_ylabel() == "criterion $J_η$ (lower is better)"
    assert [line.get_label() for line in axes.lines] == ["always stay, γ-optimal", "go at once"]
    # With gamma .9 staying costs 4: nobody stays, and nothing is lost.
    (axes,) = stay_or_go_figure(0.9).axes
    assert [line.get_label() for line in axes.lines] == ["always stay", "go at once, γ-optimal"]
    assert not axes.texts


def test_the_curve_says_which_policy_its_midpoint_reads_as():
    (axes,) = occupancy_curve_figure().axes
    assert "the midpoint reads as p = 0.8 …" in words(axes)
    curve, chord, _, middle, own = (line.get_xydata() for line in axes.lines)
    assert middle[0] == pytest.approx([1.0, 0.25])
    assert own[0] == pytest.approx([1.1111, 0.2778], abs=5e-5)
    assert chord[[0, -1]] == pytest.approx(curve[[0, -1]])
    # gamma .9: (0, .5) and (10, 0) have the midpoint (5, .25).
    (axes,) = occupancy_curve_figure(0.9, 0.5).axes
    assert f"p = {5 / 5.25:.3g} …" in words(axes)
    assert axes.get_xlim()[1] > 10


def test_the_gap_is_marked():
    left, right = duality_gap_figure().axes
    assert "min max = 0, at p = 0.8, the expert" in words(left)
    assert "max min = −0.111, at w = 0.5" in words(right)
    assert "gap 0.111" in words(right)
    (band,) = left.patches
    assert band.get_extents().height > 0
    left, right = duality_gap_figure(0.5, 0.25).axes
    assert "max min = −0.111" not in words(right)


def test_without_a_lag_there_is_no_gap():
    _, right = duality_gap_figure(0.5, 0.0).axes
    assert "gap 0" in words(right).split(" | ")
