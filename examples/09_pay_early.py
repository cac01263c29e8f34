"""Pay early to be well off later: γ-discounted soft actor-critic will not, `sac-eta` will.

Run it as `python examples/09_pay_early.py [FOLDER]`; with a folder it trains three seeds of each
and draws the figure of the documentation there.
"""

import sys
from pathlib import Path

import numpy as np

from etairl.algorithms.grl import GrlConfig, grl, weighted_cost
from etairl.eta import Geometric
from etairl.figures.save import save_figure
from etairl.figures.solver_curves import SolverPanel, pay_early_figure
from etairl.solvers.sac import SAC
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.solvers.sac_eta import sac_eta
from etairl.tasks import make_task

GAMMA, ETA, HORIZON = 0.5, Geometric(0.5), 16
WORLDS = (
    ("GoStay-v0", "stay at 0.4 a step, or go for 1", 0.02),
    ("Insulation-v0", "heat at 0.4 a step, or insulate for 1", 0.01),
)


def curve(world: str, temperature: float, matched: bool, seed: int) -> list[float]:
    """The criterion of what is played in each cycle, while one of the solvers learns."""
    task = make_task(f"etairl.tasks.pay_early:{world}", 20, horizon=HORIZON, seed=seed)
    config = SACConfig((32,), "relu", GAMMA, 3e-3, 1e-2, polyak=0.05, temperature=temperature)
    solver = SAC(config, task.spec, play=OffPolicy(solver_updates=30, solver_batch=256))
    if matched:
        solver = sac_eta(solver, ETA, HORIZON)
    rounds = grl(GrlConfig(cycles=40), task, solver, seed)
    return [weighted_cost(cycle.rolled_out, ETA, GAMMA) for cycle in rounds]


def main() -> None:
    """Both worlds, both solvers. Never to pay costs 0.8 and is γ-optimal; to pay at once, 0.5."""
    seeds, panels = range(3 if len(sys.argv) > 1 else 1), []
    for world, title, temperature in WORLDS:
        curves = {
            name: np.array([curve(world, temperature, name == "sac-eta", seed) for seed in seeds])
            for name in ("sac", "sac-eta")
        }
        panels.append(SolverPanel(title, curves, 20 * HORIZON, planned=0.8, best=0.5))
        for name, values in curves.items():
            print(f"{world:<14} {name:<8} ends at {values[:, -10:].mean():.3f}")
    if len(sys.argv) > 1:
        save_figure(pay_early_figure(panels), Path(sys.argv[1]) / "pay-early.png")
        print(f"drawn into {sys.argv[1]}")


if __name__ == "__main__":
    main()
