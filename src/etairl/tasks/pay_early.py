r"""Two small worlds in which it pays to pay early, if $\eta$ looks ahead (errata (a)).

`--env etairl.tasks.pay_early:GoStay-v0` is the go/stay chain, `…:Insulation-v0` its continuous
counterpart. With the costs below and $\gamma = 0.5$, never to pay is $\gamma$-optimal and costs
0.8; to pay everything at once is optimal for $\mathrm{Geom}(0.5)$ and costs 0.5.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

_GO = 1


class GoStay(gymnasium.Env[np.ndarray, int | np.int64]):
    """The chain $GS(c_s, c_g, c_1)$; the observation has one column per state."""

    def __init__(self, stay: float = 0.4, go: float = 1.0, after: float = 0.0):
        self.costs, self.gone = (stay, go, after), False
        self.observation_space, self.action_space = Box(0.0, 1.0, (2,), np.float32), Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Back to state 0."""
        super().reset(seed=seed)
        self.gone = False
        return self._seen(), {}

    def step(self, action: int | np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Stay, or go for good."""
        stay, go, after = self.costs
        cost = after if self.gone else (go if action == _GO else stay)
        self.gone = self.gone or bool(action == _GO)
        return self._seen(), -cost, False, False, {}

    def _seen(self) -> np.ndarray:
        return np.eye(2, dtype=np.float32)[int(self.gone)]


class Insulation(gymnasium.Env[np.ndarray, np.ndarray]):
    r"""A house of which the share $r$ is bare: insulate a part $a \in [0, 1]$ of it now.

    A step costs `price` for all that is insulated in it and `heating` for all that stays bare:
    $c = r(a\,c_g + (1-a)\,c_s)$, $r' = (1-a)r$. What is insulated at time $n$ adds
    $w_nc_g - c_s\sum_{j \ge n}w_j$ per share to the cost of doing nothing, $c_s/(1-\gamma)$: the
    criterion is linear in what is done when, so the best of all policies, in time or not, insulates
    all at the $n$ where this is least, or never.
    """

    def __init__(self, heating: float = 0.4, price: float = 1.0):
        self.heating, self.price, self.bare = heating, price, 1.0
        self.observation_space = Box(0.0, 1.0, (1,), np.float32)
        self.action_space = Box(0.0, 1.0, (1,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """All bare."""
        super().reset(seed=seed)
        self.bare = 1.0
        return self._seen(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Insulate, then heat what is bare."""
        part = min(max(float(action[0]), 0.0), 1.0)
        cost = self.bare * (part * self.price + (1.0 - part) * self.heating)
        self.bare *= 1.0 - part
        return self._seen(), -cost, False, False, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.bare], np.float32)


gymnasium.register("GoStay-v0", entry_point=f"{__name__}:GoStay")
gymnasium.register("Insulation-v0", entry_point=f"{__name__}:Insulation")
