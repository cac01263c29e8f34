r"""The learned cost of 2-D navigation, seen from above: a map for each of five targets.

Map $\theta$ has the value $c((x, \theta), a)$ at the position $x$, with $a = 0$ where the cost
looks at actions, and staying where one is where it looks at next states.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from etairl.tasks.navigation_world import MAPS, NAVIGATION, LakeWorld
from etairl.training.result import Result
from etairl.training.settings import TrainConfig
from etairl.types import InputError, Trajectories

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
    at_rest = _at_rest(result.config)
    title = _title(result.config, at_rest)
    return CostMaps(TARGETS, costs.reshape(-1, cells, cells), at_rest, title)


class Plane(NamedTuple):
    """The learned cost over two columns, for episodes that differ in the other ones."""

    columns: tuple[int, int]
    low: tuple[float, float]
    high: tuple[float, float]
    costs: Float[np.ndarray, "episodes rows columns"]
    """at the middles of cells, rows from the bottom up; NaN where nothing can be"""
    at_rest: bool
    """the cost looks at actions or next states, too; these are those of doing nothing"""


def plane(result: Result, episodes: Trajectories, cells: int = 48) -> Plane | None:
    """A map for each episode, with its own values of what does not change in it.

    None where the world has not exactly two columns that change within episodes.
    """
    x, first = episodes.observations, episodes.offsets[:-1]
    world = MAPS.get(result.config.env.rpartition(":")[2])
    if world is not None:
        changing = [0, 1]
        low, high = np.full(2, -world.half_side), np.full(2, world.half_side)
    else:
        moved = np.abs(x - np.repeat(x[first], episodes.lengths, axis=0)).max(axis=0)
        changing = np.flatnonzero(moved > 1e-6 * np.maximum(1.0, np.abs(x).max(axis=0))).tolist()
        if len(changing) != 2:
            return None
        low, high = x[:, changing].min(axis=0), x[:, changing].max(axis=0)
    sides = [low[i] + (np.arange(cells) + 0.5) / cells * (high[i] - low[i]) for i in range(2)]
    places = np.stack([side.ravel() for side in np.meshgrid(*sides)], axis=1)
    possible = np.ones(len(places), bool) if world is None else world.on_land(places)
    spec = result.spec
    still = np.tile(spec.zero_action, (int(possible.sum()), 1)).astype(np.float32)
    costs = np.full((len(episodes), cells * cells), np.nan)
    for number, row in enumerate(first):
        observations = np.tile(x[row], (len(still), 1))
        if world is None:
            observations[:, changing] = places[possible]
        else:  # what else it sees depends on the place; the target comes last
            state = world.observe(places[possible])
            observations[:, : state.shape[1]] = state
        costs[number, possible] = result.cost(observations, still, observations)
    (left, bottom), (right, top) = low.tolist(), high.tolist()
    shape = (len(episodes), cells, cells)
    return Plane(
        (changing[0], changing[1]),
        (left, bottom),
        (right, top),
        costs.reshape(shape),
        _at_rest(result.config),
    )


def _at_rest(config: TrainConfig) -> bool:
    # A cost of states alone has no inputs to choose.
    return getattr(config.cost, "inputs", "state") != "state"


def _title(config: TrainConfig, at_rest: bool) -> str:
    words = [config.algorithm.upper() + (" + Idle" if config.idle else "")]
    words += [f"η = {config.eta}"] if config.choices.any_eta else []
    return ", ".join([*words, "learned cost" + (" at rest" if at_rest else "")])
