"""2-D navigation: geometry by properties, engines against each other, speed."""

import math
import time

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import etairl.tasks.navigation_env
from etairl.demos import load_demos
from etairl.rollouts import UniformPolicy, collect
from etairl.tasks import make_task
from etairl.tasks.navigation_world import NAVIGATION, LakeWorld, NavigationTask, clip_to_disc
from etairl.tasks.rendering import Scene
from etairl.types import InputError, MultiTask, RejoinableTask

WORLD = LakeWorld()
COORDINATE = st.floats(-10.0, 10.0, allow_nan=False)
PART = st.floats(-1.5, 1.5, allow_nan=False)
LAKE, ANGLE = st.integers(0, 3), st.floats(0.0, 2 * math.pi)


def moved(position, action) -> np.ndarray:
    return WORLD.move(np.array([position], float), np.array([action], float))[0]


def reference_move(position, action) -> tuple[float, float]:
    """By hand, one agent, with the textbook quadratic formula and the first root of all borders."""
    (x, y), (ax, ay) = position, action
    length = math.hypot(ax, ay)
    if length > 1.0:
        ax, ay = ax / length, ay / length
    first = 1.0
    for cx, cy, r in WORLD.lakes:
        a, b = ax * ax + ay * ay, 2.0 * (ax * (x - cx) + ay * (y - cy))
        c = (x - cx) ** 2 + (y - cy) ** 2 - r * r
        if a > 0.0 and b < 0.0 and b * b > 4.0 * a * c:
            first = min(first, max(0.0, (-b - math.sqrt(b * b - 4.0 * a * c)) / (2.0 * a)))
    for place, part in ((x, ax), (y, ay)):
        if abs(place + part) > 10.0:
            first = min(first, (math.copysign(10.0, part) - place) / part)
    return x + first * ax, y + first * ay


@st.composite
def land(draw) -> tuple[float, float]:
    point = (draw(COORDINATE), draw(COORDINATE))
    wet = any(math.hypot(point[0] - x, point[1] - y) < r for x, y, r in WORLD.lakes)
    return (0.0, 0.0) if wet else point


@settings(max_examples=150)
@given(land(), st.tuples(PART, PART))
def test_a_step_ends_on_land_and_no_way_leads_through_water(position, action):
    reached = moved(position, action)
    assert WORLD.on_land(reached[None])[0]
    way = np.array(position) + np.linspace(0, 1, 200)[:, None] * (reached - position)
    assert (WORLD.distances(way) >= WORLD.radii - 1e-9).all()
    assert np.hypot(*(reached - position)) <= 1.0 + 1e-12
    # Along the action, never aside or back.
    a = clip_to_disc(np.array([action]))[0]
    step = reached - position
    assert abs(step[0] * a[1] - step[1] * a[0]) < 1e-9
    assert step @ a >= -1e-12


@settings(max_examples=150)
@given(land(), st.tuples(PART, PART))
def test_one_agent_by_hand_and_many_at_once_agree(position, action):
    assert moved(position, action) == pytest.approx(reference_move(position, action), abs=1e-9)


@settings(max_examples=120)
@given(LAKE, ANGLE, st.floats(0.05, 1.0), st.floats(0.0, 0.95), st.sampled_from([-1.0, 1.0]))
def test_contact_is_where_ray_and_circle_meet(lake, angle, gap, miss, side):
    """Aimed to pass the centre at `miss` radii: half a chord before the nearest point."""
    x, y, r = WORLD.lakes[lake]
    distance = r + gap
    start = np.array([x, y]) + distance * np.array([math.cos(angle), math.sin(angle)])
    if not WORLD.on_land(start[None])[0]:
        return
    lean = math.asin(miss * r / distance) * side
    heading = angle + math.pi + lean
    a = np.array([math.cos(heading), math.sin(heading)])
    until = distance * math.cos(lean) - r * math.sqrt(1.0 - miss**2)
    reached = moved(start, a)
    inside_box = np.abs(start + min(1.0, until) * a).max() <= 10.0
    if inside_box:
        assert reached == pytest.approx(start + min(1.0, until) * a, abs=1e-9)


@settings(max_examples=120)
@given(LAKE, ANGLE, st.floats(-1.4, 1.4))
def test_no_motion_against_a_blocked_direction(lake, angle, lean):
    """On the shore, headed into the lake: every further step stays; along and away it does not."""
    x, y, r = WORLD.lakes[lake]
    outwards = np.array([math.cos(angle), math.sin(angle)])
    shore = moved(np.array([x, y]) + (r + 0.5) * outwards, -outwards)
    assert np.hypot(*(shore - [x, y])) == pytest.approx(r, abs=1e-9)
    inwards = angle + math.pi + lean
    stayed = moved(shore, (math.cos(inwards), math.sin(inwards)))
    assert np.hypot(*(stayed - shore)) < 1e-9
    away = moved(shore, 0.1 * outwards)
    assert away == pytest.approx(shore + 0.1 * outwards, abs=1e-9)


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_an_action_that_is_no_number_is_refused(odd):
    with pytest.raises(InputError, match="NaN or infinite"):
        LakeWorld().move(np.zeros((2, 2)), np.array([[0.1, 0.2], [odd, 0.0]]))


