"""The solvers of etairl on true rewards, beside those of others: same tasks, steps and seeds.

    python solvers.py one FILE     a run, such as results/sac/Hopper-v5-etairl-0.json
    python solvers.py table sac    soft actor-critic beside SBX: compares what is there
    python solvers.py table ppo    proximal policy optimisation beside Stable-Baselines3

Every run ends with 20 episodes without noise, in the same simulator for both libraries. A run is
one small JSON file under results/SOLVER; `make -C benchmarks sac` makes those that are missing.
"""

import argparse
import json
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).resolve().parent.parent / "results"
ENVIRONMENTS, SEEDS, EPISODES = ("HalfCheetah-v5", "Hopper-v5"), (0, 1, 2), 20
SAC_SETTINGS = {
    "steps": 200_000,
    "hidden": [256, 256],
    "updates_per_step": 1,
    "batch": 128,
    "learning_rate": 3e-4,
    "gamma": 0.99,
    "polyak": 0.005,
    "warmup": 10_000,
    "target_entropy": "minus the number of action columns",
    "round": 8,
}
"""`round`: steps before as many updates follow; SBX's default of 1 takes a quarter longer."""
PPO_SETTINGS = {
    "steps": 1_000_000,
    "hidden": [64, 64],
    "copies": 8,
    "cycle": 8_000,
    "minibatch": 500,
    "epochs": 10,
    "learning_rate": "3e-4, falling to 0",
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip": 0.2,
    "critic_weight": 0.5,
    "max_gradient_norm": 0.5,
    "observations": "running statistics",
    "rewards": "divided by the spread of returns",
}


def sac_of_etairl(environment: str, seed: int) -> tuple:
    """Train with etairl; the policy, and the returns of the training episodes."""
    from etairl.algorithms.expert import (
        ExpertConfig,
        begin,
        make_expert_task,
        make_solver,
        train_expert,
    )
    from etairl.solvers.sac_config import SACConfig

    rate = SAC_SETTINGS["learning_rate"]
    config = ExpertConfig(
        env=environment,
        steps=SAC_SETTINGS["steps"],
        seed=seed,
        envs=1,
        cycle=SAC_SETTINGS["round"],
        warmup=SAC_SETTINGS["warmup"],
        batch=SAC_SETTINGS["batch"],
        judge_every=10 * SAC_SETTINGS["steps"],
        sac=SACConfig(
            hidden=tuple(SAC_SETTINGS["hidden"]),
            gamma_rl=SAC_SETTINGS["gamma"],
            actor_lr=rate,
            critic_lr=rate,
            temperature_lr=rate,
            polyak=SAC_SETTINGS["polyak"],
        ),
    )
    task = make_expert_task(config)
    solver = make_solver(config, task)
    curve, state = [], None
    for cycle in train_expert(config, task, solver, begin(config, task, solver)):
        curve += [(cycle.progress.steps, value) for value in cycle.returns]
        state = cycle.progress.solver
    policy = solver.policy(state)
    return lambda observation: policy(None, observation[None])[0], curve


def sac_of_sbx(environment: str, seed: int) -> tuple:
    """Train with SBX; the policy, and the returns of the training episodes."""
    import gymnasium
    from sbx import SAC
    from stable_baselines3.common.monitor import Monitor

    world = Monitor(gymnasium.make(environment))
    model = SAC(
        "MlpPolicy",
        world,
        learning_rate=SAC_SETTINGS["learning_rate"],
        batch_size=SAC_SETTINGS["batch"],
        gamma=SAC_SETTINGS["gamma"],
        tau=SAC_SETTINGS["polyak"],
        learning_starts=SAC_SETTINGS["warmup"],
        train_freq=SAC_SETTINGS["round"],
        gradient_steps=SAC_SETTINGS["round"],
        policy_kwargs={"net_arch": SAC_SETTINGS["hidden"]},
        seed=seed,
    )
    model.learn(SAC_SETTINGS["steps"])
    steps = np.cumsum(world.get_episode_lengths()).tolist()
    curve = list(zip(steps, world.get_episode_rewards(), strict=True))
    return lambda observation: model.predict(observation, deterministic=True)[0], curve


