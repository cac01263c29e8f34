"""The sampled cost players of EMMA and WIEM against exact occupancies of small MDPs."""

from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import TablePolicy, registered

from etairl.costs.family import Points, View
from etairl.costs.linear import LinearConfig, LinearCost
from etairl.eta import Geometric, parse_eta
from etairl.evaluation.explanation import clustered_means, weighted_means
from etairl.experience import ExpertBuffer
from etairl.measures import EpisodeChoice, FutureSampler, Method
from etairl.penalties import Ball, Simplex
from etairl.rollouts import collect
from etairl.solvers.policy import ActionScaling
from etairl.tabular import LinearCosts, mu, random_mdp, random_policy
from etairl.tasks import make_task
from etairl.types import Spec

GAMMA, ETA, HORIZON, EPISODES = 0.6, Geometric(0.5), 30, 1500
SAMPLER = FutureSampler(ETA, GAMMA, "exact")
SHAPE = (40, 5000)


@pytest.fixture(scope="module")
def world():
    """Two behaviours of a random MDP: tables, episodes, and a table of features."""
    rng = np.random.default_rng(3)
    mdp = random_mdp(rng, states=4, actions=2, gamma=GAMMA)
    tables = [random_policy(rng, mdp) for _ in range(2)]
    played = []
    with registered(mdp) as name:
        for seed, table in enumerate(tables):
            task = make_task(name, 100, horizon=HORIZON, seed=seed)
            rng_played = np.random.default_rng(seed)
            played.append(collect(rng_played, task, TablePolicy(table), EPISODES))
    return mdp, tables, played, rng.normal(size=(4, 2, 3))


def exact_difference(world) -> np.ndarray:
    """Of normalised occupancies; what lies beyond the horizon weighs less than 1e-4."""
    mdp, tables, _, features = world
    own, expert = (mu(mdp, table, ETA).values for table in tables)
    return (1 - GAMMA) * LinearCosts(features, Ball()).difference(own, expert)


def draws(trajectories, seed) -> Points:
    scaling = ActionScaling(Spec(4, 1, discrete_actions=2))
    held = ExpertBuffer.of(trajectories, scaling.to_solver(trajectories.actions))
    rows = SAMPLER.rows(np.random.default_rng(seed), held.episodes.offsets, SHAPE[0] * SHAPE[1])
    t = held.buffer.transitions(held.episodes.rows(rows), SHAPE)
    return Points(*map(jnp.asarray, (t.observations, t.actions, t.next_observations)))


