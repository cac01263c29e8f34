"""Idle: the generator against a law of futures that is known in closed form."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.eta import Dirac, Geometric
from etairl.idle import Generator, IdleConfig, IdleState, Units, generator_loss, idle
from etairl.measures import FutureSampler
from etairl.networks import MLP
from etairl.types import InputError, Trajectories

KEEP, NOISE, PUSH = 0.8, 0.5, 0.6
SMALL = IdleConfig(
    hidden_idle=(32, 32), idle_noise=4, idle_steps=2500, idle_batch=128, idle_average=0.99
)
FEW = IdleConfig(hidden_idle=(4,), idle_steps=1, idle_batch=8, idle_average=0.0)


def walks(seed: int = 0, episodes: int = 40, steps: int = 40) -> Trajectories:
    """An autoregressive walk in the plane beside a constant task column, and its noisy actions."""
    rng = np.random.default_rng(seed)
    at = np.zeros((episodes, steps, 2))
    at[:, 0] = rng.normal(0.0, NOISE / np.sqrt(1.0 - KEEP**2), (episodes, 2))
    for t in range(1, steps):
        at[:, t] = KEEP * at[:, t - 1] + rng.normal(0.0, NOISE, (episodes, 2))
    task = np.repeat(rng.normal(size=(episodes, 1, 1)), steps, axis=1)
    actions = np.clip(PUSH * at[..., :1] + rng.normal(0.0, 0.1, (episodes, steps, 1)), -1.0, 1.0)
    ends = np.zeros((episodes, steps), bool)
    ends[:, -1] = True
    return Trajectories(
        observations=np.concatenate([at, task], axis=2).reshape(-1, 3).astype(np.float32),
        actions=actions.reshape(-1, 1).astype(np.float32),
        terminated=np.zeros(episodes * steps, bool),
        truncated=ends.ravel(),
        offsets=np.arange(episodes + 1) * steps,
    )


def trained(config: IdleConfig = SMALL, sampler: FutureSampler | None = None) -> Generator:
    sampler = FutureSampler(Dirac(1)) if sampler is None else sampler
    return list(idle(config, 0, walks(), sampler, rounds=4))[-1].generator


@pytest.fixture(scope="module")
def one_step() -> Generator:
    return trained()


def test_one_step_ahead_is_the_normal_law_of_the_walk(one_step):
    # 1,600 pairs determine the true mean to 0.5/40 = 0.013; networks need ten times that.
    rng = np.random.default_rng(1)
    for x in (-0.8, 0.0, 0.8):
        states = np.tile(np.float32([x, 0.0, 0.3]), (4000, 1))
        ahead, acts = one_step.futures(rng, states)
        assert ahead[:, 0].mean() == pytest.approx(KEEP * x, abs=0.13)
        assert ahead[:, 1].mean() == pytest.approx(0.0, abs=0.13)
        assert ahead[:, :2].std(axis=0) == pytest.approx([NOISE, NOISE], rel=0.25)
        # The action belongs to the generated state: it follows from where that is.
        inside = np.abs(acts[:, 0]) < 0.7
        slope = np.polyfit(ahead[inside, 0], acts[inside, 0], 1)[0]
        assert slope == pytest.approx(PUSH, abs=0.2)


def test_what_an_episode_keeps_is_copied_and_actions_stay_where_some_were(one_step):
    t = walks(3)
    ahead, acts = one_step.futures(np.random.default_rng(0), t.observations)
    assert np.array_equal(ahead[:, 2], t.observations[:, 2])
    seen = walks().actions
    assert acts.min() >= seen.min()
    assert acts.max() <= seen.max()
    assert acts.shape == (t.steps, 1)


def test_two_steps_ahead_is_further_than_one(one_step):
    # Var(s_2 | s_0) = NOISE² (1 + KEEP²): a ratio of 1.28 in spread.
    states = np.zeros((4000, 3), np.float32)
    two = trained(sampler=FutureSampler(Dirac(2)))
    spread = [g.futures(np.random.default_rng(2), states)[0][:, :2].std() for g in (one_step, two)]
    assert spread[1] / spread[0] == pytest.approx(np.sqrt(1.0 + KEEP**2), rel=0.2)


def test_it_is_a_sampler_like_those_of_recorded_futures(one_step):
    t = walks()
    drawn = one_step(np.random.default_rng(5), t, 100)
    assert drawn.observations.shape == (100, 3)
    assert drawn.actions.shape == (100, 1)
    # The rows are those of the states, drawn as they are for recorded futures.
    again, _ = FutureSampler(Dirac(1)).pairs(np.random.default_rng(5), t.offsets, 100)
    assert np.array_equal(drawn.rows, again)
    assert np.array_equal(drawn.observations[:, 2], t.observations[drawn.rows, 2])


def test_the_same_seed_makes_the_same_bytes():
    one, two = (trained(FEW) for _ in range(2))
    assert all(map(np.array_equal, one.network.weights, two.network.weights))
    states = walks().observations[:5]
    made = [one.futures(np.random.default_rng(0), states)[0] for _ in range(2)]
    assert np.array_equal(*made)


def test_the_losses_have_the_roles_of_the_errata():
    """D is the probability of true; G minimises -log D, by hand."""
    units = Units(*(jnp.ones(n) for n in (1, 1, 2, 2, 1, 1)))
    generator = MLP((jnp.array([[0.0, 0.0], [1.0, 0.0]]),), (jnp.zeros(2),), "relu")
    discriminator = MLP((jnp.array([[0.0], [2.0], [0.0]]),), (jnp.zeros(1),), "relu")
    s, noise = jnp.zeros((2, 1)), jnp.array([[1.0], [-0.5]])
    d = 1.0 / (1.0 + np.exp(-2.0 * np.array([1.0, -0.5])))
    found = generator_loss(generator, discriminator, units, s, noise)
    assert float(found) == pytest.approx(-np.log(d).mean(), rel=1e-6)


def test_at_first_the_two_sides_are_told_apart_and_in_the_end_they_are_not():
    config = replace(SMALL, idle_steps=1000, idle_average=0.0)
    progress = list(idle(config, 0, walks(), FutureSampler(Dirac(1)), rounds=20))
    first, last = progress[0].info, progress[-1].info
    assert float(first.accuracy_true) > 0.5
    assert float(first.accuracy_generated) > 0.5
    assert float(first.gan_loss) < float(last.gan_loss)
    # The value of the game is -2 log 2.
    assert float(last.gan_loss) == pytest.approx(2 * np.log(2), abs=0.05)


def test_the_running_mean_is_what_is_used():
    config = replace(FEW, idle_average=0.75)
    made, after = trained(config), trained(FEW)
    first = IdleState.start(config, jax.random.key(0), made.units).generator
    for mean, new, old in zip(
        made.network.weights, after.network.weights, first.weights, strict=True
    ):
        # After one update the decay is 2/11, below 0.75: the first weights are soon forgotten.
        assert np.allclose(mean, 2 / 11 * old + 9 / 11 * new, atol=1e-6)


def test_the_penalty_holds_the_discriminator_back():
    """With a huge penalty its gradient is nothing and its loss stays at 2 log 2."""
    flat = replace(SMALL, idle_steps=200, idle_penalty=1e4, lr_idle=1e-3)
    free, held = (
        float(list(idle(config, 0, walks(), FutureSampler(Dirac(1)), rounds=2))[-1].info.gan_loss)
        for config in (replace(flat, idle_penalty=0.0), flat)
    )
    assert held == pytest.approx(2 * np.log(2), abs=0.01)
    assert free < held - 0.02


def test_states_are_drawn_as_those_of_recorded_futures():
    """For both ways of drawing: times of generated pairs' states against the exact law of t."""
    t, n = walks(), 40_000
    for method in ("two_stage", "exact"):
        sampler = FutureSampler(Geometric(0.9), method=method)
        made = trained(FEW, sampler)
        times = made.starts(np.random.default_rng(0), t.offsets, n) % 40
        left = 1.0 - 0.9 ** (40 - np.arange(40))  # eta([0, T - t))
        law = np.ones(40) if method == "two_stage" else left
        shares = np.bincount(times, minlength=40) / n
        # 4 standard errors of a share of 1/40.
        assert np.abs(shares - law / law.sum()).max() < 4 * np.sqrt(1 / 40 / n)


