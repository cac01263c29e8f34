"""Settings of a run that takes seconds and learns nothing."""

import atexit
import shutil
import tempfile
from pathlib import Path

from etairl.algorithms.girl import GirlConfig
from etairl.costs.adversarial import DiscriminatorConfig
from etairl.costs.discriminator import GanConfig
from etairl.demos import Selection, load_demos, save_demos
from etairl.solvers.players import SACSettings
from etairl.solvers.sac_config import OffPolicy, SACConfig
from etairl.training.settings import TrainConfig

TINY = TrainConfig(
    env="Pendulum-v1",
    demos="Pendulum-v1-25x200",
    demonstrations=5,
    horizon=50,
    measure_every=2,
    girl=GirlConfig(
        transitions=1500, episodes=5, cost_updates=3, cost_batch=16, remaining_cycles=4
    ),
    cost=GanConfig(network=DiscriminatorConfig(hidden_d=(16,))),
    solver=SACSettings(OffPolicy(solver_updates=5, solver_batch=16), SACConfig(hidden=(16, 16))),
)


def few(source: str, episodes: int) -> str:
    """A file of this process with the first of some demonstrations: quickly compared with."""
    folder = Path(tempfile.mkdtemp(prefix="etairl-few-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / f"{source}.npz"
    save_demos(load_demos(source, select=Selection(episodes)), file)
    return str(file)


NAVIGATION = few("etairl-Navigation-v0-300x50", 40)

GRID = """\
seeds = 1
[settings]
env = "Pendulum-v1"
demos = "Pendulum-v1-25x200"
demonstrations = 4
horizon = 50
episodes = 2
transitions = 2000
solver = "sac"
solver_updates = 4
solver_batch = 16
cost_updates = 2
cost_batch = 16
remaining_cycles = 6
hidden = [8]
hidden_d = [8]
[grid]
eta = ["dirac:0", "geometric:0.75"]
"""
