"""Steps of an episode where nobody said how many: as demonstrated, or the environment's limit."""

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
    file = Path(demos)
    changed = file.stat().st_mtime_ns if file.is_file() else 0
    cut = _cut_at(demos, changed)
    if cut is not None and demos in bundled_demos():
        return cut  # as its expert was recorded
    limit = time_limit(environment)
    if cut is None or limit is None:
        return cut or limit
    return min(cut, limit)


@lru_cache(maxsize=64)
def _cut_at(demos: str, _changed: int) -> int | None:
    """The step at which all episodes were cut that did not end; None if there is no such step."""
    try:
        t = load_demos(demos).trajectories
    except (InputError, OSError):
        return None
    cut = np.unique(t.durations[~t.terminated[t.last_rows]])
    longest = int(t.durations.max())
    return int(cut[0]) if len(cut) == 1 and cut[0] == longest else None
