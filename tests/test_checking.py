"""The checker of types and shapes sees every call that is unlike those it has seen."""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checking import likeness, once
from jaxtyping import Array, Float, TypeCheckError, jaxtyped

WRONG = pytest.mark.parametrize("times", [1, 3])


@jaxtyped(typechecker=once)
def scaled(
    x: Float[np.ndarray, "rows dims"],
    by: Float[np.ndarray, " dims"],
    how: Literal["up", "down"] = "up",
) -> Float[np.ndarray, "rows dims"]:
    return x * by if how == "up" else x / by


@jaxtyped(typechecker=once)
def first(x: np.ndarray, n: int) -> Float[np.ndarray, " {n}"]:
    return x[:3]


@jaxtyped(typechecker=once)
def total(numbers: list[int], more: tuple[int, ...] = ()) -> int:
    return sum(map(int, [*numbers, *more]))


@jaxtyped(typechecker=once)
def norm(x: Float[Array, " n"]) -> Float[Array, ""]:
    return jnp.sqrt((x**2).sum())


@WRONG
def test_shapes_types_and_words_that_do_not_fit(times):
    x, by = np.ones((4, 2)), np.ones(2)
    for _ in range(times):
        assert scaled(x, by).shape == (4, 2)
        assert scaled(x, by, how="down").shape == (4, 2)
    for wrong in ((x, np.ones(3)), (x, np.ones(2, int)), (x[0], by), (x, by, "sideways"), (x, 2.0)):
        for _ in range(times):
            with pytest.raises(TypeCheckError):
                scaled(*wrong)


@WRONG
def test_a_result_whose_shape_follows_from_a_number(times):
    for _ in range(times):
        assert len(first(np.ones(5), 3)) == 3
        with pytest.raises(TypeCheckError):
            first(np.ones(5), 4)
        with pytest.raises(TypeCheckError):
            first(np.ones(2), 3)


@WRONG
def test_what_is_inside_of_a_collection_is_looked_at_each_time(times):
    for _ in range(times):
        assert total([1, 2], (3,)) == 6
        with pytest.raises(TypeCheckError):
            total(["1"])
        with pytest.raises(TypeCheckError):
            total([1], ("2",))


def test_traced_arrays_are_checked_as_well():
    assert float(jax.jit(norm)(jnp.ones(4))) == 2.0
    with pytest.raises(TypeCheckError):
        jax.jit(norm)(jnp.ones((4, 1)))
    with pytest.raises(TypeCheckError):
        jax.jit(norm)(jnp.ones(4, int))


class Pair(NamedTuple):
    a: int
    b: int


def test_what_is_alike():
    assert likeness(np.ones(2)) == likeness(np.zeros(2)) != likeness(np.zeros(3))
    assert likeness(np.ones(2)) != likeness(np.ones(2, np.float32)) != likeness(jnp.ones(2))
    assert likeness((1, 0.5)) == likeness((1, 0.7)) != likeness((2, 0.5))
    assert likeness(1) != likeness(True) != likeness(1.0)
    assert likeness(Pair(1, 2)) == likeness(Pair(2, 3)) != likeness((1, 2))
    assert likeness(None) is not None
    assert likeness([1]) is likeness((1, [2])) is likeness({"a": 1}) is None
    assert likeness(int) != likeness(float)
