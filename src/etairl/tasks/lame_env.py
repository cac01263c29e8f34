"""Environments with limbs that do not obey, for Gymnasium; registered on import."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import WrapperSpec

from etairl.tasks.lame import LAMED


class LameLimbs(gymnasium.ActionWrapper[Any, np.ndarray, Any]):
    """Some columns of an action are 0, whatever is asked for."""

    def __init__(self, env: gymnasium.Env, still: tuple[int, ...]):
        super().__init__(env)
        self.still = list(still)

    def action(self, action: np.ndarray) -> np.ndarray:
        """What the motors get."""
        action = np.array(action)
        action[self.still] = 0.0
        return action


for name, lame in LAMED.items():
    if name not in gymnasium.registry:
        known = gymnasium.spec(lame.sound)
        limbs = WrapperSpec("LameLimbs", f"{__name__}:LameLimbs", {"still": lame.still})
        gymnasium.register(
            name,
            entry_point=known.entry_point,
            max_episode_steps=known.max_episode_steps,
            additional_wrappers=(limbs,),
        )
