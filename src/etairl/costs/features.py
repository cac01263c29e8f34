r"""Feature maps $f(s, a)$ for costs that are linear in their weights.

| name | features of the standardised columns $z$ of $(s, a)$ | count |
|---|---|---|
| `identity` | $z_i$ | $d$ |
| `quadratic` | $z_i$ and $z_iz_j$, $i\le j$ | $d(d+3)/2$ |
| `fourier:N` | $\sqrt2\cos(\omega_j\cdot z+b_j)$, random $\omega_j\sim N(0, \tfrac2dI)$ | $N$ |
| `rbf:N` | $e^{-\lVert z-c_j\rVert^2/d}$ at random demonstrations $c_j$ | $N$ |
| `module:function` | your own, of plain $(s, a)$ | yours |

Every feature is standardised with its mean and spread over the demonstrations.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.linalg.lapack import dpstrf

from etairl.costs.family import Points, View, constant, standard_units
from etairl.types import DivergedError, InputError

_MOST_ROWS = 20_000  # demonstrations from which units are taken and collinearity is seen
_MOST_NUMBERS = 250_000_000  # features of them, 2 GB in double precision
Columns = Float[Array, "*rows dims"]


@runtime_checkable
class FeatureMap(Protocol):
    """A map from the columns of a transition to features; drawn numbers are its `arrays`."""

    def draw(self, key: PRNGKeyArray, z: Float[Array, "rows dims"]) -> tuple[Array, ...]:
        """What is random about it, given the demonstrations."""
        ...

    def __call__(self, arrays: tuple[Array, ...], z: Columns, obs: Array, act: Array) -> Columns:
        """One column per feature."""
        ...

    def names(self, columns: tuple[str, ...], count: int) -> tuple[str, ...]:
        """One per feature."""
        ...


@dataclass(frozen=True)
class Identity:
    """The columns themselves: matches means."""

    def draw(self, key: PRNGKeyArray, z: Array) -> tuple[Array, ...]:
        """Nothing."""
        return ()

    def __call__(self, arrays: tuple[Array, ...], z: Array, obs: Array, act: Array) -> Array:
        """See `FeatureMap`."""
        return z

    def names(self, columns: tuple[str, ...], count: int) -> tuple[str, ...]:
        """See `FeatureMap`."""
        return columns


@dataclass(frozen=True)
class Quadratic:
    """The columns and their products: matches means, spreads and correlations."""

    def draw(self, key: PRNGKeyArray, z: Array) -> tuple[Array, ...]:
        """Nothing."""
        return ()

    def __call__(self, arrays: tuple[Array, ...], z: Array, obs: Array, act: Array) -> Array:
        """See `FeatureMap`."""
        i, j = np.triu_indices(z.shape[-1])
        return jnp.concatenate([z, z[..., i] * z[..., j]], axis=-1)

    def names(self, columns: tuple[str, ...], count: int) -> tuple[str, ...]:
        """See `FeatureMap`."""
        pairs = zip(*np.triu_indices(len(columns)), strict=True)
        products = (f"{columns[i]}²" if i == j else f"{columns[i]}·{columns[j]}" for i, j in pairs)
        return (*columns, *products)


@dataclass(frozen=True)
class Fourier:
    r"""Random waves: of many, EMMA's gap is the MMD with kernel $e^{-\lVert x-y\rVert^2/d}$."""

    count: int

    def draw(self, key: PRNGKeyArray, z: Array) -> tuple[Array, ...]:
        """Frequencies and phases."""
        key_frequency, key_phase = jax.random.split(key)
        dims = z.shape[-1]
        frequencies = jax.random.normal(key_frequency, (dims, self.count)) * np.sqrt(2.0 / dims)
        phases = jax.random.uniform(key_phase, (self.count,), maxval=2.0 * np.pi)
        return frequencies, phases

    def __call__(self, arrays: tuple[Array, ...], z: Array, obs: Array, act: Array) -> Array:
        """See `FeatureMap`."""
        frequencies, phases = arrays
        return np.sqrt(2.0) * jnp.cos(z @ frequencies + phases)

    def names(self, columns: tuple[str, ...], count: int) -> tuple[str, ...]:
        """See `FeatureMap`."""
        return tuple(f"wave{i}" for i in range(count))


