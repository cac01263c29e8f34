r"""Which columns make the cost of a row what it is: gradient times deviation.

The gradient is averaged on the way from demonstrated pairs $y$ to the pair $x$ in question,

$$\phi_j(x) = \mathbb{E}_{y\sim E,\,u\sim[0,1]}\big[(x_j-y_j)\,\partial_jc(y+u(x-y))\big],
\qquad \sum_j\phi_j(x) = c(x) - \mathbb{E}_E[c].$$

At the pair alone it would vanish where a discriminator is sure, which is where it matters most.
The sum is exact up to the draws of $y$ and $u$, so the shares of the columns are shares of a gap.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from etairl.costs.family import Points
from etairl.types import Spec

CostOf = Callable[[Array, Array, Array], Float[Array, " rows"]]
"""of observations, actions and next observations, as a solver sees them"""
_WAYS = 512  # from demonstrated pairs to each row
_BLOCK = 16  # rows at once


class Attribution:
    """Shares of columns in a cost, beside demonstrated pairs."""

    def __init__(
        self,
        rng: np.random.Generator,
        cost: CostOf,
        spec: Spec,
        needs_next: bool,
        demonstrated: Points,
    ):
        # One draw for all rows: else the errors of two draws would look like a gap between sides.
        chosen = rng.integers(len(demonstrated.obs), size=_WAYS)
        self._from = [jnp.asarray(np.asarray(a)[chosen]) for a in demonstrated]
        # At places that are spread over the way.
        self._far = ((rng.permutation(_WAYS) + rng.random(_WAYS)) / _WAYS).astype(np.float32)
        self._discrete = spec.discrete_actions is not None
        self._needs_next = needs_next
        self._gradient = jax.jit(jax.grad(lambda points: cost(*points).sum(), allow_int=True))
        self._value = jax.jit(lambda points: cost(*points))

    def names(self, observations: tuple[str, ...], actions: tuple[str, ...]) -> tuple[str, ...]:
        """One per share."""
        following = tuple(f"next {name}" for name in observations) if self._needs_next else ()
        return (*observations, *(("action",) if self._discrete else actions), *following)

    def __call__(self, points: Points) -> Float[np.ndarray, "rows columns"]:
        """The share of each column in what each row costs more than the demonstrations."""
        many = len(points.obs)
        # Compiled once: the last block is filled up.
        rows = np.arange(-(-many // _BLOCK) * _BLOCK) % many
        parts = [self._block(rows[i : i + _BLOCK], points) for i in range(0, len(rows), _BLOCK)]
        return np.concatenate(parts)[:many]

    def _block(self, rows: np.ndarray, points: Points) -> np.ndarray:
        seen = [jnp.asarray(np.asarray(a)[rows]) for a in points]
        x = Points(*(jnp.repeat(a, _WAYS, axis=0) for a in seen))
        y = Points(*(jnp.tile(a, (len(rows), 1)) for a in self._from))
        u = jnp.asarray(np.tile(self._far, len(rows))[:, None])
        between = Points(*(b + u * (a - b) for a, b in zip(x, y, strict=True)))
        if self._discrete:
            between = between._replace(act=x.act)
        slopes = self._gradient(between)

        def share(slope: Array, a: Array, b: Array) -> np.ndarray:
            moved = np.asarray(slope * (a - b))
            return moved.reshape(len(rows), _WAYS, -1).mean(axis=1)

        obs = share(slopes.obs, x.obs, y.obs)
        following = share(slopes.next_obs, x.next_obs, y.next_obs)
        parts = [obs, following] if self._needs_next else [obs]
        if self._discrete:
            # Between two actions nothing lies: theirs is what observations leave.
            gap = np.asarray(self._value(x) - self._value(y)).reshape(len(rows), _WAYS).mean(axis=1)
            acted = (gap - sum(part.sum(axis=1) for part in parts))[:, None]
        else:
            acted = share(slopes.act, x.act, y.act)
        parts.insert(1, acted)
        return np.concatenate(parts, axis=1).astype(np.float64)
