"""The map of navigation: lakes where they are, and every walk from its start to its target."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.patches import Circle

from etairl.demos import load_demos
from etairl.figures.lake_map import navigation_figure
from etairl.tasks.navigation_world import LakeWorld
from etairl.types import InputError


def test_the_map_and_the_walks():
    walks = load_demos("etairl-Navigation-v0-300x50").trajectories.take(np.arange(3))
    (axes,) = navigation_figure(walks).axes
    circles = [patch for patch in axes.patches if isinstance(patch, Circle)]
    assert [(*c.center, c.radius) for c in circles] == list(LakeWorld().lakes)
    lines = [line.get_xydata() for line in axes.lines]
    assert len(lines) == 9  # path, start and target of each
    for i in range(3):
        path, start, target = lines[3 * i : 3 * i + 3]
        assert start[0] == pytest.approx(path[0])
        assert target[0] == pytest.approx(walks.tasks[i])
        assert np.hypot(*(path[-1] - target[0])) < 1.0


def test_walks_without_targets():
    walks = load_demos("etairl-Navigation-v0-300x50").trajectories.take(np.arange(2))
    with pytest.raises(InputError, match="walks without tasks"):
        navigation_figure(replace(walks, tasks=None))
