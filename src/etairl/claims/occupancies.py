r"""Claims about occupancies: duality (b), entropy (c), bijection (d), tower rule (e)."""

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from etairl.claims.verdict import ROUNDING, Claim, judge, worlds
from etairl.eta import Dirac, Eta, Geometric, Poisson
from etairl.penalties import Simplex
from etairl.tabular.columns import generate
from etairl.tabular.game import Features, Game, LinearCosts, Within
from etairl.tabular.generators import (
    fork,
    go_stay,
    go_stay_policy,
    hidden_start,
    random_policy,
)
from etairl.tabular.irl import megan
from etairl.tabular.mdp import MDP, Pairs, Policy
from etairl.tabular.measures import (
    future,
    measure_entropy,
    mu,
    policy_from_occupancy,
    rho,
)
from etairl.tabular.operators import action_values, evaluate

HALF = Geometric(0.5)
LAWS: tuple[Eta, ...] = (Geometric(0.6), Poisson(3.0), Dirac(4))


def go_stay_features() -> Features:
    """The features that separate min max from max min: 1 at (0, stay), 4 at (0, go)."""
    features = np.zeros((2, 2, 2))
    features[0, 0, 0], features[0, 1, 1] = 1.0, 4.0
    return features


def go_stay_game(within: Within = "stationary", expert: float = 0.8) -> Game:
    """WIEM on the go/stay chain with gamma = kappa = .5 and an expert who stays with .8."""
    mdp = go_stay(0.0, 0.0, 0.0)
    occupancy = mu(mdp, go_stay_policy(expert), HALF).values
    return Game(mdp, HALF, occupancy, LinearCosts(go_stay_features(), Simplex()), within)


def least_primal(game: Game, eta: Eta) -> tuple[float, float]:
    """The stationary policy of a go/stay chain that is nearest to the expert: p and its primal."""

    def primal(p: float) -> float:
        return game.primal(mu(game.mdp, go_stay_policy(p), eta).values)

    grid = np.linspace(0.0, 1.0, 201)
    best = float(grid[int(np.argmin([primal(p) for p in grid.tolist()]))])
    inside = (max(0.0, best - 0.005), min(1.0, best + 0.005))
    found: Any = minimize_scalar(primal, bounds=inside, method="bounded", options={"xatol": 1e-12})
    return min(((float(found.x), float(found.fun)), (best, primal(best))), key=lambda b: b[1])


def duality(trials: int = 20) -> Claim:
    """(b): occupancies are convex and min max = max min for geometric eta."""
    p, upper = least_primal(go_stay_game(), HALF)
    values = {w: generate(go_stay_game(w)).primal for w in ("stationary", "time", "phase")}
    gap = 0.0
    for rng, mdp in worlds(2, trials, states=3, actions=2, gamma=0.7):
        experts = [mu(mdp, random_policy(rng, mdp), HALF).values for _ in range(2)]
        mixed, features = 0.5 * (experts[0] + experts[1]), rng.random((3, 2, 3))
        for within in ("time", "phase"):
            game = Game(mdp, HALF, mixed, LinearCosts(features, Simplex()), within)
            gap = max(gap, generate(game).gap)
            gap = max(gap, megan(mdp, HALF, mixed, within).gap)
    return Claim(
        id="b",
        claim="{μ_π} is convex for geometric η, so min max = max min (PR:equivalent, CR:Nash)",
        verdict=judge(upper - values["stationary"] < 1e-6, gap < 1e-6, "false as stated"),
        evidence=(
            f"go/stay, γ = κ = .5, WIEM: min max {abs(upper):.6f} at p = {p:.4f}, max min "
            f"{values['stationary']:.6f}"
        ),
        trials=trials,
        corrected="minimax holds on conv(D), on M_time (any η) and on M_phase (geometric η)",
        corrected_evidence=(
            f"proven gap at most {gap:.1e}; go/stay: conv(D) {values['stationary']:.6f}, M_time "
            f"{values['time']:.6f}, M_phase {values['phase']:.6f}"
        ),
    )


