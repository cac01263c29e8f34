"""Where nobody said: steps of an episode, and how many demonstrations to use."""

import os
from functools import lru_cache
from pathlib import Path

import numpy as np

from etairl.demos import bundled_demos, load_demos
from etairl.tasks.environments import time_limit
from etairl.types import InputError


def implied_horizon(environment: str, demos: str) -> int | None:
    """Where the demonstrations were cut, if all at the same step; else the environment's limit.

    Episodes that ended by themselves say nothing. Demonstrations never go beyond the limit. None
    where neither is known; what is wrong with either is said when they are used.
    """
    cut, _ = _shown(demos, _changed(demos))
    if cut is not None and demos in bundled_demos():
        return cut  # as its expert was recorded
    limit = time_limit(environment)
    if cut is None or limit is None:
        return cut or limit
    return min(cut, limit)


def implied_demonstrations(demos: str, most: int | None) -> int | None:
    """As many as the settings use, or all where there are fewer; what is wrong is said later."""
    _, episodes = _shown(demos, _changed(demos))
    return most if most is None or not episodes else min(most, episodes)


def _changed(demos: str) -> int:
    file = Path(demos)
    return file.stat().st_mtime_ns if os.path.isfile(file) else 0  # its name may be too long


@lru_cache(maxsize=64)
def _shown(demos: str, _changed: int) -> tuple[int | None, int]:
    """The step at which all were cut that did not end, if there is one; how many there are."""
    try:
        t = load_demos(demos).trajectories
    except (InputError, OSError):
        return None, 0
    cut = np.unique(t.durations[~t.terminated[t.last_rows]])
    longest = int(t.durations.max())
    return (int(cut[0]) if len(cut) == 1 and cut[0] == longest else None), len(t)
