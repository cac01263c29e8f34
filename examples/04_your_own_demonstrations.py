"""From your own arrays to a checked file and a Minari dataset (in FOLDER, if one is given)."""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from etairl import Demos, Trajectories, inspect, load_demos, save_demos
from etairl.types import Spec


def record(rng: np.random.Generator, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One episode of a cart pushed to the origin; stands for your own recording."""
    state = rng.normal(size=2)
    observations, actions = [state], []
    for _ in range(steps):
        push = np.clip(-state[0] - 1.5 * state[1] + 0.3 * rng.normal(), -1.0, 1.0)
        state = state + 0.1 * np.array([state[1], push])
        observations.append(state)
        actions.append([push])
    costs = np.linalg.norm(observations[:-1], axis=1)
    return np.array(observations, np.float32), np.array(actions, np.float32), -costs


def main() -> None:
    """Build, save, load, inspect, export."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    rng = np.random.default_rng(0)
    episodes = [record(rng, steps) for steps in (120, 150, 150, 150, 90, 150)]
    offsets = np.cumsum([0] + [len(actions) for _, actions, _ in episodes])
    last = np.zeros(offsets[-1], dtype=bool)
    last[offsets[1:] - 1] = True
    trajectories = Trajectories(
        observations=np.concatenate([obs[:-1] for obs, _, _ in episodes]),
        actions=np.concatenate([actions for _, actions, _ in episodes]),
        terminated=np.zeros_like(last),  # the world never ended an episode
        truncated=last,  # the recording did
        offsets=offsets,
        rewards=np.concatenate([rewards for _, _, rewards in episodes]),
        final_observations=np.stack([obs[-1] for obs, _, _ in episodes]),
    )
    spec = Spec(obs_dim=2, act_dim=1, action_low=(-1.0,), action_high=(1.0,), environment="cart")
    save_demos(Demos.of(trajectories, spec, "cart"), folder / "cart.npz", overwrite=True)
    demos = load_demos(folder / "cart.npz")
    found = inspect(demos)  # what `etairl demos info` prints
    print(f"{found.episodes} episodes, {found.steps} steps; suggested: {found.advice.eta}")
    print("warnings:", *found.warnings, sep="\n- ")

    os.environ["MINARI_DATASETS_PATH"] = str(folder / "minari")
    save_demos(demos, "minari:cart/human-v0")
    again = load_demos("minari:cart/human-v0")
    same = np.array_equal(again.trajectories.pairs(), demos.trajectories.pairs())
    print(f"as a Minari dataset: {len(again.trajectories)} episodes, same pairs: {same}")


if __name__ == "__main__":
    main()