def entropy(trials: int = 2000) -> Claim:
    """(c): the eta-entropy is concave in the occupancy."""
    slack = np.inf
    for number in range(trials):
        rng = np.random.default_rng([3, number])
        one, two = rng.exponential(size=(2, 3, 3))
        middle = measure_entropy(0.5 * (one + two))
        slack = min(slack, middle - 0.5 * (measure_entropy(one) + measure_entropy(two)))
    ends, half = fork_entropies()
    return Claim(
        id="c",
        claim="the η-entropy is concave in μ (P:convex_entropy)",
        verdict=judge(slack > -ROUNDING, half < 0.5 * sum(ends), "false as stated"),
        evidence=f"least slack {slack:.2e} over {trials} pairs of random measures",
        trials=trials,
        corrected="as a function on measures; in the policy it is not concave",
        corrected_evidence=f"fork, γ .9, κ .5: {half:.6f} at the middle, chord {sum(ends) / 2:.6f}",
    )


def fork_entropies() -> tuple[tuple[float, float], float]:
    """Entropies at the ends and the middle of a segment of policies (errata (c))."""

    def at(x: float) -> float:
        policy = np.array([[x, 1.0 - x], [1.0 - x / 2.0, x / 2.0], [1.0, 0.0]])
        return measure_entropy(mu(fork(0.9), policy, HALF).values)

    return (at(0.0), at(1.0)), at(0.5)


def bijection(trials: int = 60) -> Claim:
    """(d): policy and occupancy determine each other."""
    worst = 0.0
    for rng, mdp in worlds(4, trials):
        policy = random_policy(rng, mdp)
        for eta in (Geometric(0.6), Poisson(3.0), Dirac(2)):
            read = policy_from_occupancy(mu(mdp, policy, eta).values)
            worst = max(worst, float(np.abs(read - policy).max()))
    chain = hidden_start()
    one, two = ([[x, 1.0 - x], [0.5, 0.5], [1.0, 0.0]] for x in (0.2, 0.9))
    moved = mu(chain, np.array(one), Dirac(1)).values - mu(chain, np.array(two), Dirac(1)).values
    unseen = float(np.abs(moved).max())
    return Claim(
        id="d",
        claim="a policy and its weighted occupancy determine each other (policy_occupancy)",
        verdict=judge(worst < ROUNDING, unseen < ROUNDING, "false as stated"),
        evidence=f"π = μ(s,a)/μ(s) to {worst:.1e} in all states that are visited",
        trials=trials,
        corrected="on visited states and with positive time weights only",
        corrected_evidence=f"δ_1, start never revisited: two policies, μ differs by {unseen:.1e}",
    )


def tower(trials: int = 60) -> Claim:
    """(e): eta-weighted discounted sums are integrals against mu."""
    worst = 0.0
    for rng, mdp in worlds(5, trials, gamma=0.8):
        policy = random_policy(rng, mdp)
        for eta in LAWS:
            worst = max(worst, float(np.ptp(tower_forms(mdp, policy, mdp.c, eta))))
    literal = tower_forms(go_stay(1.0, 1.0, 1.0), go_stay_policy(0.5), np.ones((2, 2)), Dirac(0))
    return Claim(
        id="e",
        claim="E^η Σ γ^t f = ⟨μ, f⟩, whichever of ρ and P^η comes first (tower_rule)",
        verdict=judge(worst < ROUNDING, abs(literal[0] - 2.0) < ROUNDING, "false as stated"),
        evidence=f"three forms agree to {worst:.1e} for Geom(.6), Poisson(3), δ_4",
        trials=trials,
        corrected="E^η_π[f] in EMMA, WIEM and MEGAN is the average under μ, whose mass is 1/(1−γ)",
        corrected_evidence=f"f = 1, γ = .5: {literal[0]:.4g}",
    )


def tower_forms(mdp: MDP, policy: Policy, f: Pairs, eta: Eta) -> list[float]:
    r"""$p_0P^\eta Rf$, $p_0RP^\eta f$ and $\langle\mu, f\rangle$, $R = \sum_t\gamma^tP_\pi^t$."""
    world = mdp.with_cost(f)
    ahead = future(mdp, policy, eta).values
    later = (ahead * action_values(world, evaluate(world, policy))).sum()
    # Start from the normalised occupancy, then look ahead.
    begin = rho(mdp, policy).states
    moved = MDP(P=mdp.P, c=f, p0=begin / begin.sum(), gamma=mdp.gamma)
    first = begin.sum() * (future(moved, policy, eta).values * f).sum()
    return [float(later), float(first), float((mu(mdp, policy, eta).values * f).sum())]
