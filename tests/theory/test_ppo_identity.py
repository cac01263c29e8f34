"""Errata (f), (g): the advantages of `ppo-eta` give the gradient of the criterion; exact MDPs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.eta import Dirac, Geometric, Poisson
from etairl.solvers.clock import Clock, make_clock
from etairl.solvers.ppo_losses import Values, advantages, clipped_loss, eta_advantages
from etairl.tabular.eta_criterion import logit_gradient, visits
from etairl.tabular.generators import random_mdp, random_policy
from etairl.tabular.operators import evaluate

GAMMA = 0.8
HORIZON = 250
"""steps beyond which all weights are below 1e-12"""


def world(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 4, 3, GAMMA)
    return mdp, random_policy(rng, mdp)


def waiting_values(mdp, policy, v, clock):
    """The second critic at all times: where the wait is over it is v."""
    q = -mdp.c + GAMMA * mdp.expect(v)
    values = [v]
    for chance in clock.chance[-2::-1]:
        ahead = chance * q + (1.0 - chance) * mdp.expect(values[-1])
        values.append((policy * ahead).sum(axis=1))
    return values[::-1]


def on_device(*parts):
    return jax.tree.map(lambda x: jnp.asarray(x.reshape(-1) if x.ndim == 3 else x), parts)


def exact_advantages(mdp, policy, eta):
    """Of every pair at every time; rewards are minus costs, weights in units of the clock."""
    clock, v = make_clock(eta, GAMMA, HORIZON), -evaluate(mdp, policy)
    u, shape = np.stack(waiting_values(mdp, policy, v, clock)), (HORIZON, *mdp.c.shape)
    time = np.repeat(np.arange(HORIZON), mdp.c.size)
    u_after = np.stack([mdp.expect(values) for values in u[1:]])
    found = eta_advantages(
        GAMMA,
        0.0,
        *on_device(
            np.broadcast_to(-mdp.c, shape).ravel(),
            Values(np.broadcast_to(v[:, None], shape), np.broadcast_to(mdp.expect(v), shape)),
            Values(np.broadcast_to(u[:-1, :, None], shape), u_after),
            *(Clock(*(part[index] for part in clock)) for index in (time, time + 1)),
            np.ones(time.size),
        ),
    )
    return np.asarray(found.advantage).reshape(shape)


def unit(eta):
    return eta.weights(GAMMA, HORIZON).mean()


def score_gradient(mdp, policy, each):
    """The gradient in the logits of a sum over time of expected advantages."""
    total = np.zeros_like(policy)
    for at_time, advantage in zip(visits(mdp, policy, HORIZON), each, strict=True):
        centred = advantage - (policy * advantage).sum(axis=1, keepdims=True)
        total += at_time[:, None] * policy * centred
    return total


@pytest.mark.parametrize("eta", [Dirac(0), Geometric(0.6), Geometric(0.9), Poisson(3.0), Dirac(2)])
@pytest.mark.parametrize("seed", range(3))
def test_the_advantages_give_the_gradient_of_the_criterion(eta, seed):
    with jax.enable_x64():
        mdp, policy = world(seed)
        found = score_gradient(mdp, policy, exact_advantages(mdp, policy, eta))
    wanted = -logit_gradient(mdp, policy, eta)
    assert np.abs(unit(eta) * found - wanted).max() < 1e-8


@pytest.mark.parametrize("eta", [Geometric(0.6), Poisson(3.0)])
def test_the_identity_as_printed_does_not(eta):
    r"""$\langle\mu_{\pi'}, A_\pi\rangle$ alone: right for $\delta_0$ only, wrong by percents."""
    mdp, policy = world(0)
    v = -evaluate(mdp, policy)
    advantage = -mdp.c + GAMMA * mdp.expect(v) - v[:, None]
    for law, right in ((Dirac(0), True), (eta, False)):
        weights = law.weights(GAMMA, HORIZON)
        found = score_gradient(mdp, policy, (weight * advantage for weight in weights))
        wanted = -logit_gradient(mdp, policy, law)
        error = np.abs(found - wanted).max() / np.abs(wanted).max()
        assert error < 1e-8 if right else error > 0.02


def test_the_clipped_loss_begins_with_the_gradient_of_the_score():
    r"""At $\pi = \pi_{old}$ its gradient is $-\mathbb{E}[A\nabla\log\pi]$."""
    with jax.enable_x64():
        rng = np.random.default_rng(0)
        mdp, policy = world(1)
        law = rng.dirichlet(np.ones(mdp.states))
        advantage = rng.normal(size=policy.shape)
        weights = (law[:, None] * policy).ravel()

        def loss(logits):
            ratio = jax.nn.softmax(logits) / policy
            # The law of the pairs stands for the rows: its masses sum to 1.
            gain, rows = jnp.asarray(advantage.ravel()), jnp.asarray(weights)
            return clipped_loss(ratio.ravel(), gain, 0.2, rows)

        found = jax.grad(loss)(jnp.log(jnp.asarray(policy)))
        centred = advantage - (policy * advantage).sum(axis=1, keepdims=True)
        assert np.abs(np.asarray(found) + law[:, None] * policy * centred).max() < 1e-12


def test_estimates_of_critics_that_are_right_are_right_whatever_lambda():
    """Of deterministic paths through a chain: sums by hand, with both critics exact."""
    with jax.enable_x64():
        rng = np.random.default_rng(2)
        eta, steps = Geometric(0.7), 12
        reward = rng.normal(size=steps)
        clock = make_clock(eta, GAMMA, steps)
        v = np.array(
            [sum(GAMMA ** (n - t) * reward[n] for n in range(t, steps)) for t in range(13)]
        )
        u = np.zeros(steps + 1)
        for t in range(steps - 1, -1, -1):
            u[t] = 0.3 * v[t] + 0.7 * u[t + 1]
        time = np.arange(steps)
        now, after = (Clock(*(part[index] for part in clock)) for index in (time, time + 1))
        last = (time == steps - 1).astype(float)
        values = Values(v[:-1], v[1:]), Values(u[:-1], u[1:])
        for lam in (0.0, 0.5, 1.0):
            found = eta_advantages(GAMMA, lam, *on_device(reward, *values, now, after, last))
            # Nothing is left to chance: no action was better than expected.
            assert np.abs(np.asarray(found.advantage)).max() < 1e-12
            assert np.asarray(found.value) == pytest.approx(v[:-1], abs=1e-12)
            assert np.asarray(found.waiting) == pytest.approx(u[:-1], abs=1e-12)
        # A critic that says 0 everywhere, and lambda 1: the returns themselves.
        none = Values(np.zeros(steps), np.zeros(steps))
        found = eta_advantages(GAMMA, 1.0, *on_device(reward, none, none, now, after, last))
        weights = eta.weights(GAMMA, steps) / eta.weights(GAMMA, steps).mean()
        wanted = [(weights[t:] * reward[t:]).sum() for t in range(steps)]
        assert np.asarray(found.advantage) == pytest.approx(wanted, abs=1e-10)
        plain = advantages(GAMMA, 1.0, *on_device(reward, none, last))
        assert np.asarray(plain.value) == pytest.approx(v[:-1], abs=1e-12)
