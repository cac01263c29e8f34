"""Inverse soft Q-learning on the go/stay chain: a two-state expert is imitated."""

import numpy as np
import pytest
from worlds import TablePolicy, chances

from etairl.algorithms.girl import Girl, GirlConfig, girl
from etairl.eta import parse_eta
from etairl.experience import ExpertBuffer
from etairl.measures import FutureSampler
from etairl.rollouts import collect
from etairl.solvers.iq import IQ
from etairl.solvers.iq_config import IQConfig
from etairl.solvers.policy import ActionScaling
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.tabular import go_stay_policy
from etairl.tasks import make_task

pytestmark = pytest.mark.usefixtures("lasting")
CHAIN = "etairl.tasks.pay_early:GoStay-v0"


def play(eta, term, stay=0.8, seed=2):
    """The learner's chance to stay in the first state, after each cycle."""
    horizon, copies = 12, 60
    stage = make_task(CHAIN, copies, horizon=horizon, seed=5)
    demos = collect(np.random.default_rng(0), stage, TablePolicy(go_stay_policy(stay)), 600)
    task = make_task(CHAIN, copies, horizon=horizon, seed=seed)
    config = GirlConfig(
        transitions=100 * copies * horizon,
        episodes=copies,
        capacity=4 * copies * (horizon + 1),
        remaining_cycles=1,
    )
    sac = SACConfig(hidden=(32,), gamma_rl=0.5, temperature=0.02, actor_lr=3e-3, critic_lr=1e-2)
    sampler = FutureSampler(parse_eta(eta), 0.5, "exact")
    plain = SAC(sac, task.spec, play=OffPolicy(solver_updates=30, solver_batch=256))
    solver = IQ(plain, IQConfig(policy_term=term), sampler)
    game = Girl(config, seed, solver.implied_cost(), solver, sampler)
    expert = ExpertBuffer.of(demos, ActionScaling(task.spec).to_solver(demos.actions), True)
    return [
        chances(game.solver, cycle.state.solver, 2, 2)[0, 0]
        for cycle in girl(game, task, expert, game.make_buffer(task), game.init(expert))
    ]


@pytest.mark.parametrize(
    ("eta", "term"),
    [
        ("dirac:0", "replay"),
        pytest.param("dirac:0", "start", marks=pytest.mark.slow),
        pytest.param("geometric:0.5", "replay", marks=pytest.mark.slow),
        ("geometric:0.5", "value"),
    ],
)
def test_the_expert_is_recovered(eta, term):
    """It stays with probability 0.8; a learner that knows nothing stays with 0.5.

    Averaged over the last 40 cycles. Entropy pulls towards 0.5, most of all with `start`: seeds 2
    and 3 ended between 0.71 and 0.78 with each of the three terms and both weightings.
    """
    found = play(eta, term)
    assert np.mean(found[-40:]) == pytest.approx(0.8, abs=0.1), np.round(found, 2)
