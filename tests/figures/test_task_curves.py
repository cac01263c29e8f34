"""Figures of many tasks: means, bands and dots are those of the seeds."""

import numpy as np
import pytest

from etairl.figures.save import save_figure
from etairl.figures.task_curves import bars_figure, curves_figure


def test_curves_are_means_and_bands_of_seeds(tmp_path):
    at = np.array([1e5, 2e5, 3e5])
    one, two = np.stack([at, [1.0, 0.5, 0.2]], axis=1), np.stack([at, [0.8, 0.7, 0.0]], axis=1)
    short = np.array([[1e5, 0.4], [2e5, 0.2]])
    panels = {"here": {"A": [one, two], "B": [two, short]}, "there": {"B": [one]}}
    figure = curves_figure(panels)
    here, there = figure.axes
    a, b = ({line.get_label(): line for line in here.lines}[name] for name in "AB")
    assert a.get_xydata() == pytest.approx(np.array([[0.1, 0.9], [0.2, 0.6], [0.3, 0.1]]))
    assert b.get_xydata() == pytest.approx(np.array([[0.1, 0.6], [0.2, 0.45]]))  # as far as both
    corners = here.collections[0].get_paths()[0].vertices
    assert {(x, y) for x, y in corners.round(6).tolist()} == {
        *((0.1, 0.8), (0.2, 0.5), (0.3, 0.0), (0.1, 1.0), (0.2, 0.7), (0.3, 0.2))
    }
    levels = {line.get_label(): line.get_ydata()[0] for line in here.lines}
    assert (levels["expert"], levels["random"]) == (1.0, 0.0)
    assert there.lines[0].get_color() == b.get_color() != a.get_color()
    assert [here.get_title(), there.get_title()] == ["here", "there"]
    (legend,) = figure.legends
    assert {t.get_text() for t in legend.get_texts()} == {"A", "B", "expert", "random"}
    save_figure(figure, tmp_path / "curves.png")


@pytest.mark.parametrize("what", ["score", "success"])
def test_bars_are_means_and_dots_are_seeds(what):
    values = {
        "GAIL": {"learned": [0.5, 0.7], "all tasks": [0.9, 0.7]},
        "cloning": {"learned": [0.2]},
    }
    (axes,) = bars_figure({"here": values}, what).axes
    middles = [bar.get_x() + 0.5 * bar.get_width() for bar in axes.patches]
    assert middles == pytest.approx([-0.2, 0.8, 0.2])
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([0.6, 0.2, 0.8])
    dots = [line.get_xydata() for line in axes.lines if line.get_marker() == "."]
    assert np.concatenate(dots) == pytest.approx(
        np.array([[-0.2, 0.5], [-0.2, 0.7], [0.8, 0.2], [0.2, 0.9], [0.2, 0.7]])
    )
    assert [t.get_text() for t in axes.get_xticklabels()] == ["GAIL", "cloning"]
    labels = {line.get_label() for line in axes.lines}
    assert ("expert" in labels) == (what == "score")
