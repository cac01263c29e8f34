"""AIRL's cost: its logit, and the state cost that it recovers on a deterministic chain."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.costs.adversarial import DiscriminatorConfig, DiscriminatorState
from etairl.costs.family import Players, Points
from etairl.costs.losses import gan_loss, gradient_penalty
from etairl.costs.shaped import ShapedConfig, ShapedCost, ShapedLogit
from etairl.networks import MLP
from etairl.regularisers import Entropy, KullbackLeibler
from etairl.tabular import MDP, policy_iteration
from etairl.types import InputError

KEY = jax.random.key(0)
COST = np.array([0.0, 1.0, -0.5, 0.3])
GAMMA = 0.7


def make(gamma: float = 0.9, **network) -> ShapedCost:
    return ShapedCost(ShapedConfig(DiscriminatorConfig(**network)), gamma)


def chain() -> MDP:
    """Four states in a row; left, stay, right. Costs belong to states."""
    kernel = np.zeros((4, 3, 4))
    for s in range(4):
        for a, move in enumerate((-1, 0, 1)):
            kernel[s, a, np.clip(s + move, 0, 3)] = 1.0
    return MDP(kernel, np.repeat(COST[:, None], 3, axis=1), np.full(4, 0.25), GAMMA)


def expert_pairs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All state-action pairs, where they lead, and log pi of the soft-optimal expert."""
    mdp = chain()
    policy = policy_iteration(mdp, Entropy(1.0)).policy
    states, actions = (x.ravel() for x in np.indices((4, 3)))
    following = mdp.kernel[states, actions].argmax(axis=1)
    return states, following, np.log(policy[states, actions])


def test_the_logit_by_hand():
    cost = make(hidden_d=(8,))
    rng = np.random.default_rng(0)
    obs, following = (jnp.asarray(rng.normal(size=(20, 3)), jnp.float32) for _ in range(2))
    seen = Points(obs, jnp.zeros((20, 1)), following)
    state = cost.init(KEY, seen)
    mean, std = (np.asarray(f(obs, axis=0), np.float64) for f in (np.mean, np.std))
    here, there = (jnp.asarray((np.asarray(x) - mean) / std, jnp.float32) for x in (obs, following))
    c, phi = state.network.cost, state.network.potential
    shaped = np.asarray(c(here) + 0.9 * phi(there) - phi(here))[:, 0]
    assert np.asarray(cost(state, *seen)) == pytest.approx(shaped, abs=1e-4)
    alone = cost.portable()
    assert np.asarray(alone(state, *seen)) == pytest.approx(np.asarray(c(here))[:, 0], abs=1e-4)
    assert (cost.needs_next, alone.needs_next) == (True, False)
    x = jnp.concatenate([here, there, jnp.full((20, 1), -1.5)], axis=1)
    assert np.asarray(state.network(x))[:, 0] == pytest.approx(shaped - 1.5, abs=1e-4)


def test_the_gradient_penalty_does_not_see_the_slope_in_log_pi():
    """A constant cost has no slope: the penalty with target 0 is 0, though dh/d(log pi) = 1."""
    network = jax.tree.map(jnp.zeros_like, ShapedLogit(*flat_networks(), 0.9))
    own, expert = jnp.ones((8, 7)), -jnp.ones((8, 7))
    plain, _ = gan_loss(network, KEY, own, expert)
    penalised, _ = gradient_penalty(gan_loss, 5.0, 0.0)(network, KEY, own, expert)
    assert float(penalised) == pytest.approx(float(plain), abs=1e-6)


def test_noise_is_on_states_and_not_on_log_pi():
    cost = make(input_noise=5.0, gradient_penalty=0.0)
    network = jax.tree.map(jnp.zeros_like, ShapedLogit(*flat_networks(), 0.9))
    # The sides differ in their actions alone: what the policy says of these is 1 and -1.
    own = Points(jnp.zeros((1, 8, 3)), jnp.ones((1, 8, 1)), jnp.zeros((1, 8, 3)))
    expert = own._replace(act=-own.act)
    fresh = cost.init(KEY, Points(*(x[0] for x in own)))
    state = DiscriminatorState.start(cost.config.network, network, (fresh.mean, fresh.scale))
    _, info = cost.updates(KEY, state, own, expert, lambda obs, act: act[..., 0])
    # Networks of zeros: the logit is log pi, 1 and -1, to the last digit.
    assert float(info.gan_loss) == pytest.approx(2 * np.log1p(np.exp(-1.0)), abs=1e-6)


def flat_networks():
    return (MLP.init(KEY, (3, 4, 1), "tanh"), MLP.init(KEY, (3, 4, 1), "tanh"))


@pytest.mark.parametrize(
    ("players", "message"),
    [
        (Players(Entropy(), 1.0, True, "airl"), "airl goes with --solver sac"),
        (
            Players(KullbackLeibler(), 1.0, False, "airl"),
            "airl needs the regulariser entropy, got kl",
        ),
        (Players(Entropy(), None, False), "its temperature is 1, got None"),
    ],
)
def test_it_is_read_against_the_policy(players, message):
    with pytest.raises(InputError, match=message):
        ShapedConfig().check(players)
    ShapedConfig().check(Players(Entropy(), 1.0, False))


def test_the_state_cost_of_a_chain_is_recovered_up_to_a_constant():
    """A learner that has become the expert: the best logit is 0, so c_f = -log pi_E.

    On a deterministic chain -log pi_E = c + gamma V(s') - V(s), and the split is unique up to a
    constant (Fu, Luo and Levine 2018, theorem 5.1). No sampling noise: every pair, both sides.
    """
    states, following, log_pi = expert_pairs()
    cost = make(GAMMA, hidden_d=(), gradient_penalty=0.0, lr_d=0.03)
    eye = np.eye(4, dtype=np.float32)
    seen = Points(jnp.asarray(eye[states]), jnp.zeros((12, 1)), jnp.asarray(eye[following]))
    state = cost.init(KEY, seen)
    many = Points(*(jnp.broadcast_to(x, (4000, *x.shape)) for x in seen))
    logs = jnp.broadcast_to(jnp.asarray(log_pi, jnp.float32), (4000, 12))
    state, info = cost.updates(KEY, state, many, many, lambda obs, act: logs)
    found = np.asarray(cost(state, *seen), np.float64)
    assert found == pytest.approx(-log_pi, abs=2e-3)
    assert float(info.gan_loss) >= 2 * np.log(2) - 1e-6
    alone = np.asarray(cost.portable()(state, *seen), np.float64)[::3]
    assert alone - alone.mean() == pytest.approx(COST - COST.mean(), abs=5e-3)
