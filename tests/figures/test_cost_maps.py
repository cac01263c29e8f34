"""Heat maps: every panel has its own grid the right way up, all of them the same colours."""

import numpy as np
import pytest
from matplotlib.patches import Circle

from etairl.figures.cost_maps import cost_maps_figure
from etairl.figures.save import save_figure
from etairl.tasks.navigation_world import LakeWorld


def test_panels_and_colours(rng, tmp_path):
    targets = {"left": (-9.0, 0.0), "right": (9.0, 0.0), "top": (0.0, 9.0), "low": (0.0, -9.0)}
    costs = rng.normal(size=(4, 20, 20))
    costs[:, 0, 0] = np.nan
    figure = cost_maps_figure(targets, costs, "a cost")
    save_figure(figure, tmp_path / "maps.png")  # the colour bar is complete once it is drawn
    shown = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in shown] == list(targets)
    pictures = [axes.images[0] for axes in shown]
    for axes, picture, cost, place in zip(shown, pictures, costs, targets.values(), strict=True):
        assert np.array_equal(np.isnan(cost), np.ma.getmaskarray(picture.get_array()))
        assert picture.get_array().compressed() == pytest.approx(cost[~np.isnan(cost)])
        assert picture.origin == "lower"
        assert picture.get_extent() == [-10, 10, -10, 10]
        assert axes.lines[0].get_xydata() == pytest.approx(np.array([place]))
        circles = [patch for patch in axes.patches if isinstance(patch, Circle)]
        assert [(*c.center, c.radius) for c in circles] == list(LakeWorld().lakes)
    assert len({picture.get_clim() for picture in pictures}) == 1
    low, high = pictures[0].get_clim()
    assert low == pytest.approx(np.nanpercentile(costs, 1))
    assert high == pytest.approx(np.nanpercentile(costs, 99))
    bright, dark = (np.sum(pictures[0].cmap(pictures[0].norm(v))[:3]) for v in (low, high))
    assert bright > dark
    assert figure.get_suptitle() == "a cost"
    assert [axes.get_ylabel() for axes in figure.axes][-1] == "cost, bright is low"
