r"""Finite Markov decision processes: arrays that are checked once and read-only afterwards.

`P[s, a, s']` is the kernel, `c[s, a]` a cost that is minimised, `p0[s]` the law of the first state
and `gamma` the discount (section 2.1 of the paper). A large kernel may be sparse: then it has one
row per pair, `P[s * A + a, s']`. Probabilities that miss 1 by no more than a billionth are divided
by their sum, so that every row is a law up to rounding.
"""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float
from scipy.sparse.csgraph import breadth_first_order

from etairl.types import InputError

PolicyTable = Float[np.ndarray, "state action"]
PairTable = Float[np.ndarray, "state action"]
StateVector = Float[np.ndarray, " state"]
PoliciesInTime = Float[np.ndarray, "time state action"]
_STOCHASTIC = 1e-9  # how far a row of probabilities may be from 1
_ROUNDING = float(np.finfo(float).eps)  # per entry, how far it is left there


@dataclass(frozen=True, eq=False)
class MDP:
    r"""A finite MDP $(P, c, p_0, \gamma)$; a wrong entry is refused by name."""

    P: Float[np.ndarray, "state action state"] | sp.csr_array
    """[state, action, next state], or sparse with shape [state · action, next state]"""
    c: Float[np.ndarray, "state action"]
    p0: Float[np.ndarray, " state"]
    gamma: float

    def __post_init__(self):
        gamma = check_factor("gamma", self.gamma, "without discount nothing is finite")
        c, p0 = _finite("c", self.c), _finite("p0", self.p0)
        if c.ndim != 2 or 0 in c.shape:
            raise InputError(f"c must have shape [state, action], got {c.shape}")
        if p0.shape != c.shape[:1]:
            raise InputError(f"p0 must have shape ({len(c)},) as c has, got {p0.shape}")
        p0 = _laws("p0", p0[None])[0]
        checked = {"P": _checked_kernel(self.P, *c.shape), "c": c, "p0": p0, "gamma": gamma}
        for name, value in checked.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @property
    def states(self) -> int:
        """Number of states."""
        return self.c.shape[0]

    @property
    def actions(self) -> int:
        """Number of actions."""
        return self.c.shape[1]

    @property
    def sparse(self) -> bool:
        """Whether the kernel is stored sparsely."""
        return sp.issparse(self.P)

    @property
    def kernel(self) -> Float[np.ndarray, "state action state"]:
        """The dense kernel, [state, action, next state]."""
        if isinstance(self.P, np.ndarray):
            return self.P
        return self.P.toarray().reshape(self.states, self.actions, self.states)

    @property
    def rows(self) -> sp.csr_array:
        """The sparse kernel, one row per state and action."""
        if isinstance(self.P, np.ndarray):
            return sp.csr_array(self.P.reshape(-1, self.states))
        return self.P

    @property
    def cost_span(self) -> float:
        """Largest cost minus smallest cost."""
        return float(self.c.max() - self.c.min())

    def with_cost(self, c: PairTable) -> "MDP":
        """The same world with another cost."""
        return replace(self, c=c)

    def with_discount(self, gamma: float) -> "MDP":
        """The same world with another discount."""
        return replace(self, gamma=gamma)

    def expect(self, v: StateVector) -> PairTable:
        r"""$\mathbb{E}[v(s') \mid s, a]$."""
        if self.sparse:
            return (self.P @ v).reshape(self.c.shape)
        return self.kernel @ v

    def inflow(self, x: PairTable) -> StateVector:
        r"""$\sum_{s,a} x(s,a) P(s' \mid s,a)$: where a measure on pairs goes in one step."""
        if self.sparse:
            return x.reshape(-1) @ self.P
        return np.einsum("sa,san->n", x, self.kernel)

    def under(self, policy: PolicyTable) -> Any:
        r"""$P_\pi(s' \mid s) = \sum_a \pi(a \mid s) P(s' \mid s, a)$, dense or sparse as P is."""
        if not self.sparse:
            return np.einsum("sa,san->sn", policy, self.kernel)
        rows, columns = np.repeat(np.arange(self.states), self.actions), np.arange(policy.size)
        mix = sp.csr_array((policy.reshape(-1), (rows, columns)), (self.states, policy.size))
        return mix @ self.P

    def reachable(self) -> Bool[np.ndarray, " state"]:
        """The states that some policy can reach from where an episode may start."""
        if self.sparse:
            step = sp.csr_array(self.under(np.full(self.c.shape, 1.0 / self.actions)))
        else:
            step = sp.csr_array(self.kernel.max(axis=1))
        # One more node leads to every possible first state.
        edges = sp.block_array([[step, None], [sp.csr_array(self.p0[None]), sp.csr_array((1, 1))]])
        visited = breadth_first_order(edges.tocsr(), self.states, return_predecessors=False)
        return np.isin(np.arange(self.states), visited)

    def require_reachable(self) -> None:
        """Refuse, by number, a state that no policy can reach."""
        missing = np.flatnonzero(~self.reachable())
        if len(missing):
            raise InputError(
                f"state {missing[0]} cannot be reached from p0 by any policy "
                f"({len(missing)} of {self.states} states); remove it, or let episodes start there"
            )


