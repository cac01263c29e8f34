import numpy as np
import pytest

from etairl.tabular import go_stay
from etairl.tasks import make_task


@pytest.mark.parametrize("costs", [(0.4, 1.0, 0.0), (0.75, 0.0, 1.0)])
def test_the_chain_is_the_exact_one(costs, rng):
    mdp = go_stay(*costs)
    options = dict(zip(("stay", "go", "after"), costs, strict=True))
    task = make_task("etairl.tasks.pay_early:GoStay-v0", 8, horizon=6, seed=0, options=options)
    states = task.reset().argmax(axis=1)
    assert (states == 0).all()
    for _ in range(5):
        actions = rng.integers(2, size=(8, 1))
        step = task.step(actions)
        assert step.rewards == pytest.approx(-mdp.c[states, actions[:, 0]])
        states = mdp.kernel[states, actions[:, 0]].argmax(axis=1)
        assert (step.observations.argmax(axis=1) == states).all()
        assert not step.terminated.any()


def test_insulation_pays_for_what_is_done_and_heats_the_rest():
    task = make_task("etairl.tasks.pay_early:Insulation-v0", 1, horizon=4, seed=0)
    assert task.reset().tolist() == [[1.0]]
    bare = 1.0
    for part in (0.25, 0.5, 0.0):
        step = task.step(np.float32([[part]]))
        assert step.rewards[0] == pytest.approx(-bare * (part * 1.0 + (1 - part) * 0.4))
        bare *= 1.0 - part
        assert step.observations[0, 0] == pytest.approx(bare)
