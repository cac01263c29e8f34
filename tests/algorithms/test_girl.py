"""The template: one code path for MEGAN and GAIL, and a game with a known answer."""

import hashlib
from dataclasses import replace

import jax
import numpy as np
import pytest

from etairl.algorithms.girl import Expert, Girl, GirlConfig, _draw_own, girl
from etairl.buffers import EpisodeBuffer
from etairl.costs.discriminator import Discriminator, DiscriminatorConfig
from etairl.costs.shaped import ShapedCost
from etairl.eta import parse_eta
from etairl.measures import FutureSampler
from etairl.rollouts import UniformPolicy, collect
from etairl.solvers.policy import ActionScaling
from etairl.solvers.sac import SAC, SACConfig
from etairl.tasks import make_task, with_absorbing
from etairl.types import InputError

SMALL = GirlConfig(
    transitions=600,
    episodes=4,
    solver_updates=5,
    solver_batch=16,
    cost_updates=3,
    cost_batch=16,
    capacity=400,
    remaining_cycles=3,
)


def play(eta: str, config=SMALL, mode="terminating", seed=0, env="Hopper-v5", **cost):
    task = make_task(env, config.episodes, horizon=30, mode=mode, seed=seed, threads=1)
    stage = make_task(env, 5, horizon=30, seed=9)
    demos = collect(np.random.default_rng(1), stage, UniformPolicy(stage), 5)
    if mode == "absorbing":
        demos = with_absorbing(demos, 30)
    solver = SAC(SACConfig(hidden=(16, 16)), task.spec, mode == "absorbing")
    discriminator = Discriminator(DiscriminatorConfig(**cost), task.spec, mode == "absorbing")
    game = Girl(config, seed, discriminator, solver, FutureSampler(parse_eta(eta)))
    with_next = cost.get("inputs") == "state_next_state"
    expert = Expert.of(demos, ActionScaling(task.spec), with_next)
    return game, girl(game, task, expert, game.make_buffer(task), game.init(expert))


def fingerprint(cycles) -> str:
    *_, last = cycles
    leaves = jax.tree.leaves((last.state.cost, last.state.solver))
    return hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in leaves)).hexdigest()


def test_gail_is_megan_with_a_dirac_mass_bit_for_bit():
    gail, megan = (fingerprint(play(eta)[1]) for eta in ("dirac:0", "geometric:0"))
    assert gail == megan
    assert fingerprint(play("geometric:0.9")[1]) != gail


def test_one_seed_one_result():
    assert fingerprint(play("poisson:3")[1]) == fingerprint(play("poisson:3")[1])
    assert fingerprint(play("poisson:3", seed=1)[1]) != fingerprint(play("poisson:3")[1])


@pytest.mark.parametrize(
    ("inputs", "mode"),
    [
        ("state_action", "terminating"),
        ("state", "fixed"),
        ("state", "absorbing"),
        ("state_next_state", "absorbing"),
    ],
)
def test_every_input_and_horizon_mode_runs(inputs, mode):
    _, cycles = play("geometric:0.9", mode=mode, inputs=inputs)
    *_, last = cycles
    assert all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(last.state))
    assert last.state.transitions >= 600


def test_discrete_actions():
    *_, last = play("geometric:0.9", env="CartPole-v1")[1]
    assert last.state.cost.network.weights[0].shape[0] == 4 + 2


def test_negatives_come_from_the_newest_cycles_and_from_all_of_them():
    """Five cycles in memory; a quarter of each batch from the last two, the rest from all.

    2,000 draws of the rest: shares of 1/5 are good to sqrt(.16/1500) = 0.01; five times is allowed.
    """
    config = replace(SMALL, fresh_share=0.25, fresh_cycles=2, cost_batch=40, cost_updates=50)
    game, _ = play("uniform", replace(config, capacity=10_000))
    buffer = EpisodeBuffer(10_000, 11, 3)
    for cycle in range(5):
        stage = make_task("Hopper-v5", 4, horizon=10, mode="fixed", seed=cycle)
        played = collect(np.random.default_rng(cycle), stage, UniformPolicy(stage), 4)
        marked = replace(
            played,
            observations=np.full_like(played.observations, cycle),
            final_observations=np.full((4, 11), cycle, played.observations.dtype),
        )
        buffer.extend(marked, ActionScaling(stage.spec).to_solver(played.actions))
    drawn = np.asarray(_draw_own(game, np.random.default_rng(0), buffer).obs)[..., 0]
    assert set(np.unique(drawn[:, :10])) == {3.0, 4.0}
    shares = np.bincount(drawn[:, 10:].astype(int).ravel(), minlength=5) / drawn[:, 10:].size
    np.testing.assert_allclose(shares, 0.2, atol=0.05)


