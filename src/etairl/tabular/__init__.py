"""The exact laboratory: η-weighted RL and inverse RL on finite MDPs, in double precision."""

from etairl.tabular.criterion import criterion, gradient
from etairl.tabular.episodes import empirical_mu, sample_episodes
from etairl.tabular.game import Game, GANCosts, LinearCosts
from etairl.tabular.generators import go_stay, go_stay_policy, random_mdp, random_policy
from etairl.tabular.irl import emma, imitate, lpal, max_margin, megan, mwal, wiem
from etairl.tabular.maxent import max_entropy
from etairl.tabular.mdp import MDP, product_mdp
from etairl.tabular.measures import Measure, future, mu, policy_from_occupancy, rho
from etairl.tabular.operators import evaluate, policy_iteration, value_iteration
from etairl.tabular.phase import phase_optimal, phase_program
from etairl.tabular.rl import best_stationary, descend, planning_gap, time_optimal

__all__ = [
    "MDP",
    "GANCosts",
    "Game",
    "LinearCosts",
    "Measure",
    "best_stationary",
    "criterion",
    "descend",
    "emma",
    "empirical_mu",
    "evaluate",
    "future",
    "go_stay",
    "go_stay_policy",
    "gradient",
    "imitate",
    "lpal",
    "max_entropy",
    "max_margin",
    "megan",
    "mu",
    "mwal",
    "phase_optimal",
    "phase_program",
    "planning_gap",
    "policy_from_occupancy",
    "policy_iteration",
    "product_mdp",
    "random_mdp",
    "random_policy",
    "rho",
    "sample_episodes",
    "time_optimal",
    "value_iteration",
    "wiem",
]
