"""Imitate the bundled pendulum: MEGAN, half a minute; return and MMD² before and after."""

import tempfile
from pathlib import Path
from typing import Any

import etairl

CONFIG = etairl.configure(
    etairl.TrainConfig(),  # plain settings, with soft actor-critic
    env="Pendulum-v1",
    demos="Pendulum-v1-25x200",
    demonstrations=10,
    eta="geometric:0.99",
    horizon=200,
    measure_every=1,
    transitions=20_000,
    episodes=5,
    remaining_cycles=5,
    # the cost player
    cost_updates=50,
    cost_batch=128,
    hidden_d=(32,),
    lr_d=1e-3,
    # the policy player
    solver_updates=500,
    solver_batch=128,
    hidden=(64, 64),
    actor_lr=1e-3,
    critic_lr=1e-3,
    temperature_lr=1e-3,
)


def main() -> None:
    """Train, then compare the first cycle with the last ones."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        result = etairl.train(CONFIG, Path(folder) / "run", watch=rows.append)
        observations = etairl.load_demos(CONFIG.demos).trajectories.observations
        costs = result.cost(observations, result.policy(observations))
    first, last = rows[0], result.metrics["remaining"]
    print(f"{'':<22}{'return':>9}{'MMD² of mu':>12}")
    print(f"{'before: cycle 1':<22}{first['return']:>9.1f}{first['mmd2_mu']:>12.4f}")
    after = f"after: cycles {rows[-1]['cycle'] - last['cycles'] + 1} to {rows[-1]['cycle']}"
    print(f"{after:<22}{last['return']:>9.1f}{last['mmd2_mu']['value']:>12.4f}")
    print(f"{'expert':<22}{result.metrics['expert_return']:>9.1f}{last['mmd2_mu']['floor']:>12.4f}")
    print("(MMD² of the expert: 95 % of comparisons of it with itself are below)")
    print(f"learned cost where the expert was, with the learner's actions: {costs.mean():.3f}")


if __name__ == "__main__":
    main()