def check_policy(mdp: MDP, policy: PolicyTable) -> PolicyTable:
    r"""The policy as float64 if it fits the MDP: rows $\pi(\cdot\mid s)$ that are laws."""
    policy = _numbers("policy", policy)
    if policy.shape != mdp.c.shape:
        raise InputError(f"a policy needs shape {mdp.c.shape} as c has, got {policy.shape}")
    return _laws("policy", policy, lambda row: f"[{row}]")


def check_policies(mdp: MDP, policies: PoliciesInTime) -> PoliciesInTime:
    """The same for a policy that knows the time: one policy per step, at least one."""
    policies = _numbers("policy", policies)
    if policies.ndim != 3 or policies.shape[1:] != mdp.c.shape or not len(policies):
        states, actions = mdp.c.shape
        raise InputError(
            f"a policy in time needs shape (steps, {states}, {actions}) with at least one step, "
            f"got {policies.shape}"
        )
    rows = policies.reshape(-1, mdp.actions)
    laws = _laws("policy", rows, lambda row: f"[{row // mdp.states}, {row % mdp.states}]")
    return laws.reshape(policies.shape)


def check_factor(name: str, factor: float, otherwise: str) -> float:
    """A discount, or the parameter of a geometric law, in [0, 1); `otherwise` is wrong with 1."""
    if not isinstance(factor, Real):
        raise InputError(f"{name} must be a number, got {factor!r}")
    if not 0.0 <= factor < 1.0:
        reason = f"; {otherwise}" if factor >= 1.0 else ""
        raise InputError(f"{name} must lie in [0, 1), got {factor}{reason}")
    return float(factor)


def deterministic(actions: list[int] | np.ndarray, count: int) -> PolicyTable:
    """The policy that takes `actions[s]` in state s, out of `count` actions."""
    taken = np.asarray(actions)
    wrong = np.flatnonzero(~np.isin(taken, np.arange(count)))
    if len(wrong):
        raise InputError(
            f"actions[{wrong[0]}] is {taken[wrong[0]]}: an action is a number from 0 to {count - 1}"
        )
    return np.eye(count)[taken.astype(np.int64)]


