"""Shortest paths around discs, against a grid and against a case with a known length."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from etairl.rollouts import collect
from etairl.tasks import make_task, planned_expert
from etairl.tasks.navigation_world import NAVIGATION, LakeWorld
from etairl.tasks.planner import Planner

STENCIL = [
    (dx, dy) for dx in range(8) for dy in range(-7, 8) if math.gcd(dx, dy) == 1 and (dx or dy > 0)
]


def grid_lengths(world: LakeWorld, spacing: float, sources: list[int]) -> tuple[np.ndarray, ...]:
    """Dijkstra on a grid whose points are joined with all neighbours up to 7 rows away."""
    n = round(2 * world.half_side / spacing) + 1
    axis = np.linspace(-world.half_side, world.half_side, n)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    land, index = world.on_land(points), np.arange(n * n).reshape(n, n)
    begins, ends = [], []
    for dx, dy in STENCIL:
        a = index[: n - dx, max(0, -dy) : n - max(0, dy)].ravel()
        b = index[dx:, max(0, dy) : n + min(0, dy)].ravel()
        both = land[a] & land[b]
        begins.append(a[both])
        ends.append(b[both])
    a, b = np.concatenate(begins), np.concatenate(ends)
    way = points[b] - points[a]
    free = np.ones(len(a), bool)
    for centre, radius in zip(world.centres, world.radii, strict=True):
        share = ((centre - points[a]) * way).sum(1) / (way**2).sum(1)
        nearest = points[a] + share.clip(0, 1)[:, None] * way - centre
        free &= np.hypot(*nearest.T) >= radius
    weights = np.hypot(*way[free].T)
    graph = csr_matrix((weights, (a[free], b[free])), shape=(n * n, n * n))
    sources = [int(np.flatnonzero(land)[s * land.sum() // 100]) for s in sources]
    return points, land, sources, dijkstra(graph, directed=False, indices=sources)


@pytest.mark.parametrize(
    "world", [LakeWorld(), LakeWorld(6.0, ((-1.0, 0.0, 2.0), (2.5, 0.5, 1.2)))]
)
def test_lengths_are_those_of_a_fine_grid(world, rng):
    """A path on the grid is no shorter, and with 7 rows of neighbours at most 1 % longer."""
    points, land, sources, lengths = grid_lengths(world, world.half_side / 75, [3, 77])
    planner = Planner(world)
    for source, grid in zip(sources, lengths, strict=True):
        others = rng.choice(np.flatnonzero(land), 2000)
        others = others[others != source]
        start = np.repeat(points[source][None], len(others), axis=0)
        exact = planner.lengths(start, points[others])
        ratio = grid[others] / exact
        assert ratio.min() >= 1.0 - 1e-9
        assert ratio.max() <= 1.01
        assert planner.lengths(points[others], start) == pytest.approx(exact, abs=1e-9)


def test_around_one_disc():
    """From (-2, 0) to (2, 0) around the unit disc: two tangents and an arc."""
    planner = Planner(LakeWorld(5.0, ((0.0, 0.0, 1.0),)))
    start, end = np.array([[-2.0, 0.0]]), np.array([[2.0, 0.0]])
    exact = 2 * math.sqrt(3.0) + math.pi - 2 * math.acos(0.5)
    assert planner.lengths(start, end) == pytest.approx([exact], abs=1e-12)
    direction = planner.directions(start, end)[0]
    assert abs(direction[1]) == pytest.approx(0.5)
    assert planner.lengths(end, end) == pytest.approx([0.0])


def test_crossing_between_two_discs():
    """Under one and over the other: the inner common tangent."""
    planner = Planner(LakeWorld(8.0, ((-2.0, 0.5, 1.0), (2.0, -0.5, 1.0))))
    start, end = np.array([[-5.0, -0.5]]), np.array([[5.0, 0.5]])
    length = planner.lengths(start, end)[0]
    assert math.dist(start[0], end[0]) < length < 10.2
    middle = np.array([[0.0, 0.0]])  # by symmetry
    parts = planner.lengths(start, middle) + planner.lengths(middle, end)
    assert parts == pytest.approx([length], abs=1e-12)


def test_without_lakes_the_way_is_straight(rng):
    planner = Planner(LakeWorld(lakes=()))
    a, b = rng.uniform(-9, 9, (2, 50, 2))
    assert planner.lengths(a, b) == pytest.approx(np.hypot(*(b - a).T))


def test_the_policy_solves_every_task_on_nearly_the_shortest_path():
    task = make_task(NAVIGATION, 300, seed=5)
    policy = planned_expert(NAVIGATION)
    played = collect(np.random.default_rng(0), task, policy, 300, stochastic=False)
    assert task.success(played.final_observations).all()
    left = played.final_observations[:, :2] - played.tasks
    assert np.abs(left).max() < 1e-5
    places = played.observations[:, :2].reshape(300, 50, 2)
    walked = np.hypot(*np.diff(places, axis=1).transpose(2, 0, 1)).sum(axis=1)
    shortest = Planner(LakeWorld()).lengths(
        *(x.astype(float) for x in (places[:, 0], played.tasks))
    )
    assert walked.sum() / shortest.sum() < 1.01
    assert (walked / shortest).max() < 1.06  # unit steps along tangents of a small lake
    drawn = collect(np.random.default_rng(0), task, policy, 300)
    assert task.success(drawn.final_observations).all()


@pytest.mark.parametrize("lake", range(4))
def test_the_policy_leaves_a_shore(lake):
    """From 24 places on the shore to the other side: it is not caught in single precision."""
    x, y, r = LakeWorld().lakes[lake]
    angles = np.linspace(0, 2 * math.pi, 24, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    positions = [x, y] + (r + 1e-13) * circle
    targets = [x, y] - (r + 0.3) * circle
    policy, world = planned_expert(NAVIGATION), LakeWorld()
    for _ in range(30):
        seen = np.concatenate([world.observe(positions), targets], axis=1).astype(np.float32)
        positions = world.move(positions, policy(None, seen))
    assert np.hypot(*(positions - targets).T).max() < 1e-4
