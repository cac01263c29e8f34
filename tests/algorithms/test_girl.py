"""The template: one code path for MEGAN and GAIL, and a game with a known answer."""

import hashlib
from dataclasses import dataclass, replace

import jax
import numpy as np
import pytest

from etairl.algorithms.girl import Girl, GirlConfig, _draw_own, girl
from etairl.buffers import EpisodeBuffer
from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.discriminator import Discriminator, GanConfig
from etairl.costs.family import View
from etairl.costs.shaped import ShapedConfig, ShapedCost
from etairl.eta import parse_eta
from etairl.experience import Experience, ExpertBuffer
from etairl.hyper import traced
from etairl.measures import FutureSampler
from etairl.rollouts import UniformPolicy, collect
from etairl.solvers.policy import ActionScaling
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.tasks import make_task, with_absorbing
from etairl.types import InputError

SMALL = GirlConfig(
    transitions=600,
    episodes=4,
    cost_updates=3,
    cost_batch=16,
    capacity=400,
    remaining_cycles=3,
)


PLAY = OffPolicy(solver_updates=5, solver_batch=16)


def held(task, demos, with_next=False) -> ExpertBuffer:
    return ExpertBuffer.of(demos, ActionScaling(task.spec).to_solver(demos.actions), with_next)


def play(
    eta: str, config=SMALL, mode="terminating", seed=0, env="Hopper-v5", inputs="state_action"
):
    task = make_task(env, config.episodes, horizon=30, mode=mode, seed=seed, threads=1)
    stage = make_task(env, 5, horizon=30, seed=9)
    demos = collect(np.random.default_rng(1), stage, UniformPolicy(stage), 5)
    demos = with_absorbing(demos, task)
    absorbing = mode == "absorbing"
    solver = SAC(SACConfig(hidden=(16, 16)), task.spec, absorbing, play=PLAY)
    cost = Discriminator(GanConfig(inputs), View(task.spec, inputs, absorbing))
    game = Girl(config, seed, cost, solver, FutureSampler(parse_eta(eta)))
    expert = held(task, demos, cost.needs_next)
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


def test_only_steps_in_the_world_count_as_transitions():
    """By hand: rows of each cycle, and where the buffer has them."""
    config = replace(SMALL, transitions=400, capacity=10_000)
    task = make_task("Hopper-v5", 4, horizon=30, mode="absorbing", threads=1)
    game, cycles = play("geometric:0.9", config, mode="absorbing")
    buffer = game.make_buffer(task)
    in_world, rows, episodes, loops = 0, 0, 0, 0
    for cycle in cycles:
        t = cycle.rolled_out
        buffer.extend(t, t.actions)
        gone = t.observations[:, -1] == 1.0
        in_world += int((~gone).sum())
        loops += int(gone.sum())
        rows, episodes = rows + t.steps, episodes + len(t)
        for i in range(len(t)):
            here = gone[t.offsets[i] : t.offsets[i + 1]]
            assert here[:-1].sum() == 0
            assert here[-1] == (len(here) <= 30 and t.final_observations[i, -1] == 1.0)
        assert cycle.state.transitions == in_world
    assert 400 <= in_world < 400 + 4 * 30
    assert 0 < loops <= episodes
    assert rows == in_world + loops
    every = buffer.newest()
    drawn = buffer.transitions(every.rows(np.arange(every.steps)), (every.steps,))
    absorbed = drawn.observations[:, -1] == 1.0
    assert absorbed.sum() == loops
    assert np.array_equal(drawn.next_observations[absorbed], drawn.observations[absorbed])
    assert not drawn.actions[absorbed].any()
    assert not drawn.terminated.any()
    # An end is a step into the absorbing state, and nothing but a self-loop leads out of it.
    assert (drawn.next_observations[~absorbed, -1] == 1.0).sum() >= loops


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
    data = Experience(buffer, buffer.newest(rows=game.config.capacity), None, 5)
    drawn = np.asarray(
        _draw_own(game, np.random.default_rng(0), data, game.config.cost_updates).obs
    )[..., 0]
    assert set(np.unique(drawn[:, :10])) == {3.0, 4.0}
    shares = np.bincount(drawn[:, 10:].astype(int).ravel(), minlength=5) / drawn[:, 10:].size
    np.testing.assert_allclose(shares, 0.2, atol=0.05)


def test_the_policy_learns_on_the_cost_of_its_own_cycle(monkeypatch):
    """Line 7 uses the weights that line 6 has just found."""
    given, original = [], SAC.updates

    def spied(self, key, state, drawn, cost, cost_state):
        given.append(np.asarray(cost_state.network.weights[0]))
        return original(self, key, state, drawn, cost, cost_state)

    monkeypatch.setattr(SAC, "updates", spied)
    for cycle in play("dirac:0")[1]:
        np.testing.assert_array_equal(given[-1], cycle.state.cost.network.weights[0])
    assert not np.array_equal(given[0], given[1])


def test_airl_is_told_log_pi_of_the_policy_that_acted():
    """Also where observations are normalised: with the statistics from before its episodes."""
    task = make_task("Pendulum-v1", 4, horizon=30, seed=0, threads=1)
    demos = collect(np.random.default_rng(1), task, UniformPolicy(task), 4)
    expert = held(task, demos, with_next=True)
    solver = SAC(SACConfig(hidden=(4,), normalise="running"), task.spec, play=PLAY)
    told = []

    @traced
    @dataclass(frozen=True)
    class Listening(ShapedCost):
        def updates(self, key, state, own, expert, log_prob):
            told.append((own, log_prob(own.obs, own.act)))
            return state, None

    cost = Listening(ShapedConfig(DiscriminatorConfig(hidden_d=(4,))), 0.9)
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
    expert = held(task, demos)
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


def test_players_that_cannot_be_compiled_are_refused():
    """Settings that are no PyTree would be an error in the middle of the first cycle."""
    game, _ = play("dirac:0")

    class Cost(Discriminator):
        pass

    class Solver(SAC):
        pass

    with pytest.raises(InputError, match="Cost takes part in compiled programs: put @traced"):
        replace(game, cost=Cost(game.cost.config, game.cost.view))
    with pytest.raises(InputError, match="Solver takes part in compiled programs: put @traced"):
        replace(game, solver=Solver(game.solver.config, game.solver.spec))