def product_mdp(worlds: list[MDP], law: Float[np.ndarray, " task"] | None = None) -> MDP:
    r"""Many tasks as one MDP on the product of states and tasks (Appendix C of the paper).

    The task is drawn once, with probability `law[task]` (uniform if left out), and never changes:
    state `(task, s)` is number `task * S + s`. The tasks share states, actions and discount.
    """
    if not worlds:
        raise InputError("a product needs at least one task")
    first = worlds[0]
    for number, world in enumerate(worlds):
        if world.c.shape != first.c.shape or world.gamma != first.gamma:
            raise InputError(
                f"task {number} differs from task 0 in states, actions or gamma; tasks share them"
            )
    law = np.full(len(worlds), 1.0 / len(worlds)) if law is None else _numbers("law", law)
    if law.shape != (len(worlds),):
        raise InputError(f"law must have one entry per task, {len(worlds)}, got shape {law.shape}")
    shares = _laws("law", law[None])[0]
    kernel = sp.csr_array(sp.block_diag([world.rows for world in worlds]))
    pairs = (len(worlds) * first.states, first.actions, len(worlds) * first.states)
    return MDP(
        P=kernel if first.sparse else kernel.toarray().reshape(pairs),
        c=np.concatenate([world.c for world in worlds]),
        p0=np.concatenate([f * w.p0 for f, w in zip(shares, worlds, strict=True)]),
        gamma=first.gamma,
    )


def _numbers(name: str, array: Any) -> np.ndarray:
    try:
        array = np.asarray(array)
    except ValueError as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold real numbers, got {array.dtype}")
    return array.astype(np.float64)


def _finite(name: str, array: Any) -> np.ndarray:
    array = _numbers(name, array)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        entry = bad[0].tolist()
        raise InputError(f"{name}{entry} is {array[tuple(bad[0])]}: every entry must be finite")
    return array


def _checked_kernel(P: Any, states: int, actions: int) -> np.ndarray | sp.csr_array:
    def pair(row: int) -> str:
        return f"[{row // actions}, {row % actions}]"

    if not sp.issparse(P):
        kernel = _finite("P", P)
        if kernel.shape != (states, actions, states):
            raise InputError(
                f"P must have shape ({states}, {actions}, {states}) to fit c, got {kernel.shape}"
            )
        return _laws("P", kernel.reshape(-1, states), pair).reshape(kernel.shape)
    kernel = sp.csr_array(P, dtype=np.float64, copy=True)
    if kernel.shape != (states * actions, states):
        raise InputError(
            f"a sparse P must have shape ({states * actions}, {states}), one row per state and "
            f"action of c, got {kernel.shape}"
        )
    kernel.sum_duplicates()
    bad = np.flatnonzero(~(kernel.data >= 0.0) | ~np.isfinite(kernel.data))
    if len(bad):
        row = int(np.searchsorted(kernel.indptr, bad[0], side="right")) - 1
        _refuse_entry("P", pair(row), int(kernel.indices[bad[0]]), float(kernel.data[bad[0]]))
    sums = _divisors("P", np.asarray(kernel.sum(axis=1)).reshape(-1), states, pair)
    kernel.data /= np.repeat(sums, np.diff(kernel.indptr))
    for part in (kernel.data, kernel.indices, kernel.indptr):
        part.flags.writeable = False
    return kernel


def _laws(name: str, rows: np.ndarray, where: Any = lambda row: "") -> np.ndarray:
    """The rows, divided by their sums where these miss 1 by more than rounding."""
    bad = np.argwhere(~(rows >= 0.0))
    if len(bad):
        row, column = (int(i) for i in bad[0])
        _refuse_entry(name, where(row), column, float(rows[row, column]))
    return rows / _divisors(name, rows.sum(axis=-1), rows.shape[-1], where)[:, None]


def _refuse_entry(name: str, where: str, column: int, value: float) -> None:
    place = f"{where[:-1]}, {column}]" if where else f"[{column}]"
    word = "NaN" if np.isnan(value) else f"{value:.6g}"
    raise InputError(f"{name}{place} is {word}: a probability lies in [0, 1]")


def _divisors(name: str, sums: np.ndarray, columns: int, where: Any) -> np.ndarray:
    off = np.abs(sums - 1.0)
    bad = np.flatnonzero(~(off <= _STOCHASTIC))
    if len(bad):
        row = int(bad[0])
        place = where(row)
        count = f" ({len(bad)} of {len(sums)} rows); divide each row" if place else "; divide it"
        raise InputError(f"{name}{place} sums to {sums[row]:.12g}, not to 1{count} by its sum")
    return np.where(off > columns * _ROUNDING, sums, 1.0)
