r"""The game of inverse RL on exact occupancies: primal, dual, gap (section 2.4, errata (b)).

$$L(\mu, c) = \langle\mu-\mu_E, c\rangle - \psi(c)$$

The learner minimises, the cost player maximises. The *primal* of an occupancy is $\max_cL$, in
closed form for every $\psi$ here; the *dual* of a cost is $\min_\mu L$ over a convex set of
occupancies, by dynamic programming. Their difference bounds how far both are from the saddle
point, where the best response is exact (`Game.proven`). On $\mathcal{D}$ itself, for a plain
geometric $\eta$, no saddle point need exist: Proposition `PR:equivalent` fails there. The sets to
choose from are $\mathrm{conv}(\mathcal{D}) \subset \mathcal{M}_{\text{time}} \subset
\mathcal{M}_{\text{phase}}$, named by what the learner may use: `stationary` policies, drawn at
random at the start; the `time`; the `phase`.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float

from etairl.eta import Eta
from etairl.tabular.cost_families import CostFamily
from etairl.tabular.exact_measures import geometric_parameter, geometric_weights, mu, mu_in_time
from etairl.tabular.mdp import MDP, PairTable
from etairl.tabular.phase import phase_mu, phase_optimal
from etairl.tabular.rl import best_stationary, time_optimal
from etairl.types import InputError, check_choice

Within = Literal["stationary", "time", "phase"]


def check_occupancy(mdp: MDP, expert: PairTable, mass: float | None = None) -> PairTable:
    r"""The expert's occupancy, if it can be one of this MDP.

    A mass that differs from `mass`, or else $1/(1-\gamma)$, is allowed, as episodes that were cut
    have it; a mass of 1 is not, as it means that somebody normalised.
    """
    expert = np.asarray(expert, dtype=np.float64)
    if expert.shape != mdp.c.shape:
        raise InputError(
            f"the expert's occupancy must have shape {mdp.c.shape}, got {expert.shape}"
        )
    good = (expert >= 0.0) & np.isfinite(expert)
    if not good.all():
        first = np.argwhere(~good)[0].tolist()
        raise InputError(f"expert{first} is negative, NaN or infinite: an occupancy is neither")
    total = float(expert.sum())
    if total == 0.0:
        raise InputError("the expert's occupancy is 0 everywhere: the expert is nowhere")
    wanted = 1.0 / (1.0 - mdp.gamma) if mass is None else mass
    if abs(total - 1.0) < 1e-9 and abs(wanted - 1.0) > 1e-6:
        raise InputError(
            f"the expert's occupancy sums to 1, where {wanted:.6g} = 1/(1 - gamma) is expected: "
            "it was normalised; multiply it by that"
        )
    return expert


class Response(NamedTuple):
    """The learner's best answer to a cost."""

    value: float
    r"""$\min_\mu\langle\mu, c\rangle$"""
    occupancy: Float[np.ndarray, "state action"]
    policy: np.ndarray
    """[state, action]; [time, state, action]; or [waiting and running, state, action]"""


@dataclass(frozen=True, eq=False)
class Game:
    """One problem of inverse RL: a world, a weighting, an expert's occupancy, a family of costs."""

    mdp: MDP
    """the world; its own cost plays no part"""
    eta: Eta
    expert: Float[np.ndarray, "state action"]
    r"""$\mu_E$: of a policy, of a mixture, or estimated from episodes"""
    costs: CostFamily
    within: Within = "stationary"
    r"""the learner's class. `stationary` has an exact best response where $w_n$ is geometric;
    elsewhere it is a search over several starts, and the dual is not proven"""

    def __post_init__(self):
        check_occupancy(self.mdp, self.expert)
        self.costs.check(self.mdp)
        check_choice("within", self.within, get_args(Within))
        if self.within == "phase" and geometric_parameter(self.eta) is None:
            raise InputError(f"{self.eta} has no phase; choose within='time'")

    @property
    def proven(self) -> bool:
        """Whether the dual is a proven lower bound of the value over `within`."""
        geometric = geometric_weights(self.eta, self.mdp.gamma) is not None
        return geometric or self.within != "stationary"

    def primal(self, occupancy: PairTable) -> float:
        r"""$\max_cL(\mu, c)$: how far the occupancy is from the expert's."""
        return self.costs.maximum(occupancy, self.expert)[0]

    def dual(self, cost: PairTable) -> float:
        r"""$\min_\mu L(\mu, c)$ over the learner's class."""
        return self.respond(cost).value + self.costs.offset(cost, self.expert)

    def respond(self, cost: PairTable) -> Response:
        """The learner's best response to a cost."""
        world = self.mdp.with_cost(cost)
        if self.within == "stationary":
            best = best_stationary(world, self.eta)
            return Response(best.value, mu(world, best.policy, self.eta).values, best.policy)
        if self.within == "time":
            timed = time_optimal(world, self.eta)
            occupancy = mu_in_time(world, timed.policies, self.eta).values
            return Response(timed.value, occupancy, timed.policies)
        kappa = geometric_parameter(self.eta)
        assert kappa is not None
        phases = phase_optimal(world, kappa)
        occupancy = phase_mu(world, kappa, phases.waiting, phases.running)
        return Response(phases.value, occupancy, np.stack([phases.waiting, phases.running]))
