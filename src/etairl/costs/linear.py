r"""Costs linear in features, $c = \sum_iw_if_i$, with weights in a convex set: EMMA and WIEM.

The penalty is the indicator $\imath_{\mathcal C}$ of the set: `Ball` for EMMA (Proposition
`P:EMMA`), `Simplex` for WIEM (Proposition `P:WIEM`). The cost player maximises $w\cdot\Delta$ with
$\Delta = \mathbb{E}^\eta_\pi[f] - \mathbb{E}^\eta_E[f]$, estimated by *means* of what was drawn:
the paper's sums depend on the batch size (errata (h)).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from typing_extensions import override

from etairl.costs.family import (
    ConfiguredCost,
    CostConfig,
    FeatureValues,
    Inputs,
    LogProb,
    Points,
    View,
    check_all_finite,
)
from etairl.costs.features import Features, FeatureState
from etairl.costs.maps import Own, parse_features
from etairl.experience import World
from etairl.hyper import traced
from etairl.networks import Rows
from etairl.penalties import Ball, Simplex, WeightSet, surrogate_step
from etairl.types import InputError, check_choice, check_range

CostStep = Literal["closed", "ascent", "surrogate"]
WeightSetName = Literal["ball", "simplex"]
Weights = Float[Array, " features"]
_BATCHES = 8
"""of the learner's pairs, from which mean and spread of the costs are taken"""
_SMALLEST_SPREAD = 1e-6


@traced
@dataclass(frozen=True)
class LinearConfig(CostConfig):
    """The features of a linear cost, the set of their weights, and how these move."""

    kind: ClassVar[str] = "linear"
    weights: WeightSetName = "ball"
    """the set of the weights: a ball (emma) or the simplex (wiem)"""
    inputs: Inputs = "state_action"
    """what the features are of"""
    features: str = "quadratic"
    """identity, quadratic, fourier:N (random waves), rbf:N (bumps at demonstrated pairs), or
    module:function, a map (obs, act) -> features of your own"""
    radius: float = 1.0
    """of emma: the bound on |w|; 1/√N makes costs of N features of order 1"""
    both_signs: bool = True
    """of wiem: take -f into the basis beside f; off where every feature is a cost by itself"""
    cost_step: CostStep = "closed"
    """closed: towards the best weights against the mean of the cycle; ascent: projected ascent
    (emma), multiplicative weights (wiem); surrogate: the paper's quadratic loss with projection"""
    cost_rate: float = 0.1
    """closed: the share of the way, once per cycle; else the rate of each update"""
    mean_cost: float | None = None
    """give the costs of the learner's newest pairs this mean and the spread 1, so that a critic
    need not follow how both move from cycle to cycle; none for costs as they are"""

    @staticmethod
    def upgraded(data: dict[str, Any]) -> dict[str, Any]:
        """Settings of a file, also of versions up to 0.4."""
        return {"mean_cost": None} | data

    def __post_init__(self):
        check_choice("cost_step", self.cost_step, get_args(CostStep))
        check_choice("inputs", self.inputs, get_args(Inputs))
        check_choice("weights", self.weights, get_args(WeightSetName))
        Ball(self.radius)
        check_range(self, "(0, inf)", "cost_rate")
        if self.cost_step == "closed" and self.cost_rate > 1.0:
            raise InputError(
                f"cost_rate is a share of the way with the closed step: at most 1, got "
                f"{self.cost_rate}"
            )
        parse_features(self.features)

    @property
    @override
    def needs_next(self) -> bool:
        return self.inputs == "state_next_state"

    @property
    @override
    def needs_actions(self) -> bool:
        own = isinstance(parse_features(self.features), Own)  # which takes states and actions
        return own or self.inputs == "state_action"

    @override
    def code(self) -> list[str]:
        return [self.features] if isinstance(parse_features(self.features), Own) else []

    @override
    def make(self, world: World) -> "LinearCost":
        allowed = Ball(self.radius) if self.weights == "ball" else Simplex()
        return LinearCost(self, View(world.spec, self.inputs, world.absorbing), allowed)


class LinearState(NamedTuple):
    """The weights, and what the features are measured in."""

    weights: Weights
    features: FeatureState
    paid: "Paid | None" = None
    """where costs are standardised"""


class Paid(NamedTuple):
    """Mean and spread of what the learner's newest pairs cost."""

    mean: Float[Array, ""]
    spread: Float[Array, ""]

    @staticmethod
    def of(costs: Float[Array, "*rows"]) -> "Paid":
        """Of these rows."""
        return Paid(costs.mean(), jnp.maximum(costs.std(), _SMALLEST_SPREAD))


class LinearInfo(NamedTuple):
    """Metrics of an update of the weights; features are in units of the expert's spread."""

    gap: Float[Array, ""]
    r"""$\max_w w\cdot\Delta$: $r\lVert\Delta\rVert_2$ on a ball of radius $r$,
    $\max_i\Delta_i$ on a simplex"""
    noise: Float[Array, ""]
    r"""about the gap of draws from equal sides: the norm of the standard errors of $\Delta$, on a
    simplex $\sqrt{2\log n}$ times the largest; of drawing only, not of episodes"""
    paid: Float[Array, ""]
    r"""$w\cdot\Delta$: what the learner pays more than the expert under the new weights"""
    largest_weight: Float[Array, ""]


