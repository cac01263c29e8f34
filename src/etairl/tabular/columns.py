r"""The saddle point by column generation: an exact solver whose answer carries its own gap.

Keep occupancies of best responses (columns). Over their convex hull the game is small and solved
to rounding; its best cost goes to the learner, whose best response is the next column. The value
over the hull is an upper bound, the dual of every cost a lower one, if best responses are exact
(`Game.proven`); stop when they meet. Without regulariser best responses are vertices, so the end is
reached after finitely many columns. The answer is a mixture: choose `policies[i]` with probability
`shares[i]` at the start.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import linprog, nnls

from etairl.penalties import Ball, Simplex
from etairl.tabular.game import Game, GANCosts, LinearCosts
from etairl.tabular.mdp import PairTable
from etairl.types import InputError

ColumnTables = Float[np.ndarray, "column state action"]
Shares = Float[np.ndarray, " column"]


class Saddle(NamedTuple):
    """A saddle point, with upper and lower bound of its value."""

    primal: float
    r"""$\max_cL$ at the occupancy: an upper bound of the value"""
    dual: float
    r"""$\min_\mu L$ at the best cost found: a lower bound of the value, if `proven`"""
    cost: Float[np.ndarray, "state action"]
    occupancy: Float[np.ndarray, "state action"]
    """of the mixture, that is the average of the columns"""
    policies: list[np.ndarray]
    shares: Float[np.ndarray, " policy"]
    """of each of the `policies`; they sum to 1"""
    iterations: int
    proven: bool
    """whether `dual` is a proven bound; if not, it comes from a search (see `Game.proven`)"""
    solved: bool
    """whether the gap is as small as it was asked to be"""

    @property
    def gap(self) -> float:
        """Upper minus lower bound."""
        return self.primal - self.dual


def generate(game: Game, tolerance: float = 1e-8, most: int = 500) -> Saddle:
    r"""Add best responses until the gap is closed, starting from that to no cost at all.

    The unit of `tolerance` is `Game.unit` over $1-\gamma$, so that $f\to sf$ changes nothing. If a
    best response repeats before, nothing more can be added: the answer is then returned as it is,
    with `solved` False. A game that needs more than `most` columns is refused.
    """
    if not isinstance(game.costs, LinearCosts):
        return _generate(game, tolerance, most)
    unit = game.unit
    costs = LinearCosts(game.costs.features / unit, game.costs.weights)
    saddle = _generate(replace(game, costs=costs), tolerance, most)
    return saddle._replace(
        primal=unit * saddle.primal, dual=unit * saddle.dual, cost=unit * saddle.cost
    )


def _generate(game: Game, tolerance: float, most: int) -> Saddle:
    mass = 1.0 / (1.0 - game.mdp.gamma)
    first = game.respond(np.zeros(game.mdp.c.shape))
    columns, policies = [first.occupancy], [first.policy]
    best = (-np.inf, np.zeros(game.mdp.c.shape))
    for iteration in range(1, most + 1):
        shares, cost = _master(game, np.stack(columns), tolerance * mass)
        occupancy = np.tensordot(shares, np.stack(columns), axes=1)
        answer = game.respond(cost)
        bound = answer.value + game.costs.offset(cost, game.expert)
        best = (bound, cost) if bound > best[0] else best
        primal = game.primal(occupancy)
        known = min(float(np.abs(column - answer.occupancy).max()) for column in columns)
        solved = primal - best[0] <= tolerance * mass
        if solved or known < 1e-14 * mass:
            kept = np.flatnonzero(shares > 0.0)
            return Saddle(
                primal=primal,
                dual=best[0],
                cost=best[1],
                occupancy=occupancy,
                policies=[policies[i] for i in kept],
                shares=shares[kept],
                iterations=iteration,
                proven=game.proven,
                solved=solved,
            )
        columns.append(answer.occupancy)
        policies.append(answer.policy)
    raise InputError(f"the game is not solved to {tolerance:g} with {most} columns")


def _master(game: Game, columns: ColumnTables, tolerance: float) -> tuple[Shares, PairTable]:
    """The game over the convex hull of the columns: their shares, and the best cost."""
    costs = game.costs
    if isinstance(costs, LinearCosts) and isinstance(costs.weights, Simplex):
        return _least_maximum(costs, columns, game.expert)
    if isinstance(costs, LinearCosts) and isinstance(costs.weights, Ball):
        return _least_norm(costs, columns, game.expert)
    if isinstance(costs, GANCosts):
        return _least_divergence(costs, columns, game.expert, 0.1 * tolerance)
    raise InputError(f"there is no exact solver for costs of kind {type(costs).__name__}")


def _least_maximum(
    costs: LinearCosts, columns: ColumnTables, expert: PairTable
) -> tuple[Shares, PairTable]:
    r"""$\min_\lambda\max_i(\sum_j\lambda_j\Delta_j)_i$: a linear program; weights are its duals."""
    differences = np.stack([costs.difference(column, expert) for column in columns], axis=1)
    features, count = differences.shape
    solution = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=np.hstack([differences, -np.ones((features, 1))]),
        b_ub=np.zeros(features),
        A_eq=np.append(np.ones(count), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, None)] * count + [(None, None)],
        method="highs",
    )
    weights = np.maximum(-solution.ineqlin.marginals, 0.0)
    shares = np.maximum(solution.x[:-1], 0.0)
    return shares / shares.sum(), costs.cost(weights / weights.sum())


def _least_norm(
    costs: LinearCosts, columns: ColumnTables, expert: PairTable
) -> tuple[Shares, PairTable]:
    r"""$\min_\lambda\lVert\sum_j\lambda_j\Delta_j\rVert_2$; where it is 0, so are the weights."""
    differences = np.stack([costs.difference(column, expert) for column in columns], axis=1)
    shares = _nearest_to_zero(differences)
    nearest = differences @ shares
    if np.linalg.norm(nearest) <= 1e-13 * np.linalg.norm(differences):
        return shares, np.zeros(expert.shape)
    return shares, costs.maximum(np.tensordot(shares, columns, axes=1), expert)[1]


def _least_divergence(
    costs: GANCosts, columns: ColumnTables, expert: PairTable, tolerance: float, most: int = 200
) -> tuple[Shares, PairTable]:
    r"""$\min_\lambda$ of $\langle\mu,\log D\rangle + \langle\mu_E,\log(1-D)\rangle$, by Newton.

    The second derivative in $\mu$ is $\mu_E/(\mu(\mu+\mu_E))$, so the quadratic model over the
    simplex of shares is again a nearest point to 0, which `nnls` finds exactly.
    """
    flat, other = columns.reshape(len(columns), -1).T, expert.reshape(-1)
    shares = np.full(len(columns), 1.0 / len(columns))
    for _ in range(most):
        own = flat @ shares
        _, cost = costs.maximum(own.reshape(expert.shape), expert)
        slopes = cost.reshape(-1) @ flat
        if shares @ slopes - slopes.min() <= tolerance:
            break
        both = (own > 0.0) & (other > 0.0)
        root = np.sqrt(other[both] / (own[both] * (own[both] + other[both])))
        linear = cost.reshape(-1)[both] / root
        model = root[:, None] * flat[both]
        target = _nearest_to_zero(model - (model @ shares - linear)[:, None])
        move = flat @ (target - shares)
        shares = shares + _line_search(costs, own, move, expert) * (target - shares)
    _, cost = costs.maximum((flat @ shares).reshape(expert.shape), expert)
    return shares, cost


def _nearest_to_zero(points: Float[np.ndarray, "dimension column"]) -> Shares:
    r"""The shares of the point of the hull nearest to 0.

    With $\lambda = sx$, $x$ in the simplex, $\lVert P\lambda\rVert^2 + (s-1)^2$ is least at the
    same $x$ for every $s > 0$: non-negative least squares, normalised afterwards, is exact.
    """
    scale = max(float(np.abs(points).max()), 1e-300)
    system = np.vstack([points / scale, np.ones(points.shape[1])])
    shares, _ = nnls(system, np.append(np.zeros(len(points)), 1.0))
    return shares / shares.sum()


def _line_search(costs: GANCosts, start: np.ndarray, move: np.ndarray, expert: PairTable) -> float:
    """Where the divergence is least between 0 and 1 along `move`, by bisection."""

    def slope(step: float) -> float:
        at = np.maximum(start + step * move, 0.0).reshape(expert.shape)
        return float(move @ costs.maximum(at, expert)[1].reshape(-1))

    if slope(1.0) <= 0.0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) <= 0.0 else (low, middle)
    return 0.5 * (low + high)
