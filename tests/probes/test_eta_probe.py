"""Where the weighting decides: `sac-eta` finds the optimum, discounted soft actor-critic cannot.

Errata (a), with gamma = 0.5. Why it cannot: its fixed point is the gamma-optimal policy, which is
unique in both worlds and computed here exactly.
"""

import numpy as np
import pytest
from worlds import chances

from etairl.algorithms.grl import GrlConfig, grl, weighted_cost
from etairl.eta import Geometric, parse_eta
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.solvers.sac_eta import sac_eta
from etairl.tabular import best_stationary, criterion, go_stay, policy_iteration
from etairl.tasks import make_task

GAMMA, HORIZON = 0.5, 16
WORLDS = "etairl.tasks.pay_early:"


def play(world: str, eta: str | None, temperature: float, cycles: int = 40, **options):
    """All rounds, and the solver; without a weighting, by discounted soft actor-critic."""
    task = make_task(WORLDS + world, 20, horizon=HORIZON, seed=0, options=options)
    config = SACConfig(
        hidden=(32,),
        gamma_rl=GAMMA,
        temperature=temperature,
        actor_lr=3e-3,
        critic_lr=1e-2,
        polyak=0.05,
    )
    solver = SAC(config, task.spec, play=OffPolicy(solver_updates=30, solver_batch=256))
    if eta is not None:
        solver = sac_eta(solver, parse_eta(eta), HORIZON)
    return solver, grl(GrlConfig(cycles=cycles), task, solver)


def tables(solver, rounds) -> list[np.ndarray]:
    """The policy after each round."""
    return [chances(solver, r.state, 2, 2) for r in rounds]


@pytest.mark.parametrize("eta", ["geometric:0.5", "poisson:2"])
def test_going_is_found_where_discounting_stays(eta):
    """J of the policies, exactly; entropy 0.02 keeps either from certainty by less than 1e-3."""
    mdp = go_stay(0.4, 1.0, 0.0, GAMMA)
    law = parse_eta(eta)
    best, planned = best_stationary(mdp, law).value, policy_iteration(mdp)
    assert best == pytest.approx(np.exp(law.log_pmf(1)[0]), abs=1e-9)
    assert planned.policy[0] == pytest.approx([1.0, 0.0])
    # Going is worse by 0.2 in the first step: no other policy is gamma-optimal.
    assert mdp.c[0, 1] - planned.v[0] == pytest.approx(0.2)
    found = criterion(mdp, tables(*play("GoStay-v0", eta, 0.02))[-1], law)
    assert found == pytest.approx(best, abs=0.01)
    discounted = criterion(mdp, tables(*play("GoStay-v0", None, 0.02))[-1], law)
    assert discounted == pytest.approx(0.8, abs=0.01)
    assert discounted > best + 0.25


@pytest.mark.slow
def test_the_best_stationary_policy_may_be_random():
    """GS(0.75, 0, 1): stay with probability 2/3, at 1.4375; gamma-optimal is to go, at 1.5.

    The game between weights and visits is played on 20 episodes a cycle: the policy of the last 40
    cycles, on average, is asked to be within 0.1. The criterion is flat there: 0.004 per 0.1.
    """
    mdp, eta = go_stay(0.75, 0.0, 1.0, GAMMA), Geometric(0.5)
    best = best_stationary(mdp, eta)
    assert (best.value, best.policy[0, 0]) == pytest.approx((1.4375, 2 / 3), abs=1e-4)
    costs = {"stay": 0.75, "go": 0.0, "after": 1.0}
    found = tables(*play("GoStay-v0", "geometric:0.5", 0.005, cycles=100, **costs))
    table = np.mean(found[-40:], axis=0)
    assert table[0, 0] == pytest.approx(2 / 3, abs=0.1)
    assert criterion(mdp, table, eta) == pytest.approx(1.4375, abs=0.01)
    assert criterion(mdp, policy_iteration(mdp).policy, eta) == pytest.approx(1.5)


def insulation_value(eta, done: np.ndarray) -> float:
    """J if the share `done[n]` of the house is insulated at time n, term by term."""
    weights = eta.weights(GAMMA, 200)
    bare = 1.0 - np.cumsum(np.append(done, np.zeros(200 - len(done))))
    spent = np.append(done, np.zeros(200 - len(done)))
    return float(weights @ (spent * 1.0 + bare * 0.4))


def test_insulating_at_once_is_optimal_among_all_plans(rng):
    """J is affine in the plan, so its least value is at a corner: all at some n, or never."""
    eta = Geometric(0.5)
    corners = [insulation_value(eta, np.eye(40)[n]) for n in range(40)]
    never = insulation_value(eta, np.zeros(1))
    assert (corners[0], never) == pytest.approx((0.5, 0.8), abs=1e-9)
    assert min(*corners, never) == corners[0]
    for _ in range(20):
        plan = rng.dirichlet(np.ones(41))
        mixed = plan[:40] @ corners + plan[40] * never
        assert insulation_value(eta, plan[:40]) == pytest.approx(mixed, abs=1e-9)
    # Discounted: a unit costs 1 now and saves 0.4/(1 - gamma) = 0.8, so nothing is ever bought.
    assert 0.4 / (1.0 - GAMMA) < 1.0


@pytest.mark.slow
def test_a_continuous_policy_pays_early():
    """Entropy 0.01 of a squashed normal leaves actions up to some 0.05 from the bound.

    20 episodes a cycle: the spread over the last cycles is below 0.01.
    """
    eta = Geometric(0.5)
    ends = []
    for law in ("geometric:0.5", None):
        solver, rounds = play("Insulation-v0", law, 0.01)
        rounds = list(rounds)
        ends.append(np.mean([weighted_cost(r.rolled_out, eta, GAMMA) for r in rounds[-10:]]))
        first = solver.policy(rounds[-1].state)(None, np.ones((1, 1), np.float32))[0, 0]
        assert (first > 0.9) if law else (first < 0.1)
    assert ends[0] == pytest.approx(0.5, abs=0.03)
    assert ends[1] == pytest.approx(0.8, abs=0.05)
