"""The demonstrations in the box: loadable by name, as good as their cards say."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from etairl.demos import bundled_demos, find_demos, load_demos
from etairl.demos.sources import BUNDLED
from etairl.rollouts import collect
from etairl.tasks import make_task
from etairl.tasks.fetch import GRIPPER
from etairl.training.config_files import expert_config
from etairl.training.experts import load_expert
from etairl.types import InputError

LEAST = {
    "Pendulum-v1": -200.0,
    "Hopper-v5": 1600.0,
    "HalfCheetah-v5": 3500.0,
    "Ant-v5": 1800.0,
    "etairl/Navigation-v0": -100.0,
    "etairl/ShiftedNavigation-v0": -120.0,
    "etairl/Fork-v0": 100.0,
    "FetchReach-v4": -1.0,
}


# Name: episodes and steps of each. A new one is one line here, and its name above.
SHIPPED = {
    "Pendulum-v1": [(25, 200)],
    "Hopper-v5": [(25, 500), (5, 1000)],
    "HalfCheetah-v5": [(25, 500), (5, 1000)],
    "Ant-v5": [(25, 500), (5, 1000)],
}


# Recorded by planners: there are no weights, and the tasks are many.
PLANNED = {
    "etairl/Navigation-v0": (300, 50),
    "etairl/ShiftedNavigation-v0": (100, 50),
    "FetchReach-v4": (200, 100),
}


def card_of(name: str) -> dict:
    return json.loads((BUNDLED / f"{name}.json").read_text())


LEARNED = [name for name in bundled_demos() if card_of(name)["training"] is not None]


def test_what_is_promised_is_there():
    for environment, sizes in SHIPPED.items():
        for episodes, steps in sizes:
            t = load_demos(f"{environment}-{episodes}x{steps}").trajectories
            # Every episode is whole; the card says how many the world ended before.
            ended = card_of(f"{environment}-{episodes}x{steps}")["terminated"]
            assert len(t) == episodes
            assert (t.lengths == steps).sum() == episodes - ended
            assert ended <= (environment == "Hopper-v5")
        weights = BUNDLED / f"{environment}-policy.safetensors"
        assert weights.stat().st_size < 2**20


@pytest.mark.parametrize("name", LEARNED)
def test_cards_hold_settings_that_can_be_used(name):
    card = card_of(name)
    config = expert_config(card["training"], BUNDLED / f"{name}.json")
    assert config.env == card["environment"]
    assert asdict(config) | {"sac": None} == card["training"] | {"sac": None}


@pytest.mark.parametrize("environment", SHIPPED)
def test_shipped_policies_are_those_that_recorded(environment):
    """Played again from the same seeds, byte for byte on the machine that recorded them."""
    episodes, steps = SHIPPED[environment][-1]
    recorded = load_demos(f"{environment}-{episodes}x{steps}").trajectories
    policy = load_expert(environment)
    assert policy(None, recorded.observations) == pytest.approx(recorded.actions, abs=1e-4)
    task = make_task(environment, episodes, horizon=steps, seed=1_000_003)
    played = collect(np.random.default_rng(0), task, policy, episodes, stochastic=False)
    first, shown = played.offsets[:-1], recorded.offsets[:-1]
    assert np.array_equal(played.observations[first], recorded.observations[shown])
    assert played.returns.mean() == pytest.approx(recorded.returns.mean(), rel=0.05)


@pytest.mark.parametrize("environment", ["Hopper-v5", "HalfCheetah-v5", "Ant-v5"])
def test_the_same_experts_were_recorded_with_drawn_actions(environment):
    """The noise of the actions has the size of the policy's own, where nothing is at a bound."""
    name = f"{environment}-drawn-20x1000"
    t, policy = load_demos(name).trajectories, load_expert(environment)
    assert len(t) == 20
    assert t.lengths.max() == 1000
    assert "--stochastic" in card_of(name)["command"]
    rng = np.random.default_rng(0)
    drawn, greedy = policy(rng, t.observations), policy(None, t.observations)
    inner = (np.abs(greedy) < 0.5).all(axis=1)
    noise, own = ((x - greedy)[inner] for x in (t.actions, drawn))
    # Both are of one law; the relative error of a variance of n rows is about sqrt(2 / n).
    tolerance = 5 * np.sqrt(2 * 2 / inner.sum())
    assert noise.var(axis=0) == pytest.approx(own.var(axis=0), rel=tolerance)


@pytest.mark.parametrize("environment", PLANNED)
def test_planners_recorded_many_tasks(environment):
    """At least 90 different ones, from the law of training, all solved, starts anywhere."""
    episodes, steps = PLANNED[environment]
    name = f"{environment.replace('/', '-')}-{episodes}x{steps}"
    t = load_demos(name).trajectories
    assert t.lengths.tolist() == [steps] * episodes
    assert len(np.unique(t.tasks, axis=0)) == episodes >= 90
    task = make_task(environment, 1)
    assert np.array_equal(t.observations[:, -task.space.dim :], t.tasks[t.episode_numbers])
    assert task.success(t.final_observations).all()
    assert card_of(name)["success"] == 1.0
    assert "--planner" in card_of(name)["command"]
    if environment == "FetchReach-v4":
        far = np.linalg.norm(t.tasks - GRIPPER, axis=1)
        assert 0.0499 < far.min() < far.max() < 0.1001
    # Means of the noise in the actions around the planner's; 5 standard errors of 0.1 each.
    noise = t.actions - load_expert(environment)(None, t.observations)
    kept = (np.abs(t.actions) < 0.5).all(axis=1)  # where nothing was clipped
    assert np.abs(noise[kept].mean(axis=0)).max() < 5 * 0.1 / np.sqrt(kept.sum())
    assert noise[kept].std() == pytest.approx(0.1, rel=0.02)


def test_an_expert_that_is_not_there():
    with pytest.raises(InputError, match=r"no expert Hoper-v5: .*Pendulum-v1"):
        load_expert("Hoper-v5")


def test_there_are_some(tmp_path, minari_folder):
    assert bundled_demos()
    assert find_demos(tmp_path) == bundled_demos()


@pytest.mark.parametrize("name", bundled_demos())
def test_files_and_cards_agree(name):
    demos = load_demos(name)
    t = demos.trajectories
    card = card_of(name)
    assert card["return_mean"] == pytest.approx(t.returns.mean(), rel=1e-5)
    assert card["episodes"] == len(t)
    assert card["environment"] == demos.spec.environment
    assert {"command", "training", "versions"} <= card.keys()
    assert demos.clipped == 0
    assert (BUNDLED / f"{name}.npz").stat().st_size < 3 * 2**20
    first = np.add.reduceat(
        np.where(np.arange(t.steps) - t.offsets[t.episode_numbers] < 500, t.rewards, 0.0),
        t.offsets[:-1],
    )
    least = LEAST[demos.spec.environment]
    assert first.mean() > (0.9 if card["playing"] == "drawn" and least > 0 else 1.0) * least
    assert card["playing"] == demos.playing


def test_a_name_with_a_typo():
    with pytest.raises(InputError, match=f"did you mean {bundled_demos()[0]}"):
        load_demos(bundled_demos()[0] + "0")
    with pytest.raises(InputError, match="did you mean Pendulum-v1-25x200"):
        load_demos("Pendulm-v1-25x200")
    with pytest.raises(
        InputError, match=r"no such file: Nothing-v5-25x500; name a file by its path"
    ):
        load_demos("Nothing-v5-25x500")  # not those of another environment
