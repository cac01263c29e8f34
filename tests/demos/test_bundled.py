"""The demonstrations in the box: loadable by name, as good as their cards say."""

import json

import numpy as np
import pytest

from etairl.demos import bundled_demos, find_demos, load_demos
from etairl.demos.sources import _BUNDLED
from etairl.types import InputError

LEAST = {
    "Pendulum-v1": -200.0,
    "Hopper-v5": 1600.0,
    "HalfCheetah-v5": 3500.0,
    "Ant-v5": 1800.0,
}


def test_there_are_some(tmp_path, minari_folder):
    assert bundled_demos()
    assert find_demos(tmp_path) == bundled_demos()


@pytest.mark.parametrize("name", bundled_demos())
def test_files_and_cards_agree(name):
    demos = load_demos(name)
    t = demos.trajectories
    card = json.loads((_BUNDLED / f"{name}.json").read_text())
    assert card["return_mean"] == pytest.approx(t.returns.mean(), rel=1e-5)
    assert card["episodes"] == len(t)
    assert card["environment"] == demos.spec.environment
    assert {"command", "training", "versions"} <= card.keys()
    assert demos.clipped == 0
    assert (_BUNDLED / f"{name}.npz").stat().st_size < 3 * 2**20
    first = np.add.reduceat(
        np.where(np.arange(t.steps) - t.offsets[t.episode_numbers] < 500, t.rewards, 0.0),
        t.offsets[:-1],
    )
    assert first.mean() > LEAST[demos.spec.environment]


def test_a_name_with_a_typo():
    with pytest.raises(InputError, match=f"did you mean {bundled_demos()[0]}"):
        load_demos(bundled_demos()[0] + "0")