@pytest.fixture
def features_module(world, tmp_path, monkeypatch) -> str:
    text = f"import jax.numpy as jnp\nTABLE = jnp.asarray({world[3].tolist()})\n"
    text += "def table(obs, act):\n"
    text += "    return TABLE[obs.argmax(axis=-1), act[..., 0].astype(int)]\n"
    (tmp_path / "exact_features.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "exact_features", raising=False)
    return "exact_features:table"


def standard_errors(world) -> np.ndarray:
    """Of the raw differences: over episodes, and of the draws on top."""
    _, _, played, features = world
    parts = []
    for t in played:
        values = features[t.observations.argmax(axis=1), t.actions[:, 0]]
        parts.append(
            weighted_means(values, t.offsets, SAMPLER)[1] ** 2 + values.var(axis=0) / np.prod(SHAPE)
        )
    return np.sqrt(sum(parts))


def test_gaps_of_whole_episodes_are_the_exact_ones_within_their_errors(world):
    _, _, played, features = world
    means = []
    for t in played:
        values = features[t.observations.argmax(axis=1), t.actions[:, 0]]
        means.append(weighted_means(values, t.offsets, SAMPLER))
    gap = means[0][0] - means[1][0]
    error = np.hypot(means[0][1], means[1][1])
    assert (np.abs(gap - exact_difference(world)) < 4.0 * error).all()
    assert (error < 0.03).all()


def test_emma_sees_the_exact_gap(world, features_module):
    cost = LinearCost(
        LinearConfig(features=features_module, cost_rate=1.0),
        View(Spec(4, 1, discrete_actions=2)),
        Ball(),
    )
    own, expert = (draws(t, seed) for seed, t in enumerate(world[2]))
    state = cost.init(jax.random.key(0), Points(*(x.reshape(-1, x.shape[-1]) for x in expert)))
    state, info = cost.updates(jax.random.key(0), state, own, expert)
    scale = np.asarray(state.features.scale, np.float64)
    exact = exact_difference(world) / scale
    tolerance = 4.0 * np.linalg.norm(standard_errors(world) / scale)
    assert float(info.gap) == pytest.approx(np.linalg.norm(exact), abs=tolerance)
    assert tolerance < 0.4 * np.linalg.norm(exact)
    direction = exact / np.linalg.norm(exact)
    off = np.linalg.norm(np.asarray(state.weights) - direction)
    assert off < 2 * tolerance / np.linalg.norm(exact)


@pytest.mark.parametrize("both", [True, False])
def test_wiem_finds_the_worst_feature(world, features_module, both):
    config = LinearConfig("simplex", features=features_module, both_signs=both, cost_rate=1.0)
    cost = LinearCost(config, View(Spec(4, 1, discrete_actions=2)), Simplex())
    own, expert = (draws(t, seed) for seed, t in enumerate(world[2]))
    state = cost.init(jax.random.key(0), Points(*(x.reshape(-1, x.shape[-1]) for x in expert)))
    state, info = cost.updates(jax.random.key(0), state, own, expert)
    scale = np.asarray(state.features.scale, np.float64)
    exact = exact_difference(world) / scale
    errors = standard_errors(world) / scale
    exact, errors = (
        (np.concatenate([exact, -exact]), np.tile(errors, 2)) if both else (exact, errors)
    )
    worst = int(np.argmax(exact))
    runner_up = np.sort(exact)[-2]
    assert exact[worst] - runner_up > 4.0 * errors.max(), "choose a world with a clear answer"
    assert np.asarray(state.weights).tolist() == np.eye(len(exact))[worst].tolist()
    assert float(info.gap) == pytest.approx(exact[worst], abs=4.0 * errors[worst])


@pytest.mark.parametrize("choice", get_args(EpisodeChoice))
@pytest.mark.parametrize("method", get_args(Method))
def test_means_are_those_of_what_the_sampler_draws(method, choice):
    """Three episodes, one too short for the law; 10^5 draws, within 5 standard errors."""
    sampler = FutureSampler(parse_eta("table:0,0.5,0.5"), 0.8, method, choice)
    offsets = np.array([0, 1, 5, 12])
    found, _ = weighted_means(np.eye(12), offsets, sampler)
    rows = sampler.rows(np.random.default_rng(0), offsets, 100_000)
    drawn = np.bincount(rows, minlength=12) / 100_000
    assert (np.abs(found - drawn) <= 5.0 * np.sqrt(found * (1.0 - found) / 100_000)).all()
    assert found[:2].tolist() == [0.0, 0.0]


def test_standard_errors_by_hand():
    """Two episodes, of two steps and of one, whose step weighs double."""
    values, weights = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 1.0, 2.0])
    mean, error = clustered_means(values, weights, np.array([0, 2]))
    assert mean == pytest.approx([9 / 4])
    first, second = (1 - 9 / 4) + (2 - 9 / 4), 2 * (3 - 9 / 4)
    assert error == pytest.approx([np.sqrt((first**2 + second**2) * 2) / 4])


def test_one_episode_has_no_standard_error(rng):
    values, weights = rng.normal(size=(20, 3)), rng.random(20)
    mean, error = clustered_means(values, weights, np.array([0]))
    assert mean == pytest.approx(weights @ values / weights.sum())
    assert np.isnan(error).all()