@dataclass(frozen=True)
class Radial:
    """Bumps around demonstrated pairs: high where the expert has been."""

    count: int

    def draw(self, key: PRNGKeyArray, z: Array) -> tuple[Array, ...]:
        """The centres."""
        if self.count > len(z):
            raise InputError(
                f"rbf:{self.count} asks for more centres than there are demonstrated pairs "
                f"({len(z)})"
            )
        return (z[jax.random.choice(key, len(z), (self.count,), replace=False)],)

    def __call__(self, arrays: tuple[Array, ...], z: Array, obs: Array, act: Array) -> Array:
        """See `FeatureMap`; by squares and products, never all differences at once."""
        (centres,) = arrays
        squares = (z**2).sum(axis=-1)[..., None] + (centres**2).sum(axis=-1)
        distance = jnp.maximum(squares - 2.0 * z @ centres.T, 0.0)
        return jnp.exp(-distance / z.shape[-1])

    def names(self, columns: tuple[str, ...], count: int) -> tuple[str, ...]:
        """See `FeatureMap`."""
        return tuple(f"near{i}" for i in range(count))


@dataclass(frozen=True)
class Own:
    """A function of yours, `function(obs, act)`, written with `jax.numpy`; found by its name.

    It takes rows of observations and of actions scaled to [-1, 1] (or indices), and returns one
    row of features for each. An attribute `names` of the function names them.
    """

    path: str

    def draw(self, key: PRNGKeyArray, z: Array) -> tuple[Array, ...]:
        """Nothing; but its module is imported, lest its arrays are made while a call is traced."""
        self._function()
        return ()

    def __call__(self, arrays: tuple[Array, ...], z: Array, obs: Array, act: Array) -> Array:
        """See `FeatureMap`."""
        try:
            found = jnp.asarray(self._function()(obs, act), jnp.float32)
        except Exception as error:  # whatever a user's function may raise
            first = str(error).strip().partition("\n")[0]
            raise InputError(
                f"the feature map {self.path} failed with {type(error).__name__}: {first}; it "
                "takes rows of observations and actions and must be written with jax.numpy"
            ) from error
        if found.ndim != obs.ndim or found.shape[:-1] != obs.shape[:-1]:
            raise InputError(
                f"the feature map {self.path} must return one row of features per pair, but for "
                f"observations of shape {obs.shape} it gave {found.shape}"
            )
        return found

    def names(self, columns: tuple[str, ...], count: int) -> tuple[str, ...]:
        """See `FeatureMap`."""
        given = tuple(map(str, getattr(self._function(), "names", ())))
        if given and len(given) != count:
            raise InputError(f"{self.path} has {len(given)} names for {count} features")
        return given or tuple(f"{self.path.partition(':')[2]}{i}" for i in range(count))

    def _function(self) -> Callable[[Array, Array], Any]:
        module, _, name = self.path.partition(":")
        here = "" in sys.path
        try:
            if not here:
                sys.path.insert(0, "")  # a program, unlike `python -m`, does not look where it is
            found = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise InputError(
                f"the feature map {self.path} cannot be found ({error}); give identity, quadratic, "
                "fourier:N, rbf:N, or module:function of a module on the Python path"
            ) from None
        finally:
            if not here:
                sys.path.remove("")
        if not callable(found):
            raise InputError(f"{self.path} is no function, so it cannot be a feature map")
        return found


