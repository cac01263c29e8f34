"""The level of the test on real simulators: the expert's own fresh episodes as a learner."""

import numpy as np
import pytest

from etairl.demos import load_demos
from etairl.evaluation.matching import Reference, Steps
from etairl.evaluation.resampling import Pool
from etairl.rollouts import collect
from etairl.tasks import make_task
from etairl.training.experts import load_expert

_EPISODES, _TRIALS = 300, 400


@pytest.mark.slow
@pytest.mark.parametrize("playing", ["drawn", "greedy"])
@pytest.mark.parametrize("environment", ["HalfCheetah-v5", "Hopper-v5", "Ant-v5"])
def test_five_percent_of_the_experts_own_episodes_are_told_apart(environment, playing):
    """400 trials of 20 episodes against 10, drawn from 300: 5 % ± 2 % with p < 0.05."""
    task = make_task(environment, 25, horizon=500, seed=99)
    rng = np.random.default_rng(5)
    drawn = playing == "drawn"
    t = collect(rng, task, load_expert(environment), _EPISODES, stochastic=drawn)
    scale = load_demos(f"{environment}-25x500").standardiser
    half = t.take(np.arange(_EPISODES // 2))
    pools, _ = Reference.of(half, scale).pools(Steps.of(t.take(np.arange(len(half), len(t)))))
    whole = pools["mu"]
    rejected = 0
    for _ in range(_TRIALS):
        some = rng.permutation(_EPISODES)[:30]
        of_x = np.arange(30) < 20
        pool = Pool(whole.sums[np.ix_(some, some)], whole.sizes[some], of_x, False)
        rejected += pool.p_value(rng, 499) < 0.05
    assert 0.03 <= rejected / _TRIALS <= 0.07, rejected
