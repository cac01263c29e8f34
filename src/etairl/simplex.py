r"""The probability simplex and its logarithms, on the array API: one for NumPy and JAX."""

from typing import Any

from jaxtyping import Float


def project_simplex(x: Float[Any, "... n"]) -> Float[Any, "... n"]:
    r"""The nearest point of the simplex, $\arg\min\lVert w-x\rVert_2$ over $w\ge0$, $\sum_iw_i=1$.

    Exact, by sorting: $w = (x - \theta)_+$ with $\theta$ fixed by the largest entries (Held, Wolfe
    and Crowder 1974). Along the last axis.
    """
    xp = x.__array_namespace__()
    # A shift changes nothing; without it the 1 would be lost beside large entries.
    x = x - xp.max(x, axis=-1, keepdims=True)
    falling = xp.flip(xp.sort(x, axis=-1), axis=-1)
    excess = xp.cumulative_sum(falling, axis=-1) - 1.0
    count = xp.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    inside = xp.astype(falling * count > excess, x.dtype)
    last = xp.sum(inside, axis=-1, keepdims=True)
    # The partial sum at the last entry that stays positive, without an integer index.
    total = xp.sum(xp.where(count == last, excess, 0.0), axis=-1, keepdims=True)
    return xp.clip(x - total / last, 0.0, None)


def finite_log(xp: Any, x: Float[Any, "..."]) -> Float[Any, "..."]:
    """Logarithm with log 0 = 0, for products in which 0 log 0 = 0."""
    return xp.log(xp.where(x > 0.0, x, 1.0))
