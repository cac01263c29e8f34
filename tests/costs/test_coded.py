"""s-GAIL: codes that the discriminator does not see, and walks to two places that nobody names."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from etairl.algorithms.girl import girl
from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.coded import CodedConfig, CodedCost
from etairl.costs.discriminator import GanConfig
from etairl.costs.family import Points
from etairl.demos import Demos, save_demos
from etairl.eta import Dirac
from etairl.experience import World
from etairl.measures import FutureSampler
from etairl.regularisers import Entropy
from etairl.rollouts import collect
from etairl.tasks import catalogue, make_task, planned_expert, register_tasks, task_space
from etairl.tasks.codes import Codes, without_tasks
from etairl.tasks.navigation_world import NAVIGATION as NAME
from etairl.training.flat import configure
from etairl.training.preparation import prepare
from etairl.types import InputError, Spec

PLACES = ((8.0, 0.5), (-8.5, -0.5))
KEY = jax.random.key(0)


def make(codes: int, **settings) -> CodedCost:
    pairs = GanConfig(network=DiscriminatorConfig(hidden_d=(16,), lr_d=1e-2))
    spec = Spec(4, 1, (-1.0,), (1.0,))
    world = World(spec, False, 20, Dirac(0), Entropy(), 0.9, FutureSampler(Dirac(0)))
    return CodedConfig(codes=codes, pairs=pairs, **settings).make(world)


def rows(codes):
    rng = np.random.default_rng(0)
    obs = np.concatenate([rng.normal(size=(60, 2)), np.eye(2)[codes]], axis=1)
    obs, act = jnp.asarray(obs, jnp.float32), jnp.asarray(rng.normal(size=(60, 1)), jnp.float32)
    return Points(obs, act, obs)


def test_codes_change_nothing_but_the_part_of_the_posterior():
    cost, seen = make(2, code_weight=0.5), rows(np.arange(60) % 2)
    state = cost.init(KEY, seen)
    plain, codes = cost._split(seen)
    assert (plain.obs.shape, codes.shape) == ((60, 2), (60, 2))
    told = np.asarray(cost.log_posterior(state, plain))
    assert np.exp(told).sum(axis=1) == pytest.approx(np.ones(60), abs=1e-5)
    right = told[np.arange(60), np.arange(60) % 2]
    expected = np.asarray(cost.pairs(state.pairs, *plain)) - 0.5 * (right + np.log(2.0))
    assert np.asarray(cost(state, *seen)) == pytest.approx(expected, abs=1e-5)
    other = cost(state, *rows(1 - np.arange(60) % 2))
    swapped = told[np.arange(60), 1 - np.arange(60) % 2]
    assert np.asarray(other - cost(state, *seen)) == pytest.approx(
        0.5 * (right - swapped), abs=1e-5
    )


def test_where_tasks_are_given_it_is_gail():
    cost, seen = make(0), rows(np.arange(60) % 2)
    state = cost.init(KEY, seen)
    gail = cost.pairs
    many = Points(*(jnp.broadcast_to(x, (5, *x.shape)) for x in seen))
    shifted = many._replace(act=many.act + 1.0)
    one, info = cost.updates(KEY, state, many, shifted, lambda obs, act: act)
    two, _ = gail.updates(KEY, gail.init(KEY, seen), many, shifted)
    assert np.array_equal(cost(one, *seen), gail(two, *seen))
    assert float(info.code_loss) == 0.0
    assert cost.never_positive
    assert not make(2).never_positive


def test_the_posterior_learns_what_tells_the_codes():
    cost = make(2)
    seen = rows(np.arange(60) % 2)
    seen = seen._replace(act=2.0 * seen.obs[:, 3:] - 1.0)
    state = cost.init(KEY, seen)
    many = Points(*(jnp.broadcast_to(x, (200, *x.shape)) for x in seen))
    state, _ = cost.updates(KEY, state, many, many, lambda obs, act: act)
    state, info = cost.updates(KEY, state, many, many, lambda obs, act: act)
    assert float(info.code_loss) < 0.05
    assert float(info.gan_loss) == pytest.approx(2 * np.log(2), abs=0.05), "codes are not seen"


def test_refusals():
    with pytest.raises(InputError, match="the last 2 columns of the demonstrations are no codes"):
        make(2).init(KEY, rows(np.arange(60) % 2)._replace(obs=jnp.ones((60, 4))))
    with pytest.raises(InputError, match="4 codes leave no column of the observation"):
        make(4)
    with pytest.raises(InputError, match="a single code says nothing"):
        CodedConfig(codes=1)
    goals = task_space(NAME)
    with pytest.raises(InputError, match="hidden tasks need at least 2 codes"):
        Codes(1, goals, PLACES)
    with pytest.raises(InputError, match="a code has a single 1 and 2 zeros"):
        Codes(3, goals, PLACES).check(np.ones((1, 3)))


class NoisyPlanner:
    """The planner with noise, as the bundled demonstrations have it."""

    def __init__(self):
        self.planner, self.rng = planned_expert(NAME), np.random.default_rng(0)

    def __call__(self, rng, seen):
        noise = 0.1 * self.rng.standard_normal((len(seen), 2))
        return np.clip(self.planner(rng, seen) + noise, -1.0, 1.0).astype(np.float32)


@pytest.fixture
def walks(monkeypatch):
    """Walks to two places, and the map with codes for tasks."""
    task = make_task(NAME, 40, horizon=30, seed=3)
    task.assign(np.repeat(np.array(PLACES), 20, axis=0))
    played = collect(np.random.default_rng(0), task, NoisyPlanner(), 40)
    monkeypatch.setattr(catalogue, "_ENTRIES", dict(catalogue._ENTRIES))
    register_tasks(NAME, Codes(2, task_space(NAME), PLACES))
    return played


def settings(folder, hidden, transitions):
    spec = make_task(NAME, 2, horizon=30).spec
    save_demos(Demos.of(hidden, spec, "walks"), folder / "walks.npz")
    sizes = {"hidden": (32, 32), "hidden_d": (32, 32), "episodes": 20, "minibatch": 100}
    rates = {"lr_d": 1e-3, "learning_rate": 1e-3, "first_std": 1.0, "gamma_rl": 0.9}
    updates = {"cost_updates": 20, "cost_batch": 128, "transitions": transitions, "horizon": 30}
    world = {"env": NAME, "demos": str(folder / "walks.npz"), "demonstrations": None}
    chosen = {"algorithm": "sgail", "codes": 2}
    return configure("default", **chosen, **world, **sizes, **rates, **updates)


def play(config):
    prepared = prepare(config, threads=1)
    state, buffer = prepared.begin(), prepared.make_buffer()
    cycles = list(girl(prepared.game, prepared.task, prepared.expert, buffer, state))
    return prepared, cycles


def test_demonstrations_lose_their_tasks(walks, tmp_path):
    hidden = without_tasks(walks, 2)
    assert hidden.obs_dim == 8
    assert hidden.tasks.shape == (40, 2)
    assert np.array_equal(hidden.observations[:, :6], walks.observations[:, :6])
    assert np.array_equal(hidden.observations[:, 6:], hidden.tasks[hidden.episode_numbers])
    told = np.abs(np.corrcoef(hidden.tasks[:, 0], np.repeat([0, 1], 20))[0, 1])
    assert told < 0.35, "codes mean nothing"
    prepared, cycles = play(settings(tmp_path, hidden, 1200))
    last = cycles[-1]
    assert np.isfinite(float(last.cost_info.code_loss))
    assert prepared.task.success(walks.observations[walks.last_rows]).mean() > 0.5
    with pytest.raises(InputError, match="have no tasks that could be left out"):
        without_tasks(replace(hidden, tasks=None), 2)


@pytest.mark.slow
def test_each_code_finds_a_task_that_was_never_named(walks, tmp_path):
    """100,000 steps: a code leads to each place, and the posterior tells which walk goes where.

    Of 40 walks 34 were told right with a code weight of 0.3, and all of them with 1.
    """
    hidden = without_tasks(walks, 2)
    prepared, cycles = play(settings(tmp_path, hidden, 100_000))
    near, codes = [], []
    for cycle in cycles[-20:]:
        played = cycle.rolled_out
        codes.append(played.tasks.argmax(axis=1))
        near.append(prepared.task.space.distances(played.final_observations[:, :6]).argmin(axis=1))
    agree = (np.concatenate(codes) == np.concatenate(near)).mean()
    assert max(agree, 1.0 - agree) > 0.85
    seen, act = jnp.asarray(hidden.observations[:, :6]), jnp.asarray(hidden.actions)
    plain = Points(seen, act, seen)
    told = np.asarray(prepared.game.cost.log_posterior(cycles[-1].state.cost, plain))
    of_walk = np.stack([told[hidden.episode_numbers == walk].sum(axis=0) for walk in range(40)])
    right = (of_walk.argmax(axis=1) == np.repeat([0, 1], 20)).mean()
    assert max(right, 1.0 - right) > 0.85
