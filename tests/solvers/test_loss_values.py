"""The losses of the solvers on a few rows, worked out by hand or by loops over steps."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.networks import MLP, init_pair
from etairl.solvers import iq_losses, ppo_losses, sac_eta_losses, sac_losses
from etairl.solvers.clock import Clock
from etairl.solvers.heads import GaussianHead, Seen
from etairl.solvers.ppo_losses import Values

REWARD = np.array([1.0, -2.0, 0.5, 3.0, 0.25], np.float32)
NOW = np.array([0.3, 1.5, -0.7, 2.0, 0.9], np.float32)
AFTER = np.array([1.4, -0.6, 0.0, 1.1, 0.0], np.float32)
LAST = np.array([0.0, 0.0, 1.0, 0.0, 1.0], np.float32)


def rows(*values: float) -> jax.Array:
    return jnp.asarray(values, jnp.float32)


def near(values):
    return pytest.approx(np.asarray(values, float), rel=2e-5, abs=2e-6)


def summed(x, decay) -> np.ndarray:
    """From the last row backwards."""
    y, ahead = np.zeros(len(x)), 0.0
    for t in reversed(range(len(x))):
        y[t] = ahead = x[t] + decay[t] * ahead
    return y


class TestInverseSoftQ:
    def test_the_next_value_lies_between_the_bounds(self):
        """An end counts as the bound itself, with the sign of its side."""
        v, side = rows(0.5, -3.0, 3.0, 0.1, 0.1), rows(1, 1, -1, 1, -1)
        found = iq_losses.next_value(v, side, rows(0, 0, 0, 1, 1), 2.0)
        assert found.tolist() == [0.5, -2.0, 2.0, 2.0, -2.0]

    def test_squares(self):
        """Errors 1, 1 of the first critic, 3 and 4 of the second: 0.5 (1 + 12.5)."""
        q, target = jnp.asarray([[1.0, 2.0], [3.0, 5.0]]), rows(0.0, 1.0)
        assert float(iq_losses.expert_loss(q, target)) == pytest.approx(6.75)
        for loss in (iq_losses.replay_loss, iq_losses.value_loss):
            # The target is less by the bound of 2: errors 3, 3, 5, 6.
            assert float(loss(q, target, 2.0)) == pytest.approx(0.5 * (9.0 + 30.5))

    def test_at_the_start(self):
        """Means 2 and 6 of the values; 3 times .25 times their sum, and the squares of above."""
        v, q = jnp.asarray([[1.0, 3.0], [5.0, 7.0]]), jnp.asarray([[1.0, 2.0], [3.0, 5.0]])
        found = iq_losses.start_loss(v, q, rows(0.0, 1.0), 3.0, 0.75)
        assert float(found) == pytest.approx(3.0 * 0.25 * 8.0 + 6.75)


class TestPPO:
    def test_a_decayed_sum(self):
        decay = np.array([0.5, 0.9, 0.0, 0.7, 0.0], np.float32)
        found = ppo_losses.decayed_sum(jnp.asarray(REWARD), jnp.asarray(decay))
        assert np.asarray(found) == near(summed(REWARD, decay))

    def test_advantages(self):
        values = Values(jnp.asarray(NOW), jnp.asarray(AFTER))
        found = ppo_losses.advantages(0.9, 0.8, jnp.asarray(REWARD), values, jnp.asarray(LAST))
        delta = REWARD + 0.9 * AFTER - NOW
        expected = summed(delta, 0.72 * (1.0 - LAST))
        assert np.asarray(found.advantage) == near(expected)
        assert np.asarray(found.value) == near(expected + NOW)
        assert found.waiting is None

    def test_advantages_with_a_weighting(self):
        rng = np.random.default_rng(0)
        clocks = [
            Clock(*rng.uniform(0.1, 0.9, size=(4, 5)).astype(np.float32), np.zeros((5, 0)))
            for _ in range(2)
        ]
        now, after = clocks
        u_now, u_after = rng.normal(size=(2, 5)).astype(np.float32)
        v, u = Values(NOW, AFTER), Values(u_now, u_after)
        on_device = jax.tree.map(jnp.asarray, (REWARD, v, u, now, after, LAST))
        found = ppo_losses.eta_advantages(0.9, 0.8, *on_device)
        goes_on = 1.0 - LAST
        ahead = after.running * AFTER + after.waiting * u_after
        delta = now.weight * REWARD + ahead - now.running * NOW - now.waiting * u_now
        assert np.asarray(found.advantage) == near(summed(delta, 0.8 * goes_on))
        plain = summed(REWARD + 0.9 * AFTER - NOW, 0.72 * goes_on)
        assert np.asarray(found.value) == near(plain + NOW)
        begun = now.chance * (REWARD + 0.9 * AFTER) + (1.0 - now.chance) * u_after
        wait = summed(begun - u_now, (1.0 - now.chance) * 0.8 * goes_on)
        assert np.asarray(found.waiting) == near(u_now + wait)

    def test_the_clipped_loss(self):
        """Ratios beyond 1 +- .2 gain nothing more, but what they lose is lost in full."""
        ratio, advantage = rows(1.1, 1.5, 0.5, 1.5, 0.5, 9.0), rows(2, 2, 2, -2, -2, 9)
        found = ppo_losses.clipped_loss(ratio, advantage, 0.2, rows(1, 1, 1, 1, 1, 0))
        assert float(found) == pytest.approx(-(2.2 + 2.4 + 1.0 - 3.0 - 1.6) / 5)

    def test_means_of_rows_that_count(self):
        x, mask = rows(1.0, 4.0, 7.0, 99.0), rows(1, 1, 1, 0)
        assert float(ppo_losses.masked_mean(x, mask)) == 4.0
        assert float(ppo_losses.masked_mean(x, 0.0 * mask)) == 0.0
        found = np.asarray(ppo_losses.standardised(x, mask))
        assert found[:3] == near(np.array([-3.0, 0.0, 3.0]) / math.sqrt(6.0))
        flat = ppo_losses.standardised(rows(2.0, 2.0), rows(1, 1))
        assert np.asarray(flat).tolist() == [0.0, 0.0]
        small = np.asarray(ppo_losses.standardised(rows(1e-8, -1e-8), rows(1, 1)))
        assert small == near([0.5, -0.5])  # a spread of 1e-8 beside the 1e-8 that is added


class TestSoftActorCritic:
    HEAD = GaussianHead(2, 1)

    def made(self) -> tuple[MLP, MLP, jax.Array, jax.Array]:
        key = jax.random.key(0)
        actor = MLP.init(key, (2, 4, 2), "tanh")
        critics = init_pair(key, (3, 4, 1), "tanh")
        obs = jnp.asarray(np.random.default_rng(0).normal(size=(5, 2)), jnp.float32)
        return actor, critics, obs, rows(1, 0, 1, 1, 0)

    def test_targets(self):
        reward = sac_losses.soft_target(
            0.9, rows(1.0, 1.0), rows(0, 1), rows(5.0, 5.0), rows(2.0, 2.0), jnp.asarray(0.5)
        )
        assert reward.tolist() == near([-1.0 + 0.9 * (5.0 - 1.0), -1.0])
        waiting = sac_eta_losses.u_target(rows(0.3, 0.3), rows(0, 1), rows(5, 5), rows(2, 2))
        assert waiting.tolist() == near([0.3 * 5 + 0.7 * 2, 0.3 * 5])

    def test_critics(self):
        _, critics, obs, _ = self.made()
        act, target = jnp.full((5, 1), 0.3), rows(1, 2, 3, 4, 5)
        q = np.asarray(self.HEAD.q(critics, obs, act), float)
        loss, mean = sac_losses.critic_loss(critics, self.HEAD, obs, act, target)
        by_hand = sum(0.5 * np.mean((one - np.arange(1, 6)) ** 2) for one in q)
        assert float(loss) == pytest.approx(by_hand, rel=1e-5)
        assert float(mean) == pytest.approx(q.mean(), rel=1e-5)

    def test_the_actor(self):
        actor, critics, obs, mask = self.made()
        key = jax.random.key(3)
        choice = self.HEAD.choose(key, actor, critics, obs)
        penalty, q = np.asarray(choice.penalty, float), np.asarray(choice.q, float)
        counted = np.array([0, 2, 3])
        loss, entropy = sac_losses.actor_loss(
            actor, self.HEAD, critics, None, jnp.asarray(0.7), obs, mask, key
        )
        assert float(loss) == pytest.approx((0.7 * penalty - q)[counted].mean(), rel=1e-5)
        assert float(entropy) == pytest.approx(-penalty[counted].mean(), rel=1e-5)
        nothing = sac_losses.actor_loss(
            actor, self.HEAD, critics, None, jnp.asarray(0.7), obs, 0.0 * mask, key
        )
        assert [float(x) for x in nothing] == [0.0, 0.0]

    def test_the_actor_with_a_weighting(self):
        actor, critics, obs, mask = self.made()
        key, further = jax.random.key(3), init_pair(jax.random.key(9), (3, 4, 1), "tanh")
        clock = Clock(
            *np.random.default_rng(1).uniform(0.1, 0.9, size=(4, 5)).astype(np.float32),
            np.zeros((5, 0), np.float32),
        )
        u = Seen(further, obs)
        choice = self.HEAD.choose(key, actor, critics, obs, also=(u,))
        penalty, q = np.asarray(choice.penalty, float), np.asarray(choice.q, float)
        (waiting,) = (np.asarray(one, float) for one in choice.also)
        counted = np.array([0, 2, 3])
        now = jax.tree.map(jnp.asarray, clock)

        def found(mask):
            seen = Seen(critics, obs)
            temperature = jnp.asarray(0.7)
            return sac_eta_losses.eta_actor_loss(
                actor, self.HEAD, seen, u, None, temperature, now, mask, key
            )

        loss, entropy = found(mask)
        each = 0.7 * clock.weight * penalty - clock.running * q - clock.waiting * waiting
        assert float(loss) == pytest.approx(each[counted].mean(), rel=1e-5)
        weight = clock.weight[counted]
        weighted = -(weight * penalty[counted]).sum() / weight.sum()
        assert float(entropy) == pytest.approx(weighted, rel=1e-5)
        assert [float(x) for x in found(0.0 * mask)] == [0.0, 0.0]

    def test_the_temperature(self):
        """Its loss is alpha times what the entropy has too much; only alpha is moved by it."""
        loss, slopes = jax.value_and_grad(sac_losses.temperature_loss, argnums=(0, 1))(
            jnp.asarray(math.log(0.2)), jnp.asarray(3.0), 1.0
        )
        assert float(loss) == pytest.approx(0.4)
        assert [float(x) for x in slopes] == near([0.4, 0.0])
