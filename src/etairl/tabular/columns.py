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

from etairl.tabular.game import Game
from etairl.types import InputError


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

    The unit of `tolerance` is that of the costs over $1-\gamma$, so that $f\to sf$ changes nothing.
    If a best response repeats before, nothing more can be added: the answer is then returned as it
    is, with `solved` False. A game that needs more than `most` columns is refused.
    """
    unit = game.costs.unit
    saddle = _generate(replace(game, costs=game.costs.in_units(unit)), tolerance, most)
    return saddle._replace(
        primal=unit * saddle.primal, dual=unit * saddle.dual, cost=unit * saddle.cost
    )


def _generate(game: Game, tolerance: float, most: int) -> Saddle:
    mass = 1.0 / (1.0 - game.mdp.gamma)
    first = game.respond(np.zeros(game.mdp.c.shape))
    columns, policies = [first.occupancy], [first.policy]
    best = (-np.inf, np.zeros(game.mdp.c.shape))
    for iteration in range(1, most + 1):
        parts = np.stack(columns), game.expert, 0.1 * tolerance * mass
        shares, cost = game.costs.over_hull(*parts)
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
