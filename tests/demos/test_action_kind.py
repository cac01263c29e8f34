"""Drawn or greedy: said by the file, or guessed from the data."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from etairl.demos import bundled_demos, load_demos, save_demos
from etairl.demos.action_kind import playing_of
from etairl.types import InputError


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
