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

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, get_args, runtime_checkable

import numpy as np
from jaxtyping import Float
from typing_extensions import override

from etairl.eta import Eta
from etairl.penalties import GAN, WeightSet
from etairl.tabular.exact_measures import geometric_parameter, geometric_weights, mu, mu_in_time
from etairl.tabular.mdp import MDP, PairTable
from etairl.tabular.phase import phase_mu, phase_optimal
from etairl.tabular.rl import best_stationary, time_optimal
from etairl.types import InputError, check_choice

Within = Literal["stationary", "time", "phase"]
FeatureTable = Float[np.ndarray, "state action feature"]


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


def check_features(mdp: MDP, features: FeatureTable) -> FeatureTable:
    """Return features [state, action, feature] of this MDP, finite and not all 0."""
    features = np.asarray(features, dtype=np.float64)
    if features.ndim != 3 or features.shape[:2] != mdp.c.shape or not features.shape[2]:
        states, actions = mdp.c.shape
        raise InputError(
            f"features must have shape ({states}, {actions}, number of features), got "
            f"{features.shape}"
        )
    if not np.isfinite(features).all():
        first = np.argwhere(~np.isfinite(features))[0]
        raise InputError(f"features{first.tolist()} is {features[tuple(first)]}: it must be finite")
    if not features.any():
        raise InputError("all features are 0 everywhere: they tell nobody from the expert")
    return features


@runtime_checkable
class CostFamily(Protocol):
    r"""Where costs come from: $\psi$ with its exact maximum."""

    def maximum(self, own: PairTable, expert: PairTable) -> tuple[float, PairTable]:
        r"""$\max_c\langle\mu-\mu_E, c\rangle - \psi(c)$, and a maximising cost."""
        ...

    def offset(self, cost: PairTable, expert: PairTable) -> float:
        r"""$-\langle\mu_E, c\rangle - \psi(c)$: what $L(\mu, c)$ adds to $\langle\mu, c\rangle$."""
        ...


@dataclass(frozen=True, eq=False)
class LinearCosts(CostFamily):
    r"""$c = \sum_iw_if_i$ with weights in a set: `Ball` is EMMA's, `Simplex` WIEM's."""

    features: FeatureTable
    weights: WeightSet

    def difference(self, own: PairTable, expert: PairTable) -> Float[np.ndarray, " feature"]:
        r"""$\Delta = \langle\mu, f\rangle - \langle\mu_E, f\rangle$."""
        return np.einsum("saf,sa->f", self.features, own - expert)

    def cost(self, weights: Float[np.ndarray, " feature"]) -> PairTable:
        r"""$\sum_iw_if_i$."""
        return self.features @ weights

    @override
    def maximum(self, own: PairTable, expert: PairTable) -> tuple[float, PairTable]:
        value, weights = self.weights.maximum(self.difference(own, expert))
        return float(value), self.cost(weights)

    @override
    def offset(self, cost: PairTable, expert: PairTable) -> float:
        return -float((expert * cost).sum())


@dataclass(frozen=True)
class GANCosts(CostFamily):
    r"""$c = \log D$ with $\psi_{GAN}$: MEGAN's costs, GAIL's at $\eta=\delta_0$."""

    penalty: GAN = field(default_factory=GAN)

    @override
    def maximum(self, own: PairTable, expert: PairTable) -> tuple[float, PairTable]:
        value, cost = self.penalty.maximum(own, expert)
        return float(value), cost

    @override
    def offset(self, cost: PairTable, expert: PairTable) -> float:
        r"""Here it is $\langle\mu_E, \log(1-D)\rangle$."""
        return -float((expert * cost).sum()) - float(self.penalty.penalty(cost, expert))


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
        if isinstance(self.costs, LinearCosts):
            check_features(self.mdp, self.costs.features)
        check_choice("within", self.within, get_args(Within))
        if self.within == "phase" and geometric_parameter(self.eta) is None:
            raise InputError(f"{self.eta} has no phase; choose within='time'")

    @property
    def proven(self) -> bool:
        """Whether the dual is a proven lower bound of the value over `within`."""
        geometric = geometric_weights(self.eta, self.mdp.gamma) is not None
        return geometric or self.within != "stationary"

    @property
    def unit(self) -> float:
        r"""The size of a cost: the largest feature, or 1 for $\log D$."""
        if isinstance(self.costs, LinearCosts):
            return float(np.abs(self.costs.features).max())
        return 1.0

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
