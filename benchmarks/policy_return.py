"""What a third party's policy returns in several worlds, to see whether they are one world.

    python benchmarks/policy_return.py POLICY.npz ENV ENV... [--episodes 50]

POLICY.npz has W0, b0, W1, b1, … with tanh between them and a linear end; obs_mean, obs_std and
obs_clip where its inputs are standardised and clipped. Greedy, 1,000 steps at the most.
"""

import argparse
from pathlib import Path

import gymnasium
import numpy as np


def act(weights: dict[str, np.ndarray], obs: np.ndarray) -> np.ndarray:
    """The most likely action."""
    x = obs
    if "obs_mean" in weights:
        clip = float(weights.get("obs_clip", np.inf))
        x = np.clip((x - weights["obs_mean"]) / weights["obs_std"], -clip, clip)
    layers = sum(name.startswith("W") for name in weights)
    for i in range(layers):
        x = x @ weights[f"W{i}"] + weights[f"b{i}"]
        x = np.tanh(x) if i < layers - 1 else x
    return x


def play(weights: dict[str, np.ndarray], env: gymnasium.Env, seed: int) -> float:
    """The return of one episode."""
    space = env.action_space
    assert isinstance(space, gymnasium.spaces.Box)
    obs, _ = env.reset(seed=seed)
    total, ended = 0.0, False
    while not ended:
        action = np.clip(act(weights, obs), space.low, space.high)
        obs, reward, terminated, truncated, _ = env.step(action)
        total, ended = total + float(reward), terminated or truncated
    return total


def main() -> None:
    """Print a line for each environment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("policy", type=Path)
    parser.add_argument("env", nargs="+")
    parser.add_argument("--episodes", type=int, default=50)
    args = parser.parse_args()
    with np.load(args.policy, allow_pickle=False) as file:
        weights = {name: file[name] for name in file.files}
    for name in args.env:
        env = gymnasium.make(name, max_episode_steps=1000)
        returns = [play(weights, env, 1000 + i) for i in range(args.episodes)]
        print(f"{name}: {np.mean(returns):,.0f} ± {np.std(returns):,.0f}, {args.episodes} episodes")


if __name__ == "__main__":
    main()
