r"""Inverse soft Q-learning on exact MDPs: its objective over $Q$ is the game's over rewards."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from etairl.eta import Dirac, Geometric, Poisson
from etairl.regularisers import Entropy
from etairl.solvers.iq_losses import expert_loss, replay_loss, start_loss
from etairl.tabular.eta_criterion import criterion, logit_gradient
from etairl.tabular.exact_measures import future, mu
from etairl.tabular.generators import random_mdp, random_policy
from etairl.tabular.operators import evaluate, policy_iteration

GAMMA, ALPHA, BOUND = 0.8, 0.3, 1.5
ETAS = [Dirac(0), Geometric(0.6), Geometric(0.9), Poisson(3.0)]
OTHERS = ETAS[1:]


def world(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 4, 3, GAMMA)
    return rng, mdp, random_policy(rng, mdp), random_policy(rng, mdp)


def soft_value(policy, q, alpha=ALPHA):
    return (policy * (q - alpha * np.log(policy))).sum(axis=1)


def soft_policy(q, alpha=ALPHA):
    return np.exp(q / alpha - logsumexp(q / alpha, axis=1, keepdims=True))


def implied(mdp, policy, q, alpha=ALPHA):
    """The reward of a critic, by the inverse of the soft Bellman operator of a policy."""
    return q - GAMMA * mdp.expect(soft_value(policy, q, alpha))


def entropy(mdp, policy, eta):
    return criterion(mdp.with_cost(0.0 * mdp.c), policy, eta, Entropy(ALPHA)) * -1.0


def game(mdp, policy, expert, reward, eta):
    r"""$\langle\mu_E-\mu_\pi, r\rangle - \Omega(\pi) - \psi(r)$, with mass 1 for each measure."""
    own, theirs = ((1.0 - GAMMA) * mu(mdp, p, eta).values for p in (policy, expert))
    penalty = ((own + theirs) * reward**2).sum() / (2.0 * BOUND)
    regular = (1.0 - GAMMA) * entropy(mdp, policy, eta)
    return ((theirs - own) * reward).sum() - regular - penalty


@pytest.mark.parametrize("eta", ETAS)
@pytest.mark.parametrize("seed", range(3))
def test_rewards_telescope_to_the_value_at_k(eta, seed):
    r"""$\langle\mu_\pi, r\rangle + \alpha H^\eta(\pi) = \langle P^\eta_\pi, V\rangle$."""
    rng, mdp, policy, _ = world(seed)
    q = rng.normal(size=mdp.c.shape)
    earned = -criterion(mdp.with_cost(-implied(mdp, policy, q)), policy, eta, Entropy(ALPHA))
    ahead = future(mdp, policy, eta).states
    assert earned == pytest.approx(ahead @ soft_value(policy, q), abs=1e-8)
    wrong = mdp.p0 @ soft_value(policy, q)
    assert (abs(earned - wrong) < 1e-8) == (eta == Dirac(0)), "the start is right for δ_0 only"


@pytest.mark.parametrize("eta", ETAS)
@pytest.mark.parametrize("seed", range(3))
def test_the_losses_are_the_game_at_the_implied_reward(eta, seed):
    """With exact weights of rows: a loss is minus R times the game, and a constant."""
    with jax.enable_x64():
        rng, mdp, policy, expert = world(seed)
        q = 3.0 * rng.normal(size=mdp.c.shape)
        v = soft_value(policy, q)
        backup = np.broadcast_to(GAMMA * mdp.expect(v), q.shape).ravel()
        theirs, own = rows(mdp, expert, eta), rows(mdp, policy, eta)

        def twice(weights, x):
            # Errors enter squared, so that the root of a weight belongs to each row.
            return jnp.asarray(np.stack(2 * [np.sqrt(weights) * x]))

        def once(weights, x):
            return jnp.asarray(np.sqrt(weights) * x)

        first = future(mdp, policy, eta).states * mdp.states
        for_expert = expert_loss(twice(theirs, q.ravel()), once(theirs, BOUND + backup))
        mine = twice(own, q.ravel()), once(own, backup)
        start = start_loss(jnp.asarray(np.stack(2 * [first * v])), *mine, BOUND, GAMMA)
        replay = replay_loss(mine[0] + BOUND * twice(own, np.ones(q.size)), mine[1], 0.0)
    value = game(mdp, policy, expert, implied(mdp, policy, q), eta)
    regular = (1.0 - GAMMA) * entropy(mdp, policy, eta)
    # Two critics that are the same.
    assert float(for_expert + start) / 2 == pytest.approx(-BOUND * value + BOUND**2 / 2, abs=1e-8)
    without = -BOUND * (value + regular) + BOUND**2
    assert float(for_expert + replay) / 2 == pytest.approx(without, abs=1e-8)


def rows(mdp, policy, eta):
    """Weights of pairs with mean 1 under the occupancy."""
    return (1.0 - GAMMA) * mu(mdp, policy, eta).values.ravel() * mdp.c.size


@pytest.mark.parametrize("eta", ETAS)
def test_the_best_critic_of_a_policy_is_that_of_the_best_reward(eta):
    r"""$r = R(\mu_E-\mu_\pi)/(\mu_E+\mu_\pi)$, within its bound; the maximum is a $\chi^2$."""
    rng, mdp, policy, expert = world(1)
    own, theirs = ((1.0 - GAMMA) * mu(mdp, p, eta).values for p in (policy, expert))
    reward = BOUND * (theirs - own) / (theirs + own)
    v = -evaluate(mdp.with_cost(-reward), policy, Entropy(ALPHA))
    q = reward + GAMMA * mdp.expect(v)
    assert np.abs(implied(mdp, policy, q) - reward).max() < 1e-10
    most = np.abs(v - soft_value(policy, 0.0 * q) / (1.0 - GAMMA)).max()
    assert most < BOUND / (1.0 - GAMMA) + ALPHA * np.log(3) / (1.0 - GAMMA)
    distance = BOUND / 2.0 * ((theirs - own) ** 2 / (theirs + own)).sum()
    best = game(mdp, policy, expert, reward, eta)
    wanted = distance - (1.0 - GAMMA) * entropy(mdp, policy, eta)
    assert best == pytest.approx(wanted, abs=1e-8)
    for _ in range(5):
        other = implied(mdp, policy, q + 0.1 * rng.normal(size=q.shape))
        assert game(mdp, policy, expert, other, eta) < best


@pytest.mark.parametrize("eta", ETAS)
def test_on_the_side_of_the_expert_it_is_a_likelihood(eta):
    r"""With $P^\eta_E$ and without $\psi$ the objective is $\alpha\langle\mu_E, \log\pi\rangle$.

    So its maximum is the expert, whatever $\eta$: for a soft-optimal expert at its own critic.
    """
    rng, mdp, _, expert = world(2)
    q = rng.normal(size=mdp.c.shape)
    policy = soft_policy(q)

    def objective(q):
        policy, theirs = soft_policy(q), mu(mdp, expert, eta).values
        value = future(mdp, expert, eta).states @ soft_value(policy, q)
        return (theirs * implied(mdp, policy, q)).sum() - value

    theirs = mu(mdp, expert, eta).values
    assert objective(q) == pytest.approx(ALPHA * (theirs * np.log(policy)).sum(), abs=1e-8)
    planned = policy_iteration(mdp, Entropy(ALPHA))
    expert = planned.policy
    best = objective(-mdp.c + GAMMA * mdp.expect(-planned.v))
    assert np.abs(soft_policy(-mdp.c + GAMMA * mdp.expect(-planned.v)) - expert).max() < 1e-8
    assert all(objective(rng.normal(size=q.shape)) < best for _ in range(20))


@pytest.mark.parametrize("eta", ETAS)
def test_the_penalty_moves_the_solution_in_proportion_to_the_temperature(eta):
    """The whole objective, solved with the expert's steps on both sides."""
    _, mdp, _, expert = world(3)
    theirs, ahead = mu(mdp, expert, eta).values, future(mdp, expert, eta).states

    def off(alpha):
        def loss(flat):
            q = flat.reshape(mdp.c.shape)
            policy = soft_policy(q, alpha)
            reward = implied(mdp, policy, q, alpha)
            earned = (theirs * (reward - reward**2 / BOUND)).sum()
            return (ahead @ soft_value(policy, q, alpha) - earned) / alpha

        begin = alpha * np.log(expert).ravel()
        found = minimize(loss, begin, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-15})
        return np.abs(soft_policy(found.x.reshape(mdp.c.shape), alpha) - expert).max()

    large, small = off(0.1), off(0.01)
    assert large < 0.2
    assert small < 0.2 * large


