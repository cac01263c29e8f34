"""Proximal policy optimisation: its sums, its updates, what it learns, what it refuses."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.buffers import EpisodeBuffer
from etairl.costs.family import Points
from etairl.eta import Geometric
from etairl.experience import Experience
from etairl.networks import orthogonal
from etairl.regularisers import KullbackLeibler
from etairl.solvers.draws import NewestRows, newest_rows
from etairl.solvers.players import PPOEtaSettings, PPOSettings
from etairl.solvers.ppo import PPO
from etairl.solvers.ppo_config import PPOConfig
from etairl.solvers.ppo_losses import Values, advantages, decayed_sum, masked_mean, standardised
from etairl.solvers.solver import Batch
from etairl.types import InputError, Spec, Trajectories

CONTINUOUS = Spec(2, 1, (-1.0,), (1.0,))
DISCRETE = Spec(2, 1, discrete_actions=3)
SMALL = PPOConfig(hidden=(16, 16), minibatch=20, epochs=2)


def rows(*values):
    return jnp.asarray(values, jnp.float32)


def test_a_decayed_sum_is_the_loop(rng):
    x, decay = rng.normal(size=37), rng.uniform(size=37)
    wanted, ahead = np.zeros(37), 0.0
    for t in range(36, -1, -1):
        ahead = wanted[t] = x[t] + decay[t] * ahead
    found = decayed_sum(jnp.float32(x), jnp.float32(decay))
    assert np.asarray(found) == pytest.approx(wanted, rel=1e-5, abs=1e-5)


def test_advantages_of_two_episodes_by_hand():
    """The first ends after two steps in the world, the second is cut after one."""
    found = advantages(
        0.5,
        0.5,
        rows(1.0, 2.0, 3.0),
        Values(now=rows(4.0, 2.0, 1.0), after=rows(2.0, 0.0, 6.0)),
        rows(0.0, 1.0, 1.0),
    )
    # delta = 1 + 1 - 4, 2 + 0 - 2, 3 + 3 - 1; the first also sees a quarter of the second.
    assert np.asarray(found.advantage) == pytest.approx([-2.0, 0.0, 5.0])
    assert np.asarray(found.value) == pytest.approx([2.0, 2.0, 6.0])


def test_masked_rows_do_not_count():
    x, mask = rows(1.0, 3.0, 100.0), rows(1.0, 1.0, 0.0)
    assert float(masked_mean(x, mask)) == 2.0
    assert np.asarray(standardised(x, mask))[:2] == pytest.approx([-1.0, 1.0])


@pytest.mark.parametrize("sizes", [(3, 8, 8, 1), (8, 3, 5)])
def test_orthogonal_weights(sizes):
    network = orthogonal(jax.random.key(0), sizes, "tanh", last=0.01)
    for number, weight in enumerate(network.weights, start=2):
        w = np.asarray(weight, np.float64)
        gram = w.T @ w if w.shape[0] >= w.shape[1] else w @ w.T
        gain = 1e-4 if number == len(sizes) else 2.0
        assert np.abs(gram - gain * np.eye(len(gram))).max() < 1e-6
    assert not any(np.any(bias) for bias in network.biases)


def episodes(rng, lengths, terminated, spec=CONTINUOUS, reward=None):
    """A buffer with one cycle of episodes of a random policy, and its experience."""
    steps = sum(lengths)
    observations = rng.normal(size=(steps, spec.obs_dim)).astype(np.float32)
    if spec.discrete_actions:
        actions = rng.integers(spec.discrete_actions, size=(steps, 1)).astype(np.float32)
    else:
        actions = rng.uniform(-0.9, 0.9, (steps, 1)).astype(np.float32)
    last = np.zeros(steps, bool)
    last[np.cumsum(lengths) - 1] = True
    ended = last.copy()
    ended[last] = terminated
    rewards = rng.normal(size=steps) if reward is None else reward(observations, actions)
    t = Trajectories(
        observations=observations,
        actions=actions,
        terminated=ended,
        truncated=last & ~ended,
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        rewards=rewards.astype(np.float32),
        final_observations=rng.normal(size=(len(lengths), spec.obs_dim)).astype(np.float32),
    )
    buffer = EpisodeBuffer(4 * steps, spec.obs_dim, 1)
    buffer.extend(t, actions)
    return t, Experience(buffer, buffer.newest(), None, 0)


def test_the_newest_cycle_is_drawn_once_and_filled_up(rng):
    t, data = episodes(rng, (3, 4), (True, False))
    data.buffer.extend(t, t.actions)  # an older cycle comes first
    batch, last, mask, _ = newest_rows(data, 5)
    assert batch.obs.shape == (10, 2)
    assert np.array_equal(batch.obs[:7], t.observations)
    assert np.array_equal(np.asarray(mask), [1] * 7 + [0] * 3)
    assert np.array_equal(np.asarray(last), [0, 0, 1, 0, 0, 0, 1, 1, 1, 1])
    assert np.array_equal(np.asarray(batch.time)[:7], [0, 1, 2, 0, 1, 2, 3])
    assert np.array_equal(np.asarray(batch.terminated)[:7], [0, 0, 1, 0, 0, 0, 0])
    assert np.array_equal(batch.next_obs[6], t.final_observations[1])


@pytest.mark.parametrize("eta", [None, Geometric(0.7)])
def test_rows_that_fill_up_change_nothing(rng, eta):
    """One minibatch with all rows: the same step with and without 13 rows that do not count."""
    solver = PPO(replace(SMALL, epochs=1, normalise="none"), CONTINUOUS, eta=eta, horizon=9)
    _, data = episodes(rng, (3, 4), (True, False))
    found = []
    for minibatch in (7, 20):
        one = replace(solver, config=replace(solver.config, minibatch=minibatch))
        state, info = one.updates(
            jax.random.key(1), one.init(jax.random.key(0)), one.draw(rng, data)
        )
        found.append(jax.tree.leaves((state.networks, info)))
    for a, b in zip(*found, strict=True):
        assert np.asarray(a) == pytest.approx(np.asarray(b), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("spec", [CONTINUOUS, DISCRETE], ids=["continuous", "discrete"])
@pytest.mark.parametrize("eta", [None, Geometric(0.7)], ids=["plain", "eta"])
def test_it_finds_the_best_action_of_a_bandit(spec, eta):
    """One step per episode: the reward says which action is right in which state."""

    def reward(obs, act):
        return -((act[:, 0] - (1.0 if spec.discrete_actions else 0.5)) ** 2)

    rng = np.random.default_rng(0)
    config = PPOConfig(hidden=(16, 16), minibatch=100, epochs=10, learning_rate=3e-3, first_std=0.5)
    solver = PPO(config, spec, eta=eta, horizon=1)
    state = solver.init(jax.random.key(0))
    for cycle in range(40):
        _, data = episodes(rng, (1,) * 200, (True,) * 200, spec, reward)
        # Actions of the current policy, and what they earn.
        observations = data.buffer.observations
        actions = solver.policy(state)(rng, observations).astype(np.float32)
        data.buffer.actions[:] = actions
        data.buffer.rewards[:] = reward(observations, actions)
        state, info = solver.updates(jax.random.key(cycle), state, solver.draw(rng, data))
    best = solver.policy(state)(None, rng.normal(size=(50, 2)).astype(np.float32))
    assert np.abs(best - (1.0 if spec.discrete_actions else 0.5)).max() < 0.15
    assert all(np.isfinite(float(x)) for x in info)


def test_a_step_within_the_clip_is_that_of_the_policy_gradient(rng):
    """The first update of Adam moves every weight by the learning rate, against the gradient."""
    config = replace(SMALL, epochs=1, minibatch=7, critic_weight=0.0, max_gradient_norm=None)
    solver = PPO(replace(config, normalise="none"), CONTINUOUS)
    _, data = episodes(rng, (3, 4), (True, False))
    drawn, start = solver.draw(rng, data), solver.init(jax.random.key(0))
    log_prob = solver.log_prob(start, drawn.batch.obs, drawn.batch.act)
    gain = standardised(
        solver.advantages(start, drawn.batch, drawn.last, log_prob, None).advantage, drawn.mask
    )

    def gradient_loss(actor):
        return -(gain * solver.head.log_prob(actor, drawn.batch.obs, drawn.batch.act)).mean()

    slopes = jax.tree.leaves(jax.grad(gradient_loss)(start.actor))
    before = jax.tree.map(np.array, jax.tree.leaves(start.actor))
    state, _ = solver.updates(jax.random.key(1), start, drawn)
    for slope, old, new in zip(slopes, before, jax.tree.leaves(state.actor), strict=True):
        clear = np.abs(np.asarray(slope)) > 1e-3
        moved = np.asarray(new) - old
        wanted = -3e-4 * np.sign(np.asarray(slope))
        assert moved[clear] == pytest.approx(wanted[clear], rel=0.02)


def test_the_regulariser_is_part_of_the_return(rng):
    r"""With temperature $\alpha$ every reward is less by $\alpha\log\pi(a \mid s)$."""
    _, data = episodes(rng, (3, 4), (True, False))
    plain = PPO(replace(SMALL, normalise="none"), CONTINUOUS)
    soft = replace(plain, config=replace(plain.config, temperature=0.5))
    state, drawn = plain.init(jax.random.key(0)), plain.draw(rng, data)
    log_prob = plain.log_prob(state, drawn.batch.obs, drawn.batch.act)
    paid = drawn.batch._replace(cost=drawn.batch.cost + 0.5 * log_prob)
    a = soft.advantages(state, drawn.batch, drawn.last, log_prob, None)
    b = plain.advantages(state, paid, drawn.last, log_prob, None)
    assert np.asarray(a.advantage) == pytest.approx(np.asarray(b.advantage), abs=1e-5)


def test_the_critics_say_what_is_to_come_in_units_of_its_spread(rng):
    """Rewards 100 times as large: after many cycles the scale follows, and critics stay small."""
    solver = PPO(replace(SMALL, normalise="none", gamma_rl=0.0), CONTINUOUS)
    state = solver.init(jax.random.key(0))
    _, data = episodes(rng, (50,), (False,))
    data.buffer.rewards *= 100.0
    for cycle in range(60):
        state, _ = solver.updates(jax.random.key(cycle), state, solver.draw(rng, data))
    # Without a discount the returns are the rewards.
    assert float(state.scale) == pytest.approx(data.buffer.rewards[:50].std(), rel=0.05)


def test_a_bad_critic_does_not_slow_the_actor(rng):
    """Each network's gradient is clipped by itself: huge returns leave the actor's step alone."""
    _, data = episodes(rng, (20,), (False,))
    moves = []
    for factor in (1.0, 1e3):
        solver = PPO(replace(SMALL, epochs=1, normalise="none", gamma_rl=0.0), CONTINUOUS)
        state = solver.init(jax.random.key(0))
        zero = jax.tree.map(jnp.zeros_like, state.critic)
        drawn = solver.draw(rng, data)
        batch = drawn.batch._replace(cost=factor * drawn.batch.cost)
        new, _ = solver.updates(
            jax.random.key(1), state._replace(critic=zero), drawn._replace(batch=batch)
        )
        moves.append(jax.tree.leaves(new.actor))
    for a, b in zip(*moves, strict=True):
        assert np.asarray(a) == pytest.approx(np.asarray(b), rel=1e-4, abs=1e-7)


def test_rates_fall_with_the_run(rng):
    solver = PPO(replace(SMALL, last_learning_rate=0.2), CONTINUOUS)
    _, data = episodes(rng, (3, 4), (True, False))
    rates = []
    for before in (0, 50, 100):
        drawn = solver.draw(rng, data._replace(before=before, total=100))
        _, info = solver.updates(jax.random.key(1), solver.init(jax.random.key(0)), drawn)
        rates.append(float(info.learning_rate))
    assert rates == pytest.approx([3e-4, 1.8e-4, 0.6e-4], rel=1e-5)


def test_the_first_policy_has_the_spread_that_was_asked_for(rng):
    solver = PPO(replace(SMALL, first_std=0.5, normalise="none"), CONTINUOUS)
    policy = solver.policy(solver.init(jax.random.key(0)))
    many = 20_000
    drawn = np.arctanh(policy(rng, np.zeros((many, 2), np.float32)).astype(np.float64))
    # Five standard errors of a spread over so many draws.
    assert drawn.std() == pytest.approx(0.5, rel=5 / np.sqrt(2 * many))


@pytest.mark.parametrize("absorbing", [False, True])
def test_the_first_policy_acts_about_as_demonstrated(rng, absorbing):
    """In mean and spread alone: whatever the state."""
    act = np.clip(rng.normal([[0.4, 0.0, -0.2]], [[0.2, 3.0, 0.01]], (4_000, 3)), -1, 1)
    obs = rng.normal(size=(len(act), 2))
    if absorbing:  # a mark in the last column, and actions of 0 that nobody chose
        obs[:, -1] = np.arange(len(act)) >= len(act) // 2
        act[len(act) // 2 :] = 0.0
    shown = Points(*(jnp.asarray(x, jnp.float32) for x in (obs, act, obs)))
    spec = Spec(2, 3, (-1.0,) * 3, (1.0,) * 3)
    solver = PPO(replace(SMALL, first_std=None), spec, absorbing=absorbing)
    policy = solver.policy(solver.begin(solver.init(jax.random.key(0)), shown))
    many = 20_000
    states = np.zeros((many, 2), np.float32)
    drawn = np.arctanh(policy(rng, states).astype(np.float64))
    real = act[: len(act) // 2] if absorbing else act
    spread = np.clip(real.std(axis=0), 0.1, 1.0)
    # Five standard errors of means and spreads over so many draws, and the weights of .01.
    wanted = np.arctanh(real.mean(axis=0))
    assert np.abs(drawn.mean(axis=0) - wanted).max() < 5 / np.sqrt(many) + 0.02
    assert drawn.std(axis=0) == pytest.approx(spread, rel=5 / np.sqrt(2 * many) + 0.02)


def test_without_recorded_actions_the_first_policy_is_wide(rng):
    solver, obs = PPO(replace(SMALL, first_std=None), CONTINUOUS), jnp.zeros((5, 2))
    state = solver.init(jax.random.key(0))
    begun = solver.begin(state, Points(obs, jnp.zeros((5, 0)), obs))
    assert begun.actor is state.actor
    drawn = np.arctanh(solver.policy(begun)(rng, np.zeros((20_000, 2), np.float32)))
    assert drawn.std() == pytest.approx(1.0, rel=0.05)


def test_statistics_of_the_inputs(rng):
    shown = rng.normal([3.0, 0.0], [2.0, 1.0], (500, 2)).astype(np.float32)
    shown[:, 1] = 4.0  # a constant column keeps its unit
    for kind in ("none", "running", "demonstrations"):
        solver = PPO(replace(SMALL, normalise=kind), CONTINUOUS)
        begun = Points(jnp.asarray(shown), jnp.zeros((len(shown), 1)), jnp.asarray(shown))
        state = solver.begin(solver.init(jax.random.key(0)), begun)
        if kind == "demonstrations":
            seen = np.asarray(state.normaliser(jnp.asarray(shown)))
            assert seen.mean(axis=0) == pytest.approx([0.0, 0.0], abs=1e-4)
            assert seen.std(axis=0) == pytest.approx([1.0, 0.0], abs=1e-4)
        later = solver.observe(state, 10.0 * shown)
        assert (later.normaliser is state.normaliser) is (kind != "running")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clip": 0.0}, "clip"),
        ({"gae_lambda": 1.5}, "gae_lambda"),
        ({"epochs": 0}, "epochs"),
        ({"minibatch": 0}, "minibatch"),
        ({"first_std": 0.0}, "first_std"),
        ({"hidden": ()}, "hidden"),
        ({"normalise": "always"}, "normalise must be one of none, running, demonstrations"),
    ],
)
def test_settings_that_cannot_be(change, message, unchecked):
    with pytest.raises(InputError, match=message):
        replace(SMALL, **change)


def test_all_numbers_share_one_program(rng):
    """Other rates, discounts and clips: nothing is compiled anew."""
    _, data = episodes(rng, (3, 4), (True, False))
    counts = []
    for change in ({}, {"clip": 0.1, "gamma_rl": 0.5, "learning_rate": 1e-3, "gae_lambda": 0.5}):
        solver = PPO(replace(SMALL, hidden=(5,), **change), CONTINUOUS)
        drawn = solver.draw(rng, data)
        solver.updates(jax.random.key(1), solver.init(jax.random.key(0)), drawn)
        counts.append((PPO._lesson._cache_size(), PPO._learn._cache_size()))
    assert counts[0] == counts[1]


def test_a_draw_has_the_fields_of_a_batch(rng):
    _, data = episodes(rng, (3, 4), (True, False))
    drawn = PPO(SMALL, CONTINUOUS).draw(rng, data)
    assert isinstance(drawn, NewestRows)
    assert isinstance(drawn.batch, Batch)


def test_settings_know_their_discount_and_temperature():
    for settings in (PPOSettings(), PPOEtaSettings()):
        assert settings.gamma_rl == 0.99
        assert settings.temperature == 0.0
        with pytest.raises(InputError, match="ppo does not know the regulariser kl"):
            settings.check(KullbackLeibler())
    said = PPOEtaSettings().warnings(Geometric(0.9), 1.0, 100)
    assert "different criteria" in said[0]
