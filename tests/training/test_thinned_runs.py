"""Runs that learn from every tenth step of their demonstrations."""

import json

import numpy as np
import pytest
import tiny

import etairl
from etairl.cli.app import main
from etairl.demos import Selection, load_demos
from etairl.training.flat import configure
from etairl.training.preparation import prepare
from etairl.types import InputError

THIN = configure(tiny.TINY, every=10, transitions=500, remaining_cycles=2)
DEMOS = load_demos(THIN.demos, select=Selection(5, 50)).trajectories
pytestmark = pytest.mark.usefixtures("unchecked")  # as users run it


def test_a_run_learns_from_every_tenth_step_and_is_compared_with_it(tmp_path, capsys):
    result = etairl.train(THIN, tmp_path / "run")
    shown = result.demonstrations
    assert shown.lengths.tolist() == [5] * 5
    assert shown.durations.tolist() == [50] * 5
    assert np.array_equal(shown.observations, DEMOS.observations[::10])
    assert result.metrics["expert_return"] == pytest.approx(DEMOS.returns.mean(), rel=1e-5)
    assert np.isfinite(result.metrics["remaining"]["mmd2_mu"]["value"])
    assert main(["evaluate", str(result.path), "--episodes=3", "--no-cloning", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["length"] == 50
    expert = next(row for row in rows if row["name"] == "expert" and row["playing"] == "greedy")
    assert expert["score"] == pytest.approx(1.0, abs=0.5)
    # Quarters begin at 12, 25 and 38, in the middle of what a row stands for.
    assert all(quarter["score"] is None for quarter in rows[0]["timeline"]["quarters"])


@pytest.mark.parametrize(
    "settings", [{"inputs": "state_next_state"}, {"algorithm": "airl"}, {"algorithm": "iq"}]
)
def test_what_followed_a_step_is_known_to_costs_of_next_states(settings):
    prepared = prepare(configure(THIN, **settings))
    assert prepared.game.cost.needs_next
    seen = prepared.expert.transitions()
    kept = np.flatnonzero(DEMOS.times % 10 == 0)
    assert np.array_equal(seen.observations, DEMOS.observations[kept])
    assert np.array_equal(seen.next_observations, DEMOS.observations[kept + 1])
    assert not seen.terminated.any()
    assert prepared.expert.episodes.steps == 250


def test_settings_that_do_not_go_with_it():
    with pytest.raises(InputError, match="these demonstrations are thinned"):
        prepare(configure(THIN, idle="geometric:0.7"))
    with pytest.raises(InputError, match="every must be at least 1, got 0"):
        configure(THIN, every=0)
    assert prepare(THIN).digest != prepare(configure(THIN, every=25)).digest
