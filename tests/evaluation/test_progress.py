"""What a run decides about itself, by rows of metrics that are made up: none has a reward."""

import pytest

from etairl.evaluation.diagnostics import diagnose
from etairl.evaluation.progress import Progress

DOWN = [0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.02, 0.02]


def rows(values, **columns) -> list[dict]:
    """Measured in every second cycle."""
    found = []
    for number, value in enumerate(values):
        found += [{"cycle": 2 * number + 1}, {"cycle": 2 * number + 2, "mmd2_mu": value}]
        found[-1] |= {f"watched/{name}": column[number] for name, column in columns.items()}
    return found


def back_after(rows: list[dict], number: int) -> list[dict]:
    rows[2 * number + 1]["recovered"] = 1
    return rows


def of(values, **columns) -> Progress:
    return Progress.of(rows(values, **columns))


def test_a_score_is_the_mean_of_three_or_the_newest():
    scores = [m.score for m in of([0.3, 0.2, 0.1, 0.3, 0.2]).measured]
    assert scores[:2] == [float("inf")] * 2
    assert scores[2:] == pytest.approx([0.2, 0.3, 0.2])


def test_a_lucky_cycle_is_not_the_best_and_neither_is_the_first_bad_one():
    best = of([0.4, 0.3, 0.3, 0.01, 0.3, 0.1, 0.1, 0.1, 0.3]).best
    assert best is not None
    assert best.cycle == 16
    assert of([0.01, 0.02]).best is None


def test_what_was_held_out_counts_where_there_is_any():
    best = of([0.1, 0.2, 0.3, 0.4, 0.5], mmd2_mu=[0.5, 0.4, 0.3, 0.2, 0.1]).best
    assert best is not None
    assert best.cycle == 10


def test_patience_waits_for_an_improvement_of_a_twentieth():
    level = [0.4, 0.3, 0.2, 0.2, 0.199, 0.201, 0.198, 0.2]
    assert of(level).stop(None) is None
    # The score still falls in the fifth, when 0.3 has left the mean; then there is nothing.
    found = [of(level[:many]).stop(3) for many in range(1, 9)]
    assert found == [None] * 7 + ["patience"]
    falling = [0.4 * 0.97**n for n in range(60)]
    assert all(of(falling[:many]).stop(3) is None for many in range(60))


def test_as_near_as_the_expert_to_itself():
    values = [*DOWN, 0.001, 0.001, 0.001, 0.002, -0.001, 0.001]
    found = [of(values[:n], floor=[0.004] * n).stop(3) for n in range(1, 15)]
    assert found == [None] * 12 + ["matches"] * 2
    assert of(values).stop(6) is None  # without a floor nobody can tell
    assert of([-0.01] * 8).stop(6) is None


def test_a_collapse_lasts_three_measurements():
    far = 0.25
    assert of([*DOWN, far, far, 0.02, far, far]).collapses == []
    found = of([*DOWN, far, far, far, far, far])
    assert found.collapses == [len(DOWN) + 2]
    assert sum(m.fallen for m in found.measured) == 5
    # Less than half of the way back, or little more than the best, is none.
    assert of([*DOWN, 0.2, 0.2, 0.2]).collapses == []
    clone = [0.032, 0.031, 0.032, 0.030, 0.032]
    assert of([*clone, 0.059, 0.059, 0.059]).collapses == []
    assert of([*clone, 0.079, 0.081, 0.080]).collapses == [7]
    assert of([*clone, 0.079, 0.081, 0.080], floor=[0.05] * 8).collapses == []
    assert of([-0.01, 0.0, -0.01, 0.03, 0.03, 0.03]).collapses == []  # as near as can be


def test_episodes_that_end_early_again_are_a_collapse():
    near = [0.05, 0.04, 0.03, 0.02, 0.02, 0.03, 0.03, 0.03]
    assert of(near, length_gap=[0.9, 0.5, 0.1, 0.0, 0.0, 0.8, 0.8, 0.8]).collapses == [7]
    assert of(near, length_gap=[0.9, 0.5, 0.1, 0.0, 0.0, 0.3, 0.3, 0.3]).collapses == []
    assert of(near, length_gap=[0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1]).collapses == []


def test_shorter_episodes_that_are_nearer_are_none():
    """As measured of Hopper: first it learned to stand, and then to hop and fall."""
    values = [0.41, 0.21, 0.22, 0.21, 0.31, 0.42, 0.49, 0.42, 0.32, 0.17, 0.16, 0.15, 0.14, 0.12]
    gaps = [0.93, 0.71, 0.72, 0.71, 0.43, 0.13, 0.04, 0.18, 0.24, 0.58, 0.61, 0.66, 0.67, 0.65]
    assert of(values, length_gap=gaps).collapses == []


def test_after_a_recovery_all_is_counted_anew():
    far = [0.3] * 3
    again = back_after(rows([*DOWN, *far, 0.03, 0.03, 0.03, *far]), len(DOWN) + 2)
    found = Progress.of(again)
    assert found.collapses == [len(DOWN) + 2, len(DOWN) + 8]
    assert found.recoveries == 1
    assert [m.score for m in found.measured[11:13]] == [float("inf")] * 2
    assert found.measured[13].score == pytest.approx(0.03)
    # Patience, too: of four measurements since the best score only those after it count.
    assert Progress.of(again[:28]).stop(4) is None
    assert Progress.of(rows([*DOWN, *far, 0.03, 0.03, 0.03])).stop(4) == "patience"


def test_every_collapse_is_said_with_where_it_goes_back_to():
    far = [0.3] * 3
    said = diagnose(back_after(rows([*DOWN, *far, 0.02, 0.02, 0.02, *far]), len(DOWN) + 2))
    assert [(d.name, d.cycle) for d in said] == [("collapsed", 22), ("collapsed", 34)]
    assert "far behind cycle 16; back to the policy that played then" in said[0].message
    assert "--recover" in said[1].message
