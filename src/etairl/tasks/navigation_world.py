"""2-D navigation: a square with four lakes, which an agent walks around to reach its target.

What the paper leaves open (errata (n11)) is written down here: where the lakes are, where episodes
start, how a step ends at a border, and what it costs to be away from the target.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Num
from typing_extensions import override

from etairl.tasks.product import Goals
from etairl.tasks.stepping import WorldTask
from etairl.types import InputError, Spec

NAVIGATION = "etairl/Navigation-v0"
SHIFTED_NAVIGATION = "etairl/ShiftedNavigation-v0"
NAVIGATION_STEPS = 50
_TOLERANCE = 1.0
"""a target within one step is reached"""
_SLACK = 1e-14  # of the side: how far outside of a lake a point of contact is put

Positions = Float[np.ndarray, "n 2"]


@dataclass(frozen=True)
class LakeWorld:
    r"""The box $[-h, h]^2$ without the lakes, which are open discs."""

    half_side: float = 10.0
    lakes: tuple[tuple[float, float, float], ...] = (
        (-5.0, 4.5, 3.0),
        (4.5, 5.5, 2.5),
        (-4.0, -4.5, 2.5),
        (5.0, -4.0, 3.0),
    )
    """centre and radius of each"""
    shore: float = 0.1
    """episodes start, and targets are drawn, at least so far from every lake"""

    def __post_init__(self):
        if not (self.half_side > 0.0 and 0.0 <= self.shore <= 0.1 * self.half_side):
            raise InputError(
                "a box needs a side, and a shore of at most a tenth of its half; got "
                f"{self.half_side} and {self.shore}"
            )
        for number, (x, y, radius) in enumerate(self.lakes):
            if not (radius > 0.0 and max(abs(x), abs(y)) + radius < self.half_side):
                raise InputError(f"lake {number} does not lie inside of the box")
            for ox, oy, other in self.lakes[:number]:
                if np.hypot(x - ox, y - oy) <= radius + other:
                    raise InputError(f"lake {number} touches another one; lakes must be apart")

    @cached_property
    def centres(self) -> Float[np.ndarray, "lakes 2"]:
        """Of the lakes."""
        return np.array([lake[:2] for lake in self.lakes], np.float64).reshape(-1, 2)

    @cached_property
    def radii(self) -> Float[np.ndarray, " lakes"]:
        """Of the lakes."""
        return np.array([lake[2] for lake in self.lakes], np.float64)

    def distances(self, positions: Positions) -> Float[np.ndarray, "n lakes"]:
        """From the centres of the lakes."""
        x = positions[:, :1] - self.centres[:, 0]
        y = positions[:, 1:] - self.centres[:, 1]
        return np.sqrt(x * x + y * y)

    def on_land(self, positions: Positions, margin: float = 0.0) -> Bool[np.ndarray, " n"]:
        """In the box, and outside of every lake by at least `margin`."""
        dry = (self.distances(positions) >= self.radii + margin).all(axis=1)
        return np.logical_and((np.abs(positions) <= self.half_side).all(axis=1), dry)

    def draw(self, rng: np.random.Generator, n: int) -> Positions:
        """Uniform on the land that is off the shores: the law of starts and of targets."""
        points = rng.uniform(-self.half_side, self.half_side, (n, 2))
        wet = ~self.on_land(points, self.shore)
        while wet.any():
            points[wet] = rng.uniform(-self.half_side, self.half_side, (int(wet.sum()), 2))
            wet = ~self.on_land(points, self.shore)
        return points

    def move(self, positions: Positions, actions: Num[np.ndarray, "n 2"]) -> Positions:
        r"""One step: along the action, up to the first border on the way.

        Actions are clipped to the unit disc, radially. Lake $(c, r)$ is met at the share $u$ of
        the step $a$ from $x$ where $|x + u a - c| = r$ for the first time: with $o = x - c$ and
        $g = |o|^2 - r^2$ at $u = g / (-o \cdot a + \sqrt{(o \cdot a)^2 - |a|^2 g})$, if the step
        goes towards the lake at all ($o \cdot a < 0$) and does not pass by it. The whole segment
        counts, not only its end as in the paper: no step jumps over a bay.
        """
        if not np.isfinite(actions).all():
            raise InputError("an action of navigation is NaN or infinite")
        a = clip_to_disc(actions)
        share, near_any = np.ones(len(a)), np.zeros(len(a), bool)
        for centre, radius in zip(self.centres, self.radii, strict=True):
            offset = positions - centre
            # Only steps from within reach of a lake can meet it: most do not, and are left alone.
            near = np.flatnonzero(_square(offset) < (radius + 1.001) ** 2)
            contact = _first_contact(offset[near], a[near], radius)
            share[near] = np.minimum(share[near], contact)
            near_any[near] = True
        reached = positions + share[:, None] * a
        outside = np.flatnonzero((np.abs(reached) > self.half_side).any(axis=1))
        if len(outside):
            reached[outside] = self._stopped_at_wall(positions[outside], reached[outside])
        near = np.flatnonzero(near_any)
        reached[near] = self._settle(reached[near])
        return reached

    def _stopped_at_wall(self, start: Positions, end: Positions) -> Positions:
        """Where steps that leave the box meet it."""
        a = end - start
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (self.half_side - np.sign(a) * start) / np.abs(a)
        share = np.where(a == 0.0, 1.0, share).min(axis=1).clip(0.0, 1.0)
        return np.clip(start + share[:, None] * a, -self.half_side, self.half_side)

    def _settle(self, points: Positions) -> Positions:
        """Rounding leaves some points of contact inside of a lake: those are put on its shore."""
        distances = self.distances(points)
        rows, lakes = np.nonzero(distances < self.radii)
        outwards = (points[rows] - self.centres[lakes]) / distances[rows, lakes, None]
        radii = self.radii[lakes, None] + _SLACK * self.half_side
        points[rows] = self.centres[lakes] + radii * outwards
        return points

    def observe(self, positions: Positions) -> Float[np.ndarray, "n state"]:
        """What is seen but for the target: position, and distances from the lakes' centres."""
        return np.concatenate([positions, self.distances(positions)], axis=1)

    def mend(
        self, observations: Float[np.ndarray, "n obs"], actions: Float[np.ndarray, "n 2"]
    ) -> tuple[Float[np.ndarray, "n obs"], Float[np.ndarray, "n 2"]]:
        """The nearest that there can be: on land, distances from there, steps of length 1."""
        seen = np.array(observations)
        side = self.half_side
        positions = self._settle(np.clip(seen[:, :2].astype(np.float64), -side, side))
        seen[:, : 2 + len(self.lakes)] = self.observe(positions)
        lengths = np.linalg.norm(actions, axis=1, keepdims=True)
        return seen, actions / np.maximum(1.0, lengths)

    def check_targets(self, targets: Float[np.ndarray, "n 2"]) -> None:
        """Refuse targets in a lake or outside of the box."""
        points = targets.astype(np.float64)
        outside = (np.abs(points) > self.half_side * (1.0 + 1e-6)).any(axis=1)
        if outside.any():
            x, y = points[np.argmax(outside)]
            raise InputError(
                f"the target ({x:g}, {y:g}) lies outside of the box [-{self.half_side:g}, "
                f"{self.half_side:g}]²"
            )
        # Targets come in single precision.
        drowned = self.distances(points) < self.radii - 1e-6 * self.half_side
        if drowned.any():
            row, lake = np.argwhere(drowned)[0]
            (x, y), (cx, cy, radius) = points[row], self.lakes[lake]
            raise InputError(
                f"the target ({x:g}, {y:g}) lies in the lake of radius {radius:g} around ({cx:g}, "
                f"{cy:g}), where nobody can walk; choose one on land"
            )


