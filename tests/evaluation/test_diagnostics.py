import math

import numpy as np
import pytest

from etairl.evaluation.diagnostics import LONG, Warnings, collapsed, diagnose

GOOD = {
    "cost/accuracy_learner": 0.8,
    "cost/accuracy_expert": 0.8,
    "cost/gan_loss": 1.0,
    "solver/temperature": 0.1,
    "actions_at_bounds": 0.2,
}
BAD = {
    "discriminator_saturated": {"cost/accuracy_learner": 1.0, "cost/accuracy_expert": 0.995},
    "cost_constant": {"cost/gan_loss": 2 * math.log(2) + 0.001},
    "entropy_collapsed": {"solver/temperature": 1e-6},
    "actions_at_bounds": {"actions_at_bounds": 0.95},
}


def rows(*parts) -> list[dict]:
    flat = [row for row, many in parts for _ in range(many)]
    return [{**row, "cycle": index + 1} for index, row in enumerate(flat)]


@pytest.mark.parametrize("name", BAD)
def test_a_trouble_is_named_once_where_it_has_lasted(name):
    bad = {**GOOD, **BAD[name]}
    assert diagnose(rows((GOOD, 30))) == []
    assert diagnose(rows((GOOD, 5), (bad, LONG - 1), (GOOD, 1), (bad, LONG - 1))) == []
    (found,) = diagnose(rows((GOOD, 5), (bad, 3 * LONG)))
    assert (found.name, found.cycle) == (name, 5 + LONG)
    assert len(found.message) > 40


def test_cycles_without_cost_updates_neither_count_nor_break_a_row():
    between = {"solver/temperature": 0.1, "actions_at_bounds": 0.0}
    assert diagnose(rows((between, 40))) == []
    bad = {**GOOD, **BAD["discriminator_saturated"]}
    (found,) = diagnose(rows(*[(bad, 1), (between, 4)] * LONG))
    assert found.cycle == 5 * (LONG - 1) + 1


def test_a_discriminator_whose_logits_are_standardised_never_saturates():
    bad = {**GOOD, **BAD["discriminator_saturated"], "cost/logit_spread": 2.0}
    assert diagnose(rows((bad, 3 * LONG))) == []


def test_collapsed_share():
    def share(returns, spread=10.0):
        return collapsed([{"return": r, "return_std": spread} for r in returns]).share

    assert share([0, 50, 100, 100]) == 0.0
    # The best gain is 100 from the third cycle on; two of the five counted cycles are below half.
    assert share([0, 50, 100, 40, 10, 90]) == pytest.approx(2 / 5)
    # Shifted into the negative it is the same story.
    assert share([-500, -450, -400, -460, -490, -410]) == pytest.approx(2 / 5)
    assert share([0.0, 1.0, -1.0]) == 0.0
    assert share([5.0]) is None
    # A clone begins where it ends: to lose 4 of 1,780 is no collapse, whatever its spread.
    assert share([1776, 1780, 1776, 1777], spread=1.0) == 0.0


def test_without_a_return_the_distance_tells_of_collapses():
    def rows(distances, right=0.6):
        right = np.broadcast_to(right, len(distances))
        return [
            {
                **{"return": 0.0, "return_std": 0.0, "mmd2_mu": d},
                **{"cost/accuracy_learner": r, "cost/accuracy_expert": 1.0},
            }
            for d, r in zip(distances, right, strict=True)
        ]

    # From 0.5 down to 0.1; at 0.4 and 0.5 more than half of that is lost: 2 of 4 that count.
    found = collapsed(rows([0.5, 0.1, 0.4, 0.5, 0.2]))
    assert (found.share, found.by) == (pytest.approx(2 / 4), "mmd2_mu")
    # Nothing of it, but a discriminator that is never wrong any more in the last one.
    assert collapsed(rows([0.5, 0.1, 0.1, 0.1, 0.1], [1, 0.6, 0.6, 0.6, 1])).share == 1 / 4
    assert collapsed(rows([0.5, 0.49, 0.5])).share == 0.0
    assert collapsed(rows([0.5])).share is None


def test_warnings_row_by_row_are_those_of_the_whole():
    """Told once each, and not those that were there when a run was opened."""
    bad = {**GOOD, "solver/temperature": 1e-6}
    every = rows((GOOD, 3), (bad, 2 * LONG), (GOOD, 2))
    for measured, distance in zip(every[::2], [1.0, 0.5, 0.1, 0.1, 0.1, *[2.0] * 20], strict=False):
        measured["mmd2_mu"] = distance
    whole = diagnose(every)
    assert {warning.name for warning in whole} == {"entropy_collapsed", "collapsed"}
    for known in range(len(every) + 1):
        watch = Warnings(every[:known])
        told = [warning for row in every[known:] for warning in watch.add(row)]
        new = [warning for warning in whole if warning not in diagnose(every[:known])]
        assert sorted(told, key=repr) == sorted(new, key=repr)
