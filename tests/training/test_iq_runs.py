"""A run without a cost player: its files, the cost that it reports, and going on where it was."""

from contextlib import closing
from itertools import islice

import numpy as np
import pytest
import tiny

import etairl
from etairl.cli.app import main
from etairl.training.flat import configure
from etairl.training.result import Result
from etairl.training.session import open_run
from etairl.types import InputError

FILES = ("policy.safetensors", "cost.safetensors", "best-policy.safetensors", "metrics.jsonl")
IQ = configure(
    tiny.TINY,
    algorithm="iq",
    transitions=1000,
    remaining_cycles=2,
    hidden=(16, 16),
    solver_batch=16,
    updates_per_step=0.2,
    actor_average=0.1,
)
pytestmark = pytest.mark.usefixtures("unchecked")  # as users run it


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("iq") / "run"
    etairl.train(IQ, path)
    return path


def test_a_run_goes_on_where_it_was(run, tmp_path):
    with open_run(IQ, tmp_path / "run") as session, closing(session.play()) as reports:
        assert [report.row["cycle"] for report in islice(reports, 2)] == [1, 2]
    with open_run(IQ, tmp_path / "run", resume=True) as session:
        assert session.resumed
        list(session.play())
    for name in FILES:
        assert (run / name).read_bytes() == (tmp_path / "run" / name).read_bytes(), name


def test_the_cost_of_a_run_is_what_its_critics_imply(run):
    result = Result(run)
    t = result.demonstrations
    here, after = np.arange(10), np.arange(1, 11)
    cost = result.cost(t.observations[here], t.actions[here], t.observations[after])
    assert cost.shape == (10,)
    assert np.isfinite(cost).all()
    assert cost.std() > 0.0
    with pytest.raises(InputError, match="one of states and next states; give both"):
        result.cost(t.observations[here], t.actions[here])
    rows = result.evaluate(4, cloning=False)
    assert {row.name for row in rows} >= {"learner", "random"}
    assert not any(key.startswith("cost/") for key in result.metrics)
    fresh = result._prepared.game.cost.init(*_beginning(result))
    assert not np.array_equal(fresh.critics.biases[-1], result._cost.critics.biases[-1])


def _beginning(result):
    import jax

    from etairl.algorithms.girl import as_points

    key, _ = jax.random.split(jax.random.key(IQ.seed))
    return key, as_points(result._prepared.expert.transitions())


def test_its_cost_is_not_frozen_for_others(run, tmp_path, capsys):
    assert main(["train", "-o", str(tmp_path / "new"), "--cost", str(run)]) == 2
    assert "read from its critics: it cannot be frozen" in capsys.readouterr().err