def parse_features(text: str) -> FeatureMap:
    """A feature map by name."""
    name, _, rest = text.partition(":")
    plain = {"identity": Identity(), "quadratic": Quadratic()}
    counted = {"fourier": Fourier, "rbf": Radial}
    if text in plain:
        return plain[text]
    if name in counted:
        if not (rest.isdecimal() and int(rest) > 0):
            raise InputError(
                f"features {text!r}: {name} needs a number of features of at least 1, for instance "
                f"{name}:256; an empty basis explains nothing"
            )
        return counted[name](int(rest))
    if not (name and rest):
        raise InputError(
            f"unknown features {text!r}; choose identity, quadratic, fourier:N, rbf:N, or "
            "module:function"
        )
    return Own(text)


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
        act = self.view.meant(some.obs, some.act)
        # Traced first, as a run will do: a map that was not written for it is found out now.
        count = jax.eval_shape(self.map, arrays, z, some.obs, act).shape[-1]
        if count == 0:
            raise InputError("the feature map returns no features: an empty basis explains nothing")
        if count * len(z) > _MOST_NUMBERS:
            raise InputError(
                f"{count:,} features of {len(z):,} demonstrated pairs do not fit into memory; take "
                "identity, fourier:N or rbf:N, or fewer demonstrations"
            )
        found = np.asarray(self.map(arrays, z, some.obs, act), np.float64)
        names = self.map.names(self.view.names, count)
        if (wrong := _not_finite(names, found, "demonstrated pair")) is not None:
            raise InputError(wrong)
        mean, scale = standard_units(found)
        return FeatureState(column_mean, column_scale, arrays, mean, scale)

    def __call__(self, state: FeatureState, obs: Array, act: Array, next_obs: Array) -> Columns:
        """Features of each row, standardised."""
        z = (self.view(obs, act, next_obs) - state.column_mean) / state.column_scale
        found = self.map(state.arrays, z, obs, self.view.meant(obs, act))
        return (found - state.mean) / state.scale

    def check_same(self, fresh: FeatureState, stored: FeatureState) -> None:
        """Refuse units that the map of today does not have on the same demonstrations."""
        for name in ("mean", "scale"):
            new, old = (np.asarray(getattr(state, name)) for state in (fresh, stored))
            wrong = np.abs(new - old) > 1e-3 * np.asarray(stored.scale)
            if wrong.any():
                raise InputError(
                    f"{_list(self.names(stored), wrong)} not as in the run: another {name} over "
                    "the same demonstrations. Was the feature map edited since? Bring it back, or "
                    "start a new run"
                )

    def check(self, state: FeatureState, played: Points) -> None:
        """Refuse features that are finite at the demonstrations but not where a learner goes."""
        found = np.asarray(self(state, *played))
        if (wrong := _not_finite(self.names(state), found, "pair of the learner")) is not None:
            raise DivergedError(wrong)

    def names(self, state: FeatureState) -> tuple[str, ...]:
        """One per feature."""
        return self.map.names(self.view.names, len(state.mean))

    def remarks(self, state: FeatureState, expert: Points) -> list[str]:
        """Sentences on features that say nothing, or nothing of their own, about the expert."""
        found = np.asarray(self(state, *_spread(expert)), np.float64)
        names, flat = self.names(state), constant(found)
        said = []
        if flat.any():
            said.append(
                f"{_list(names, flat)} the same in all demonstrations: kept in their own unit, "
                "they only tell when the learner leaves the constant"
            )
        if flat.all():
            return said
        gram = found[:, ~flat].T @ found[:, ~flat]
        # Cholesky with pivots stops where nothing is left of any other feature.
        _, order, rank, _ = dpstrf(gram, tol=1e-10 * gram.diagonal().max())
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


def _not_finite(names: tuple[str, ...], found: np.ndarray, where: str) -> str | None:
    bad = ~np.isfinite(found)
    if not bad.any():
        return None
    row, column = (int(i) for i in np.argwhere(bad)[0])
    return (
        f"feature {names[column]} is {found[row, column]} at a {where} "
        f"({int(bad.any(axis=1).sum())} of {len(found)} pairs are not finite); mend the feature map"
    )


def _list(names: tuple[str, ...], chosen: np.ndarray) -> str:
    found = [name for name, is_so in zip(names, chosen, strict=True) if is_so]
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    which = f"{', '.join(found[:3])}{more}"
    return f"feature {which} is" if len(found) == 1 else f"features {which} are"
