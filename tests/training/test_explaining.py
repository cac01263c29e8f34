"""What explains a cost is right where the cost is known, and noise where it says nothing."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.costs.family import Points
from etairl.evaluation.moments import excess, mean_by_time, relabelled, smoothed, top_rows
from etairl.tasks.navigation_world import LakeWorld
from etairl.training.attribution import Attribution
from etairl.training.cost_curves import Explained
from etairl.training.explaining import explain_cost
from etairl.types import Spec, Trajectories, offsets_of

STEPS = 40
LAKE = LakeWorld().lakes[0]


def episodes(observations: np.ndarray, actions: np.ndarray | None = None) -> Trajectories:
    """Of an array [episodes, steps, columns]."""
    many, steps, columns = observations.shape
    last = np.tile(np.arange(steps) == steps - 1, many)
    acts = np.zeros((many, steps, 1)) if actions is None else actions
    return Trajectories(
        observations=observations.reshape(-1, columns).astype(np.float32),
        actions=acts.reshape(many * steps, -1),
        terminated=np.zeros(many * steps, bool),
        truncated=last,
        offsets=offsets_of(np.full(many, steps)),
    )


def walks(rng: np.random.Generator, height: float, many: int) -> Trajectories:
    """From the left to the right at some height, beside two columns of noise."""
    x = np.linspace(-9.0, 9.0, STEPS) + 0.1 * rng.normal(size=(many, STEPS))
    y = height + 0.3 * rng.normal(size=(many, STEPS))
    return episodes(np.stack([x, y, *rng.normal(size=(2, many, STEPS))], axis=2))


def lake(obs, act, following):
    """High in a lake, with a shore that is not quite sharp."""
    x, y, radius = LAKE
    distance = jnp.hypot(obs[..., 0] - x, obs[..., 1] - y)
    return jax.nn.sigmoid(4.0 * (radius - distance))


def waves(obs, act, following):
    """Of no meaning: as if the costs of all places had been shuffled."""
    frequencies = 300.0 * jax.random.normal(jax.random.key(3), (obs.shape[-1], 16))
    return jnp.cos(obs @ frequencies).mean(axis=-1)


WALKS = Spec(4, 1, (-1.0,), (1.0,))


def test_a_lake_that_only_the_learner_crosses(rng):
    found = explain_cost(
        rng, Explained(lake, WALKS, STEPS), walks(rng, 9.0, 12), walks(rng, 4.5, 10)
    )
    assert not found.overall.noise
    assert not found.costliest.noise
    places = found.learner.trajectories.observations.reshape(10, STEPS, 4)
    for moment in found.moments:
        x, y = places[moment.episode, moment.step, :2]
        assert np.hypot(x - LAKE[0], y - LAKE[1]) < LAKE[2]
        assert found.names[np.argmax(moment.shares)] == "s1"  # too low, by many times its spread
        assert not moment.usual[1]
        assert moment.deviations[1] < -5.0
    first, *others = found.columns
    assert (first.name, first.share.noise) == ("s1", False)
    assert {c.name for c in others if c.share.noise} >= {"s2", "s3", "a0"}


def turns(rng: np.random.Generator, low: float, high: float, many: int) -> Trajectories:
    """A pendulum that swings between two angles."""
    phase = rng.uniform(0.0, 2.0 * np.pi, (many, 1)) + np.linspace(0.0, 12.0, STEPS)
    angle = (low + high) / 2 + (high - low) / 2 * np.sin(phase)
    return episodes(np.stack([np.cos(angle), np.sin(angle), rng.normal(size=angle.shape)], axis=2))


def half(obs, act, following):
    """High where the sine is below 0."""
    return jax.nn.softplus(-10.0 * obs[..., 1])


def test_a_pendulum_whose_expert_avoids_one_half(rng):
    given = Explained(half, Spec(3, 1, (-2.0,), (2.0,)), STEPS)
    found = explain_cost(rng, given, turns(rng, 0.2, 3.0, 10), turns(rng, -3.0, 3.0, 10))
    sines = found.learner.trajectories.observations[:, 1].reshape(10, STEPS)
    assert all(sines[m.episode, m.step] < -0.9 for m in found.moments)
    assert [c.name for c in found.columns if not c.share.noise] == ["s1"]
    assert all(found.names[np.argmax(m.shares)] == "s1" for m in found.moments)


def test_a_shuffled_cost_is_noise(rng):
    given = Explained(waves, WALKS, STEPS)
    found = explain_cost(rng, given, walks(rng, 9.0, 12), walks(rng, 4.5, 10))
    assert found.overall.noise
    assert found.costliest.noise
    assert all(column.share.noise for column in found.columns)


def test_sides_that_behave_alike_are_noise(rng):
    given = Explained(lake, WALKS, STEPS)
    found = explain_cost(rng, given, walks(rng, 4.5, 12), walks(rng, 4.5, 10))
    assert found.overall.noise
    assert all(column.share.noise for column in found.columns)


def swings(rng: np.random.Generator, rise: int, many: int) -> Trajectories:
    """A height that is low until some step and high after it, beside a column of noise."""
    height = np.where(np.arange(STEPS) < rise, -1.0, 1.0) + 0.1 * rng.normal(size=(many, STEPS))
    return episodes(np.stack([height, rng.normal(size=height.shape)], axis=2))


def low(obs, act, following):
    """High where it is low."""
    return jax.nn.softplus(-4.0 * obs[..., 0])


def test_what_demonstrations_only_begin_with_explains_a_learner_that_stays_there(rng):
    """Their own costliest moments are as low, but then everybody is: nobody is after step 10."""
    given = Explained(low, Spec(2, 1, (-1.0,), (1.0,)), STEPS)
    found = explain_cost(rng, given, swings(rng, 10, 8), swings(rng, 99, 10))
    assert [c.name for c in found.columns if not c.share.noise] == ["s0"]
    gaps = sum(c.share.gap for c in found.columns)
    assert gaps == pytest.approx(found.costliest.gap, rel=0.1)  # 512 draws
    for moment in found.moments:
        assert moment.step >= 10
        assert moment.shares.sum() == pytest.approx(moment.cost - moment.usual_cost, rel=0.1)
        assert moment.deviations[0] < -1.5
        assert not moment.usual[0]


def test_few_episodes_cannot_tell(rng):
    given = Explained(lake, WALKS, STEPS)
    found = explain_cost(rng, given, walks(rng, 9.0, 2), walks(rng, 4.5, 3))
    assert found.overall.p is None
    assert found.overall.noise


def test_the_check_says_real_of_noise_as_often_as_it_promises(rng):
    """Of 300 pairs of equal sides with 6 columns; 5 % ± 4 standard errors of 1.26 %."""
    called = 0
    for _ in range(300):
        checks = relabelled(rng, rng.normal(size=(6, 6)), rng.normal(size=(7, 6)))
        called += not all(check.noise for check in checks)
    assert called / 300 <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 300)
    assert called > 0


@pytest.mark.parametrize("demonstrations", [1, 2, 5])
def test_few_demonstrations_do_not_make_every_moment_real(rng, demonstrations):
    """Equal sides, 100 times; 5 % ± 4 standard errors of 2.2 %."""
    called = 0
    for _ in range(100):
        x = rng.normal(size=(demonstrations + 21, STEPS, 1))
        usual, own = episodes(x[:demonstrations]), episodes(x[demonstrations:])
        values = [t.observations[:, 0].astype(np.float64) for t in (own, usual)]
        above, _ = excess(own, values[0], usual, values[1])
        apart, _ = excess(usual, values[1], usual, values[1], apart=True)
        tops = [e.reshape(-1, STEPS).max(axis=1)[:, None] for e in (above, apart)]
        called += not relabelled(rng, *tops)[0].noise
    assert called / 100 <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 100)


def test_what_is_usual_at_a_step_takes_four_demonstrations():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 10.0])
    for many, expected in ((3, [3.5, 3.5]), (4, [4.0, 5.5])):
        usual = episodes(np.zeros((many, 2, 1)))
        _, means = excess(episodes(np.zeros((1, 2, 1))), np.zeros(2), usual, values[: 2 * many])
        assert means.tolist() == expected


def test_a_row_of_a_thinned_demonstration_stands_for_its_steps():
    usual = replace(episodes(np.zeros((4, 2, 1))), spans=np.full(8, 3))
    values = np.array([1.0, 5.0, 2.0, 5.0, 3.0, 5.0, 4.0, 5.0])
    _, means = excess(episodes(np.zeros((1, 6, 1))), np.zeros(6), usual, values)
    assert means.tolist() == [2.5, 2.5, 2.5, 5.0, 5.0, 5.0]


@pytest.mark.parametrize("discrete", [False, True])
def test_shares_add_up_to_the_gap(rng, discrete):
    spec = Spec(3, 1, discrete_actions=4) if discrete else Spec(3, 2, (-1.0, -1.0), (1.0, 1.0))

    def cost(obs, act, following):
        return jnp.tanh(obs[..., 0]) * following[..., 1] + jnp.sin(act).sum(axis=-1)

    def rows(many: int, shift: float) -> Points:
        obs, following = rng.normal(size=(2, many, 3)).astype(np.float32) + np.float32(shift)
        act = rng.integers(4, size=(many, 1)) if discrete else rng.normal(size=(many, 2))
        return Points(*(jnp.asarray(a, jnp.float32) for a in (obs, act, following)))

    demonstrated, points = rows(400, 0.0), rows(20, 1.0)
    attribution = Attribution(rng, cost, spec, True, demonstrated)
    names = attribution.names(("x", "y", "z"), ("left", "right"))
    acts = ("action",) if discrete else ("left", "right")
    assert names == ("x", "y", "z", *acts, "next x", "next y", "next z")
    shares = attribution(points)
    gap = np.asarray(cost(*points)) - np.asarray(cost(*demonstrated)).mean()
    # 512 draws of a cost with a spread of about 1.
    assert shares.sum(axis=1) == pytest.approx(gap, abs=5.0 / np.sqrt(512))
    assert np.abs(shares[:, [names.index(name) for name in ("z", "y", "next x")]]).max() == 0.0


def test_smoothing_moments_and_means_by_time(rng):
    assert smoothed(np.array([0.0, 3.0, 6.0, 0.0]), 3).tolist() == [1.5, 3.0, 3.0, 3.0]
    t = episodes(np.zeros((2, 4, 1)))
    values = np.array([0.0, 9.0, 8.0, 1.0, 5.0, 0.0, 0.0, 6.0])
    assert top_rows(t, values, 4, apart=1) == [1, 7, 4, 3]
    assert top_rows(t, values, 4, apart=1, each=1) == [1, 7]
    means, counts = mean_by_time(t, values, 5)
    assert means[:4].tolist() == [2.5, 4.5, 4.0, 3.5]
    assert np.isnan(means[4])
    assert counts.tolist() == [2, 2, 2, 2, 0]


def test_last_rows_without_a_next_state_are_left_out(rng):
    given = Explained(lake, WALKS, STEPS, needs_next=True)
    assert given.known(walks(rng, 4.5, 3)).lengths.tolist() == [STEPS - 1] * 3
