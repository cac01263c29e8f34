#!/bin/sh
# A table of demonstrations and an environment of your own: an evaluated policy with three commands.
# Run it in an empty folder: sh 12_own_csv.sh [TRANSITIONS]
set -eu
transitions=${1:-60000}

# What you have: a module that registers an environment with Gymnasium, …
cat > rail.py <<'PYTHON'
import gymnasium
import numpy as np


class Rail(gymnasium.Env):
    """Push a cart to the middle of a rail, and keep it there."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.normal(size=2)
        return self.state.astype(np.float32), {}

    def step(self, action):
        place, speed = self.state
        push = float(np.clip(action[0], -1.0, 1.0))
        self.state = np.array([place + 0.1 * speed, speed + 0.1 * push])
        cost = place**2 + 0.1 * speed**2
        return self.state.astype(np.float32), -cost, False, False, {}


gymnasium.register("Rail-v0", Rail, max_episode_steps=100)
PYTHON

# … and a table of what an expert did: a row per step, columns with names. Here it is made up.
python - > expert.csv <<'PYTHON'
from rail import Rail

rail = Rail()
print("episode,obs_place,obs_speed,act_push,reward")
for episode in range(20):
    obs, _ = rail.reset(seed=episode)
    for _ in range(100):
        push = min(max(-obs[0] - 1.5 * obs[1] + 0.1 * rail.np_random.normal(), -1.0), 1.0)
        after, reward, *_ = rail.step([push])
        print(episode, obs[0], obs[1], push, reward, sep=",")
        obs = after
PYTHON

etairl demos import expert.csv -o expert.npz --bounds -1 1
etairl train --env rail:Rail-v0 --demos expert.npz --transitions "$transitions" -o run
etairl evaluate run --trust --episodes 20