def test_the_policy_learns_on_the_cost_of_its_own_cycle(monkeypatch):
    """Line 7 uses the weights that line 6 has just found."""
    given, original = [], SAC.updates

    def spied(self, state, batches, key, cost, cost_state, protect):
        given.append(np.asarray(cost_state.network.weights[0]))
        return original(self, state, batches, key, cost, cost_state, protect)

    monkeypatch.setattr(SAC, "updates", spied)
    for cycle in play("dirac:0")[1]:
        np.testing.assert_array_equal(given[-1], cycle.state.cost.network.weights[0])
    assert not np.array_equal(given[0], given[1])


def test_airl_is_told_log_pi_of_the_policy_that_acted():
    """Also where observations are normalised: with the statistics from before its episodes."""
    task = make_task("Pendulum-v1", 4, horizon=30, seed=0, threads=1)
    demos = collect(np.random.default_rng(1), task, UniformPolicy(task), 4)
    expert = Expert.of(demos, ActionScaling(task.spec), with_next=True)
    solver = SAC(SACConfig(hidden=(4,), normalise=True), task.spec)
    told = []

    class Listening(ShapedCost):
        def updates(self, key, state, own, expert, log_probs=None):
            told.append((own, log_probs.own))
            return state, None

    cost = Listening(DiscriminatorConfig(hidden_d=(4,)), 0.9)
    game = Girl(replace(SMALL, transitions=240), 0, cost, solver, FutureSampler())
    before = game.init(expert)
    for cycle in girl(game, task, expert, game.make_buffer(task), game.init(expert)):
        own, found = told[-1]
        assert np.array_equal(found, solver.log_prob(before.solver, own.obs, own.act))
        later = before.solver._replace(normaliser=cycle.state.solver.normaliser)
        assert not np.allclose(found, solver.log_prob(later, own.obs, own.act), atol=1e-3)
        before = jax.tree.map(np.copy, cycle.state)
    assert len(told) == 2


def test_cost_updates_every_so_many_cycles():
    _, cycles = play("dirac:0", replace(SMALL, cost_every=3))
    updated = [cycle.cost_info is not None for cycle in cycles]
    assert updated == [index % 3 == 0 for index in range(len(updated))]
    assert len(updated) > 4


def test_two_scans_are_compiled_once(monkeypatch):
    """Sizes do not change from cycle to cycle, so nothing is compiled again."""
    _, cycles = play("geometric:0.9", mode="terminating")
    traces = []
    original = SAC.update

    def counted(self, *arguments, **options):
        traces.append(1)
        return original(self, *arguments, **options)

    monkeypatch.setattr(SAC, "update", counted)
    jax.clear_caches()
    assert len(list(cycles)) > 4
    assert len(traces) == 1


def test_the_expert_replay_repeats_demonstrations_and_forgets(rng):
    task = make_task("Pendulum-v1", 3, horizon=10, seed=0)
    demos = collect(rng, task, UniformPolicy(task), 3)
    expert = Expert.of(demos, ActionScaling(task.spec))
    short = expert.replay(seed=0, cycle=1, each=4, capacity=1_000_000)
    assert short.steps == 2 * 4 * 10
    long = expert.replay(seed=0, cycle=50, each=4, capacity=100)
    assert long.steps == 2 * 4 * 10
    assert set(long.starts) <= set(expert.episodes.starts)
    rows = long.rows(np.arange(long.steps))
    steps = expert.buffer.observations[rows].reshape(8, 10, 3)
    originals = demos.observations.reshape(3, 10, 3)
    assert all(any(np.array_equal(s, o) for o in originals) for s in steps)
    again = expert.replay(seed=0, cycle=50, each=4, capacity=100)
    assert np.array_equal(again.starts, long.starts)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"episodes": 0}, "episodes must be at least 1"), ({"fresh_share": 1.5}, "fresh_share must")],
)
def test_bad_settings(change, message):
    with pytest.raises(InputError, match=message):
        GirlConfig(**change)
