"""Level of the test and floor on real simulators: the expert's own fresh episodes as a learner."""

from functools import reduce

import numpy as np
import pytest

from etairl.demos import load_demos
from etairl.evaluation.floors import OwnGroups
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


@pytest.mark.slow
@pytest.mark.parametrize("length", [500, 100])
@pytest.mark.parametrize("environment", ["HalfCheetah-v5", "Hopper-v5"])
def test_five_percent_of_the_experts_own_episodes_are_above_the_floor(environment, length):
    """400 trials of drawn episodes, with others for the floor or without: 2 to 8 % above.

    20 against 10 with 20 others and without any, 6 and 24 against 8 without. The standard
    deviation of 400 trials is 1.1 %. The learner's are whole episodes, or random parts of 100
    steps, which are of the same law.
    """
    task = make_task(environment, 25, horizon=500, seed=98)
    rng = np.random.default_rng(6)
    steps = Steps.of(collect(rng, task, load_expert(environment), _EPISODES))
    scale = load_demos(f"{environment}-25x500").standardiser
    parts = steps.parts(rng, np.full(25, length))
    # Whole episodes as the expert, the same ones or parts of them as a learner: all sums at once.
    pools, _ = Reference(steps, None, scale).pools(reduce(Steps.joined, parts or [steps]))
    many = max(len(parts), 1)
    assert (many > 1) == (length < 500)
    shown = many * _EPISODES + np.arange(_EPISODES)
    for name, whole in pools.items():
        for n, m, others in ((20, 10, 20), (20, 10, 0), (6, 8, 0), (24, 8, 0)):
            above, there = 0, m + others
            for _ in range(_TRIALS):
                some = rng.permutation(_EPISODES)
                own, fresh = some[:there], some[there : there + n]
                # Any of its parts: those of one draw, of all episodes, are not quite of the law.
                fresh = fresh + _EPISODES * rng.integers(many, size=n)
                first = _some(whole, np.concatenate([fresh, shown[own[:m]]]), n)
                played = [number * _EPISODES + own for number in range(many)]
                pool = _some(whole, np.concatenate([shown[own], *(played if parts else [])]), there)
                numbers = np.arange(len(pool.sizes))
                groups = OwnGroups(pool, numbers % there, numbers // there)
                above += first.value() > groups.floor(n, m).value
            assert 0.02 <= above / _TRIALS <= 0.08, (name, n, m, others, above)


def _some(pool: Pool, groups: np.ndarray, of_x: int) -> Pool:
    """Some groups of a pool, the first of them as x."""
    sums = pool.sums[np.ix_(groups, groups)]
    return Pool(sums, pool.sizes[groups], np.arange(len(groups)) < of_x, False)
