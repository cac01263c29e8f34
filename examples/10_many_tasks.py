"""2-D navigation: one map, many targets; who reaches them, and how far it is around the lakes.

Run it as `python examples/10_many_tasks.py [FOLDER]`; with a folder it draws the map there.
"""

import sys
from pathlib import Path

import numpy as np

import etairl
from etairl.figures.lake_map import navigation_figure
from etairl.figures.save import save_figure
from etairl.rollouts import UniformPolicy, collect
from etairl.tasks import make_task
from etairl.tasks.navigation_world import NAVIGATION, LakeWorld
from etairl.tasks.planner import Planner
from etairl.tasks.product import ProductTask

CORNERS = np.array([[-9.0, 9.0], [0.0, 0.0], [9.0, 9.0], [-9.0, -9.0], [9.0, -9.0]])


def main() -> None:
    """Five targets, three policies, and the bundled demonstrations."""
    task = make_task(NAVIGATION, len(CORNERS), seed=0)
    assert isinstance(task, ProductTask)
    task.assign(CORNERS)
    print(
        f"{task.spec.obs_dim} columns: place, distances from {len(LakeWorld().lakes)} lakes, task"
    )
    policies = {"planner": etairl.load_expert(NAVIGATION), "random": UniformPolicy(task)}
    for name, policy in policies.items():
        played = collect(np.random.default_rng(0), task, policy, len(CORNERS))
        assert played.returns is not None
        assert played.final_observations is not None
        solved = task.success(played.final_observations)
        print(f"{name:<8} solves {solved.sum()} of 5, return {played.returns.mean():.1f}")

    demos = etairl.load_demos("etairl-Navigation-v0-300x50").trajectories
    assert demos.tasks is not None
    starts = demos.observations[demos.offsets[:-1], :2].astype(float)
    targets = demos.tasks.astype(float)
    straight = np.hypot(*(targets - starts).T)
    shortest = Planner(LakeWorld()).lengths(starts, targets)
    print(f"{len(demos)} demonstrations: {straight.mean():.2f} as the crow flies, ", end="")
    print(
        f"{shortest.mean():.2f} around the lakes, at most {(shortest / straight).max():.2f} times"
    )
    if len(sys.argv) > 1:
        longest = np.argsort(shortest / straight)[-6:]
        figure = navigation_figure(demos.take(longest))
        save_figure(figure, Path(sys.argv[1]) / "navigation.png")
        print(f"drawn into {sys.argv[1]}")


if __name__ == "__main__":
    main()