@pytest.mark.parametrize("eta", OTHERS)
def test_for_other_weightings_two_things_are_heuristics(eta):
    r"""$P^\eta$ is the policy's own, and the soft policy of $Q$ is not the best answer to it."""
    rng, mdp, policy, expert = world(4)
    for law, exact in ((Dirac(0), True), (eta, False)):
        apart = np.abs(future(mdp, policy, law).states - future(mdp, expert, law).states).max()
        assert apart < 1e-12 if exact else apart > 1e-2
        q = rng.normal(size=mdp.c.shape)
        answer = soft_policy(q)
        paid = mdp.with_cost(-implied(mdp, answer, q))
        slope = np.abs(logit_gradient(paid, answer, law, Entropy(ALPHA))).max()
        assert slope < 1e-10 if exact else slope > 1e-3


@pytest.mark.parametrize("eta", ETAS)
def test_regression_on_targets_stands_still_at_the_best_reward(eta):
    """With targets that are held, the critic of the best reward is where no loss changes it."""
    with jax.enable_x64():
        _, mdp, policy, expert = world(5)
        own, theirs = rows(mdp, policy, eta), rows(mdp, expert, eta)
        reward = BOUND * (theirs - own) / (theirs + own)
        v = -evaluate(mdp.with_cost(-reward.reshape(mdp.c.shape)), policy, Entropy(ALPHA))
        backup = GAMMA * mdp.expect(v).ravel()

        def loss(q):
            def error(weights, x):
                return jnp.stack(2 * [jnp.sqrt(weights) * x])

            side = jnp.sqrt(own) * (backup - BOUND)
            return expert_loss(error(theirs, q), jnp.sqrt(theirs) * (backup + BOUND)) + (
                replay_loss(error(own, q), side, 0.0)
            )

        slope = jax.grad(loss)(jnp.asarray(reward + backup))
    assert np.abs(np.asarray(slope)).max() < 1e-12