MAPS = {
    NAVIGATION: LakeWorld(),
    SHIFTED_NAVIGATION: LakeWorld(lakes=((-1.0, 1.0, 3.0), *LakeWorld().lakes[1:])),
}
"""by the name of the environment; on the second one the first lake lies in the middle"""


def _first_contact(
    offset: Positions, a: Positions, radius: Float[np.ndarray, ""] | float
) -> Float[np.ndarray, " n"]:
    """At which share of the step a circle around the origin is met; infinite where it is not."""
    gap = np.maximum(_square(offset) - radius**2, 0.0)
    towards = -(offset * a).sum(axis=1)
    inner = towards**2 - _square(a) * gap
    met = (towards > 0.0) & (inner > 0.0)
    root = np.sqrt(np.where(met, inner, 1.0))
    return np.where(met, gap / np.where(met, towards + root, 1.0), np.inf)


def clip_to_disc(actions: Num[np.ndarray, "n 2"]) -> Positions:
    """Actions longer than 1 are shortened to 1."""
    a = actions.astype(np.float64)
    return a / np.sqrt(np.maximum(_square(a), 1.0))[:, None]


def _square(vectors: Positions) -> Float[np.ndarray, " n"]:
    return vectors[:, 0] ** 2 + vectors[:, 1] ** 2


def navigation_goals(world: LakeWorld) -> Goals:
    """Targets anywhere on land; the cost is the distance that is left."""
    return Goals(
        place=(0, 1),
        tolerance=_TOLERANCE,
        laws={"training": world.draw, "full": world.draw},
        columns=slice(0, 2 + len(world.lakes)),
        possible=world.check_targets,
        mend=world.mend,
    )


class NavigationTask(WorldTask):
    """`envs` agents on the map, all moved at once; `ProductTask` adds tasks and their costs."""

    def __init__(self, envs: int, horizon: int | None, seed: int, environment: str = NAVIGATION):
        self.world = MAPS[environment]
        columns = 2 + len(self.world.lakes)
        spec = Spec(columns, 2, (-1.0, -1.0), (1.0, 1.0), None, environment)
        self._set_up(spec, envs, horizon or NAVIGATION_STEPS, seed, columns=2)

    @override
    def walk(self, ids: np.ndarray, actions: np.ndarray) -> np.ndarray:
        self.states[ids] = self.world.move(self.states[ids], actions)
        return np.zeros(len(ids), bool)  # only time ends an episode

    @override
    def observe(self, ids: np.ndarray) -> np.ndarray:
        return self.world.observe(self.states[ids]).astype(np.float32)
