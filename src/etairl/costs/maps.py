r"""Feature maps $f(s, a)$ for costs that are linear in their weights.

| name | features of the standardised columns $z$ of $(s, a)$ | count |
|---|---|---|
| `identity` | $z_i$ | $d$ |
| `quadratic` | $z_i$ and $z_iz_j$, $i\le j$ | $d(d+3)/2$ |
| `fourier:N` | $\sqrt2\cos(\omega_j\cdot z+b_j)$, random $\omega_j\sim N(0, \tfrac2dI)$ | $N$ |
| `rbf:N` | $e^{-\lVert z-c_j\rVert^2/d}$ at random demonstrations $c_j$ | $N$ |
| `module:function` | your own, of plain $(s, a)$ | yours |
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from typing_extensions import override

from etairl.own_code import import_own
from etairl.types import InputError

Columns = Float[Array, "*rows dims"]
Names = tuple[str, ...]
Drawn = tuple[Array, ...]


@runtime_checkable
class FeatureMap(Protocol):
    """A map from the columns of a transition to features; drawn numbers are its `arrays`."""

    def draw(self, key: PRNGKeyArray, z: Float[Array, "rows dims"]) -> Drawn:
        """What is random about it, given the demonstrations."""
        return ()

    def __call__(self, arrays: Drawn, z: Columns, obs: Array, act: Array) -> Columns:
        """One column per feature."""
        ...

    def names(self, columns: Names, count: int, arrays: Drawn) -> Names:
        """One per feature."""
        ...


@dataclass(frozen=True)
class Identity(FeatureMap):
    """The columns themselves: matches means."""

    @override
    def __call__(self, arrays: Drawn, z: Array, obs: Array, act: Array) -> Array:
        return z

    @override
    def names(self, columns: Names, count: int, arrays: Drawn) -> Names:
        return columns


@dataclass(frozen=True)
class Quadratic(FeatureMap):
    """The columns and their products: matches means, spreads and correlations."""

    @override
    def __call__(self, arrays: Drawn, z: Array, obs: Array, act: Array) -> Array:
        i, j = np.triu_indices(z.shape[-1])
        return jnp.concatenate([z, z[..., i] * z[..., j]], axis=-1)

    @override
    def names(self, columns: Names, count: int, arrays: Drawn) -> Names:
        pairs = zip(*np.triu_indices(len(columns)), strict=True)
        products = (f"{columns[i]}²" if i == j else f"{columns[i]}·{columns[j]}" for i, j in pairs)
        return (*columns, *products)


@dataclass(frozen=True)
class Fourier(FeatureMap):
    r"""Random waves: of many, EMMA's gap is the MMD with kernel $e^{-\lVert x-y\rVert^2/d}$."""

    count: int

    def draw(self, key: PRNGKeyArray, z: Array) -> Drawn:
        """Frequencies and phases."""
        key_frequency, key_phase = jax.random.split(key)
        dims = z.shape[-1]
        frequencies = jax.random.normal(key_frequency, (dims, self.count)) * np.sqrt(2.0 / dims)
        phases = jax.random.uniform(key_phase, (self.count,), maxval=2.0 * np.pi)
        return frequencies, phases

    @override
    def __call__(self, arrays: Drawn, z: Array, obs: Array, act: Array) -> Array:
        frequencies, phases = arrays
        return np.sqrt(2.0) * jnp.cos(z @ frequencies + phases)

    def names(self, columns: Names, count: int, arrays: Drawn) -> Names:
        """`wave7(s3+1.9 a0-1.2)` changes most with these two columns, by so much per unit."""
        return _most(columns, "wave", np.asarray(arrays[0]).T)


@dataclass(frozen=True)
class Radial(FeatureMap):
    """Bumps around demonstrated pairs: high where the expert has been."""

    count: int

    def draw(self, key: PRNGKeyArray, z: Array) -> Drawn:
        """The centres."""
        if self.count > len(z):
            raise InputError(
                f"rbf:{self.count} asks for more centres than there are demonstrated pairs "
                f"({len(z)})"
            )
        return (z[jax.random.choice(key, len(z), (self.count,), replace=False)],)

    def __call__(self, arrays: Drawn, z: Array, obs: Array, act: Array) -> Array:
        """By squares and products, never all differences at once."""
        (centres,) = arrays
        squares = (z**2).sum(axis=-1)[..., None] + (centres**2).sum(axis=-1)
        distance = jnp.maximum(squares - 2.0 * z @ centres.T, 0.0)
        return jnp.exp(-distance / z.shape[-1])

    def names(self, columns: Names, count: int, arrays: Drawn) -> Names:
        """`near7(s3+1.9 a0-1.2)` sits at a pair that is least common in these two columns."""
        return _most(columns, "near", np.asarray(arrays[0]))


@dataclass(frozen=True)
class Own(FeatureMap):
    """A function of yours, `function(obs, act)`, written with `jax.numpy`; found by its name.

    It takes rows of observations and of actions scaled to [-1, 1] (or indices), and returns one
    row of features for each. An attribute `names` of the function names them.
    """

    path: str

    def draw(self, key: PRNGKeyArray, z: Array) -> Drawn:
        """Nothing; but its module is imported, lest its arrays are made while a call is traced."""
        self._function()
        return ()

    @override
    def __call__(self, arrays: Drawn, z: Array, obs: Array, act: Array) -> Array:
        try:
            features = jnp.asarray(self._function()(obs, act), jnp.float32)
        except Exception as error:  # whatever a user's function may raise
            first = str(error).strip().partition("\n")[0]
            raise InputError(
                f"the feature map {self.path} failed with {type(error).__name__}: {first}; it "
                "takes rows of observations and actions and must be written with jax.numpy"
            ) from error
        if features.ndim != obs.ndim or features.shape[:-1] != obs.shape[:-1]:
            raise InputError(
                f"the feature map {self.path} must return one row of features per pair, but for "
                f"observations of shape {obs.shape} it gave {features.shape}"
            )
        return features

    @override
    def names(self, columns: Names, count: int, arrays: Drawn) -> Names:
        given = tuple(map(str, getattr(self._function(), "names", ())))
        if given and len(given) != count:
            raise InputError(f"{self.path} has {len(given)} names for {count} features")
        if len(set(given)) < len(given):
            raise InputError(f"{self.path} has two features of one name")
        return given or tuple(f"{self.path.partition(':')[2]}{i}" for i in range(count))

    def _function(self) -> Callable[[Array, Array], Any]:
        module, _, name = self.path.partition(":")
        try:
            function = getattr(import_own(module), name)
        except Exception as error:  # whatever a user's module may raise
            raise InputError(
                f"the feature map {self.path} cannot be found ({type(error).__name__}: {error}); "
                "give identity, quadratic, fourier:N, rbf:N, or module:function of a module that "
                "is installed, or in this folder"
            ) from None
        if not callable(function):
            raise InputError(f"{self.path} is not a function, so it cannot be a feature map")
        return function


def _most(columns: Names, kind: str, vectors: np.ndarray) -> Names:
    """Names by the two largest entries of a vector each."""
    return tuple(
        f"{kind}{i}("
        + " ".join(f"{columns[j]}{vector[j]:+.1f}" for j in np.argsort(-np.abs(vector))[:2])
        + ")"
        for i, vector in enumerate(vectors)
    )


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
