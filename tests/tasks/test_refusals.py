"""What cannot be used says so: environments, options, modules, observations, actions."""

import collections
import sys

import gymnasium
import numpy as np
import pytest

from etairl.rollouts import UniformPolicy, collect
from etairl.tasks import make_task
from etairl.tasks.spaces import as_rows, read_spec
from etairl.types import InputError

BOX = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)


class Plain(gymnasium.Env):
    """Ends after four steps, unless told not to."""

    observation_space = BOX
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, ends=True, trouble=None):
        if trouble == "constructor":
            raise RuntimeError("no licence")
        self.ends, self.trouble, self.count = ends, trouble, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        if self.trouble == "width":
            return np.zeros(5), {}
        return np.full(2, np.nan if self.trouble == "nan" else 0.0), {}

    def step(self, action):
        self.count += 1
        return np.zeros(2), 1.0, self.ends and self.count == 4, False, {}


@pytest.fixture
def plain():
    gymnasium.register("test/Plain-v0", entry_point=Plain, max_episode_steps=9)
    yield "test/Plain-v0"
    gymnasium.registry.pop("test/Plain-v0")


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("constructor", "test/Plain-v0 cannot be made: RuntimeError: no licence"),
        ("width", "an observation has 5 numbers, but its space has 2"),
        ("nan", "test/Plain-v0: an episode of the simulator began with NaN or infinity"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # of Gymnasium, which only warns
def test_environments_that_break_at_the_start(plain, trouble, message):
    with pytest.raises(InputError, match=message):
        make_task(plain, 2, options={"trouble": trouble}).reset()


def test_a_policy_that_diverged_is_not_blamed_on_the_simulator():
    task = make_task("Pendulum-v1", 2)
    task.reset()
    with pytest.raises(InputError, match=r"the policy gave NaN.*Lower the learning rates"):
        task.step(np.array([[0.5], [np.nan]], np.float32))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("Hopper-v5", {"seed": -1}, "the seed must be >= 0"),
        ("Hopper-v5", {"threads": -2}, "threads must be at least 1, got -2"),
        ("Hopper-v5", {"threads": 0}, "threads must be at least 1, got 0"),
        ("Ant-v5", {"options": {"use_contact_force": "yes"}}, "are they of the right kind"),
        ("Blackjack-v1", {}, "no time limit of its own; give a horizon"),
        ("Pong-v5", {}, "images are not supported"),
        ("nomodule:test/Plain-v0", {}, "'nomodule' cannot be imported .*PYTHONPATH"),
        ("gymnasium:Hoper-v5", {}, "unknown environment 'gymnasium:Hoper-v5'; did you mean Hopper"),
        ("gymnasium:Oven-v0", {}, "gymnasium was imported, and does not register it"),
        ("Qwertyuiop-v0", {}, "named with the module that registers it, module:Name-v0"),
    ],
)
def test_what_cannot_be_made_says_why(name, settings, message):
    with pytest.raises(InputError, match=message):
        make_task(name, 2, **settings)


def test_a_module_in_the_current_folder_is_found_last(tmp_path, monkeypatch, rng):
    """A program, unlike a script, does not look where it is; what is installed comes first."""
    (tmp_path / "larder.py").write_text(
        "import gymnasium\n"
        "from gymnasium.envs.classic_control import PendulumEnv\n"
        "gymnasium.register('home/Larder-v0', entry_point=PendulumEnv, max_episode_steps=7)\n"
    )
    (tmp_path / "gymnasium.py").write_text("raise RuntimeError('not this one')\n")
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(tmp_path))])
    monkeypatch.chdir(tmp_path)
    try:
        assert make_task("larder:home/Larder-v0", 2).spec.obs_dim == 3
        assert make_task("gymnasium:Pendulum-v1", 2, engine="gymnasium").spec.obs_dim == 3
    finally:
        sys.modules.pop("larder", None)
        gymnasium.registry.pop("home/Larder-v0", None)


def test_a_module_that_registers_an_environment_is_imported(tmp_path, monkeypatch, rng):
    """Gymnasium's own notation, module:name."""
    (tmp_path / "kitchen.py").write_text(
        "import gymnasium\n"
        "from gymnasium.envs.classic_control import PendulumEnv\n"
        "gymnasium.register('home/Oven-v0', entry_point=PendulumEnv, max_episode_steps=7)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    try:
        task = make_task("kitchen:home/Oven-v0", 2)
        assert collect(rng, task, UniformPolicy(task), 2).lengths.tolist() == [7, 7]
        assert task.spec.environment == "home/Oven-v0"
    finally:
        gymnasium.registry.pop("home/Oven-v0")


def test_early_ends_are_switched_off_where_there_are_any(plain, rng):
    with pytest.raises(InputError, match="no switch for its early ends"):
        make_task(plain, 2, mode="fixed")
    task = make_task(plain, 2, mode="fixed", options={"ends": False})
    assert collect(rng, task, UniformPolicy(task), 2).lengths.tolist() == [9, 9]
    for name in ("FetchReachDense-v4", "HumanoidStandup-v5"):
        task = make_task(name, 2, mode="fixed", horizon=15)
        assert collect(rng, task, UniformPolicy(task), 2).lengths.tolist() == [15, 15]


def test_an_action_that_can_only_be_one_value():
    still = gymnasium.spaces.Box(np.float32([-1, 2]), np.float32([1, 2]))
    with pytest.raises(InputError, match="action column 1 can take one value only"):
        read_spec("Still-v0", BOX, still)


def test_a_dict_keeps_the_order_of_its_space(rng):
    """Gymnasium sorts the keys of a plain dict, and keeps those of an ordered one."""
    parts = [("z", gymnasium.spaces.Box(-1, 1, (1,))), ("a", gymnasium.spaces.Box(-1, 1, (2,)))]
    for made in (collections.OrderedDict(parts), dict(parts)):
        space = gymnasium.spaces.Dict(made)
        space.seed(0)
        sample = space.sample()
        expected = gymnasium.spaces.flatten(space, sample)
        assert as_rows(sample, 1, space)[0].tolist() == expected.tolist()


def test_rewards_of_ant_have_the_same_terms_in_both_engines():
    """Without contact forces there is no cost of contacts, however hard the ant falls."""
    import envpool

    task = make_task("Ant-v5", 1, engine="gymnasium", mode="fixed", seed=0)
    copy = task._task.copies[0]
    copy.reset(seed=0)
    pool = envpool.make("Ant-v5", env_type="gymnasium", num_envs=1, use_contact_force=False)
    pool.reset()
    rng = np.random.default_rng(0)
    for _ in range(60):
        action = rng.uniform(-1, 1, 8).astype(np.float32)
        *_, here = copy.step(action)
        *_, there = pool.step(action[None].astype(float))
        assert here["reward_contact"] == there["reward_contact"][0] == 0.0
        assert here["reward_ctrl"] == pytest.approx(there["reward_ctrl"][0])
