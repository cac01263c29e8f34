"""Two computations that do not need each other, on two cores."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax


def at_once(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[Any, Any]:
    """The results of both, ready. On one core they take turns, with the same results.

    Compiled programs let go of the interpreter while they run; one thread would run them one after
    the other. If either fails, or the user interrupts, nothing goes on in the background.
    """
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(lambda: jax.block_until_ready(second()))
        return jax.block_until_ready(first()), waiting.result()
