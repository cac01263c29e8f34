import math

import pytest

from etairl.evaluation.diagnostics import LONG, collapsed_share, diagnose

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


def test_collapsed_share():
    def share(returns, spread=10.0):
        return collapsed_share([{"return": r, "return_std": spread} for r in returns])

    assert share([0, 50, 100, 100]) == 0.0
    # The best gain is 100 from the third cycle on; two of the five counted cycles are below half.
    assert share([0, 50, 100, 40, 10, 90]) == pytest.approx(2 / 5)
    # Shifted into the negative it is the same story.
    assert share([-500, -450, -400, -460, -490, -410]) == pytest.approx(2 / 5)
    assert share([0.0, 1.0, -1.0]) == 0.0
    assert share([5.0]) == 0.0
