"""Sampled futures: every panel shows its own walk, on the map or in space."""

import numpy as np
import pytest
from matplotlib.patches import Circle

from etairl.figures.sampled_futures import Walk, futures_figure
from etairl.figures.save import save_figure
from etairl.tasks.navigation_world import LakeWorld
from etairl.types import InputError


def made_up(rng, dim, scale=1.0, title="a walk"):
    path = scale * np.cumsum(rng.normal(0.0, 0.3, (20, dim)), axis=0) + 1.0
    near = np.repeat(path, 10, axis=0) + rng.normal(0.0, 0.3 * scale, (200, dim))
    return Walk(path, path[-1] + 0.1 * scale, near, title)


def lines(axes):
    """What was drawn, by its label."""
    found = {line.get_label(): line for line in axes.lines}
    assert list(found) == ["sampled", "expert", "start", "target"]
    return found


def test_places_on_the_map(rng):
    walks = [made_up(rng, 2, title=f"target {i}") for i in range(4)]
    figure = futures_figure(walks, LakeWorld())
    assert [axes.get_title() for axes in figure.axes] == [walk.title for walk in walks]
    for axes, walk in zip(figure.axes, walks, strict=True):
        drawn = lines(axes)
        assert drawn["expert"].get_xydata() == pytest.approx(walk.path)
        assert drawn["sampled"].get_xydata() == pytest.approx(walk.samples)
        assert drawn["start"].get_xydata() == pytest.approx(walk.path[:1])
        assert drawn["target"].get_xydata() == pytest.approx(walk.target[None])
        looks = [(drawn[k].get_marker(), drawn[k].get_linestyle()) for k in drawn]
        # Both ends are told apart by their shapes, too.
        assert looks == [("^", "None"), ("None", "-"), ("o", "None"), ("s", "None")]
        circles = [patch for patch in axes.patches if isinstance(patch, Circle)]
        assert [(*c.center, c.radius) for c in circles] == list(LakeWorld().lakes)
        assert axes.get_xlim() == (-10.0, 10.0)
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words == ["sampled", "expert", "start", "target"]
    assert not futures_figure(walks[:1]).axes[0].patches  # no world, no lakes


def test_places_in_space_are_in_centimetres_from_the_start(rng, tmp_path):
    walk = made_up(rng, 3, scale=0.02)
    figure = futures_figure([walk])
    (axes,) = figure.axes
    drawn = lines(axes)
    shown = {name: np.stack(line.get_data_3d(), axis=1) for name, line in drawn.items()}
    assert shown["expert"] == pytest.approx(100 * (walk.path - walk.path[0]))
    assert shown["sampled"] == pytest.approx(100 * (walk.samples - walk.path[0]))
    assert shown["start"] == pytest.approx(np.zeros((1, 3)))
    assert shown["target"] == pytest.approx(100 * (walk.target - walk.path[0])[None])
    assert (axes.get_xlabel(), axes.get_zlabel()) == ("x [cm]", "z [cm]")
    save_figure(figure, tmp_path / "space.png")
    assert (tmp_path / "space.png").stat().st_size > 10_000


def test_what_cannot_be_drawn(rng):
    with pytest.raises(InputError, match="no walks to draw"):
        futures_figure([])
    with pytest.raises(InputError, match=r"places of 2 or 3 numbers can be drawn, .* have 4"):
        futures_figure([made_up(rng, 4)])
    with pytest.raises(InputError, match="places have 2, 3 numbers"):
        futures_figure([made_up(rng, 2), made_up(rng, 3)])
    with pytest.raises(InputError, match="do not lie on a map"):
        futures_figure([made_up(rng, 3)], LakeWorld())
