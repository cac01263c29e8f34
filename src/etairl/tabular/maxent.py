r"""Maximum-entropy IRL: match the expert's features, and beyond that be as random as possible.

$$\max_w\min_\pi\; w\cdot\big(\langle\mu_\pi,f\rangle-\langle\mu_E,f\rangle\big) -
\mathbb{E}\sum_nw_n\,\Omega(\pi(\cdot\mid s_n))$$

The inner minimum is exact: soft policy iteration where the time weights are geometric (at
$\eta=\delta_0$, maximum *causal* entropy IRL of Ziebart 2010), soft backward induction over
policies that know the time elsewhere. The outer problem is concave and smooth: projected gradient
steps of Barzilai and Borwein, until the gap is proven small.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from etairl.eta import Eta
from etairl.penalties import WeightSet
from etairl.regularisers import Regulariser
from etairl.tabular.cost_families import FeatureTable, check_features
from etairl.tabular.exact_measures import geometric_weights, mu, mu_in_time
from etairl.tabular.game import check_occupancy
from etairl.tabular.mdp import MDP, PairTable
from etairl.tabular.operators import policy_iteration
from etairl.tabular.rl import time_optimal
from etairl.types import InputError

FeatureVector = Float[np.ndarray, " feature"]


class SoftSaddle(NamedTuple):
    """The policy and the cost of regularised IRL."""

    primal: float
    r"""$\max_ww\cdot\Delta-\Omega$ at the policy; without a set of weights, $-\Omega$"""
    dual: float
    weights: Float[np.ndarray, " feature"]
    cost: Float[np.ndarray, "state action"]
    policy: np.ndarray
    """[state, action]; [time, state, action] where the time weights are not geometric"""
    occupancy: Float[np.ndarray, "state action"]
    mismatch: float
    r"""$\lVert\Delta\rVert_\infty$, the largest difference of a feature"""
    iterations: int

    @property
    def gap(self) -> float:
        """Upper minus lower bound; without a set of weights the upper one assumes a match."""
        return self.primal - self.dual


class _Answer(NamedTuple):
    value: float
    policy: np.ndarray
    occupancy: np.ndarray
    difference: np.ndarray


def soft_response(
    mdp: MDP, eta: Eta, regulariser: Regulariser
) -> tuple[float, np.ndarray, PairTable]:
    r"""$\min_\pi J_{\eta,\Omega}(\pi)$, its policy and its occupancy, exactly.

    Over stationary policies where the weights are geometric, else over policies that know the time.
    """
    beta = geometric_weights(eta, mdp.gamma)
    if beta is None:
        best = time_optimal(mdp, eta, regulariser)
        return best.value, best.policies, mu_in_time(mdp, best.policies, eta).values
    soft = policy_iteration(mdp.with_discount(beta), regulariser, tolerance=1e-13)
    scale = (1.0 - beta) / (1.0 - mdp.gamma)
    return scale * float(mdp.p0 @ soft.v), soft.policy, mu(mdp, soft.policy, eta).values


def max_entropy(
    mdp: MDP,
    eta: Eta,
    expert: PairTable,
    features: FeatureTable,
    regulariser: Regulariser,
    weights: WeightSet | None = None,
    tolerance: float = 1e-10,
    most: int = 20_000,
) -> SoftSaddle:
    """Maximum-entropy IRL with features, unbounded weights or weights in a set.

    The regulariser is `Entropy(alpha)`, or another strictly concave one. As the set of weights,
    `Ball()` makes it regularised EMMA, `Simplex()` regularised WIEM; None is the classical problem,
    which has a solution only if the expert's features can be matched. `tolerance` is of the gap;
    without a set, of the mismatch of each feature, in units of the largest entry of that feature.
    """
    expert, features = check_occupancy(mdp, expert), check_features(mdp, features)
    # Unbounded weights may be counted in any unit: equal ones make the steps of the ascent fit all.
    units = np.abs(features).max(axis=(0, 1)) if weights is None else np.ones(features.shape[-1])
    features = features / np.where(units > 0.0, units, 1.0)
    problem = _Problem(mdp, eta, expert, features, regulariser, weights)
    w = np.zeros(features.shape[-1])
    w = w if weights is None else weights.project(w)
    answer, step = problem.answer(w), 1.0
    for iteration in range(most):
        if problem.left(w, answer) <= tolerance:
            return _saddle(w, answer, problem, units, iteration)
        w, answer, step = _step(w, answer, step, problem)
    left = problem.left(w, answer)
    raise InputError(
        f"maximum entropy has not reached {tolerance:g} in {most} steps, {left:.3g} "
        "is left: allow more steps or a larger tolerance; without a set of weights the expert's "
        "features must be those of some policy that may take every action"
    )


@dataclass(frozen=True, eq=False)
class _Problem:
    mdp: MDP
    eta: Eta
    expert: PairTable
    features: FeatureTable
    regulariser: Regulariser
    weights: WeightSet | None

    def answer(self, w: FeatureVector) -> _Answer:
        cost = self.features @ w
        world = self.mdp.with_cost(cost)
        value, policy, occupancy = soft_response(world, self.eta, self.regulariser)
        difference = np.einsum("saf,sa->f", self.features, occupancy - self.expert)
        return _Answer(value - float((self.expert * cost).sum()), policy, occupancy, difference)

    def left(self, w: FeatureVector, answer: _Answer) -> float:
        """The gap that is left to close; without a set of weights, the mismatch."""
        if self.weights is None:
            return float(np.abs(answer.difference).max())
        best, _ = self.weights.maximum(answer.difference)
        return float(best) - float(w @ answer.difference)


def _step(
    w: FeatureVector, answer: _Answer, step: float, problem: _Problem
) -> tuple[FeatureVector, _Answer, float]:
    while True:
        target = w + step * answer.difference
        target = target if problem.weights is None else problem.weights.project(target)
        move = target - w
        ahead = problem.answer(target)
        # Concave: a little beyond the top of the line is fine, far beyond is not.
        if ahead.difference @ move >= -0.4 * (answer.difference @ move) or step < 1e-14:
            break
        step *= 0.5
    bend = -(ahead.difference - answer.difference) @ move
    longer = float(move @ move / bend) if bend > 0.0 else 10.0 * step
    return target, ahead, float(np.clip(longer, 1e-10, 1e10))


def _saddle(
    w: FeatureVector, answer: _Answer, problem: _Problem, units: FeatureVector, iterations: int
) -> SoftSaddle:
    entropy, weights = float(w @ answer.difference) - answer.value, problem.weights
    best = 0.0 if weights is None else float(weights.maximum(answer.difference)[0])
    return SoftSaddle(
        primal=best - entropy,
        dual=answer.value,
        weights=w / np.where(units > 0.0, units, 1.0),
        cost=problem.features @ w,
        policy=answer.policy,
        occupancy=answer.occupancy,
        mismatch=float(np.abs(answer.difference * units).max()),
        iterations=iterations,
    )
