r"""Linear systems $(I - \beta P_\pi)x = b$ and their transposes, with a proven error bound.

$P_\pi$ is stochastic, so $\lVert(I-\beta P_\pi)^{-1}\rVert_\infty \le 1/(1-\beta)$ (and the same
for the transpose in the 1-norm): the residual, and what rounding can hide in it, bound the error,
whichever way the solution came.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, bicgstab, splu

from etairl.tabular.mdp import StateVector
from etairl.types import InputError

_ACCEPTED = 1e-8  # relative error beyond which a system counts as singular
_SOUGHT = 1e-13  # relative error that the iteration for sparse systems aims at
EPSILON = float(np.finfo(float).eps)


def solve(
    step: Any, b: StateVector, discount: float, transpose: bool = False, terms: int = 1
) -> tuple[StateVector, float]:
    r"""Solve $(I - \beta P_\pi)x = b$, or $x(I - \beta P_\pi) = b$ with `transpose`.

    A sparse system is solved by stabilised bi-conjugate gradients, whose cost per step is the
    number of non-zeros; where they stall (long chains), by sparse elimination. Behind each entry of
    `step` is a sum of `terms`, one per action, which was rounded too. Returns x, and a bound of its
    error: in the 1-norm for a measure (`transpose`), else the largest of all states.
    """
    if not 0.0 <= discount < 1.0:
        raise InputError(
            f"the system I - {discount:g} P is singular: the discount must lie in [0, 1)"
        )
    matrix = step.T if transpose else step
    order = 1 if transpose else np.inf
    scale = max(float(np.linalg.norm(b, order)), np.finfo(float).tiny)
    summed = np.diff(sp.csr_array(matrix).indptr) if sp.issparse(step) else len(b)

    def residual(x: StateVector) -> float:
        return float(np.linalg.norm(b - x + discount * (matrix @ x), order))

    if sp.issparse(step):
        x = _iterate(matrix, b, discount)
        if not residual(x) <= 10.0 * _SOUGHT * scale:
            x = _eliminate(matrix, b, discount)
    else:
        x = np.linalg.solve(np.eye(len(b)) - discount * matrix, b)
    size = np.abs(x)
    rounding = (summed + terms + 4.0) * discount * (matrix @ size) + 2.0 * (size + np.abs(b))
    error = residual(x) + EPSILON * float(np.linalg.norm(rounding, order))
    # The rows of P sum to 1 up to rounding only.
    apart = 1.0 - discount - (len(b) + 2 * terms) * EPSILON
    error = error / apart if apart > 0.0 else np.inf
    if not error <= _ACCEPTED * scale / (1.0 - discount):
        raise InputError(
            f"the system I - {discount!r} P is singular to working precision: the error may be "
            f"{error:.3g}; use a discount further from 1"
        )
    return x, error


def _iterate(matrix: Any, b: StateVector, discount: float) -> StateVector:
    size = len(b)
    system = LinearOperator((size, size), matvec=lambda x: x - discount * (matrix @ x))  # pyright: ignore[reportCallIssue]
    x, _ = bicgstab(system, b, rtol=_SOUGHT, atol=0.0, maxiter=200)
    # One step of the contraction smooths what the recurrence of the residual lost.
    return b + discount * (matrix @ x)


def _eliminate(matrix: Any, b: StateVector, discount: float) -> StateVector:
    factors = splu(sp.csc_matrix(sp.eye_array(len(b)) - discount * matrix))
    x = factors.solve(b)
    return x + factors.solve(b - x + discount * (matrix @ x))
