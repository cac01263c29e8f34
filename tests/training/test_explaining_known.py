"""Whole runs whose true cost is known: the page finds it; shuffled, it says noise.

Each run goes the way of a user: demonstrations of an expert who avoids something, `train`,
`explain`, and the page in a browser.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from browser import needs_chromium
from devtools import driven
from gymnasium.envs.classic_control import PendulumEnv
from tiny import TINY
from typing_extensions import override

import etairl
from etairl.algorithms.registry import ALGORITHMS, Algorithm
from etairl.cli.app import main
from etairl.costs.family import Cost, CostConfig
from etairl.demos import Demos, save_demos
from etairl.hyper import traced
from etairl.tasks.navigation_env import NavigationEnv
from etairl.tasks.navigation_world import NAVIGATION
from etairl.training.flat import configure
from etairl.training.settings import TrainConfig
from etairl.types import Spec, Trajectories, offsets_of

STEPS, EPISODES = 50, 12
RIGHT = "RightPendulum-v0"
LAKE = (0.0, 0.0, 6.0)  # one more, which nothing keeps the learner from walking through


class Known(Cost):
    """A cost that nobody learns."""

    def init(self, key, expert):
        return jnp.zeros(1)  # no weights, but a checkpoint wants some

    def __call__(self, state, obs, act, next_obs):
        return self.of(obs)

    def of(self, obs: jax.Array) -> jax.Array:
        """The true cost of observations."""
        raise NotImplementedError

    def updates(self, key, state, own, expert, log_prob):
        return state, None


@traced
@dataclass(frozen=True)
class Half(Known):
    """High where the sine of the angle is below 0."""

    def of(self, obs):
        return jax.nn.softplus(-10.0 * obs[..., 1])


@traced
@dataclass(frozen=True)
class Shuffled(Known):
    """The same values, at shuffled places."""

    def of(self, obs):
        frequencies = 3000.0 * jax.random.normal(jax.random.key(3), (obs.shape[-1],))
        return jax.nn.softplus(-10.0 * jnp.sin(obs @ frequencies))


@traced
@dataclass(frozen=True)
class Lake(Known):
    """High in a lake, with a shore that is not quite sharp."""

    def of(self, obs):
        x, y, radius = LAKE
        return jax.nn.sigmoid(4.0 * (radius - jnp.hypot(obs[..., 0] - x, obs[..., 1] - y)))


COSTS: dict[str, type[Known]] = {"half": Half, "shuffled": Shuffled, "lake": Lake}


def settings(name: str) -> type[CostConfig]:
    @traced
    @dataclass(frozen=True)
    class Settings(CostConfig):
        kind: ClassVar[str] = name

        def make(self, world):
            return COSTS[name]()

    return Settings


@pytest.fixture(autouse=True)
def joined(monkeypatch):
    gymnasium.register(RIGHT, entry_point=Right, max_episode_steps=STEPS)
    for name in COSTS:
        known = Algorithm(
            name, "known", psi="none", costs="known", eta="dirac:0", cost=settings(name)()
        )
        monkeypatch.setitem(ALGORITHMS, name, known)
    yield
    del gymnasium.registry[RIGHT]


def recorded(
    observations: np.ndarray,
    actions: np.ndarray,
    spec: Spec,
    file: Path,
    tasks: np.ndarray | None = None,
) -> str:
    """Of arrays [episodes, steps, columns]."""
    many, steps, columns = observations.shape
    t = Trajectories(
        observations=observations.reshape(-1, columns).astype(np.float32),
        actions=actions.reshape(many * steps, -1).astype(np.float32),
        terminated=np.zeros(many * steps, bool),
        truncated=np.tile(np.arange(steps) == steps - 1, many),
        offsets=offsets_of(np.full(many, steps)),
        tasks=tasks,
    )
    save_demos(Demos(t, spec), file)
    return str(file)


class Right(PendulumEnv):
    """A pendulum that starts a little to one side, for the expert and the learner alike."""

    @override
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = np.array([self.np_random.uniform(2.2, 3.0), self.np_random.uniform(-1.0, 1.0)])
        return self._get_obs(), {}


def right_half(file: Path) -> str:
    """It wobbles on that side, and never swings over to the other."""
    env, rng = Right(), np.random.default_rng(4)
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    for seed in range(1000):
        rows, acts = [], []
        seen, _ = env.reset(seed=seed)
        for _ in range(STEPS):
            angle = np.arctan2(seen[1], seen[0])
            act = np.clip([-8.0 * (angle - 2.7) - seen[2] + 1.5 * rng.normal()], -2.0, 2.0)
            rows.append(seen)
            acts.append(act)
            seen = env.step(act)[0]
        if np.min(np.array(rows)[:, 1]) > 0.0:
            kept.append((np.array(rows), np.array(acts)))
        if len(kept) == EPISODES:
            break
    spec = Spec(
        3,
        1,
        (-2.0,),
        (2.0,),
        environment=RIGHT,
        observation_names=("cosine", "sine", "speed"),
        action_names=("torque",),
    )
    return recorded(np.array([r for r, _ in kept]), np.array([a for _, a in kept]), spec, file)


def around_the_lake(file: Path) -> str:
    """From the left to the right, along the upper border or the lower one."""
    env, rng = NavigationEnv(), np.random.default_rng(5)
    sides, ends = [], []
    for number in range(3 * EPISODES):
        end = np.array([9.0, 0.5 * rng.normal()])
        start = np.array([-9.0, 0.5 * rng.normal()])
        seen, _ = env.reset(options={"position": start, "target": end})
        side = 9.0 if number % 2 else -9.0
        stops = [np.array([-9.0, side]), np.array([9.0, side]), end]
        rows, acts = [], []
        for _ in range(STEPS):
            if len(stops) > 1 and np.linalg.norm(stops[0] - seen[:2]) < 0.5:
                stops = stops[1:]
            act = stops[0] - seen[:2]
            act = act / max(1.0, np.linalg.norm(act))
            rows.append(seen)
            acts.append(act)
            seen = env.step(act)[0]
        assert np.hypot(*np.array(rows)[:, :2].T).min() > LAKE[2] + 1.0
        sides.append((np.array(rows), np.array(acts)))
        ends.append(end)
    names = ("x", "y", *(f"from lake {i}" for i in range(4)), "target x", "target y")
    spec = Spec(8, 2, (-1.0, -1.0), (1.0, 1.0), environment=NAVIGATION, observation_names=names)
    rows, acts = (np.array(side) for side in zip(*sides, strict=True))
    return recorded(rows, acts, spec, file, np.array(ends))


READ = """({
  verdicts: [...document.querySelectorAll("#verdict-list b")].map((x) => x.textContent),
  moments: [...document.querySelectorAll("#moment-list article")].map((x) => [
    x.querySelector("h3").textContent, x.querySelector(".name").textContent,
    !x.querySelector("li").matches(".noise")]),
  columns: [...document.querySelectorAll("#column-table tbody tr")].map((x) => [
    x.cells[0].textContent, x.cells[1].textContent, x.cells[4].textContent]),
})"""


def told(
    config: TrainConfig, folder: Path, known: Known, episodes: int = 20
) -> tuple[dict[str, Any], np.ndarray]:
    """What the page of a run says, and the observation in the middle of each moment."""
    result = etairl.train(config, folder / "run")
    page = folder / "page.html"
    options = ["--no-pictures", "--trust", f"--episodes={episodes}"]
    assert main(["explain", str(result.path), "-o", str(page), *options]) == 0
    with driven() as browser:
        browser.open(page.as_uri())
        said = browser.js(READ)
    found = result.explain(episodes)
    t = found.learner.trajectories
    if config.algorithm in COSTS:
        assert found.learner.costs == pytest.approx(np.asarray(known.of(t.observations)), abs=1e-4)
    assert len(said["moments"]) == len(found.moments) > 3
    places = []
    for (title, column, _), moment in zip(said["moments"], found.moments, strict=True):
        assert title == f"learner {moment.episode}, step {moment.step}"
        assert column == found.names[np.argmax(np.abs(moment.shares))]
        places.append(t.observations[t.offsets[moment.episode] + moment.step])
    return said, np.array(places)


def pendulum(folder: Path, **changes: Any) -> TrainConfig:
    demos = right_half(folder / "half.npz")
    return configure(replace(TINY, env=RIGHT, demos=demos, demonstrations=None), **changes)


@needs_chromium
def test_a_pendulum_whose_expert_avoids_one_half(tmp_path):
    said, places = told(pendulum(tmp_path, algorithm="half"), tmp_path, Half())
    assert said["verdicts"] == ["Real", "Real", "Columns", "Columns"]
    assert (places[:, 1] < -0.5).all()
    assert [(name, usual) for _, name, usual in said["moments"]] == [("sine", True)] * len(places)
    assert said["columns"][0] == ["sine", "real", "real"]
    assert {tuple(words) for _, *words in said["columns"][1:]} == {("noise", "noise")}


@needs_chromium
def test_a_learned_cost_finds_the_half_that_the_expert_avoids(tmp_path):
    config = pendulum(
        tmp_path, algorithm="gail", inputs="state", transitions=3000, cost_updates=30, lr_d=3e-3
    )
    said, places = told(config, tmp_path, Half())
    assert said["verdicts"][0] == "Real"
    assert (places[:, 1] < 0.0).all()
    assert said["columns"][0][:2] == ["sine", "real"]


@needs_chromium
def test_a_shuffled_cost_is_called_noise(tmp_path):
    said, _ = told(pendulum(tmp_path, algorithm="shuffled"), tmp_path, Shuffled())
    assert said["verdicts"] == ["Noise", "Noise", "Columns: noise", "Columns: noise"]
    assert {tuple(words) for _, *words in said["columns"]} == {("noise", "noise")}


@needs_chromium
def test_a_lake_that_only_the_learner_crosses(tmp_path):
    demos = around_the_lake(tmp_path / "around.npz")
    config = replace(TINY, env=NAVIGATION, demos=demos, demonstrations=None)
    said, places = told(configure(config, algorithm="lake"), tmp_path, Lake(), episodes=40)
    assert (np.hypot(*places[:, :2].T) < LAKE[2]).all()
    assert {name for _, name, _ in said["moments"]} <= {"x", "y"}
    assert said["verdicts"][:2] == ["Real", "Real"]
    real = {name for name, whole, there in said["columns"] if "real" in (whole, there)}
    assert real
    assert real <= {"x", "y"}
