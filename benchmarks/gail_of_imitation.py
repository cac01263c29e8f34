"""GAIL of the project imitation with its published settings, timed until it has learned.

Run with the Python of its own environment (`make -C benchmarks race`); etairl is not used.

    PYTHON gail_of_imitation.py ENVIRONMENT DEMONSTRATIONS SECONDS [--seed N]

Prints a line of JSON for each look at the greedy policy. The clock stands still at looks. It stops
at twice the transitions that it took to 90 % of the expert's score, or after SECONDS.
"""

import argparse
import json
import time
import warnings
from typing import Any

import gymnasium
import numpy as np

REACHED, BEYOND, EPISODES, LOOK_EVERY = 0.9, 2, 10, 5
"""as in `etairl bench race`; a look every so many rounds"""
COPIES = 8
HOPPER = {
    "batch": 4096,
    "trainer": {
        "demo_batch_size": 128,
        "gen_replay_buffer_capacity": 4096,
        "n_disc_updates_per_round": 8,
    },
    "ppo": {
        "batch_size": 512,
        "clip_range": 0.1,
        "ent_coef": 0.001255299425412744,
        "gae_lambda": 0.98,
        "gamma": 0.995,
        "learning_rate": 4.3984856156897565e-5,
        "max_grad_norm": 0.9,
        "n_epochs": 20,
        "vf_coef": 0.20315938606555833,
    },
    "net_arch": {"pi": [64, 64], "vf": [64, 64]},
    "activation": "ReLU",
}
HALF_CHEETAH = {
    "batch": 4096,
    "trainer": {
        "demo_batch_size": 8192,
        "gen_replay_buffer_capacity": 512,
        "n_disc_updates_per_round": 8,
    },
    "ppo": {
        "batch_size": 64,
        "clip_range": 0.1,
        "ent_coef": 3.992371122209408e-6,
        "gae_lambda": 0.95,
        "gamma": 0.95,
        "learning_rate": 0.00026250519057717037,
        "max_grad_norm": 0.8,
        "n_epochs": 5,
        "vf_coef": 0.11483689492120866,
    },
    "net_arch": [32, 32],
    "activation": "Tanh",
}
SETTINGS: dict[str, dict[str, Any]] = {"Hopper": HOPPER, "HalfCheetah": HALF_CHEETAH}
"""of imitation's benchmarks: gail_seals_hopper_best_hp_eval and gail_seals_half_cheetah_…"""


def main() -> None:
    """Train and look in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environment")
    parser.add_argument("demonstrations")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    begin = time.perf_counter()
    trajectories = read(given.demonstrations, 10)
    horizon = max(len(t.acts) for t in trajectories)
    settings = SETTINGS[given.environment.partition("-")[0]]
    trainer, learner = make(given.environment, horizon, trajectories, settings, given.seed)
    spent = time.perf_counter() - begin
    expert = float(np.mean([t.rews.sum() for t in trajectories]))
    test = gymnasium.make(given.environment, max_episode_steps=horizon)
    test.action_space.seed(5)
    random = returns(test, lambda _: test.action_space.sample())
    first = None
    while True:
        begin = time.perf_counter()
        trainer.train(LOOK_EVERY * settings["batch"])
        spent += time.perf_counter() - begin
        # `train` begins its own count anew; the policy counts on.
        steps = trainer._global_step * settings["batch"]
        greedy = returns(test, lambda obs: learner.predict(obs, deterministic=True)[0])
        score = (greedy - random) / (expert - random)
        if first is None and score >= REACHED:
            first = steps
        line = {"transitions": steps, "score": score, "seconds": spent, "return": greedy}
        print(json.dumps(line), flush=True)
        if spent >= given.seconds or (first is not None and steps >= BEYOND * first):
            return


def read(file: str, many: int) -> list[Any]:
    """The first demonstrations of a file of etairl."""
    from imitation.data.types import TrajectoryWithRew  # pyright: ignore[reportMissingImports]

    data = np.load(file)
    ends = np.cumsum(data["episode_lengths"])[:-1]
    obs, acts, rews = (np.split(data[k], ends) for k in ("observations", "actions", "rewards"))
    last = data["final_observations"]
    parts = zip(obs, acts, rews, last, data["terminals"][np.append(ends, 0) - 1], strict=True)
    return [
        TrajectoryWithRew(
            obs=np.concatenate([o, end[None]]), acts=a, rews=r, infos=None, terminal=bool(stops)
        )
        for o, a, r, end, stops in parts
    ][:many]


def make(
    environment: str, horizon: int, trajectories: list[Any], settings: dict[str, Any], seed: int
) -> tuple[Any, Any]:
    """The trainer and its learner."""
    import torch  # pyright: ignore[reportMissingImports]
    from imitation.algorithms.adversarial.gail import (  # pyright: ignore[reportMissingImports]
        GAIL,
    )
    from imitation.policies.base import (  # pyright: ignore[reportMissingImports]
        NormalizeFeaturesExtractor,
    )
    from imitation.rewards.reward_nets import (  # pyright: ignore[reportMissingImports]
        BasicRewardNet,
        NormalizedRewardNet,
    )
    from imitation.util import logger  # pyright: ignore[reportMissingImports]
    from imitation.util.networks import RunningNorm  # pyright: ignore[reportMissingImports]
    from imitation.util.util import make_vec_env  # pyright: ignore[reportMissingImports]
    from stable_baselines3 import PPO  # pyright: ignore[reportMissingImports]

    rng = np.random.default_rng(seed)
    venv = make_vec_env(environment, rng=rng, n_envs=COPIES, max_episode_steps=horizon)
    policy = {
        "net_arch": settings["net_arch"],
        "activation_fn": getattr(torch.nn, settings["activation"]),
        "features_extractor_class": NormalizeFeaturesExtractor,
        "features_extractor_kwargs": {"normalize_class": RunningNorm},
    }
    learner = PPO(
        "MlpPolicy",
        venv,
        n_steps=settings["batch"] // COPIES,
        policy_kwargs=policy,
        seed=seed,
        device="cpu",
        **settings["ppo"],
    )
    spaces = venv.observation_space, venv.action_space
    net = BasicRewardNet(*spaces, normalize_input_layer=RunningNorm)
    trainer = GAIL(
        demonstrations=trajectories,
        venv=venv,
        gen_algo=learner,
        reward_net=NormalizedRewardNet(net, normalize_output_layer=RunningNorm),
        allow_variable_horizon=True,
        custom_logger=logger.configure("/tmp", []),
        **settings["trainer"],
    )
    return trainer, learner


def returns(env: Any, act: Any) -> float:
    """The mean over fresh episodes."""
    found = []
    for number in range(EPISODES):
        obs, _ = env.reset(seed=10_000 + number)
        total, over = 0.0, False
        while not over:
            obs, reward, ended, cut, _ = env.step(act(obs))
            total, over = total + float(reward), ended or cut
        found.append(total)
    return float(np.mean(found))


if __name__ == "__main__":
    main()
