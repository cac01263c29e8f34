"""EMMA on the pendulum: which features explain the expert, in a quarter of a minute."""

import tempfile
from pathlib import Path

import etairl

CONFIG = etairl.configure(
    etairl.TrainConfig(),  # plain settings, with soft actor-critic
    env="Pendulum-v1",
    demos="Pendulum-v1-25x200",
    demonstrations=10,
    algorithm="emma",
    horizon=200,
    measure_every=5,
    features="quadratic",
    transitions=6_000,
    episodes=5,
    remaining_cycles=5,
    cost_updates=50,
    cost_batch=128,
    solver_updates=500,
    solver_batch=128,
    hidden=(64, 64),
    actor_lr=1e-3,
    critic_lr=1e-3,
    temperature_lr=1e-3,
)


def main() -> None:
    """Train, then list the heaviest features beside a random policy."""
    with tempfile.TemporaryDirectory() as folder:
        result = etairl.train(CONFIG, Path(folder) / "run")
        rows = {row.name: row for row in result.evaluate(10, cloning=False)}
    print("gaps in the expert's spread\n")
    print(f"{'feature':<34}{'weight':>8}{'gap of the learner':>22}{'gap of chance':>18}")
    chance = {gap.name: gap for gap in rows["random"].features or ()}
    for gap in (rows["learner"].features or ())[:6]:
        other = chance[gap.name]
        print(
            f"{gap.name:<34}{gap.weight:>8.2f}{gap.gap:>14.2f} ± {gap.standard_error:.2f}"
            f"{other.gap:>12.2f} ± {other.standard_error:.2f}"
        )
    for name in ("learner", "random", "expert, held out"):
        print(f"{name:<18} returns {rows[name].return_mean:>8.1f}")


if __name__ == "__main__":
    main()
