"""The exact laboratory: η-weighted RL and inverse RL on finite MDPs, in double precision."""

from etairl.tabular.columns import Saddle, generate
from etairl.tabular.cost_families import GANCosts, LinearCosts
from etairl.tabular.episodes import empirical_mu, sample_episodes
from etairl.tabular.eta_criterion import criterion, critics, gradient
from etairl.tabular.exact_measures import (
    Measure,
    future,
    mu,
    mu_in_time,
    policy_from_occupancy,
    rho,
)
from etairl.tabular.game import Game
from etairl.tabular.generators import (
    chain,
    go_stay,
    go_stay_policy,
    grid_with_lakes,
    random_mdp,
    random_policy,
    random_sparse_mdp,
)
from etairl.tabular.irl import MirrorSettings, emma, imitate, lpal, megan, mwal, wiem
from etairl.tabular.maxent import SoftSaddle, max_entropy
from etairl.tabular.mdp import MDP, deterministic, product_mdp
from etairl.tabular.operators import evaluate, policy_iteration, value_iteration
from etairl.tabular.phase import phase_mu, phase_optimal, phase_program
from etairl.tabular.rl import best_stationary, descend, planning_gap, time_optimal

__all__ = [
    "MDP",
    "GANCosts",
    "Game",
    "LinearCosts",
    "Measure",
    "MirrorSettings",
    "Saddle",
    "SoftSaddle",
    "best_stationary",
    "chain",
    "criterion",
    "critics",
    "descend",
    "deterministic",
    "emma",
    "empirical_mu",
    "evaluate",
    "future",
    "generate",
    "go_stay",
    "go_stay_policy",
    "gradient",
    "grid_with_lakes",
    "imitate",
    "lpal",
    "max_entropy",
    "megan",
    "mu",
    "mu_in_time",
    "mwal",
    "phase_mu",
    "phase_optimal",
    "phase_program",
    "planning_gap",
    "policy_from_occupancy",
    "policy_iteration",
    "product_mdp",
    "random_mdp",
    "random_policy",
    "random_sparse_mdp",
    "rho",
    "sample_episodes",
    "time_optimal",
    "value_iteration",
    "wiem",
]