def ppo_of_etairl(environment: str, seed: int) -> tuple:
    """Train with etairl; the policy, and the mean return of each cycle's whole episodes."""
    from etairl.algorithms.grl import GrlConfig, grl
    from etairl.solvers.ppo import PPO
    from etairl.solvers.ppo_config import PPOConfig
    from etairl.tasks import make_task

    copies, horizon = PPO_SETTINGS["copies"], PPO_SETTINGS["cycle"] // PPO_SETTINGS["copies"]
    task = make_task(environment, copies, horizon=horizon, seed=seed)
    solver = PPO(PPOConfig(last_learning_rate=0.0), task.spec)
    cycles = PPO_SETTINGS["steps"] // PPO_SETTINGS["cycle"]
    config = GrlConfig(cycles=cycles, episodes=copies, rollout="steps", memory=1)
    curve, steps, state = [], 0, None
    for cycle in grl(config, task, solver, seed):
        steps, state = steps + cycle.rolled_out.steps, cycle.state
        # The first episode of each copy is never cut by the end of the cycle.
        curve.append((steps, float(cycle.rolled_out.returns[:copies].mean())))
    policy = solver.policy(state)
    return lambda observation: policy(None, observation[None])[0], curve


def ppo_of_sb3(environment: str, seed: int) -> tuple:
    """Train with Stable-Baselines3; the policy, and the returns of the training episodes."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    class Curve(BaseCallback):
        """Where the training episodes ended, and with what return."""

        def __init__(self) -> None:
            super().__init__()
            self.found: list[tuple[int, float]] = []

        def _on_step(self) -> bool:
            ended = (info["episode"]["r"] for info in self.locals["infos"] if "episode" in info)
            self.found += [(self.num_timesteps, float(value)) for value in ended]
            return True

    copies = PPO_SETTINGS["copies"]
    world = VecNormalize(make_vec_env(environment, copies, seed=seed))
    model = PPO(
        "MlpPolicy",
        world,
        n_steps=PPO_SETTINGS["cycle"] // copies,
        batch_size=PPO_SETTINGS["minibatch"],
        n_epochs=PPO_SETTINGS["epochs"],
        learning_rate=lambda left: 3e-4 * left,
        gamma=PPO_SETTINGS["gamma"],
        gae_lambda=PPO_SETTINGS["gae_lambda"],
        clip_range=PPO_SETTINGS["clip"],
        vf_coef=PPO_SETTINGS["critic_weight"],
        max_grad_norm=PPO_SETTINGS["max_gradient_norm"],
        policy_kwargs={"net_arch": PPO_SETTINGS["hidden"]},
        seed=seed,
        device="cpu",
    )
    curve = Curve()
    model.learn(PPO_SETTINGS["steps"], callback=curve)

    def act(observation: np.ndarray) -> np.ndarray:
        return model.predict(world.normalize_obs(observation), deterministic=True)[0]

    return act, curve.found


@dataclass(frozen=True)
class Contest:
    """One solver, ours beside a peer's."""

    title: str
    settings: dict[str, Any]
    runners: dict[str, Any]
    """by library, ours first"""
    packages: tuple[str, ...]
    timed: bool = False
    """whether runs are made one at a time, so that their times can be compared"""

    @property
    def peer(self) -> str:
        """The other library."""
        return list(self.runners)[1]


CONTESTS = {
    "sac": Contest(
        "Soft actor-critic beside SBX",
        SAC_SETTINGS,
        {"etairl": sac_of_etairl, "sbx": sac_of_sbx},
        ("etairl", "sbx-rl", "jax", "mujoco"),
    ),
    "ppo": Contest(
        "Proximal policy optimisation beside Stable-Baselines3",
        PPO_SETTINGS,
        {"etairl": ppo_of_etairl, "sb3": ppo_of_sb3},
        ("etairl", "stable-baselines3", "torch", "jax", "mujoco"),
        timed=True,
    ),
}


def judge(act, environment: str) -> list[float]:
    """Returns of whole episodes without noise."""
    import gymnasium

    world, returns = gymnasium.make(environment), []
    for episode in range(EPISODES):
        observation, _ = world.reset(seed=10_000 + episode)
        total, ended = 0.0, False
        while not ended:
            observation, reward, terminated, truncated, _ = world.step(
                act(observation.astype(np.float32))
            )
            total, ended = total + float(reward), terminated or truncated
        returns.append(total)
    return returns


