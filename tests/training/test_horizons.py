"""How long episodes are where nobody said so."""

import sys
import types
from dataclasses import replace

import gymnasium
import numpy as np
import pytest

from etairl.demos import load_demos, save_demos
from etairl.tasks.environments import time_limit
from etairl.training.flat import configure
from etairl.types import offsets_of


@pytest.fixture
def short(tmp_path):
    """Pendulum, of which nobody bundled demonstrations, with a limit of 40 steps."""
    gymnasium.register(
        "ShortPendulum-v0",
        entry_point="gymnasium.envs.classic_control.pendulum:PendulumEnv",
        max_episode_steps=40,
    )
    yield "ShortPendulum-v0"
    del gymnasium.registry["ShortPendulum-v0"]


def cut(tmp_path, lengths: list[int], ended: tuple[int, ...] = ()) -> str:
    """A file with the first steps of some demonstrations; `ended` ones terminate."""
    demos = load_demos("Pendulum-v1-25x200")
    t = demos.trajectories.take(np.arange(len(lengths)))
    rows = np.concatenate([np.arange(n) + o for n, o in zip(lengths, t.offsets, strict=False)])
    offsets = offsets_of(np.array(lengths))
    last = np.zeros(len(rows), bool)
    last[offsets[1:] - 1] = True
    terminated = np.zeros(len(rows), bool)
    terminated[offsets[1:][list(ended)] - 1] = True
    shown = replace(
        t,
        observations=t.observations[rows],
        actions=t.actions[rows],
        rewards=None,
        terminated=terminated,
        truncated=last & ~terminated,
        offsets=offsets,
        final_observations=None,
    )
    file = tmp_path / f"{'-'.join(map(str, lengths))}.npz"
    save_demos(replace(demos, trajectories=shown), file, overwrite=True)
    return str(file)


def test_fewer_demonstrations_than_the_settings_use_are_all_used(tmp_path):
    few = cut(tmp_path, [40, 40, 40])
    assert configure("default", demos=few).demonstrations == 3
    assert configure("default", demos="Pendulum-v1-25x200").demonstrations == 10
    assert configure("paper/hopper", demos=few).demonstrations is None
    assert configure("default", demos=few, demonstrations=5).demonstrations == 5  # refused later


def test_the_bundled_ones_keep_their_length():
    assert configure("default").horizon == 500
    assert configure("default", env="Hopper-v5", demos="Hopper-v5-25x500").horizon == 500
    pendulum = {"env": "Pendulum-v1", "demos": "Pendulum-v1-25x200"}
    assert configure("default", **pendulum).horizon == 200
    assert configure("default", **pendulum, horizon=50).horizon == 50


def test_demonstrations_of_one_length_decide_within_the_limit(short, tmp_path):
    assert configure(env=short, demos=cut(tmp_path, [30, 30])).horizon == 30
    assert configure(env=short, demos=cut(tmp_path, [30, 12, 30], ended=(1,))).horizon == 30
    assert configure(env=short, demos=cut(tmp_path, [90, 90])).horizon == 40


@pytest.mark.parametrize(
    ("lengths", "ended"), [([30, 25], ()), ([30, 12], (0, 1)), ([12, 30], (1,))]
)
def test_otherwise_the_limit_of_the_environment_does(short, lengths, ended, tmp_path):
    assert configure(env=short, demos=cut(tmp_path, lengths, ended)).horizon == 40


def test_what_is_not_known_stays_as_it_is(tmp_path):
    uneven = cut(tmp_path, [30, 25])
    assert configure(env="Nowhere-v0", demos=uneven).horizon == 500
    assert configure(env="not_imported:Nowhere-v0", demos=uneven).horizon == 500
    assert "not_imported" not in sys.modules
    assert configure(env="Nowhere-v0", demos="nowhere.npz").horizon == 500


def test_limits_of_both_engines(short, monkeypatch):
    monkeypatch.setitem(sys.modules, "mine", types.ModuleType("mine"))
    assert time_limit(f"mine:{short}") == time_limit(short) == 40
    assert time_limit("Hopper-v5") == 1000
    assert time_limit("etairl/Navigation-v0") == 50
    assert time_limit("Nowhere-v0") is None
