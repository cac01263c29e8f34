"""GAIL of the project imitation, timed until it has learned.

Run with the Python of its own environment (`make -C benchmarks race`); etairl is not imported.

    PYTHON gail_of_imitation.py ENVIRONMENT DEMONSTRATIONS SECONDS [--seed N] [--learner sac]

The learner is proximal policy optimisation with the settings that imitation has published, or soft
actor-critic of Stable-Baselines3 with its defaults, for which imitation has published none.

Prints a line of JSON for each look at the greedy policy. The clock stands still at looks. It stops
at twice the transitions that it took to 90 % of the expert's score, or after SECONDS.
"""

import argparse
import json
import runpy
import time
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

REACHED, BEYOND, EPISODES, LOOK_EVERY = 0.9, 2, 10, 5
"""as in `etairl bench race`; a look every so many rounds"""
COPIES = 8
WORKS = Path(__file__).resolve().parents[1] / "src" / "etairl" / "bench" / "works_of_imitation.py"
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
SAC: dict[str, Any] = {
    "batch": 1000,
    "trainer": {
        "demo_batch_size": 256,
        "gen_replay_buffer_capacity": 5000,
        "n_disc_updates_per_round": 25,
        "gen_train_timesteps": 1000,
    },
}
"""the learner's own settings are its defaults: 256 wide, an update for each transition"""


def main() -> None:
    """Train and look in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environment")
    parser.add_argument("demonstrations")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learner", choices=("ppo", "sac"), default="ppo")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    begin = time.perf_counter()
    works = runpy.run_path(str(WORKS))
    trajectories = works["read_demonstrations"](given.demonstrations, 10)
    horizon = max(len(t.acts) for t in trajectories)
    off_policy = given.learner == "sac"
    settings = SAC if off_policy else SETTINGS[given.environment.partition("-")[0]]
    world = works["make_vec_env"](
        given.environment,
        rng=np.random.default_rng(given.seed),
        n_envs=1 if off_policy else COPIES,
        max_episode_steps=horizon,
    )
    if off_policy:
        learner = works["sac_learner"](world, {}, given.seed)
    else:
        learner = on_policy(works["ppo_learner"], world, settings, given.seed)
    # imitation refuses batches larger than the demonstrations: 8,192 as published, 5,000 are there.
    fewer = min(settings["trainer"]["demo_batch_size"], sum(len(t.acts) for t in trajectories))
    sizes = settings["trainer"] | {"demo_batch_size": fewer}
    trainer = works["gail_trainer"](world, learner, trajectories, sizes)
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


def on_policy(ppo: Any, world: Any, settings: dict[str, Any], seed: int) -> Any:
    """Proximal policy optimisation."""
    import torch  # pyright: ignore[reportMissingImports]

    layers = {
        "net_arch": settings["net_arch"],
        "activation_fn": getattr(torch.nn, settings["activation"]),
    }
    return ppo(world, settings["batch"], settings["ppo"], layers, seed)


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