def train(path: Path) -> None:
    """One run, into its file, whose name says which it is."""
    environment, library, seed = path.stem.rsplit("-", 2)
    contest, start = CONTESTS[path.resolve().parent.name], time.time()
    act, curve = contest.runners[library](environment, int(seed))
    seconds = time.time() - start
    returns = judge(act, environment)
    row = {
        "library": library,
        "environment": environment,
        "seed": int(seed),
        "final_return": float(np.mean(returns)),
        "final_return_std": float(np.std(returns)),
        "seconds": round(seconds),
        "settings": contest.settings,
        "episodes": EPISODES,
        "curve": [(int(step), round(float(value), 1)) for step, value in curve],
        "versions": {name: version(name) for name in contest.packages},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(row) + "\n")
    part.rename(path)


def file_of(solver: str, library: str, environment: str, seed: int) -> Path:
    """Where a run's result is."""
    return RESULTS / solver / f"{environment}-{library}-{seed}.json"


def last_fifth(row: dict) -> float:
    """Mean return of the episodes that ended in the last fifth of the training, actions drawn."""
    steps, returns = np.array(row["curve"]).T
    return float(returns[steps > 0.8 * row["settings"]["steps"]].mean())


MEASURES = {"final return": lambda row: row["final_return"], "last fifth": last_fifth}
SPEED = {"steps per second": lambda row: row["settings"]["steps"] / row["seconds"]}


def table(solver: str) -> None:
    """Means, their 95 % t-intervals over seeds, and the ratio with a bootstrap interval."""
    contest = CONTESTS[solver]
    columns = "environment | measure | library | seeds | mean | 95 % interval"
    lines = [f"| {columns} | ratio to {contest.peer} (90 % bootstrap) |", "|" + "---|" * 7]
    for environment in ENVIRONMENTS:
        rows = {
            library: [
                json.loads(path.read_text())
                for seed in SEEDS
                if (path := file_of(solver, library, environment, seed)).exists()
            ]
            for library in contest.runners
        }
        for measure, value in (MEASURES | (SPEED if contest.timed else {})).items():
            found = {name: np.array(list(map(value, rows[name]))) for name in contest.runners}
            lines += lines_of(f"{environment} | {measure}", found)
    settings = ", ".join(f"{key} {value}" for key, value in contest.settings.items())
    text = "\n".join(lines)
    page = (
        f"# {contest.title}\n\nMade with version {version('etairl')} by "
        f"`make -C benchmarks {solver}`. Final return: mean of "
        f"{EPISODES} episodes without noise after training.\nLast fifth: mean of all episodes that "
        "ended in the last fifth of the training, actions drawn; hundreds of\nepisodes of many "
        "policies instead of one policy, so it swings less from seed to seed.\n"
        f"Settings of both: {settings}.\n\n{text}\n"
    )
    (RESULTS / solver / "README.md").write_text(page)
    print(text)


def lines_of(what: str, found: dict[str, np.ndarray]) -> list[str]:
    """Two lines of the table."""
    from scipy import stats

    peer, rng, lines = list(found)[1], np.random.default_rng(0), []
    for library, values in found.items():
        if len(values) < 2:
            lines.append(f"| {what} | {library} | {len(values)} | not enough runs | | |")
            continue
        half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
        ratio = ""
        if library != peer and len(found[peer]) > 1:
            own, other = (
                rng.choice(found[name], (10_000, len(found[name]))).mean(axis=1) for name in found
            )
            low, high = np.quantile(own / other, [0.05, 0.95])
            ratio = f"{values.mean() / found[peer].mean():.2f} ({low:.2f} to {high:.2f})"
        each = ", ".join(f"{value:.0f}" for value in values)
        lines.append(
            f"| {what} | {library} | {len(values)} ({each}) | {values.mean():.0f} | "
            f"{values.mean() - half:.0f} to {values.mean() + half:.0f} | {ratio} |"
        )
    return lines


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("one").add_argument("file", type=Path)
    commands.add_parser("table").add_argument("solver", choices=CONTESTS)
    arguments = parser.parse_args()
    if arguments.command == "one":
        train(arguments.file)
    else:
        table(arguments.solver)


if __name__ == "__main__":
    main()