@traced
@dataclass(frozen=True)
class LinearCost(ConfiguredCost):
    """A cost family of the template: features, and the set of their weights."""

    config: LinearConfig
    view: View
    allowed: WeightSet

    @property
    def basis(self) -> Features:
        """The features, without their negatives."""
        return Features(self.view, parse_features(self.config.features))

    @property
    def signed(self) -> bool:
        """Whether the negatives of all features are in the basis; a ball has them anyway."""
        return self.config.both_signs and isinstance(self.allowed, Simplex)

    def init(self, key: PRNGKeyArray, expert: Points) -> LinearState:
        """The middle of the set: no cost on a ball, all features alike on a simplex."""
        features = self.basis.init(key, expert)
        count = len(features.mean) * (2 if self.signed else 1)
        paid = None if self.config.mean_cost is None else Paid(jnp.zeros(()), jnp.ones(()))
        return LinearState(self.allowed.project(jnp.zeros(count)), features, paid)

    def __call__(self, state: LinearState, obs: Array, act: Array, next_obs: Array) -> Rows:
        """The cost of each row."""
        cost = self.features(state, obs, act, next_obs) @ state.weights
        if (mean := self.config.mean_cost) is None or state.paid is None:
            return cost
        return mean + (cost - state.paid.mean) / state.paid.spread

    def features(
        self, state: LinearState, obs: Array, act: Array, next_obs: Array
    ) -> Float[Array, "*rows features"]:
        """The features of each row, with their negatives where these are in the basis."""
        plain = self.basis(state.features, obs, act, next_obs)
        return jnp.concatenate([plain, -plain], axis=-1) if self.signed else plain

    def names(self, state: LinearState) -> tuple[str, ...]:
        """One per weight."""
        names = self.basis.names(state.features)
        return (*names, *(f"-{name}" for name in names)) if self.signed else names

    def updates(
        self,
        key: PRNGKeyArray,
        state: LinearState,
        own: Points,
        expert: Points,
        log_prob: LogProb | None = None,
    ) -> tuple[LinearState, LinearInfo]:
        r"""One turn: $w \leftarrow w + \text{rate}\,(w^* - w)$, or a step on each batch in turn."""
        return self._turn(state, own, expert)

    @jax.jit
    def _turn(
        self, state: LinearState, own: Points, expert: Points
    ) -> tuple[LinearState, LinearInfo]:
        def moments(batch: Points) -> tuple[Weights, Weights]:
            values = self.features(state, *batch)
            return values.mean(axis=0), values.var(axis=0)

        (mean_own, spread_own), (mean_expert, spread_expert) = (
            jax.lax.map(moments, side) for side in (own, expert)
        )
        differences = mean_own - mean_expert
        overall = differences.mean(axis=0)
        weights = self._move(state.weights, differences, overall)
        draws = own.obs.shape[0] * own.obs.shape[1]
        errors = jnp.sqrt((spread_own + spread_expert).mean(axis=0) / draws)
        noise = self.allowed.maximum(errors)[0]
        if isinstance(self.allowed, Simplex):
            noise *= np.sqrt(2.0 * np.log(max(len(errors), 2)))  # the largest of many
        info = LinearInfo(
            gap=self.allowed.maximum(overall)[0],
            noise=noise,
            paid=weights @ overall,
            largest_weight=jnp.abs(weights).max(),
        )
        state = state._replace(weights=weights)
        if state.paid is not None:
            newest = jax.tree.map(lambda rows: rows[-_BATCHES:], own)
            costs = self.features(state, *newest) @ weights
            state = state._replace(paid=Paid.of(costs))
        return state, info

    def check(self, state: LinearState, fresh: LinearState | None = None) -> None:
        """The weights must lie in their set, and features be what they are today."""
        check_all_finite(state)
        units = [state.features.column_scale, state.features.scale]
        units += [] if state.paid is None else [state.paid.spread]
        if not all((np.asarray(x) > 0.0).all() for x in units):
            raise InputError("the units of the features are not all above 0")
        self.allowed.check(jax.device_get(state.weights))
        if fresh is not None:
            self.basis.check_same(fresh.features, state.features)

    def check_points(self, state: LinearState, points: Points) -> None:
        """Name a feature that is not a number."""
        self.basis.check(state.features, points)

    def warnings(self, state: LinearState, expert: Points) -> list[str]:
        """On features that say nothing of their own, and settings of the other set."""
        other = {"ball": ("both_signs", True), "simplex": ("radius", 1.0)}[self.config.weights]
        said = []
        if getattr(self.config, other[0]) != other[1]:
            option = other[0].replace("_", "-")
            said.append(f"--{option} has no effect on weights in a {self.config.weights}")
        return said + self.basis.warnings(state.features, expert)

    def features_of(self, state: LinearState, points: Points) -> FeatureValues:
        """Names, weights and values."""
        values = np.asarray(self.features(state, *points), np.float64)
        return FeatureValues(self.names(state), np.asarray(state.weights, np.float64), values)

    def _move(
        self, weights: Weights, differences: Float[Array, "updates features"], overall: Weights
    ) -> Weights:
        rate = self.config.cost_rate
        if self.config.cost_step == "closed":
            best = self.allowed.maximum(overall, previous=weights)[1]
            return weights + rate * (best - weights)

        def step(weights: Weights, difference: Weights) -> tuple[Weights, None]:
            if self.config.cost_step == "ascent":
                return self.allowed.ascend(weights, difference, rate), None
            target = self.allowed.maximum(difference)[0]
            return surrogate_step(weights, difference, target, rate, self.allowed), None

        return jax.lax.scan(step, weights, differences)[0]
