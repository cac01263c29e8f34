"""Real simulators behind one interface."""

import gymnasium
import numpy as np
import pytest

from etairl.rollouts import UniformPolicy, collect
from etairl.tasks import make_task
from etairl.types import InputError

# Name and versions, columns of observations (of each version, where they differ) and of actions.
ENVPOOL = [
    ("Hopper", "v3 v4 v5", 11, 3),
    ("HalfCheetah", "v3 v4 v5", 17, 6),
    ("Ant", "v3 v4 v5", (111, 27, 27), 8),
    ("Walker2d", "v3 v4 v5", 17, 6),
    ("Humanoid", "v3 v4 v5", (376, 376, 348), 17),
    ("Reacher", "v2 v4 v5", (11, 11, 10), 2),
    ("Swimmer", "v3 v4 v5", 8, 2),
    ("FetchReach", "v4", 13, 4),
    ("Pendulum", "v1", 3, 1),
    ("LunarLanderContinuous", "v3", 8, 2),
    ("BipedalWalker", "v3", 24, 4),
    ("CartPole", "v0 v1", 4, 1),
]
VERSIONS = [
    (f"{name}-{version}", obs if isinstance(obs, int) else obs[k], act)
    for name, versions, obs, act in ENVPOOL
    for k, version in enumerate(versions.split())
]


@pytest.mark.parametrize(("name", "obs", "act"), VERSIONS)
def test_environments_of_envpool(name, obs, act, rng):
    task = make_task(name, 3, horizon=12, seed=1)
    t = collect(rng, task, UniformPolicy(task), 5)
    assert (t.obs_dim, t.act_dim) == (obs, act)
    assert len(t) == 5
    assert t.lengths.max() <= 12
    full = t.lengths == 12
    assert t.truncated[t.last_rows][full & ~t.terminated[t.last_rows]].all()


@pytest.mark.parametrize("name", ["Hopper-v5", "Ant-v5", "LunarLanderContinuous-v3"])
def test_results_do_not_depend_on_threads(name):
    def play(threads):
        task = make_task(name, 6, horizon=60, seed=3, threads=threads)
        return collect(np.random.default_rng(0), task, UniformPolicy(task), 12)

    one, many = play(1), play(4)
    assert one.observations.tobytes() == many.observations.tobytes()
    assert one.rewards.tobytes() == many.rewards.tobytes()


def test_neighbouring_seeds_share_nothing():
    starts = [make_task("Hopper-v5", 8, seed=seed).reset() for seed in (0, 1)]
    together = np.concatenate(starts)
    assert len(np.unique(together, axis=0)) == 16


@pytest.mark.parametrize("engine", ["envpool", "gymnasium"])
def test_horizon_modes(engine, rng):
    for mode, columns in (("terminating", 11), ("fixed", 11), ("absorbing", 12)):
        task = make_task("Hopper-v5", 3, horizon=80, mode=mode, engine=engine)
        t = collect(rng, task, UniformPolicy(task), 6)
        assert t.obs_dim == columns
        if mode == "fixed":
            assert (t.lengths == 80).all()
            assert not t.terminated.any()
        else:
            assert t.terminated.sum() == 6
            assert t.lengths.max() < 80
        if mode == "absorbing":
            assert (t.observations[:, -1] == 0.0).all()
            assert (t.final_observations == np.eye(12)[-1]).all()


def test_an_episode_in_gymnasium_is_the_same_as_by_hand():
    task = make_task("Pendulum-v1", 1, engine="gymnasium", seed=4)
    first = task.reset()
    step = task.step(np.array([[1.5]], np.float32))
    env = gymnasium.make("Pendulum-v1")
    seed = int(np.random.SeedSequence(4).generate_state(1)[0] >> 1)
    observation, _ = env.reset(seed=seed)
    after, reward, *_ = env.step(np.array([1.5], np.float32))
    assert first[0].tolist() == observation.tolist()
    assert step.observations[0].tolist() == after.tolist()
    assert step.rewards[0] == pytest.approx(reward)


def test_dict_observations_are_laid_out_as_gymnasium_does(rng):
    space = gymnasium.spaces.Dict(
        {
            "observation": gymnasium.spaces.Box(-1, 1, (2,)),
            "achieved_goal": gymnasium.spaces.Box(-1, 1, (1,)),
            "desired_goal": gymnasium.spaces.Box(-1, 1, (1,)),
        }
    )
    from etairl.tasks.spaces import as_rows

    sample = space.sample()
    expected = gymnasium.spaces.flatten(space, sample)
    batched = {key: value[None] for key, value in sample.items()}
    assert as_rows(batched, 1, space)[0].tolist() == expected.tolist()
    assert as_rows(batched, 1)[0].tolist() == expected.tolist()  # EnvPool's: by key


