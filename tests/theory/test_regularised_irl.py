r"""RAIRL on exact MDPs: its cost has the expert as its one $\Omega$-optimal policy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.family import Players, Points, View
from etairl.costs.regularised import RegularisedConfig, RegularisedCost
from etairl.regularisers import Entropy, KullbackLeibler, Tsallis, Unregularised
from etairl.tabular.exact_measures import rho
from etairl.tabular.generators import random_mdp, random_policy
from etairl.tabular.operators import optimality_cost, policy_iteration
from etairl.types import InputError, Spec

OMEGAS = [Entropy(), Entropy(0.3), Tsallis(1.0, 2.0), Tsallis(0.5, 1.5), Tsallis(2.0, 3.0)]
REFERENCE = np.array([0.5, 0.3, 0.2])


def world(seed, omega, gamma=0.9):
    """An MDP, and the policy that is optimal for its costs."""
    mdp = random_mdp(np.random.default_rng(seed), 6, 3, gamma)
    return mdp, policy_iteration(mdp, omega, tolerance=1e-13).policy


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("omega", [*OMEGAS, KullbackLeibler(0.7, REFERENCE)])
def test_the_expert_is_optimal_for_its_cost_in_every_mdp(omega, seed):
    mdp, expert = world(seed, omega)
    cost = optimality_cost(omega, expert)
    assert omega.softmin(cost) == pytest.approx(np.zeros(6), abs=1e-9)
    rng = np.random.default_rng(seed + 10)
    for other in (mdp, random_mdp(rng, 6, 3, 0.5)):
        solution = policy_iteration(other.with_cost(cost), omega, tolerance=1e-13)
        assert solution.policy == pytest.approx(expert, abs=1e-6)
        assert solution.v == pytest.approx(np.zeros(6), abs=1e-8)


def test_a_cost_with_another_expert_has_another_policy():
    mdp, expert = world(0, Tsallis())
    other = policy_iteration(mdp.with_cost(optimality_cost(Entropy(), expert)), Tsallis()).policy
    assert np.abs(other - expert).max() > 0.05


@pytest.mark.parametrize("omega", [Entropy(), Tsallis(1.0, 2.0)])
def test_the_game_finds_that_cost(omega):
    r"""Best discriminators in closed form, best responses by policy iteration: to 1e-6.

    With enough capacity the best logit is $h = \log\rho_\pi/\rho_E$, and the cost player has
    $c = c_\pi + h$. A fifth of the way each round; the policy is the best one for that cost.
    """
    rng = np.random.default_rng(1)
    mdp = random_mdp(rng, 5, 3, 0.7)
    expert = 0.3 / 3 + 0.7 * random_policy(rng, mdp)
    theirs = rho(mdp, expert).values
    cost = np.zeros_like(mdp.c)
    for _ in range(150):
        policy = policy_iteration(mdp.with_cost(cost), omega, tolerance=1e-13).policy
        own = rho(mdp, policy).values
        logit = np.log(np.maximum(own, 1e-12) / theirs)
        cost = optimality_cost(omega, policy) + 0.2 * logit
    assert policy == pytest.approx(expert, abs=1e-6)
    assert logit == pytest.approx(np.zeros_like(logit), abs=1e-4)
    again = policy_iteration(mdp.with_cost(optimality_cost(omega, policy)), omega).policy
    assert again == pytest.approx(expert, abs=1e-6)


@pytest.mark.parametrize("omega", [Entropy(), Tsallis(1.0, 2.0)])
def test_the_networks_learn_it_where_the_learner_is_the_expert(omega):
    """All pairs as often as the expert has them, on both sides, read against its density."""
    mdp, expert = world(2, omega, gamma=0.6)
    expert = np.round(60 * (0.1 / 3 + 0.9 * expert)) / 60
    expert /= expert.sum(axis=1, keepdims=True)
    states, actions = (x.ravel() for x in np.indices((6, 3)))
    counts = np.round(60 * expert).astype(int).ravel()
    rows = np.repeat(np.arange(18), counts)
    obs = jnp.eye(6)[states[rows]]
    seen = Points(obs, jnp.asarray(actions[rows, None], jnp.float32), obs)
    network = DiscriminatorConfig(hidden_d=(), gradient_penalty=0.0, lr_d=0.03)
    made = RegularisedCost(
        RegularisedConfig(network=network), View(Spec(6, 1, None, None, 3)), omega
    )
    logs = jnp.asarray(np.log(expert).ravel()[rows], jnp.float32)
    many = Points(*(jnp.broadcast_to(x, (600, *x.shape)) for x in seen))
    state = made.init(jax.random.key(0), seen)
    said = jnp.broadcast_to(logs, (600, len(rows)))
    state, info = made.updates(jax.random.key(1), state, many, many, lambda obs, act: said)
    assert float(info.gan_loss) == pytest.approx(2 * np.log(2), abs=1e-3)
    eye, table = jnp.eye(6), []
    for action in range(3):
        act = jnp.full((6, 1), float(action))
        table.append(np.asarray(made.portable()(state, eye, act, eye), np.float64))
        assert made(state, eye, act, eye) == pytest.approx(table[-1], abs=0.02)
    found = policy_iteration(mdp.with_cost(np.stack(table, axis=1)), omega).policy
    assert found == pytest.approx(expert, abs=0.02)
    assert np.stack(table, axis=1) == pytest.approx(optimality_cost(omega, expert), abs=0.05)


@pytest.mark.parametrize("omega", [Entropy(), Tsallis(1.0, 1.5)])
def test_the_cost_of_a_density_by_quadrature(omega):
    r"""One action: $\int\pi_w(c_w + \varphi(\log\pi_w))\,da = 0$, the value of every state."""
    made = RegularisedCost(
        RegularisedConfig(network=DiscriminatorConfig(hidden_d=(8,))), View(SPEC), omega
    )
    obs = jnp.asarray(np.random.default_rng(0).normal(size=(1, 2)), jnp.float32)
    state = made.init(jax.random.key(0), Points(jnp.eye(2), jnp.zeros((2, 1)), jnp.eye(2)))
    act = jnp.linspace(-0.998, 0.998, 20_001)[:, None]
    many = jnp.broadcast_to(obs, (len(act), 2))
    x = (many - state.mean) / state.scale
    logs = np.asarray(state.network.density.log_prob(x, act), np.float64)
    cost = np.asarray(made.portable()(state, many, act, many), np.float64)
    paid = np.exp(logs) * (cost + np.asarray(omega.drawn(jnp.asarray(logs)), np.float64))
    assert np.trapezoid(np.exp(logs), act[:, 0]) == pytest.approx(1.0, abs=0.02)
    assert np.trapezoid(paid, act[:, 0]) == pytest.approx(0.0, abs=0.1)


SPEC = Spec(2, 1, (-1.0,), (1.0,))


def test_where_nothing_is_decided_nothing_is_read():
    made = RegularisedCost(RegularisedConfig(), View(SPEC, absorbing=True), Entropy())
    seen = Points(jnp.asarray([[0.3, 0.0], [0.0, 1.0]]), jnp.zeros((2, 1)), jnp.zeros((2, 2)))
    state = made.init(jax.random.key(0), seen)
    alone = np.asarray(made.portable()(state, *seen))
    assert alone[0] != 0.0
    assert alone[1] == 0.0


def test_it_is_read_through_the_regulariser():
    config = RegularisedConfig()
    config.check(Players(Tsallis(), 1.0, False))
    for players, message in (
        (
            Players(Unregularised(), 1.0, False),
            "needs the regulariser entropy or tsallis, got none",
        ),
        (Players(Entropy(), 0.1, False), "its temperature is 1, got 0.1"),
        (Players(Entropy(), 1.0, True, "rairl"), "rairl goes with --solver sac or ppo"),
    ):
        with pytest.raises(InputError, match=message):
            config.check(players)
