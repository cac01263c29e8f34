r"""The algorithms of inverse RL by name, as exact saddle problems with any $\eta$.

| function | costs | solved by | at $\eta=\delta_0$ |
|---|---|---|---|
| `emma` | ball of features | column generation | Abbeel and Ng 2004 |
| `wiem` | simplex of features | column generation | Syed and Schapire 2007 |
| `mwal` | simplex of features | multiplicative weights, averaged | Syed and Schapire 2007 |
| `lpal` | simplex of features | one linear program | Syed, Bowling and Schapire 2008 |
| `megan` | $\log D$ with $\psi_{GAN}$ | column generation | GAIL, Ho and Ermon 2016 |
| `imitate` | $\log D$ | mirror steps on one stationary policy | GAIL as it is run |

Maximum-entropy IRL is in `etairl.tabular.maxent`. The expert is an occupancy: `mu` of a policy, a
mixture of such, or `empirical_mu` of episodes. All but `imitate` return a `Saddle` with primal,
dual and gap; `Saddle.proven` says whether the dual is a bound, `Saddle.solved` whether the gap is
at most `tolerance`, in units of the largest feature (1 for `megan`) over $1-\gamma$.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy.optimize import linprog

from etairl.eta import Eta
from etairl.penalties import Ball, Simplex
from etairl.regularisers import Regulariser
from etairl.tabular.columns import Saddle, generate
from etairl.tabular.cost_families import FeatureTable, GANCosts, LinearCosts, check_features
from etairl.tabular.eta_criterion import gradient
from etairl.tabular.exact_measures import (
    check_weights,
    geometric_weights,
    mu,
    policy_from_occupancy,
    weighted,
)
from etairl.tabular.game import Game, Within, check_occupancy
from etairl.tabular.mdp import MDP, PairTable, PolicyTable
from etairl.tabular.operators import NONE, evaluate
from etairl.tabular.phase import flow_polytope
from etairl.tabular.rl import mirror_step
from etairl.types import InputError


def emma(
    mdp: MDP,
    eta: Eta,
    expert: PairTable,
    features: FeatureTable,
    within: Within = "stationary",
    tolerance: float = 1e-8,
) -> Saddle:
    r"""EMMA: $\min_\mu\lVert\langle\mu,f\rangle-\langle\mu_E,f\rangle\rVert_2$ (Prop. `P:EMMA`).

    At $\eta=\delta_0$, apprenticeship learning by matching feature expectations. `cost` tells
    the expert best from every other behaviour, by the margin `dual`: column generation is Abbeel
    and Ng's algorithm.
    """
    return generate(Game(mdp, eta, expert, LinearCosts(features, Ball()), within), tolerance)


def wiem(
    mdp: MDP,
    eta: Eta,
    expert: PairTable,
    features: FeatureTable,
    within: Within = "stationary",
    tolerance: float = 1e-8,
) -> Saddle:
    r"""WIEM: $\min_\mu\max_i(\langle\mu,f_i\rangle-\langle\mu_E,f_i\rangle)$ (Prop. `P:WIEM`).

    The value is at most 0 for a realisable expert, and below 0 where the learner can beat the
    expert on every feature.
    """
    return generate(Game(mdp, eta, expert, LinearCosts(features, Simplex()), within), tolerance)


def megan(
    mdp: MDP, eta: Eta, expert: PairTable, within: Within = "stationary", tolerance: float = 1e-8
) -> Saddle:
    r"""MEGAN: $\min_\mu\max_D\langle\mu,\log D\rangle+\langle\mu_E,\log(1-D)\rangle$ (`P:MEGAN`).

    The value is $\frac{1}{1-\gamma}(2\,\mathrm{JS}-\log4)$ of the normalised occupancies.
    """
    return generate(Game(mdp, eta, expert, GANCosts(), within), tolerance)


def lpal(
    mdp: MDP, eta: Eta, expert: PairTable, features: FeatureTable, tolerance: float = 1e-8
) -> Saddle:
    r"""WIEM's game as one linear program over `flow_polytope`.

    Exact over $\mathcal{D}$ where the weights are geometric; for another $\mathrm{Geom}(\kappa)$
    over $\mathcal{M}_{\text{phase}}$, whose minimiser need not be the occupancy of any policy that
    does not see the phase: then `policies[0]` is [waiting and running, state, action]. The dual
    is not the program's but that of the best response to its cost.
    """
    expert, features = check_occupancy(mdp, expert), check_features(mdp, features)
    flow, costs = flow_polytope(mdp, eta), LinearCosts(features, Simplex())
    classical = geometric_weights(eta, mdp.gamma) is not None
    game = Game(mdp, eta, expert, costs, "stationary" if classical else "phase")
    unit = costs.unit
    columns, count = flow.matrix.shape[1], features.shape[-1]
    excess = np.zeros((count, columns + 1))
    # The solver's own tolerances are absolute.
    excess[:, columns - flow.size : columns] = features.reshape(flow.size, count).T / unit
    excess[:, -1] = -1.0
    solution = linprog(
        np.append(np.zeros(columns), 1.0),
        A_ub=excess,
        b_ub=np.einsum("saf,sa->f", features, expert) / unit,
        A_eq=sp.hstack([flow.matrix, sp.csr_array((flow.matrix.shape[0], 1))]),
        b_eq=flow.rhs,
        bounds=[(0.0, None)] * columns + [(None, None)],
        method="highs",
    )
    if solution.x is None:
        raise InputError(f"the linear program has no solution: {solution.message}")
    # One block of pairs where the weights are geometric, else one per phase.
    blocks = np.maximum(solution.x[:columns], 0.0).reshape(-1, *mdp.c.shape)
    read = [policy_from_occupancy(block, unvisited="uniform") for block in blocks]
    weights = np.maximum(-solution.ineqlin.marginals, 0.0)
    cost = costs.cost(weights / weights.sum())
    primal, dual = game.primal(blocks[-1]), game.dual(cost)
    return Saddle(
        primal=primal,
        dual=dual,
        cost=cost,
        occupancy=blocks[-1],
        policies=[read[0] if len(read) == 1 else np.stack(read)],
        shares=np.ones(1),
        iterations=int(solution.nit),
        proven=True,
        solved=bool(abs(primal - dual) <= tolerance * unit / (1.0 - mdp.gamma)),
    )


def mwal(game: Game, steps: int = 1000) -> Saddle:
    r"""Multiplicative weights against best responses; the answer is the average of all steps.

    With $k$ features in $[-1,1]$ the gap of the average is at most
    $\frac{4}{1-\gamma}\big(\sqrt{2\log k/T}+\log k/T\big)$ (Freund and Schapire 1999);
    `solved` says whether it is.
    """
    if steps < 1:
        raise InputError(f"multiplicative weights need at least one step, got {steps}")
    costs = game.costs
    if not (isinstance(costs, LinearCosts) and isinstance(costs.weights, Simplex)):
        raise InputError("multiplicative weights play on a simplex of features: use LinearCosts")
    count = costs.features.shape[-1]
    largest = float(np.abs(costs.features).max()) / (1.0 - game.mdp.gamma)
    shrink = 1.0 / (1.0 + np.sqrt(2.0 * np.log(count) / steps))
    logs, played = np.zeros(count), np.zeros(count)
    occupancy, policies = np.zeros(game.mdp.c.shape), []
    for _ in range(steps):
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        played += weights / steps
        answer = game.respond(costs.cost(weights))
        occupancy += answer.occupancy / steps
        policies.append(answer.policy)
        difference = costs.difference(answer.occupancy, game.expert)
        logs += np.log(shrink) * (2.0 - difference / largest) / 4.0
    cost = costs.cost(played)
    primal, dual = game.primal(occupancy), game.dual(cost)
    promise = 4.0 * largest * (np.sqrt(2.0 * np.log(count) / steps) + np.log(count) / steps)
    return Saddle(
        primal=primal,
        dual=dual,
        cost=cost,
        occupancy=occupancy,
        policies=policies,
        shares=np.full(steps, 1.0 / steps),
        iterations=steps,
        proven=game.proven,
        solved=bool(primal - dual <= promise + 1e-9 * largest),
    )


@dataclass(frozen=True)
class MirrorSettings:
    r"""How `imitate` moves: $\pi \propto \pi\,e^{-\text{rate}\cdot Q}$ with the cost $\log D$."""

    rate: float = 0.2
    steps: int = 6000
    matched: bool = False
    r"""False: $Q$ is the $\gamma$-discounted one, as published. True: the exact $\eta$-gradient
    divided by the occupancy of the state (two critics)"""
    regulariser: Regulariser = NONE

    def __post_init__(self):
        if not (self.rate > 0.0 and np.isfinite(self.rate)):
            raise InputError(f"the rate of mirror steps must be positive, got {self.rate}")
        if self.steps < 1:
            raise InputError(f"imitation needs at least one step, got {self.steps}")


def imitate(
    mdp: MDP,
    eta: Eta,
    expert: PairTable,
    settings: MirrorSettings | None = None,
    weights: Float[np.ndarray, " horizon"] | None = None,
) -> PolicyTable:
    r"""MEGAN as it is run, without noise: optimal $D$, a small step of one stationary policy.

    Starts from the uniform policy. `weights` replaces the time weights of $\eta$ in what the
    discriminator sees, for instance by the law of the two-stage sampler. In states that nobody can
    reach the answer means nothing; `MDP.require_reachable` refuses a world that has some.
    """
    weights = None if weights is None else check_weights(weights)
    expert = check_occupancy(mdp, expert, None if weights is None else float(weights.sum()))
    settings = MirrorSettings() if settings is None else settings
    costs, policy = GANCosts(), np.full(mdp.c.shape, 1.0 / mdp.actions)
    for _ in range(settings.steps):
        seen = None if weights is None else weighted(mdp, policy, weights)
        own = mu(mdp, policy, eta).values if seen is None else seen
        world = mdp.with_cost(costs.maximum(own, expert)[1])
        if settings.matched:
            direct = gradient(world, policy, eta, settings.regulariser)
            # Where the learner never is, the gradient is 0 and the policy stays as it was.
            direct = direct / np.maximum(own.sum(axis=1, keepdims=True), 1e-12)
        else:
            v = evaluate(world, policy, settings.regulariser)
            direct = world.c - settings.regulariser.gradient(policy) + mdp.gamma * mdp.expect(v)
        policy = mirror_step(policy, settings.rate * direct)
    return policy
