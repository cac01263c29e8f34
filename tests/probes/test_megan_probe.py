"""MEGAN on the go/stay chain: the expert of errata (o), which stays with probability 0.8."""

import numpy as np
import pytest
from worlds import TablePolicy, chances

from etairl.algorithms.girl import Girl, GirlConfig, girl
from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.discriminator import Discriminator, GanConfig
from etairl.costs.family import View
from etairl.eta import parse_eta
from etairl.experience import ExpertBuffer
from etairl.measures import FutureSampler
from etairl.rollouts import collect
from etairl.solvers.policy import ActionScaling
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.tabular import go_stay_policy
from etairl.tasks import make_task

pytestmark = pytest.mark.usefixtures("lasting")
CHAIN = "etairl.tasks.pay_early:GoStay-v0"


@pytest.mark.parametrize("eta", ["dirac:0", "geometric:0.5"])
def test_the_expert_is_recovered(eta):
    """600 demonstrations: the expert's own empirical frequency errs by about 0.007.

    The adversarial game circles around its solution; the policy averaged over the last 40 cycles is
    asked to be within 0.06 of the expert. From where it starts (0.5) the distance is 0.3. Of twenty
    runs with seeds 0 to 9, eighteen are; this is seed 2.
    """
    horizon, copies = 12, 60
    stage = make_task(CHAIN, copies, horizon=horizon, seed=5)
    demos = collect(np.random.default_rng(0), stage, TablePolicy(go_stay_policy(0.8)), 600)
    task = make_task(CHAIN, copies, horizon=horizon, seed=2)
    config = GirlConfig(
        transitions=100 * copies * horizon,
        episodes=copies,
        cost_updates=30,
        cost_batch=512,
        fresh_share=1.0,
        capacity=4 * copies * (horizon + 1),
        remaining_cycles=1,
    )
    sac = SACConfig(hidden=(32,), gamma_rl=0.5, temperature=0.02, actor_lr=3e-3, critic_lr=1e-2)
    network = DiscriminatorConfig(hidden_d=(32,), lr_d=1e-2, gradient_penalty=0.0)
    game = Girl(
        config,
        2,
        Discriminator(GanConfig(network=network), View(task.spec)),
        SAC(sac, task.spec, play=OffPolicy(solver_updates=30, solver_batch=256)),
        FutureSampler(parse_eta(eta), 0.5, "exact"),
    )
    expert = ExpertBuffer.of(demos, ActionScaling(task.spec).to_solver(demos.actions))
    found = [
        chances(game.solver, cycle.state.solver, 2, 2)[0, 0]
        for cycle in girl(game, task, expert, game.make_buffer(task), game.init(expert))
    ]
    assert np.mean(found[-40:]) == pytest.approx(0.8, abs=0.06), np.round(found, 2)
