r"""Four small worlds, and what a policy does in them, exactly and for many policies at once.

In each world some states share one number: the probability of action 1 in all states of a kind.
A learner that sees everything has a number for each of two kinds; one that cannot tell the kinds
apart has a single one, and cannot match the expert.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

HORIZON = 20
GAMMA = 0.9
"""discount of the true cost, and of the discounted measures"""
KNOWN = -1
"""the kind of states where the policy is known to everybody: action 0"""
_CORRIDOR = 15
Numbers = Float[np.ndarray, "policies kinds"]


@dataclass(frozen=True, eq=False)
class SmallWorld:
    """A finite world with two actions, and the two numbers of its expert."""

    name: str
    story: str
    kernel: Float[np.ndarray, "state 2 state"]
    cost: Float[np.ndarray, "state 2"]
    kinds: Int[np.ndarray, " state"]
    alive: np.ndarray
    """states that are not an end"""
    expert: tuple[float, float]

    def policies(self, numbers: Numbers) -> Float[np.ndarray, "policies state"]:
        """Probability of action 1; with one number for both kinds where a column is given."""
        both = np.concatenate([numbers, numbers[:, -1:], np.zeros((len(numbers), 1))], axis=1)
        columns = np.where(self.kinds == KNOWN, both.shape[1] - 1, self.kinds)
        return both[:, columns]

    def laws(
        self, numbers: Numbers, horizon: int = HORIZON
    ) -> Float[np.ndarray, "time policies state"]:
        """Of the state at each time: all episodes begin in state 0."""
        one = self.policies(numbers)
        laws = np.zeros((horizon, *one.shape))
        laws[0, :, 0] = 1.0
        for n in range(1, horizon):
            before = laws[n - 1]
            zeroth, first = (before * (1.0 - one)), before * one
            laws[n] = zeroth @ self.kernel[:, 0] + first @ self.kernel[:, 1]
        return laws

    def measures(
        self, numbers: Numbers, weights: Float[np.ndarray, "laws time"]
    ) -> Float[np.ndarray, "laws policies pairs"]:
        """State-action measures of policies, for several time weights."""
        laws, one = self.laws(numbers, weights.shape[1]), self.policies(numbers)
        states = np.einsum("kn,nps->kps", weights, laws)
        pairs = np.stack([states * (1.0 - one), states * one], axis=-1)
        return pairs.reshape(len(weights), len(one), -1)


def small_worlds() -> list[SmallWorld]:
    """Slow mixing, late branching, early payment, absorbing ends."""
    return [_slow_mixing(), _late_branching(), _early_payment(), _absorbing_ends()]


def _slow_mixing() -> SmallWorld:
    kernel = np.zeros((2, 2, 2))
    for state in range(2):
        for action, leave in enumerate((0.01, 0.05)):
            kernel[state, action, 1 - state] = leave
            kernel[state, action, state] = 1.0 - leave
    return SmallWorld(
        name="slow mixing",
        story="two rooms that are seldom left; the first costs 1 a step; action 1 leaves sooner",
        kernel=kernel,
        cost=np.array([[1.0, 1.0], [0.0, 0.0]]),
        kinds=np.array([0, 1]),
        alive=np.ones(2, bool),
        expert=(0.8, 0.2),
    )


def _late_branching() -> SmallWorld:
    fork, good, bad = _CORRIDOR, _CORRIDOR + 1, _CORRIDOR + 2
    kernel = np.zeros((bad + 1, 2, bad + 1))
    for place in range(fork):
        kernel[place, :, place + 1] = 1.0
    kernel[fork, 1, good] = kernel[fork, 0, bad] = 1.0
    kernel[good, :, good] = kernel[bad, :, bad] = 1.0
    cost, kinds = np.zeros((bad + 1, 2)), np.zeros(bad + 1, np.int64)
    cost[bad] = 1.0
    kinds[fork], kinds[good:] = 1, KNOWN
    return SmallWorld(
        name="late branching",
        story="a corridor where actions do nothing, then a fork: one side costs 1 a step, for good",
        kernel=kernel,
        cost=cost,
        kinds=kinds,
        alive=np.arange(bad + 1) != bad,
        expert=(0.2, 0.95),
    )


def _early_payment() -> SmallWorld:
    kernel = np.zeros((3, 2, 3))
    kernel[0, 1, 1] = kernel[0, 0, 2] = 1.0
    kernel[1, :, 1] = kernel[2, :, 2] = 1.0
    return SmallWorld(
        name="early payment",
        story="in the first step one may pay 1; who does not pays 0.2 in every later one",
        kernel=kernel,
        cost=np.array([[0.0, 1.0], [0.0, 0.0], [0.2, 0.2]]),
        kinds=np.array([1, 0, 0]),
        alive=np.ones(3, bool),
        expert=(0.2, 0.95),
    )


def _absorbing_ends() -> SmallWorld:
    kernel = np.zeros((3, 2, 3))
    for action, fall in enumerate((0.15, 0.0)):
        kernel[0, action, 1], kernel[0, action, 2] = 1.0 - fall, fall
    kernel[1, :, 0] = kernel[2, :, 2] = 1.0
    return SmallWorld(
        name="absorbing ends",
        story="two steps in turn; in one of them action 0 falls with 15 %, and lies there at 1",
        kernel=kernel,
        cost=np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]),
        kinds=np.array([1, 0, KNOWN]),
        alive=np.array([True, True, False]),
        expert=(0.5, 0.95),
    )


@dataclass(frozen=True)
class Gaps:
    """How far policies are from the expert, each 0 where they match; a value per policy."""

    cost: np.ndarray
    """mean cost of a step over the horizon, every step alike: |J - J_E|"""
    discounted: np.ndarray
    """the same, discounted and normalised"""
    survival: np.ndarray
    """share that has not ended by twice the horizon: the difference"""
    quarters: np.ndarray
    """total variation of the state-action law, mean over the four quarters"""


def gaps(world: SmallWorld, numbers: Numbers) -> Gaps:
    """Exact gaps of policies."""
    both = np.concatenate([_full(numbers), np.array([world.expert])])
    laws, one = world.laws(both, 2 * HORIZON + 1), world.policies(both)
    pairs = np.stack([laws * (1.0 - one), laws * one], axis=-1)
    costs = (pairs * world.cost).sum(axis=(2, 3))[:HORIZON]
    discount = GAMMA ** np.arange(HORIZON)
    alive = laws[2 * HORIZON] @ world.alive
    quarter = pairs[:HORIZON].reshape(4, HORIZON // 4, *pairs.shape[1:]).mean(axis=1)
    apart = 0.5 * np.abs(quarter - quarter[:, -1:]).sum(axis=(2, 3)).mean(axis=0)

    def from_expert(values: np.ndarray) -> np.ndarray:
        return np.abs(values[:-1] - values[-1])

    return Gaps(
        cost=from_expert(costs.mean(axis=0)),
        discounted=from_expert(discount @ costs / discount.sum()),
        survival=from_expert(alive),
        quarters=apart[:-1],
    )


def _full(numbers: Numbers) -> Float[np.ndarray, "policies 2"]:
    return np.repeat(numbers, 2, axis=1) if numbers.shape[1] == 1 else numbers
