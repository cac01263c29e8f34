"""EMMA and WIEM on the go/stay chain, AIRL on a chain with a soft-optimal expert."""

from contextlib import ExitStack

import jax.numpy as jnp
import numpy as np
import pytest
from worlds import TablePolicy, chances, registered

from etairl.algorithms.girl import Girl, GirlConfig, girl
from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.family import View
from etairl.costs.linear import LinearConfig, LinearCost
from etairl.costs.shaped import ShapedConfig, ShapedCost
from etairl.eta import parse_eta
from etairl.experience import ExpertBuffer
from etairl.measures import FutureSampler
from etairl.penalties import Ball, Simplex
from etairl.regularisers import Entropy
from etairl.rollouts import collect
from etairl.solvers.policy import ActionScaling
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.tabular import MDP, go_stay, go_stay_policy, policy_iteration
from etairl.tasks import make_task

pytestmark = pytest.mark.usefixtures("lasting")
ROW_COST = np.array([0.0, 1.0, -0.5, 0.3])


@pytest.fixture
def stage():
    """Registers a world under one name, and makes tasks and demonstrations of it."""

    with ExitStack() as registry:

        def make(mdp: MDP, table: np.ndarray, horizon: int, episodes: int):
            name = registry.enter_context(registered(mdp))
            theirs, own = (make_task(name, 60, horizon=horizon, seed=s) for s in (5, 0))
            return own, collect(np.random.default_rng(0), theirs, TablePolicy(table), episodes)

        yield make


def learn(
    task, demos, cost, sac: SACConfig, sampler: FutureSampler, cycles: int, horizon: int, seed=0
):
    config = GirlConfig(
        transitions=cycles * 60 * horizon,
        episodes=60,
        cost_updates=30,
        cost_batch=512,
        fresh_share=1.0,
        capacity=4 * 60 * (horizon + 1),
        remaining_cycles=1,
    )
    game = Girl(
        config,
        seed,
        cost,
        SAC(sac, task.spec, play=OffPolicy(solver_updates=30, solver_batch=256)),
        sampler,
    )
    actions = ActionScaling(task.spec).to_solver(demos.actions)
    expert = ExpertBuffer.of(demos, actions, cost.needs_next)
    return game, girl(game, task, expert, game.make_buffer(task), game.init(expert))


@pytest.mark.parametrize("allowed", [Ball(), Simplex()], ids=["emma", "wiem"])
def test_the_expert_who_stays_with_probability_0_8_is_recovered(allowed, stage):
    """Features that tell all pairs apart: the same answer as MEGAN's, as loosely (0.06).

    The expert's own empirical frequency errs by about 0.007; the game circles around its solution,
    so the policy is averaged over the last 40 of 100 cycles. It starts 0.3 away. With temperature
    0.02 and rate 0.1 it alternated between staying and going. At a match the norm has a kink, so
    entropy does not move the solution.
    """
    mdp = go_stay(0.0, 0.0, 0.0, gamma=0.5)
    task, demos = stage(mdp, go_stay_policy(0.8), 12, 600)
    weights = "ball" if isinstance(allowed, Ball) else "simplex"
    cost = LinearCost(LinearConfig(weights, cost_rate=0.05), View(task.spec), allowed)
    sac = SACConfig(hidden=(32,), gamma_rl=0.5, temperature=0.3, actor_lr=3e-3, critic_lr=1e-2)
    sampler = FutureSampler(parse_eta("geometric:0.5"), 0.5, "exact")
    game, cycles = learn(task, demos, cost, sac, sampler, 100, 12)
    found = [chances(game.solver, cycle.state.solver, 2, 2)[0, 0] for cycle in cycles]
    assert np.mean(found[-40:]) == pytest.approx(0.8, abs=0.06), np.round(found, 2)


@pytest.mark.parametrize("eta", ["dirac:0", pytest.param("geometric:0.5", marks=pytest.mark.slow)])
def test_airl_recovers_the_state_cost_of_a_chain(eta, stage):
    """Whatever the weighting: at the match the best logit is 0 wherever there is weight.

    Four states in a row; the expert is soft-optimal for costs of states, temperature 1.

    1,200 demonstrations of 12 steps: log pi_E of 3 actions in 4 states errs by about
    1/sqrt(1200) = 0.03; the split into cost and potential multiplies that by up to
    (1 + gamma)/(1 - gamma) = 5.7, so the cost may be 0.2 off. The true costs span 1.5. Over seeds 0
    to 4 the policy is up to 0.06 off, the cost 0.03; this is seed 1.
    """
    gamma = 0.7
    kernel = np.zeros((4, 3, 4))
    for s in range(4):
        for a, move in enumerate((-1, 0, 1)):
            kernel[s, a, np.clip(s + move, 0, 3)] = 1.0
    mdp = MDP(kernel, np.repeat(ROW_COST[:, None], 3, axis=1), np.full(4, 0.25), gamma)
    expert = policy_iteration(mdp, Entropy(1.0)).policy
    task, demos = stage(mdp, expert, 12, 1200)
    network = DiscriminatorConfig(hidden_d=(), lr_d=1e-2, gradient_penalty=0.0)
    cost = ShapedCost(ShapedConfig(network), gamma)
    sac = SACConfig(hidden=(32,), gamma_rl=gamma, temperature=1.0, actor_lr=3e-3, critic_lr=1e-2)
    sampler = FutureSampler(parse_eta(eta), method="exact")
    game, cycles = learn(task, demos, cost, sac, sampler, 150, 12, seed=1)
    costs, tables = [], []
    for cycle in cycles:
        eye = jnp.eye(4)
        costs.append(np.asarray(cost.portable()(cycle.state.cost, eye, eye, eye), np.float64))
        tables.append(chances(game.solver, cycle.state.solver, 4, 3))
    found = np.mean(costs[-50:], axis=0)
    assert np.mean(tables[-50:], axis=0) == pytest.approx(expert, abs=0.05)
    assert found - found.mean() == pytest.approx(ROW_COST - ROW_COST.mean(), abs=0.2)
