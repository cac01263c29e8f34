r"""The shortest way around the lakes, exactly, and an expert that walks it.

A shortest path among discs is made of straight segments that touch discs, and of arcs between
them. A *turn* is a disc with a sense of rotation: $+1$ counter-clockwise, with the lake on the
left. From a point one straight segment leads onto every turn and one off it; from turn to turn
leads one, too. Distances between all of these are known once per map; a query adds its two ends.
Everything is computed for many queries at once.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from etairl.tasks.navigation_world import LakeWorld, Positions, clip_to_disc

_MOST = 1_200_000  # ways between links that are compared at a time
_TOUCHING = 1e-9
_LEAN = 0.02  # radians away from a lake whose shore is too near to plan along


class Legs(NamedTuple):
    """Straight segments between points and turns; the last axis counts turns."""

    lengths: Float[np.ndarray, "n turns"]
    """infinite where another lake is in the way"""
    angles: Float[np.ndarray, "n turns"]
    """of the point of contact, seen from the centre"""


class Planner:
    """Shortest paths on a map whose lakes are `clearance` wider."""

    def __init__(self, world: LakeWorld, clearance: float = 0.0):
        self.world = world
        # Turn 2j goes around lake j counter-clockwise, turn 2j + 1 clockwise.
        self._centres = np.repeat(world.centres, 2, axis=0)
        self._radii = np.repeat(world.radii + clearance, 2)
        self._senses = np.tile([1.0, -1.0], len(world.lakes))

    def lengths(self, positions: Positions, targets: Positions) -> Float[np.ndarray, " n"]:
        """Length of the shortest path of each query."""
        return self._plan(positions, targets)[0]

    def directions(self, positions: Positions, targets: Positions) -> Positions:
        """Unit vectors along which the shortest paths begin; zero at the target."""
        return self._plan(positions, targets)[1]

    def _plan(self, positions: Positions, targets: Positions) -> tuple[np.ndarray, np.ndarray]:
        many = max(1, _MOST // max(1, len(self._links[0])) ** 2)
        parts = [
            self._plan_some(positions[i : i + many], targets[i : i + many])
            for i in range(0, len(positions), many)
        ]
        lengths, directions = zip(*parts, strict=True)
        return np.concatenate(lengths), np.concatenate(directions)

    def _plan_some(self, positions: Positions, targets: Positions) -> tuple[np.ndarray, np.ndarray]:
        straight = targets - positions
        direct = np.hypot(*straight.T)
        direct_free = ~self._blocked(positions, targets).any(axis=1)
        on, off = self._legs(positions, 1.0), self._legs(targets, -1.0)
        ways = on.lengths + self._to_go(on.angles, off)
        ways = np.concatenate([np.where(direct_free, direct, np.inf)[:, None], ways], axis=1)
        best = ways.argmin(axis=1)
        rows = np.arange(len(positions))
        directions = straight / np.where(direct > 0.0, direct, 1.0)[:, None]
        around = best > 0
        turns = best[around] - 1
        angles = on.angles[rows[around], turns]
        directions[around] = self._heading(positions[around], turns, angles)
        return ways[rows, best], directions

    def _heading(self, positions: Positions, turns: np.ndarray, angles: np.ndarray) -> Positions:
        """Along the segment onto a turn; in the direction of the turn where one is on it."""
        sense, radii = self._senses[turns], self._radii[turns]
        near = np.hypot(*(positions - self._centres[turns]).T) <= radii
        heading = angles + sense * np.where(near, np.pi / 2 - _LEAN, np.pi / 2)
        return np.stack([np.cos(heading), np.sin(heading)], axis=1)

    def _legs(self, points: Positions, way: float) -> Legs:
        r"""Segments from points onto turns (`way` 1), or from turns to points (-1).

        From distance $d$ the point of contact is $\arccos(r / d)$ away from the direction of the
        point, seen from the centre.
        """
        x, y = (points[:, None] - self._centres).transpose(2, 0, 1)
        distances = np.maximum(np.hypot(x, y), self._radii)
        between = np.arccos(self._radii / distances)
        angles = np.arctan2(y, x) + way * self._senses * between
        lengths = np.sqrt(distances**2 - self._radii**2)
        touching = self._centres + self._radii[:, None] * _circle(angles)
        blocked = self._blocked(points[:, None], touching)
        blocked[:, np.arange(len(self._radii)), np.arange(len(self._radii)) // 2] = False
        return Legs(np.where(blocked.any(axis=-1), np.inf, lengths), angles)

    def _arcs(self, begin: np.ndarray, end: np.ndarray, sense: np.ndarray) -> np.ndarray:
        """Share of a full turn from one angle to another in the sense of a turn, in radians."""
        turned = np.mod(sense * (end - begin), 2 * np.pi)
        return np.where(turned > 2 * np.pi - _TOUCHING, 0.0, turned)

    def _to_go(self, angles: np.ndarray, off: Legs) -> Float[np.ndarray, "n turns"]:
        """From each turn, entered at `angles`, to the target, whose segments are `off`."""
        arcs = self._radii * self._arcs(angles, off.angles, self._senses)
        ways = arcs + off.lengths
        origin, goal, departures, arrivals, _ = self._links
        if not len(origin):
            return ways
        last = self._radii[goal] * self._arcs(arrivals, off.angles[:, goal], self._senses[goal])
        after = last + off.lengths[:, goal]  # [n, links], once a link is behind
        rest = (self._between[None] + after[:, None, :]).min(axis=2)
        first = self._radii[origin] * self._arcs(
            angles[:, origin], departures, self._senses[origin]
        )
        through = first + rest
        for turn in range(len(self._radii)):
            linked = through[:, origin == turn]
            if linked.shape[1]:
                ways[:, turn] = np.minimum(ways[:, turn], linked.min(axis=1))
        return ways

    @cached_property
    def _links(self) -> tuple[np.ndarray, ...]:
        """Free segments between turns: both turns, both angles of contact, and the length.

        Between turns of opposite sense the segment crosses the line of centres.
        """
        n = len(self._radii)
        i, j = np.nonzero(np.arange(n)[:, None] // 2 != np.arange(n) // 2)
        apart = self._centres[j] - self._centres[i]
        distance, line = np.hypot(*apart.T), np.arctan2(*apart.T[::-1])
        same = self._senses[i] == self._senses[j]
        offset = np.where(same, self._radii[i] - self._radii[j], self._radii[i] + self._radii[j])
        lean = np.arccos(np.clip(offset / distance, -1.0, 1.0))
        departures = line - self._senses[i] * lean
        arrivals = np.where(same, departures, departures + np.pi)
        start = self._centres[i] + self._radii[i, None] * _circle(departures)
        end = self._centres[j] + self._radii[j, None] * _circle(arrivals)
        blocked = self._blocked(start, end)
        rows = np.arange(len(i))
        blocked[rows, i // 2] = blocked[rows, j // 2] = False
        free = ~blocked.any(axis=1)
        lengths = np.hypot(*(end - start).T)
        return tuple(x[free] for x in (i, j, departures, arrivals, lengths))

    @cached_property
    def _between(self) -> Float[np.ndarray, "links links"]:
        """Shortest ways from the beginning of one link to the end of another (Floyd–Warshall)."""
        origin, goal, departures, arrivals, lengths = self._links
        arcs = self._radii[goal][:, None] * self._arcs(
            arrivals[:, None], departures[None], self._senses[goal][:, None]
        )
        ways = np.where(goal[:, None] == origin[None], arcs + lengths[None], np.inf)
        ways += lengths[:, None]
        np.fill_diagonal(ways, lengths)
        for k in range(len(lengths)):
            ways = np.minimum(ways, ways[:, k, None] + ways[k] - lengths[k])
        return ways

    def _blocked(self, start: np.ndarray, end: np.ndarray) -> Bool[np.ndarray, "... lakes"]:
        """Which lakes does the segment between two points go through?"""
        centres, radii = self._centres[::2], self._radii[::2]
        step = (end - start)[..., None, :]
        offset = centres - start[..., None, :]
        length2 = np.maximum((step**2).sum(-1), 1e-300)
        share = np.clip((offset * step).sum(-1) / length2, 0.0, 1.0)
        nearest = offset - share[..., None] * step
        return np.hypot(nearest[..., 0], nearest[..., 1]) < radii - _TOUCHING


class PlannerPolicy:
    """Walks the shortest path in steps of length 1, and stays at the target.

    With a random generator its actions get Gaussian noise. It reads positions and targets from the
    observations: the first two columns and the last two.
    """

    def __init__(self, world: LakeWorld, noise: float = 0.1, clearance: float = 0.05):
        self._planner = Planner(world, clearance)
        self._exact = Planner(world)
        self._noise = noise

    def __call__(
        self, rng: np.random.Generator | None, observations: Float[np.ndarray, "batch obs"]
    ) -> Float[np.ndarray, "batch 2"]:
        """Actions in the unit disc."""
        positions = observations[:, :2].astype(np.float64)
        targets = observations[:, -2:].astype(np.float64)
        left = targets - positions
        arriving = np.hypot(*left.T) <= 1.0
        arriving &= ~self._exact._blocked(positions, targets).any(axis=1)
        ahead = self._planner.directions(positions, targets)
        actions = np.where(arriving[:, None], left, ahead)
        if rng is not None:
            actions = actions + rng.normal(0.0, self._noise, actions.shape)
        return clip_to_disc(actions).astype(np.float32)


def _circle(angles: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)
