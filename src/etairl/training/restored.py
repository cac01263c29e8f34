"""What a checkpoint holds is checked before it is believed: checksums can be made to fit."""

from typing import Any

import numpy as np

from etairl.storage import UnreadableError
from etairl.types import Trajectories, last_steps, offsets_of


def check_resets(resets: Any, copies: int, transitions: int) -> None:
    """Refuse what would keep a simulator busy for ever; each episode has a transition."""
    if not isinstance(resets, list) or len(resets) != copies:
        raise UnreadableError(f"a checkpoint has no numbers of resets for {copies} copies")
    if any(type(n) is not int or not 0 <= n <= 2 * transitions + 1000 for n in resets):
        raise UnreadableError(f"a checkpoint has numbers of resets that cannot be: {resets[:9]}")


def episodes_of(arrays: dict[str, np.ndarray]) -> Trajectories:
    """The episodes of a segment of the replay."""
    lengths = arrays["lengths"].tolist()  # Python's numbers do not overflow
    if sum(lengths) != len(arrays["observations"]) or min(lengths, default=0) < 1:
        raise UnreadableError("the episodes in replay/ do not sum to its steps")
    offsets = offsets_of(arrays["lengths"])
    return Trajectories(
        observations=arrays["observations"],
        actions=arrays["actions"],
        terminated=arrays["terminated"],
        truncated=last_steps(offsets) & ~arrays["terminated"],
        offsets=offsets,
        rewards=arrays["rewards"],
        final_observations=arrays["final"],
    )
