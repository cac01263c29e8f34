"""The sampled gradient of `sac-eta` against the exact one, on MDPs embedded as environments."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import TablePolicy, registered

from etairl.buffers import EpisodeBuffer
from etairl.eta import Eta, parse_eta
from etairl.networks import MLP
from etairl.regularisers import Entropy
from etairl.rollouts import collect
from etairl.solvers.clock import make_clock
from etairl.solvers.heads import Seen
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import SACConfig
from etairl.solvers.sac_eta import SACEta
from etairl.solvers.sac_eta_losses import eta_actor_loss
from etairl.solvers.sac_losses import actor_loss
from etairl.solvers.sac_state import SACDraw
from etairl.solvers.solver import Batch
from etairl.tabular import MDP, go_stay, go_stay_policy, random_mdp, random_policy
from etairl.tabular.eta_criterion import logit_gradient
from etairl.tasks import make_task

HORIZON, EPISODES, UPDATES, ALPHA = 24, 1000, 1500, 0.3


class Learned(NamedTuple):
    solver: SACEta
    state: object
    batch: Batch
    """every transition that was played: the large batch"""
    mdp: MDP
    policy: np.ndarray


def learn(mdp: MDP, policy: np.ndarray, eta: Eta, alpha: float = ALPHA) -> Learned:
    """Play a fixed policy, and let only the critics learn from it."""
    with registered(mdp) as name:
        task = make_task(name, 100, horizon=HORIZON, seed=0)
        rng = np.random.default_rng(0)
        played = collect(rng, task, TablePolicy(policy), EPISODES)
    buffer = EpisodeBuffer(played.steps + EPISODES, mdp.states, 1)
    buffer.extend(played, played.actions.astype(np.float32))
    episodes = buffer.newest()

    def batch(steps, shape) -> Batch:
        t = buffer.transitions(episodes.rows(steps), shape)
        times = episodes.times(steps).reshape(shape)
        return Batch.of(t, times)

    config = SACConfig(
        hidden=(32,), gamma_rl=mdp.gamma, temperature=alpha, critic_lr=3e-3, polyak=0.05
    )
    solver = SACEta(SAC(config, task.spec), eta, HORIZON)
    # One layer on one column per state: its weights are the logits, its gradient theirs.
    table = MLP((jnp.asarray(np.log(policy), jnp.float32),), (jnp.zeros(mdp.actions),), "relu")
    state = solver.init(jax.random.key(0))._replace(actor=table)
    steps = rng.integers(episodes.steps, size=UPDATES * 256)
    drawn = SACDraw([batch(steps, (UPDATES, 256))], critics_only=True)
    state, _ = solver.updates(jax.random.key(1), state, drawn)
    assert np.array_equal(state.actor.weights[0], np.float32(np.log(policy)))
    return Learned(solver, state, batch(np.arange(episodes.steps), (episodes.steps,)), mdp, policy)


def sampled_gradient(learned: Learned, with_u: bool = True) -> np.ndarray:
    solver, state, batch, *_ = learned
    now = solver.clock.at(batch.time)
    if not with_u:
        now = now._replace(waiting=0.0 * now.waiting)
    grads, _ = jax.grad(eta_actor_loss, has_aux=True)(
        state.actor,
        solver.plain.head,
        Seen(state.critics, batch.obs),
        Seen(state.u_critics, now.beside(batch.obs)),
        None,
        jnp.exp(state.log_temperature),
        now,
        jnp.ones(len(batch.obs)),
        jax.random.key(0),
    )
    return np.asarray(grads.weights[0], np.float64)


def discounted_gradient(learned: Learned) -> np.ndarray:
    solver, state, batch, *_ = learned
    grads, _ = jax.grad(actor_loss, has_aux=True)(
        state.actor,
        solver.plain.head,
        state.critics,
        None,
        jnp.exp(state.log_temperature),
        batch.obs,
        jnp.ones(len(batch.obs)),
        jax.random.key(0),
    )
    return np.asarray(grads.weights[0], np.float64)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))


def exact_u(mdp: MDP, policy: np.ndarray, eta: Eta) -> np.ndarray:
    r"""$U_t(s,a)$ for all t, by sums over all later steps: no recursion.

    $S_tU_t = \mathbb{E}[\sum_{n \ge t}w_nc_n \mid s_t, a_t] - \gamma w_{t-1}Q$, with the entropy of
    every step but the first, as rewards.
    """
    far, step = 200, mdp.under(policy)
    weights = eta.weights(mdp.gamma, far + HORIZON)
    paid = (policy * (mdp.c + ALPHA * np.log(policy))).sum(axis=1)  # per step from a state
    powers = [np.eye(mdp.states)]
    for _ in range(far):
        powers.append(powers[-1] @ step)
    law = np.exp(eta.log_pmf(far + HORIZON))
    found = []
    for t in range(HORIZON):
        later = sum(weights[t + n] * powers[n - 1] @ paid for n in range(1, far))
        total = weights[t] * mdp.c + mdp.expect(later)
        value = sum(mdp.gamma**n * powers[n - 1] @ paid for n in range(1, far))
        q = mdp.c + mdp.expect(value)
        begun = mdp.gamma * weights[t - 1] if t else 0.0
        waiting = law[t:].sum()
        found.append((total - begun * q) / waiting if waiting > 1e-9 else np.full_like(q, np.nan))
    return -np.stack(found)


@pytest.mark.parametrize(
    "law",
    ["geometric:0.6", "poisson:3", "zero-modified:0.8,0.3", "mixture:0.3*dirac:2+0.7*poisson:1"],
)
def test_the_formula_against_finite_differences(law):
    r"""$J_\eta$ by its definition, a sum over steps, differentiated numerically in the logits.

    Against the weights of the clock and its recursion, without networks or samples. 80 steps: what
    lies beyond weighs less than 1e-12.
    """
    rng, eta, far = np.random.default_rng(2), parse_eta(law), 80
    mdp = random_mdp(rng, states=3, actions=2, gamma=0.5)
    weights, clock = eta.weights(mdp.gamma, far), make_clock(eta, mdp.gamma, far)
    unit = weights.mean()

    def softmax(logits):
        odds = np.exp(logits)
        return odds / odds.sum(axis=1, keepdims=True)

    def criterion(logits):
        policy, states, total = softmax(logits), mdp.p0, 0.0
        paid = (policy * (mdp.c + ALPHA * np.log(policy))).sum(axis=1)
        for weight in weights:
            total += weight * states @ paid
            states = states @ mdp.under(policy)
        return total

    logits = rng.normal(size=(3, 2))
    numeric = np.zeros((3, 2))
    for index in np.ndindex(3, 2):
        bump = np.zeros((3, 2))
        bump[index] = 1e-5
        numeric[index] = (criterion(logits + bump) - criterion(logits - bump)) / 2e-5
    policy = softmax(logits)
    penalty = ALPHA * np.log(policy)
    step, average = mdp.under(policy), lambda x: (policy * x).sum(axis=1)
    v = np.linalg.solve(np.eye(3) - mdp.gamma * step, average(mdp.c + penalty))
    q, u_bar = mdp.c + mdp.gamma * mdp.expect(v), v
    reached = [mdp.p0]
    for _ in range(far - 1):
        reached.append(reached[-1] @ step)
    direct = np.zeros((3, 2))
    for t in reversed(range(far)):
        u = clock.chance[t] * q + (1.0 - clock.chance[t]) * mdp.expect(u_bar)
        worth = clock.running[t] * q + clock.waiting[t] * u + clock.weight[t] * penalty
        direct += unit * reached[t][:, None] * worth
        u_bar = average(u + clock.chance[t] * penalty)
    found = policy * (direct - average(direct)[:, None])
    assert found == pytest.approx(numeric, abs=1e-9)
    assert np.abs(numeric).max() > 0.01


@pytest.fixture(scope="module")
def ring() -> tuple[MDP, np.ndarray]:
    """Actions move 0, 1 or 2 places around a ring, with noise: slow enough for time to matter."""
    rng = np.random.default_rng(5)
    noise, place = random_mdp(rng, states=4, actions=3, gamma=0.6), np.arange(4)[:, None]
    kernel = 0.8 * np.eye(4)[(place + np.arange(3)) % 4] + 0.2 * noise.kernel
    mdp = MDP(kernel, noise.c, np.array([0.7, 0.1, 0.1, 0.1]), 0.6)
    return mdp, 0.8 * random_policy(rng, mdp) + 0.2 / 3


@pytest.fixture(scope="module", params=["geometric:0.6", "poisson:3"])
def learned(request, ring) -> tuple[Learned, Eta]:
    """The stationary form, and the one with a clock."""
    eta = parse_eta(request.param)
    return learn(*ring, eta), eta


def test_the_gradient_on_a_ring(learned):
    """24,000 transitions of 1,000 episodes: visits, and so weights, err by some 3 %."""
    found, eta = learned
    exact = logit_gradient(found.mdp, found.policy, eta, Entropy(ALPHA))
    with_u, without = (cosine(sampled_gradient(found, u), exact) for u in (True, False))
    assert with_u >= 0.98, (with_u, without)
    assert 1.0 - with_u < 0.5 * (1.0 - without), (with_u, without)
    # The factor that the loss leaves out: the mean weight, of one step.
    unit = eta.weights(found.mdp.gamma, HORIZON).mean() * HORIZON
    ratio = np.linalg.norm(sampled_gradient(found)) * unit / np.linalg.norm(exact)
    assert ratio == pytest.approx(1.0, abs=0.15)


def test_the_second_critic_is_what_its_definition_says(learned):
    """Where the wait is likely to go on. Pairs differ by up to 0.5, the networks err by 0.05."""
    found, eta = learned
    expected = exact_u(found.mdp, found.policy, eta)
    times = [t for t in (0, 1, 2, 4, 6) if eta.tail(t) > 0.05]
    eye = jnp.repeat(jnp.eye(4), 3, axis=0)
    actions = jnp.tile(jnp.arange(3.0), 4)[:, None]
    for t in times:
        seen = found.solver.clock.at(jnp.full(12, t)).beside(eye)
        u = found.solver.plain.head.q(found.state.u_critics, seen, actions).mean(axis=0)
        assert np.asarray(u).reshape(4, 3) == pytest.approx(expected[t], abs=0.06), t
    assert np.ptp(expected[times], axis=(1, 2)).max() > 0.3


def test_without_the_second_critic_the_gradient_of_the_chain_is_wrong():
    """Errata (a): Q says stay, the criterion says go. With U the sign is right."""
    mdp, policy, eta = go_stay(0.4, 1.0, 0.0), go_stay_policy(0.6), parse_eta("geometric:0.5")
    found = learn(mdp, policy, eta, 0.05)
    exact = logit_gradient(mdp, policy, eta, Entropy(0.05))
    assert exact[0, 1] < 0 < exact[0, 0], "the criterion falls towards going"
    assert cosine(sampled_gradient(found), exact) >= 0.98
    assert cosine(sampled_gradient(found, with_u=False), exact) < 0.0
    assert cosine(discounted_gradient(found), exact) < 0.0
