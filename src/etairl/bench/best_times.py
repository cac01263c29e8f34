"""Times as a machine with other work can give them."""

import time
from collections.abc import Callable


def best_times(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Best time of each work; they take turns, so that a busy moment hits all of them."""
    times = [[] for _ in works]
    for _ in range(rounds):
        for work, taken in zip(works, times, strict=True):
            start = time.perf_counter()
            work()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]
