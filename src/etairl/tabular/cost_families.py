r"""Families of costs on a small MDP: $\psi$ its exact maximum, and saddle points over a hull."""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.optimize import linprog, nnls
from typing_extensions import override

from etairl.penalties import GAN, Ball, Simplex, WeightSet
from etairl.tabular.mdp import MDP, PairTable
from etairl.types import InputError

FeatureTable = Float[np.ndarray, "state action feature"]
ColumnTables = Float[np.ndarray, "column state action"]
Shares = Float[np.ndarray, " column"]


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

    def over_hull(
        self, columns: ColumnTables, expert: PairTable, tolerance: float
    ) -> tuple[Shares, PairTable]:
        """The game over the convex hull of the columns: their shares, and the best cost."""
        ...

    @property
    def unit(self) -> float:
        r"""The size of a cost: the largest feature, or 1 for $\log D$."""
        return 1.0

    def in_units(self, unit: float) -> "CostFamily":
        """The same family with all costs in this unit."""
        del unit
        return self

    def check(self, mdp: MDP) -> None:
        """Refuse costs that are not of this MDP."""


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

    @override
    def over_hull(
        self, columns: ColumnTables, expert: PairTable, tolerance: float
    ) -> tuple[Shares, PairTable]:
        match self.weights:
            case Simplex():
                return _least_maximum(self, columns, expert)
            case Ball():
                return _least_norm(self, columns, expert)
            case other:
                raise InputError(f"there is no exact solver for weights in {other}")

    @property
    @override
    def unit(self) -> float:
        return float(np.abs(self.features).max())

    @override
    def in_units(self, unit: float) -> "LinearCosts":
        return LinearCosts(self.features / unit, self.weights)

    @override
    def check(self, mdp: MDP) -> None:
        check_features(mdp, self.features)


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

    @override
    def over_hull(
        self, columns: ColumnTables, expert: PairTable, tolerance: float
    ) -> tuple[Shares, PairTable]:
        return _least_divergence(self, columns, expert, tolerance)


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
    costs: GANCosts, columns: ColumnTables, expert: PairTable, tolerance: float
) -> tuple[Shares, PairTable]:
    r"""$\min_\lambda$ of $\langle\mu,\log D\rangle + \langle\mu_E,\log(1-D)\rangle$, by Newton.

    The second derivative in $\mu$ is $\mu_E/(\mu(\mu+\mu_E))$, so the quadratic model over the
    simplex of shares is again a nearest point to 0, which `nnls` finds exactly.
    """
    flat, other = columns.reshape(len(columns), -1).T, expert.reshape(-1)
    shares = np.full(len(columns), 1.0 / len(columns))
    for _ in range(200):
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
