import numpy as np
import pytest

from etairl.figures.solver_curves import SolverPanel, pay_early_figure


def test_one_line_per_solver_and_seed_between_the_two_values():
    curves = {"sac": np.full((3, 5), 0.79), "sac-eta": np.full((3, 5), 0.51)}
    panels = [SolverPanel("a", curves, 320, 0.8, 0.5), SolverPanel("b", curves, 10, 1.5, 1.4375)]
    left, right = pay_early_figure(panels).axes
    assert [text.get_text() for text in left.texts] == ["γ-optimal: 0.8", "η-optimal: 0.5"]
    assert right.texts[1].get_text() == "η-optimal: 1.438"
    assert left.lines[0].get_xdata().tolist() == [320, 640, 960, 1280, 1600]
    assert [line.get_ydata()[0] for line in left.lines[:6]] == pytest.approx(
        [0.79] * 3 + [0.51] * 3
    )
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["sac", "sac-eta"]
    assert left.get_ylim()[0] < 0.5 < 0.8 < left.get_ylim()[1]
