r"""The learned cost of 2-D navigation, seen from above: a map for each of five targets.

Map $\theta$ has the value $c((x, \theta), a)$ at the position $x$, with $a = 0$ where the cost
looks at actions, and staying where one is where it looks at next states.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from etairl.tasks.navigation_world import NAVIGATION, LakeWorld
from etairl.training.result import Result
from etairl.training.settings import TrainConfig
from etairl.types import InputError

TARGETS = {
    "top left": (-9.0, 9.0),
    "centre": (0.0, 0.0),
    "top right": (9.0, 9.0),
    "bottom left": (-9.0, -9.0),
    "bottom right": (9.0, -9.0),
}
"""the paper says where, not how far from the border"""


class CostMaps(NamedTuple):
    """The learned cost at the middles of square cells."""

    targets: dict[str, tuple[float, float]]
    costs: Float[np.ndarray, "targets rows columns"]
    """rows from the bottom up, columns from the left; NaN in lakes"""
    at_rest: bool
    """the cost looks at actions or next states, too; these are those of standing still"""
    title: str


def check_mapped(config: TrainConfig) -> None:
    """Refuse a run whose cost is not a function of a place on the map."""
    if config.env.rpartition(":")[2] != NAVIGATION:
        raise InputError(f"a map of the cost is drawn for {NAVIGATION} only, not for {config.env}")


def cost_maps(result: Result, cells: int = 120) -> CostMaps:
    """The learned cost of a run of 2-D navigation, on `cells` times `cells` places per target."""
    check_mapped(result.config)
    world = LakeWorld()
    middles = ((np.arange(cells) + 0.5) / cells * 2.0 - 1.0) * world.half_side
    x, y = np.meshgrid(middles, middles)
    places = np.stack([x.ravel(), y.ravel()], axis=1)
    land = world.on_land(places)
    state = world.observe(places[land])
    costs = np.full((len(TARGETS), cells * cells), np.nan)
    for number, target in enumerate(TARGETS.values()):
        observations = np.concatenate([state, np.tile(target, (len(state), 1))], axis=1)
        still = np.zeros((len(state), 2), np.float32)
        costs[number, land] = result.cost(observations, still, observations)
    config = result.config
    # A cost of states alone has no inputs to choose.
    at_rest = getattr(config.cost, "inputs", "state") != "state"
    return CostMaps(TARGETS, costs.reshape(-1, cells, cells), at_rest, _title(config, at_rest))


def _title(config: TrainConfig, at_rest: bool) -> str:
    words = [config.algorithm.upper() + (" + Idle" if config.idle else "")]
    words += [f"η = {config.eta}"] if config.choices.any_eta else []
    return ", ".join([*words, "learned cost" + (" at rest" if at_rest else "")])
