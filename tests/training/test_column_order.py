"""Columns in another order than a Dict environment lays them out are refused, not learned from."""

from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from etairl.demos import Demos, Importing, load_demos, save_demos
from etairl.tasks import make_task
from etairl.training.fitting import fitting_demos, other_names
from etairl.training.flat import configure
from etairl.types import InputError, Spec, Trajectories

NAME = "etairl-tests/Named-v0"
FLATTENED = ("goal[0]", "goal[1]", "speed")


class Named(gymnasium.Env):
    observation_space = gymnasium.spaces.Dict(
        {
            "speed": gymnasium.spaces.Box(-1, 1, (1,), np.float32),
            "goal": gymnasium.spaces.Box(-1, 1, (2,), np.float32),
        }
    )
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def _observed(self):
        return {"speed": np.ones(1, np.float32), "goal": np.zeros(2, np.float32)}

    def reset(self, *, seed=None, options=None):
        return self._observed(), {}

    def step(self, action):
        return self._observed(), 0.0, False, False, {}


class Pictured(Named):
    observation_space = gymnasium.spaces.Dict(
        {"camera": gymnasium.spaces.Box(0, 255, (8, 8, 3), np.uint8)}
    )


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    gymnasium.register(NAME, Named, max_episode_steps=5)
    gymnasium.register("etairl-tests/Pictured-v0", Pictured, max_episode_steps=5)
    yield
    del gymnasium.registry[NAME], gymnasium.registry["etairl-tests/Pictured-v0"]


def saved(path: Path, names: tuple[str, ...] | None) -> str:
    last = np.arange(10) % 5 == 4
    t = Trajectories(
        np.arange(30, dtype=np.float32).reshape(10, 3),
        np.zeros((10, 1), np.float32),
        np.zeros_like(last),
        last,
        np.array([0, 5, 10]),
    )
    save_demos(Demos.of(t, Spec(3, 1, observation_names=names)), path)
    return str(path)


def fitted(source: str, mode: str = "terminating") -> Demos:
    config = configure("default", env=NAME, demos=source, horizon=5, mode=mode, demonstrations=2)
    return fitting_demos(config, make_task(NAME, 1, horizon=5, mode=mode), None)


def test_a_dict_environment_names_its_columns_as_gymnasium_flattens_them():
    spec = make_task(NAME, 1).spec
    assert spec.observation_names == FLATTENED
    assert make_task(NAME, 1, mode="absorbing").spec.observation_names == (*FLATTENED, "absorbing")
    row = make_task(NAME, 1).reset()[0]
    env = gymnasium.wrappers.FlattenObservation(gymnasium.make(NAME))
    np.testing.assert_array_equal(row, env.reset()[0])


@pytest.mark.parametrize("mode", ["terminating", "absorbing"])
def test_another_order_is_refused_with_the_command_that_mends_it(mode, tmp_path):
    wrong = saved(tmp_path / "wrong.npz", ("speed", "goal[0]", "goal[1]"))
    with pytest.raises(
        InputError,
        match=r"column 0 of its observations is speed, but .* has goal\[0\] there; put them in "
        r"order: etairl demos import .* -o NEW\.npz --observations 'goal\[0\]' 'goal\[1\]' speed$",
    ):
        fitted(wrong, mode)
    mended = load_demos(wrong, importing=Importing(observations=FLATTENED))
    save_demos(mended, tmp_path / "right.npz")
    fitting = fitted(str(tmp_path / "right.npz"), mode)
    assert fitting.trajectories.observations[0].tolist() == [1.0, 2.0, 0.0]


def test_other_names_are_pointed_out_and_no_names_pass(tmp_path):
    spec = make_task(NAME, 1).spec
    strange = fitted(saved(tmp_path / "strange.npz", ("x", "y", "speed")))
    assert "have an observation x, which" in str(other_names(strange, spec))
    for name, names in (("none", None), ("right", FLATTENED)):
        assert other_names(fitted(saved(tmp_path / f"{name}.npz", names)), spec) is None


def test_an_environment_of_images_is_refused():
    with pytest.raises(InputError, match=r"camera: observations are uint8 .* images are not supp"):
        make_task("etairl-tests/Pictured-v0", 1)