def test_what_cannot_be_is_mended():
    made = trained(FEW)
    moved = replace(made, mend=lambda obs, act: (obs + 1.0, 0.0 * act))
    states = walks().observations[:7]
    plain, changed = (g.futures(np.random.default_rng(0), states) for g in (made, moved))
    assert np.allclose(changed[0], plain[0] + 1.0)
    assert not changed[1].any()


def test_units_go_there_and_back():
    t = walks()
    states, ahead = t.observations[:-1], np.concatenate([t.observations, t.actions], axis=1)[1:]
    units = Units.of(states, ahead.astype(np.float32))
    standard = units.future(jnp.asarray(states), jnp.asarray(ahead, jnp.float32))
    assert np.allclose(np.asarray(standard).std(axis=0), 1.0, atol=1e-3)
    back = units.plain(jnp.asarray(states), standard)
    assert np.allclose(back, ahead, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"idle_steps": 0}, "idle_steps must be at least 1"),
        ({"hidden_idle": ()}, "hidden_idle needs at least one layer"),
        ({"lr_idle": 0.0}, "lr_idle must be > 0"),
        ({"idle_penalty": -1.0}, "idle_penalty must be >= 0"),
        ({"idle_average": 1.0}, "idle_average must lie in"),
    ],
)
def test_settings_out_of_range(change, words):
    with pytest.raises(InputError, match=words):
        IdleConfig(**change)
