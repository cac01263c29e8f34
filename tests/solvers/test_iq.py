"""Inverse soft Q-learning, worked out by hand: targets, terms, draws, and the cost it implies."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.buffers import EpisodeBuffer
from etairl.demos import limit_cycle
from etairl.eta import Dirac
from etairl.experience import Experience, ExpertBuffer
from etairl.measures import FutureSampler
from etairl.networks import MLP, start_optimiser
from etairl.solvers.implied_cost import ImpliedCost, ImpliedState
from etairl.solvers.iq import IQ, Sides
from etairl.solvers.iq_config import IQConfig
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.solvers.solver import Batch
from etairl.types import InputError, Spec

SPEC = Spec(3, 2, (-1.0, -2.0), (1.0, 4.0))
DISCRETE = Spec(3, 1, discrete_actions=4)
update = jax.jit(IQ.update)


def make(spec=SPEC, absorbing=False, temperature=1e-12, **config):
    sac = SACConfig(hidden=(4,), gamma_rl=0.9, temperature=temperature)
    return IQ(SAC(sac, spec, absorbing), IQConfig(**config), FutureSampler())


def constant(values, inputs=5) -> MLP:
    """Two networks that say the same whatever they see: `values` [2, outputs]."""
    values = jnp.asarray(values, jnp.float32)
    return MLP((jnp.zeros((2, inputs, values.shape[1])),), (values,), "relu")


def with_critics(solver, critics, targets):
    state = solver.init(jax.random.key(0))
    optimiser = start_optimiser(solver.plain.optimiser(1.0), critics)
    return state._replace(critics=critics, targets=targets, critic_optimiser=optimiser)


def side(rng, spec, ended=0):
    discrete = spec.discrete_actions
    act = rng.integers(discrete, size=(8, 1)) if discrete else rng.uniform(-1, 1, (8, 2))
    obs, next_obs = (jnp.asarray(rng.normal(size=(8, 3)), jnp.float32) for _ in range(2))
    terminated = jnp.arange(8) < ended
    none = jnp.full(8, jnp.nan)  # no cost is ever read
    return Batch(obs, jnp.asarray(act, jnp.float32), none, next_obs, terminated.astype(float))


def sides(rng, spec=SPEC, own_ended=0, expert_ended=0, start=False):
    first = jnp.asarray(rng.normal(size=(8, 3)), jnp.float32) if start else None
    return Sides(side(rng, spec, own_ended), side(rng, spec, expert_ended), first)


def half(errors):
    return 0.5 * np.mean(np.square(errors))


@pytest.mark.parametrize("spec", [SPEC, DISCRETE])
@pytest.mark.parametrize(
    ("config", "expected"),
    [
        # Targets say 3 and 2 of what follows: 0.9 * 2 = 1.8 of it counts, plus or minus 1.
        ({}, sum(half(q - 2.8) + half(q - 0.8) for q in (1, 2))),
        ({"reward_bound": 2.0}, sum(half(q - 3.8) + half(q + 0.2) for q in (1, 2))),
        ({"expert_target": "fixed"}, sum(half(q - 10.0) + half(q - 0.8) for q in (1, 2))),
        # Critics say the same of the policy's actions, in the states of both sides.
        ({"policy_term": "value"}, sum(half(q - 2.8) + half(q - 0.8) for q in (1, 2))),
        ({"policy_term": "start"}, sum(half(q - 2.8) + 0.1 * q + half(q - 1.8) for q in (1, 2))),
    ],
)
def test_the_loss_of_the_critics(spec, config, expected, rng):
    solver, many = make(spec, **config), spec.discrete_actions or 1
    inputs = 5 if spec is SPEC else 3
    critics, targets = (constant([[a] * many, [b] * many], inputs) for a, b in ((1, 2), (3, 2)))
    drawn = sides(rng, spec, start=config.get("policy_term") == "start")
    state = with_critics(solver, critics, targets)
    _, info = update(solver, state, drawn, jax.random.key(1))
    assert float(info.critic_loss) == pytest.approx(expected, rel=1e-5)
    assert float(info.own_reward) == pytest.approx(1.5 - 1.8, rel=1e-5)
    assert float(info.expert_reward) == pytest.approx(1.5 - 1.8, rel=1e-5)
    assert float(info.actor_loss) == pytest.approx(-1.0, abs=1e-2)


def test_targets_are_bounded_and_an_early_end_is_the_worst_for_ever(rng):
    """No reward is beyond 1, so no value beyond 10; what only one side reaches has its sign."""
    solver = make()
    state = with_critics(solver, constant([[0.0], [0.0]]), constant([[50.0], [30.0]]))
    _, info = update(solver, state, sides(rng), jax.random.key(1))
    assert float(info.critic_loss) == pytest.approx(half(10.0) * 2 + half(8.0) * 2, rel=1e-5)
    drawn = sides(rng, own_ended=2, expert_ended=4)
    low = with_critics(solver, constant([[0.0], [0.0]]), constant([[-50.0], [-30.0]]))
    _, info = update(solver, low, drawn, jax.random.key(1))
    own, expert = [10.0] * 8, [10.0] * 4 + [8.0] * 4  # -1 - 9; 1 + 9 at the ends, else 1 - 9
    assert float(info.critic_loss) == pytest.approx(2 * half(own) + 2 * half(expert), rel=1e-5)
    assert float(info.own_reward) == pytest.approx(9.0, rel=1e-5)
    assert float(info.expert_reward) == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("term", ["replay", "value"])
def test_entropy_counts_in_the_world_only(term, rng):
    """With a high temperature: in the absorbing state neither target nor value has any of it."""
    solver = make(absorbing=True, temperature=5.0, policy_term=term)
    state = with_critics(solver, constant([[1.0], [1.0]]), constant([[2.0], [2.0]]))
    drawn = sides(rng)

    def absorbed(batch):
        put = (x.at[:, -1].set(1.0) for x in (batch.obs, batch.next_obs))
        return batch._replace(**dict(zip(("obs", "next_obs"), put, strict=True)))

    ended = Sides(absorbed(drawn.own), absorbed(drawn.expert), None)
    _, info = update(solver, state, ended, jax.random.key(1))
    assert float(info.critic_loss) == pytest.approx(2 * half(1 - 2.8) + 2 * half(1 - 0.8), rel=1e-5)
    _, info = update(solver, state, drawn, jax.random.key(1))
    assert float(info.critic_loss) != pytest.approx(2 * half(1 - 2.8) + 2 * half(1 - 0.8), rel=0.1)


def test_the_actor_learns_in_the_states_of_both_sides(rng):
    """Where either side changes, so does the gradient; the cost is never asked."""
    solver = make(temperature=0.1)
    drawn, other = sides(rng), sides(rng)
    state, key = solver.init(jax.random.key(0)), jax.random.key(1)
    first, own, theirs = (
        update(solver, state, s, key)[0].actor.weights[0]
        for s in (drawn, drawn._replace(own=other.own), drawn._replace(expert=other.expert))
    )
    assert not np.array_equal(first, own)
    assert not np.array_equal(first, theirs)


@pytest.mark.parametrize(("eta", "gamma_irl"), [(Dirac(0), 1.0), (Dirac(3), 0.0)])
def test_draws_have_the_time_weights_of_the_run(eta, gamma_irl):
    demos = limit_cycle(np.random.default_rng(1), episodes=4, length=10, period=5.0).trajectories
    expert = ExpertBuffer.of(demos, demos.actions)
    own = EpisodeBuffer(200, demos.obs_dim, demos.act_dim)
    own.extend(replace(demos, observations=demos.observations + 100), demos.actions)
    spec = Spec(demos.obs_dim, demos.act_dim)
    play = OffPolicy(solver_updates=2, solver_batch=50)
    solver = IQ(
        SAC(SACConfig(hidden=(4,)), spec, play=play),
        IQConfig(policy_term="start"),
        FutureSampler(eta, gamma_irl, "exact"),
    )
    rng, data = np.random.default_rng(0), Experience(own, own.newest(), expert, 0)
    (drawn,) = solver.draw(rng, data).batches
    assert drawn.own.obs.shape == drawn.expert.obs.shape == drawn.start.shape
    first = {tuple(row) for row in demos.observations[demos.times == eta.k]}
    after = {tuple(row) for row in demos.observations[demos.times == eta.k + 1]}
    assert {tuple(row) for row in np.asarray(drawn.start).reshape(-1, demos.obs_dim)} <= first
    for batch, shift in ((drawn.expert, 0.0), (drawn.own, 100.0)):
        seen = np.asarray(batch.obs).reshape(-1, demos.obs_dim) - shift
        whole = len({tuple(np.round(row, 3)) for row in seen})
        assert whole > len(first) if gamma_irl else whole <= len(first)
    if not gamma_irl:
        following = np.asarray(drawn.expert.next_obs).reshape(-1, demos.obs_dim)
        assert {tuple(row) for row in following} <= after


@pytest.mark.parametrize("spec", [SPEC, DISCRETE])
def test_the_implied_cost_is_that_of_which_the_critic_is_the_value(spec, rng):
    solver, many = make(spec, temperature=0.5), spec.discrete_actions or 1
    inputs = 5 if spec is SPEC else 3
    state = solver.init(jax.random.key(0))._replace(critics=constant([[3.0] * many] * 2, inputs))
    cost = solver.implied_cost()
    read = cost.learned(None, state)
    batch = side(rng, spec)
    found = cost(read, batch.obs, batch.act, batch.next_obs)
    keys = jax.random.split(jax.random.key(0), 8)
    penalty = np.mean(
        [
            [
                solver.plain.head.choose(k, state.actor, state.critics, row[None]).penalty[0]
                for row in batch.next_obs
            ]
            for k in keys
        ],
        axis=0,
    )
    assert np.asarray(found) == pytest.approx(0.9 * (3.0 - 0.5 * penalty) - 3.0, rel=1e-4)
    order = rng.permutation(8)
    again = cost(read, *(x[order] for x in (batch.obs, batch.act, batch.next_obs)))
    assert np.asarray(again) == pytest.approx(np.asarray(found)[order], rel=1e-5)
    assert cost.needs_next
    assert not cost.learns
    assert isinstance(cost, ImpliedCost)
    assert isinstance(read, ImpliedState)


def test_settings_that_make_no_sense(unchecked):
    with pytest.raises(InputError, match="reward_bound must be > 0"):
        IQConfig(reward_bound=0.0)
    with pytest.raises(InputError, match="policy_term must be one of replay, value, start"):
        IQConfig(policy_term="other")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="expert_target must be one of bootstrap, fixed"):
        IQConfig(expert_target="none")  # pyright: ignore[reportArgumentType]
