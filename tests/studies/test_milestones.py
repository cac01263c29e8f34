"""When a run had nine tenths of the expert's score; by hand."""

import pytest

from etairl.studies.milestones import Milestone, milestone

RESULT = {
    "remaining": {"score_beside": "expert, drawn"},
    "fresh": [
        {"beside": "demonstrations", "return_mean": 7.0, "score": 0.1},
        {"beside": "expert, drawn", "return_mean": 300.0, "score": 1.0},
        {"beside": "expert, drawn", "return_mean": 200.0, "score": 0.5},
    ],
}
"""a random policy returns 100, the expert 300"""


def rows(*returns: float) -> list[dict]:
    return [
        {"cycle": n, "transitions": 10 * n, "return": value}
        for n, value in enumerate(returns, start=1)
    ]


def test_the_mean_of_five_cycles_counts_and_what_is_lost_afterwards():
    # Scores 1, 0, 1, 1, 1, 1, 1, .25, 1: the mean of five is 1 in the seventh cycle.
    played = rows(300, 100, 300, 300, 300, 300, 300, 150, 300)
    seconds = {n: 2.0 for n in range(1, 10)}
    assert milestone(played, RESULT, seconds) == Milestone(7, 70, 14.0, 0.5)
    assert milestone(played, RESULT, {1: 2.0}) == Milestone(7, 70, None, 0.5)
    assert milestone(played[:7], RESULT) == Milestone(7, 70, None, 0.0)


@pytest.mark.parametrize("played", [rows(300, 300), rows(*[270] * 20)])
def test_never(played):
    assert milestone(played, RESULT) is None


def test_without_two_known_scores_nothing_can_be_told():
    one = RESULT | {"fresh": RESULT["fresh"][:2]}
    assert milestone(rows(*[300] * 9), one) is None
    assert milestone(rows(*[300] * 9), {"remaining": {}}) is None


def test_many_tasks_have_scores_of_their_own():
    played = [row | {"score": 0.95} for row in rows(*[0] * 6)]
    assert milestone(played, RESULT) == Milestone(5, 50, None, 0.0)