def test_a_thin_bay_is_not_jumped():
    """The end of the step is on land, as in the paper's rule; its middle is not."""
    x, y, r = WORLD.lakes[0]
    height = math.sqrt(r**2 - 0.25**2)  # half a unit of chord
    start, end = (x - 0.4, y + height), (x + 0.6, y + height)
    assert WORLD.on_land(np.array([start, end])).all()
    assert moved(start, (1.0, 0.0)) == pytest.approx((x - 0.25, y + height), abs=1e-9)


def test_walls_and_corners():
    assert moved((9.5, 0.0), (1.0, 0.0)) == pytest.approx((10.0, 0.0))
    assert moved((10.0, 0.0), (1.0, 0.0)) == pytest.approx((10.0, 0.0))
    # The direction is kept: no sliding along a wall.
    assert moved((9.7, 0.0), (0.6, 0.8)) == pytest.approx((10.0, 0.4))
    assert moved((10.0, 0.0), (0.6, 0.8)) == pytest.approx((10.0, 0.0))
    assert moved((-10.0, 10.0), (-1.0, 1.0)) == pytest.approx((-10.0, 10.0))
    assert moved((0.0, 0.0), (30.0, 40.0)) == pytest.approx((0.6, 0.8))
    assert moved((0.0, 0.0), (0.0, 0.0)) == pytest.approx((0.0, 0.0))


def test_two_lakes_in_one_step():
    """Whichever comes first stops the step, in either order of the list."""
    lakes = ((-0.6, 0.0, 0.2), (0.0, 0.0, 0.2))
    for order in (lakes, lakes[::-1]):
        world = LakeWorld(2.0, order)
        reached = world.move(np.array([[-1.0, 0.0]]), np.array([[1.0, 0.0]]))
        assert reached[0] == pytest.approx((-0.8, 0.0))


@pytest.mark.parametrize(
    ("lakes", "message"),
    [
        (((9.0, 0.0, 2.0),), "lake 0 does not lie inside"),
        (((0.0, 0.0, -1.0),), "lake 0 does not lie inside"),
        (((0.0, 0.0, 2.0), (3.0, 0.0, 1.5)), "lake 1 touches another"),
    ],
)
def test_maps_that_cannot_be(lakes, message):
    with pytest.raises(InputError, match=message):
        LakeWorld(lakes=lakes)


def test_starts_and_targets_are_uniform_on_land(rng):
    points = WORLD.draw(rng, 20_000)
    assert WORLD.on_land(points, WORLD.shore).all()
    # Share of a strip without lakes, against its area; 4 standard errors of 20,000 draws.
    land = 400.0 - math.pi * sum((r + WORLD.shore) ** 2 for _, _, r in WORLD.lakes)
    share = (np.abs(points[:, 0]) < 1.0).mean()
    expected = 40.0 / land
    assert share == pytest.approx(expected, abs=4 * math.sqrt(expected / 20_000))


def test_the_gymnasium_environment_passes_the_checker():
    env = gymnasium.make(NAVIGATION, render_mode="rgb_array")
    check_env(env.unwrapped)
    assert env.observation_space.shape == (8,)


def test_both_engines_walk_alike(rng):
    """Same start, target and actions: observations, costs and ends to 1e-9 of double precision."""
    task = NavigationTask(5, 20, seed=4)
    task.reset()
    starts, targets = task.states.copy(), WORLD.draw(rng, 5)
    envs = [gymnasium.make(NAVIGATION, max_episode_steps=20).unwrapped for _ in range(5)]
    for env, start, target in zip(envs, starts, targets, strict=True):
        env.reset(options={"position": start, "target": target})
    for _ in range(20):
        actions = rng.uniform(-1.2, 1.2, (5, 2))
        step = task.step(actions)
        for i, env in enumerate(envs):
            observation, reward, *_ = env.step(actions[i])
            assert observation[:6] == pytest.approx(WORLD.observe(task.states)[i], abs=1e-9)
            assert observation[:6] == pytest.approx(step.observations[i], abs=1e-5)
            assert reward == pytest.approx(-math.dist(task.states[i], targets[i]), abs=1e-9)