class Own(gymnasium.Env):
    """A user's own environment; `trouble` makes it misbehave after three steps."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, trouble=None):
        self.trouble, self.count = trouble, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(2), {}

    def step(self, action):
        self.count += 1
        if self.count == 3 and self.trouble == "raise":
            raise RuntimeError("motor 7 is on fire")
        value = np.nan if self.count == 3 and self.trouble == "nan" else float(self.count)
        return np.array([value, action[0]]), 1.0, False, False, {}


@pytest.fixture
def own():
    gymnasium.register("test/Own-v0", entry_point=Own)
    yield "test/Own-v0"
    gymnasium.registry.pop("test/Own-v0")


class Buttons(Own):
    """Actions of a kind that no policy here can choose."""

    action_space = gymnasium.spaces.MultiBinary(3)


def test_actions_of_another_kind_are_refused():
    gymnasium.register("test/Buttons-v0", entry_point=Buttons, max_episode_steps=5)
    try:
        with pytest.raises(InputError, match="actions of type MultiBinary are not supported"):
            make_task("test/Buttons-v0", 1)
    finally:
        gymnasium.registry.pop("test/Buttons-v0")


def test_a_users_own_environment(own, rng):
    with pytest.raises(InputError, match="no time limit of its own; give a horizon"):
        make_task(own, 2)
    task = make_task(own, 2, horizon=5)
    t = collect(rng, task, UniformPolicy(task), 4)
    assert t.lengths.tolist() == [5] * 4
    assert t.observations[:5, 0].tolist() == [0, 1, 2, 3, 4]
    assert t.final_observations[:, 0].tolist() == [5] * 4


def test_simulators_that_break_say_so(own, rng):
    task = make_task(own, 2, horizon=5, options={"trouble": "raise"})
    with pytest.raises(InputError, match="failed in step: RuntimeError: motor 7 is on fire"):
        collect(rng, task, UniformPolicy(task), 2)
    task = make_task(own, 2, horizon=5, options={"trouble": "nan"})
    with pytest.raises(InputError, match="returned NaN or infinity in copy 0; its action was"):
        collect(rng, task, UniformPolicy(task), 2)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("Hoper-v5", {}, "unknown environment 'Hoper-v5'; did you mean Hopper-v5"),
        ("Nothing-like-it", {}, "unknown environment"),
        ("CartPole-v1", {"mode": "fixed"}, "no switch for its early ends"),
        ("Hopper-v5", {"options": {"gravity": 3}}, "has no option 'gravity'"),
        ("Hopper-v5", {"horizon": 0}, "horizon must be at least 1"),
        ("Hopper-v5", {"engine": "bullet"}, "engine must be one of envpool, gymnasium"),
    ],
)
def test_what_cannot_be_made_says_why(name, settings, message):
    with pytest.raises(InputError, match=message):
        make_task(name, 2, **settings)
    with pytest.raises(InputError, match="at least one copy"):
        make_task("Pendulum-v1", 0)


class ThirdPartyPolicy:
    """Weights of a policy trained by others."""

    def __init__(self, path):
        with np.load(path, allow_pickle=False) as file:
            self.arrays = {name: file[name] for name in file.files}

    def __call__(self, rng, observations):
        a = self.arrays
        x = observations.astype(np.float64)
        x = np.pad(x, ((0, 0), (0, a["W0"].shape[0] - x.shape[1])))
        if "obs_mean" in a:
            x = (x - a["obs_mean"]) / a["obs_std"]
        if "obs_clip" in a:
            x = np.clip(x, -a["obs_clip"], a["obs_clip"])
        layers = sum(name.startswith("W") for name in a)
        for i in range(layers):
            x = x @ a[f"W{i}"] + a[f"b{i}"]
            x = np.tanh(x) if i < layers - 1 else x
        return np.clip(x, -1.0, 1.0).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("Hopper", 3722 * 0.97, 3728 * 1.03),
        ("HalfCheetah", 4165 * 0.97, 4173 * 1.03),
        ("Ant", 4600 * 0.97, 4690 * 1.03),
    ],
)
def test_third_party_policies_do_what_they_did(third_party, rng, name, low, high):
    """Returns over 1,000 steps as stated with the weights, within 3 %."""
    policy = ThirdPartyPolicy(third_party / "policies" / f"{name}-berkeley-policy.npz")
    task = make_task(f"{name}-v5", 10, seed=5)
    returns = collect(rng, task, policy, 10, stochastic=False).returns
    assert low < np.median(returns) < high


@pytest.mark.parametrize("engine", ["envpool", "gymnasium"])
@pytest.mark.parametrize("mode", ["terminating", "absorbing"])
def test_a_fresh_task_goes_on_where_another_was(engine, mode):
    """Copies end at different times, so they were reset a different number of times."""

    def make():
        return make_task("Hopper-v5", 4, horizon=60, seed=3, mode=mode, engine=engine)

    def play(task, cycle):
        return collect(np.random.default_rng(cycle), task, UniformPolicy(task), 6)

    first = make()
    for cycle in range(2):
        play(first, cycle)
    resets = first.resets.copy()
    assert len(set(resets.tolist())) > 1
    expected = [play(first, cycle).observations for cycle in (2, 3)]
    second = make()
    second.replay(resets)
    found = [play(second, cycle).observations for cycle in (2, 3)]
    for a, b in zip(found, expected, strict=True):
        assert a.tobytes() == b.tobytes()
