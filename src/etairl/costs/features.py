"""Features in the units of the demonstrations: each has mean 0 and spread 1 over them."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.linalg import get_lapack_funcs

from etairl.costs.family import Points, View, standard_units
from etairl.costs.maps import Columns, FeatureMap
from etairl.types import DivergedError, InputError, constant_columns

_MOST_ROWS = 20_000  # demonstrations from which units are taken and collinearity is seen
_MOST_NUMBERS = 250_000_000  # features of them, 2 GB in double precision


class FeatureState(NamedTuple):
    """Units of the columns, what was drawn, and units of the features."""

    column_mean: Float[Array, " dims"]
    column_scale: Float[Array, " dims"]
    arrays: tuple[Array, ...]
    mean: Float[Array, " features"]
    scale: Float[Array, " features"]


@dataclass(frozen=True)
class Features:
    """A feature map on what a cost may see, in the units of the demonstrations."""

    view: View
    map: FeatureMap

    def init(self, key: PRNGKeyArray, expert: Points) -> FeatureState:
        """Draw what is random, take the units; refuse NaN and an empty basis."""
        some = _spread(expert)
        x = self.view(*some)
        column_mean, column_scale = standard_units(np.asarray(x))
        z = (x - column_mean) / column_scale
        arrays = self.map.draw(key, z)
        act = self.view.act_in_world(some.obs, some.act)
        # Traced first, as a run will do: a map that was not written for it is noticed now.
        count = jax.eval_shape(self.map, arrays, z, some.obs, act).shape[-1]
        if count == 0:
            raise InputError("the feature map returns no features: an empty basis explains nothing")
        if count * len(z) > _MOST_NUMBERS:
            raise InputError(
                f"{count:,} features of {len(z):,} demonstrated pairs do not fit into memory; take "
                "identity, fourier:N or rbf:N, or fewer demonstrations"
            )
        values = np.asarray(self.map(arrays, z, some.obs, act), np.float64)
        names = self.map.names(self.view.names, count, arrays)
        if (wrong := _not_finite(names, values, "demonstrated pair")) is not None:
            raise InputError(wrong)
        mean, scale = standard_units(values)
        return FeatureState(column_mean, column_scale, arrays, mean, scale)

    def __call__(self, state: FeatureState, obs: Array, act: Array, next_obs: Array) -> Columns:
        """Features of each row, standardised."""
        z = (self.view(obs, act, next_obs) - state.column_mean) / state.column_scale
        values = self.map(state.arrays, z, obs, self.view.act_in_world(obs, act))
        return (values - state.mean) / state.scale

    def check_same(self, fresh: FeatureState, stored: FeatureState) -> None:
        """Refuse units that the map of today does not have on the same demonstrations."""
        for name in ("mean", "scale"):
            new, old = (np.asarray(getattr(state, name)) for state in (fresh, stored))
            wrong = np.abs(new - old) > 1e-3 * np.asarray(stored.scale)
            if wrong.any():
                raise InputError(
                    f"{_list(self.names(stored), wrong)} not as in the run: another {name} over "
                    "the same demonstrations; was the feature map edited since? Bring it back, or "
                    "start a new run"
                )

    def check(self, state: FeatureState, played: Points) -> None:
        """Refuse features that are finite at the demonstrations but not where a learner goes."""
        values = np.asarray(self(state, *played))
        if (wrong := _not_finite(self.names(state), values, "pair of the learner")) is not None:
            raise DivergedError(wrong)

    def names(self, state: FeatureState) -> tuple[str, ...]:
        """One per feature."""
        return self.map.names(self.view.names, len(state.mean), state.arrays)

    def warnings(self, state: FeatureState, expert: Points) -> list[str]:
        """Sentences on features that say nothing, or nothing of their own, about the expert."""
        values = np.asarray(self(state, *_spread(expert)), np.float64)
        names, flat = self.names(state), constant_columns(values)
        said = []
        if flat.any():
            said.append(
                f"{_list(names, flat)} the same in all demonstrations: kept in their own unit, "
                "they only tell when the learner leaves the constant"
            )
        if flat.all():
            return said
        gram = values[:, ~flat].T @ values[:, ~flat]
        # Cholesky with pivots stops where nothing is left of any other feature.
        (factorise,) = get_lapack_funcs(("pstrf",), (gram,))
        _, order, rank, _ = factorise(gram, tol=1e-10 * gram.diagonal().max())
        if rank < len(gram):
            dependent = np.zeros(len(names), bool)
            dependent[np.flatnonzero(~flat)[np.sort(order[rank:] - 1)]] = True
            said.append(
                f"{_list(names, dependent)} collinear with the others: gaps are right, but weights "
                "can be traded between them"
            )
        return said


def _spread(expert: Points) -> Points:
    rows = np.unique(
        np.linspace(0, len(expert.obs) - 1, min(len(expert.obs), _MOST_ROWS)).astype(int)
    )
    return Points(*(x[rows] for x in expert))


def _not_finite(names: tuple[str, ...], values: np.ndarray, where: str) -> str | None:
    bad = ~np.isfinite(values)
    if not bad.any():
        return None
    row, column = (int(i) for i in np.argwhere(bad)[0])
    return (
        f"feature {names[column]} is {values[row, column]} at a {where} "
        f"({int(bad.any(axis=1).sum())} of {len(values)} pairs are not finite); fix the feature map"
    )


def _list(names: tuple[str, ...], chosen: np.ndarray) -> str:
    listed = [name for name, is_so in zip(names, chosen, strict=True) if is_so]
    more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
    which = f"{', '.join(listed[:3])}{more}"
    return f"feature {which} is" if len(listed) == 1 else f"features {which} are"