def test_both_engines_behind_make_task(rng):
    for engine in (None, "gymnasium", "numpy"):
        task = make_task(NAVIGATION, 4, horizon=9, seed=1, engine=engine)
        assert isinstance(task, MultiTask)
        assert isinstance(task, RejoinableTask)
        t = collect(rng, task, UniformPolicy(task), 6)
        assert (t.obs_dim, t.act_dim, t.lengths.tolist()) == (8, 2, [9] * 6)
        assert np.array_equal(t.observations[:, -2:], t.tasks[t.episode_numbers])
        after = np.concatenate([t.observations[1:9], t.final_observations[:1]])
        gaps = np.hypot(*(after[:, :2] - t.tasks[0]).T)
        assert -t.rewards[:9] == pytest.approx(gaps, abs=1e-5)


def test_pictures_show_lakes_agent_and_target():
    env = gymnasium.make(NAVIGATION, render_mode="rgb_array")
    env.reset(options={"position": (0.0, 0.0), "target": (9.0, 9.0)})
    picture = env.render()
    assert picture.shape == (400, 400, 3)
    red, green, blue = picture[200, 200], picture[20 + 7, 380], picture[110, 100]
    assert red.argmax() == 0
    assert green.argmax() == 1
    assert len(set(picture[20, 380].tolist())) == 1  # a frame, which is land inside
    assert blue.argmax() == 2
    assert (picture[390, 10] == picture[390, 390]).all()  # land in the corners


def test_recorded_walks_are_drawn_where_they_were():
    scene = Scene(NAVIGATION, "terminating", 50, 0, (400, 400))
    walks = load_demos("etairl-Navigation-v0-300x50").trajectories
    edge = np.maximum.reduceat(np.abs(walks.observations[:, :2]).max(axis=1), walks.offsets[:-1])
    walk = walks.take(np.flatnonzero(edge < 9.0)[:1])  # squares are cut at the edges
    assert scene.load(walk.observations)
    for step in (0, 5):
        scene.pose(step, None)
        x, y = walk.observations[step, :2]
        red = np.argwhere((scene.draw() == (200, 40, 40)).all(axis=2)).mean(axis=0)
        assert red == pytest.approx((200 - 20 * y, 200 + 20 * x), abs=2.0)
    scene.close()


def test_choices_at_a_reset_are_checked():
    env = etairl.tasks.navigation_env.NavigationEnv()
    with pytest.raises(InputError, match=r"target \(-5, 4\) lies in the lake of radius 3"):
        env.reset(options={"target": (-5.0, 4.0)})
    with pytest.raises(InputError, match=r"target \(11, 0\) lies outside of the box"):
        env.reset(options={"target": (11.0, 0.0)})
    with pytest.raises(InputError, match="target is a vector of 2 numbers"):
        env.reset(options={"target": (1.0, 0.0, 0.0)})
    with pytest.raises(InputError, match="is not on land"):
        env.reset(options={"position": (-5.0, 4.0)})


def test_a_million_steps_a_second(rng):
    """In time of this process, the best of three: the machine may have other work."""
    task = NavigationTask(4096, 50, seed=0)
    task.reset()
    actions = rng.uniform(-1.0, 1.0, (4096, 2))
    task.step(actions)
    best = 0.0
    for _ in range(3):
        begin = time.process_time()
        for _ in range(60):
            task.step(actions)
        best = max(best, 60 * 4096 / (time.process_time() - begin))
    assert best >= 1e6


def test_what_is_invented_is_moved_to_where_one_can_be():
    world, rng = LakeWorld(), np.random.default_rng(0)
    seen = rng.normal(0.0, 8.0, (500, 8)).astype(np.float32)
    actions = rng.normal(0.0, 1.0, (500, 2)).astype(np.float32)
    mended, steps = world.mend(seen, actions)
    places = mended[:, :2].astype(np.float64)
    assert world.on_land(places, -1e-5).all()
    assert np.allclose(mended[:, 2:6], world.distances(places), atol=1e-5)
    assert np.array_equal(mended[:, 6:], seen[:, 6:])  # the target
    assert (np.linalg.norm(steps, axis=1) <= 1.0 + 1e-6).all()
    # What could be already stays, and nothing in the box moves further than to the nearest shore.
    could = world.on_land(seen[:, :2].astype(np.float64))
    assert np.allclose(places[could], seen[could, :2])
    inside = (np.abs(seen[:, :2]) <= 10.0).all(axis=1)
    moved = np.linalg.norm(places - seen[:, :2], axis=1)
    depth = np.maximum(0.0, (world.radii - world.distances(seen[:, :2].astype(float))).max(axis=1))
    assert np.allclose(moved[inside], depth[inside], atol=1e-5)
