"""Soft actor-critic of etairl beside that of SBX: same tasks, settings, steps and seeds.

    python sac.py run [--workers 2]     trains what is missing, one process per run
    python sac.py table                 judges and compares what is there

Every run ends with 20 episodes without noise, in the same simulator for both libraries. A run is
one small JSON file under results/sac; what is there is not run again.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).resolve().parent.parent / "results" / "sac"
LIBRARIES, ENVIRONMENTS, SEEDS = ("etairl", "sbx"), ("HalfCheetah-v5", "Hopper-v5"), (0, 1, 2)
SETTINGS = {
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
EPISODES = 20


def run_etairl(environment: str, seed: int) -> tuple:
    """Train with etairl; the policy, and the returns of the training episodes."""
    from etairl.algorithms.expert import (
        ExpertConfig,
        begin,
        make_expert_task,
        make_solver,
        train_expert,
    )
    from etairl.solvers.sac_config import SACConfig

    rate = SETTINGS["learning_rate"]
    config = ExpertConfig(
        env=environment,
        steps=SETTINGS["steps"],
        seed=seed,
        envs=1,
        cycle=SETTINGS["round"],
        warmup=SETTINGS["warmup"],
        batch=SETTINGS["batch"],
        judge_every=10 * SETTINGS["steps"],
        sac=SACConfig(
            hidden=tuple(SETTINGS["hidden"]),
            gamma_rl=SETTINGS["gamma"],
            actor_lr=rate,
            critic_lr=rate,
            temperature_lr=rate,
            polyak=SETTINGS["polyak"],
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


def run_sbx(environment: str, seed: int) -> tuple:
    """Train with SBX; the policy, and the returns of the training episodes."""
    import gymnasium
    from sbx import SAC
    from stable_baselines3.common.monitor import Monitor

    world = Monitor(gymnasium.make(environment))
    model = SAC(
        "MlpPolicy",
        world,
        learning_rate=SETTINGS["learning_rate"],
        batch_size=SETTINGS["batch"],
        gamma=SETTINGS["gamma"],
        tau=SETTINGS["polyak"],
        learning_starts=SETTINGS["warmup"],
        train_freq=SETTINGS["round"],
        gradient_steps=SETTINGS["round"],
        policy_kwargs={"net_arch": SETTINGS["hidden"]},
        seed=seed,
    )
    model.learn(SETTINGS["steps"])
    steps = np.cumsum(world.get_episode_lengths()).tolist()
    curve = list(zip(steps, world.get_episode_rewards(), strict=True))
    return lambda observation: model.predict(observation, deterministic=True)[0], curve


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


def train(library: str, environment: str, seed: int) -> None:
    """One run, into its file."""
    start = time.time()
    act, curve = {"etairl": run_etairl, "sbx": run_sbx}[library](environment, seed)
    seconds = time.time() - start
    returns = judge(act, environment)
    row = {
        "library": library,
        "environment": environment,
        "seed": seed,
        "final_return": float(np.mean(returns)),
        "final_return_std": float(np.std(returns)),
        "seconds": round(seconds),
        "settings": SETTINGS,
        "episodes": EPISODES,
        "curve": [(int(step), round(float(value), 1)) for step, value in curve],
        "versions": {name: version(name) for name in ("etairl", "sbx-rl", "jax", "mujoco")},
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = file_of(library, environment, seed)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(row) + "\n")
    part.rename(path)


def file_of(library: str, environment: str, seed: int) -> Path:
    """Where a run's result is."""
    return RESULTS / f"{environment}-{library}-{seed}.json"


def run_all(workers: int) -> None:
    """Everything that is missing; seeds first, so that a pause leaves fair comparisons."""
    jobs = [
        (library, environment, seed)
        for seed, environment, library in itertools.product(SEEDS, ENVIRONMENTS, LIBRARIES)
        if not file_of(library, environment, seed).exists()
    ]
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    single = {"XLA_FLAGS": flags, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    running: dict[tuple, subprocess.Popen] = {}
    while jobs or running:
        while jobs and len(running) < workers:
            job = jobs.pop(0)
            command = [sys.executable, __file__, "one", *map(str, job)]
            running[job] = subprocess.Popen(command, env=os.environ | single)
            print("started", *job, flush=True)
        time.sleep(1)
        for job, process in list(running.items()):
            if process.poll() is not None:
                del running[job]
                outcome = "finished" if process.returncode == 0 else "FAILED"
                print(outcome, *job, flush=True)


def last_fifth(row: dict) -> float:
    """Mean return of the episodes that ended in the last fifth of the training, actions drawn."""
    steps, returns = np.array(row["curve"]).T
    return float(returns[steps > 0.8 * SETTINGS["steps"]].mean())


MEASURES = {"final return": lambda row: row["final_return"], "last fifth": last_fifth}


def table() -> None:
    """Means, their 95 % t-intervals over seeds, and the ratio with a bootstrap interval."""
    columns = "environment | measure | library | seeds | mean | 95 % interval"
    lines = [f"| {columns} | ratio to SBX (90 % bootstrap) |", "|" + "---|" * 7]
    for environment in ENVIRONMENTS:
        rows = {
            library: [
                json.loads(path.read_text())
                for seed in SEEDS
                if (path := file_of(library, environment, seed)).exists()
            ]
            for library in LIBRARIES
        }
        for measure, value in MEASURES.items():
            found = {library: np.array(list(map(value, rows[library]))) for library in LIBRARIES}
            lines += lines_of(f"{environment} | {measure}", found)
    settings = ", ".join(f"{key} {value}" for key, value in SETTINGS.items())
    text = "\n".join(lines)
    page = (
        f"# Soft actor-critic beside SBX\n\nMade with version {version('etairl')} by "
        "`make -C benchmarks sac`. Final return: mean of "
        f"{EPISODES} episodes without noise after training.\nLast fifth: mean of all episodes that "
        "ended in the last fifth of the training, actions drawn; hundreds of\nepisodes of many "
        "policies instead of one policy, so it swings less from seed to seed.\n"
        f"Settings of both: {settings}.\n\n{text}\n"
    )
    (RESULTS / "README.md").write_text(page)
    print(text)


def lines_of(what: str, found: dict[str, np.ndarray]) -> list[str]:
    """Two lines of the table."""
    from scipy import stats

    rng, lines = np.random.default_rng(0), []
    for library, values in found.items():
        if len(values) < 2:
            lines.append(f"| {what} | {library} | {len(values)} | not enough runs | | |")
            continue
        half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
        ratio = ""
        if library == "etairl" and len(found["sbx"]) > 1:
            own, other = (
                rng.choice(found[name], (10_000, len(found[name]))).mean(axis=1)
                for name in LIBRARIES
            )
            low, high = np.quantile(own / other, [0.05, 0.95])
            ratio = f"{values.mean() / found['sbx'].mean():.2f} ({low:.2f} to {high:.2f})"
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
    commands.add_parser("run").add_argument("--workers", type=int, default=2)
    one = commands.add_parser("one")
    one.add_argument("library", choices=LIBRARIES)
    one.add_argument("environment", choices=ENVIRONMENTS)
    one.add_argument("seed", type=int)
    commands.add_parser("table")
    arguments = parser.parse_args()
    if arguments.command == "run":
        run_all(arguments.workers)
    elif arguments.command == "one":
        train(arguments.library, arguments.environment, arguments.seed)
    else:
        table()


if __name__ == "__main__":
    main()
