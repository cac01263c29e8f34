"""The learned cost as the reward of a Gymnasium environment."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from tiny import TINY

import etairl
from etairl.training.flat import configure
from etairl.types import InputError


@pytest.fixture(scope="module", params=["terminating", "absorbing"])
def run(request, tmp_path_factory) -> Path:
    """Runs of seconds; of the second kind observations have a mark."""
    inputs = "state_next_state" if request.param == "absorbing" else "state_action"
    short = configure(TINY, transitions=250, mode=request.param, inputs=inputs)
    return etairl.train(short, tmp_path_factory.mktemp("wrapped") / "run").path


def test_it_pays_minus_the_cost_and_keeps_the_true_reward(run):
    result = etairl.Result(run)
    env = etairl.CostWrapper(gymnasium.make("Pendulum-v1"), result)
    plain = gymnasium.make("Pendulum-v1")
    before, _ = env.reset(seed=3)
    assert np.array_equal(before, plain.reset(seed=3)[0])
    rng = np.random.default_rng(0)
    for _ in range(5):
        action = rng.uniform(-2, 2, 1).astype(np.float32)
        after, reward, terminated, truncated, info = env.step(action)
        paid = plain.step(action)[1]
        (cost,) = result.cost(before[None], action[None], after[None])
        assert reward == pytest.approx(-cost, rel=1e-5, abs=1e-6)
        assert info["true_reward"] == paid
        assert (terminated, truncated) == (False, False)
        before = after


def test_another_environment_is_refused(run):
    with pytest.raises(InputError, match=r"observations have 4 here, but 3 in .* \(Pendulum-v1\)"):
        etairl.CostWrapper(gymnasium.make("CartPole-v1"), run)
    with pytest.raises(InputError, match="is not a run directory"):
        etairl.CostWrapper(gymnasium.make("Pendulum-v1"), run / "nowhere")


_PPO = """
import sys
import numpy as np
import etairl
sys.path.append(sys.argv[2])  # behind our own libraries: for Stable-Baselines3 alone
import gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy

def mean(model):
    return evaluate_policy(model, gymnasium.make("Pendulum-v1"), n_eval_episodes=20)[0]

env = etairl.CostWrapper(gymnasium.make("Pendulum-v1"), sys.argv[1])
model = PPO(
    "MlpPolicy", env, seed=0, gamma=0.9, learning_rate=1e-3, use_sde=True, sde_sample_freq=4,
    n_steps=1024, device="cpu",
)
before = mean(model)
model.learn(int(sys.argv[3]))
print(before, mean(model))
"""


@pytest.mark.slow
def test_ppo_of_another_library_improves_on_the_learned_cost(tmp_path):
    """With Stable-Baselines3, where ETAIRL_PEERS names a Python that has it."""
    python = os.environ.get("ETAIRL_PEERS")
    if python is None:
        pytest.skip("set ETAIRL_PEERS to a Python with stable-baselines3 to train with it")
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    # Those of the example, with a cost that is linear in features: it also says something about
    # states where the expert never was, which a discriminator need not.
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples/07_imitate_pendulum.py"))
    start = configure(example["CONFIG"], algorithm="emma", transitions=30_000)
    run = etairl.train(start, tmp_path / "run").path
    words = [sys.executable, "-W", "ignore", "-c", _PPO, run, found.stdout.strip(), "50000"]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    before, after = map(float, said.split()[-2:])
    assert before < -900
    assert after > before + 300  # measured: from -1193 to -527
