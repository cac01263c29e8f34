"""Drawn or greedy: said by the file, or guessed from the data."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from etairl.demos import Demos, Selection, bundled_demos, load_demos, save_demos
from etairl.demos.action_kind import playing_of
from etairl.types import InputError, Spec


@pytest.mark.parametrize("name", bundled_demos())
def test_the_guess_is_what_the_file_says(name):
    demos = load_demos(name)
    assert playing_of(demos) == (demos.playing, False)
    assert playing_of(replace(demos, playing=None)) == (demos.playing, True)


@pytest.mark.parametrize(
    ("name", "playing"),
    [
        ("Hopper-v4-berkeley-policy", "greedy"),
        ("HalfCheetah-v4-xinjinghao-td3-policy", "greedy"),
        ("Ant-v4-berkeley-policy", "greedy"),
        ("LunarLander-v3-dlr-ppo-policy", "greedy"),
        ("CartPole-v1-humancompatibleai", "drawn"),
        ("Pendulum-v1-humancompatibleai", "drawn"),
    ],
)
def test_demonstrations_of_others(third_party: Path, name: str, playing: str):
    assert playing_of(load_demos(third_party / f"{name}.npz")) == (playing, True)


def test_constant_actions_are_greedy(demos):
    t = demos.trajectories
    constant = replace(demos, trajectories=replace(t, actions=np.zeros_like(t.actions)))
    assert playing_of(constant) == ("greedy", True)


def test_the_file_keeps_it_and_refuses_other_words(tmp_path, demos):
    file = tmp_path / "a.npz"
    save_demos(replace(demos, playing="drawn"), file)
    assert load_demos(file).playing == "drawn"
    arrays = dict(np.load(file))
    np.savez(file, **{**arrays, "playing": np.array("sometimes")})
    with pytest.raises(InputError, match="playing must be drawn or greedy, it is 'sometimes'"):
        load_demos(file)


@pytest.mark.parametrize("name", ["Hopper-v5-drawn-20x1000", "Hopper-v5-25x500"])
@pytest.mark.parametrize("wobble", [0.0, 1e-7])
def test_episodes_that_are_there_twice_do_not_change_the_guess(name, wobble):
    """A copy has the same action in the same state, whoever played; also one that was rounded."""
    demos = load_demos(name, select=Selection(episodes=6))
    twice = demos.trajectories.take(np.tile(np.arange(6), 2))
    moved = twice.observations * (1 + wobble * np.arange(twice.steps)[:, None] / twice.steps)
    t = replace(twice, observations=moved.astype(np.float32))
    assert playing_of(replace(demos, trajectories=t, playing=None)) == (demos.playing, True)


@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("discrete", [True, False])
def test_a_few_states_that_come_back_again_and_again(demos, rng, drawn, discrete):
    """Of many equal states, a step is not its own neighbour."""
    t = demos.trajectories
    place = rng.integers(12, size=t.steps)
    states = np.eye(12, t.obs_dim)[place] + place[:, None]
    chosen = (place + (rng.integers(3, size=t.steps) if drawn else 0)) % 3
    actions = chosen[:, None] if discrete else np.tanh(chosen[:, None] - 1.0)
    if drawn and not discrete:
        actions = actions + 0.3 * rng.normal(size=actions.shape)
    spec = Spec(t.obs_dim, 1, discrete_actions=3 if discrete else None)
    repeated = replace(t, observations=states.astype(np.float32), actions=actions)
    guess = playing_of(Demos.of(repeated, spec))
    assert guess == ("drawn" if drawn else "greedy", True)
