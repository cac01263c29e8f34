"""Why cells of a table are empty."""

import pytest

from etairl.cli.evaluate import no_rewards


@pytest.mark.parametrize(
    ("scores", "ending"), [([None, None], "there are no scores."), ([0.9, None], "beside them.")]
)
def test_demonstrations_without_rewards_are_said_to_have_none(scores, ending):
    said = no_rewards(scores)
    assert said.startswith("The demonstrations have no rewards")
    assert said.endswith(ending)
