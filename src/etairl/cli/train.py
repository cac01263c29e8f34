"""`etairl train`: one run into a run directory."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from etairl.cli.console import parse
from etairl.cli.options import given_settings, settings_options
from etairl.cli.running import follow
from etairl.regularisers import Entropy
from etairl.runs import RunDirectory
from etairl.tasks.environments import imported
from etairl.training.config_files import read_config
from etairl.training.flat import configure, flatten
from etairl.training.settings import TrainConfig
from etairl.types import InputError

_OPTIONS = settings_options()
if TYPE_CHECKING:
    Settings = Any
else:
    Settings = _OPTIONS


@dataclass(frozen=True)
class Config:
    """Learn a policy and a cost from demonstrations. Defaults are those of the preset default."""

    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")]
    """the run directory; it must not exist yet"""
    preset: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """where the settings below start from: default (starts from random weights), off-policy
    (likewise, with fewer transitions and more updates), near-clone (stays near a clone of the
    expert), navigation and fetchreach (solve most of many tasks), imitation/hopper (GAIL as the
    project imitation published it), or a column of the paper's table: paper/hopper,
    paper/halfcheetah, paper/ant, paper/fetchreach, paper/navigation"""
    cost: Annotated[Path | None, tyro.conf.arg(metavar="RUN")] = None
    """a finished run: train a fresh policy on its learned cost, which stays as it is, and report
    the true return. All settings below start from those of RUN, not from a preset"""
    trust: bool = False
    """import code that RUN names: an environment or features of its own"""
    settings: tyro.conf.OmitArgPrefixes[Settings] = field(default_factory=_OPTIONS)
    checkpoint_seconds: float = 60.0
    """time between checkpoints"""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """threads of the simulator; all cores if left out. Results do not depend on it"""


def run(arguments: list[str]) -> int:
    """Settle the settings, then train to the end or to Ctrl-C."""
    config = parse(Config, arguments, "train")
    settings = given_settings(config.settings)
    if "env" in settings:
        imported(settings["env"])  # named here, so that its time limit may be asked for
    if config.cost is None:
        train = configure(config.preset or "default", **settings)
    elif config.preset is not None:
        raise InputError("--cost starts from the settings of its run: leave --preset out")
    else:
        named = [str(settings[name]) for name in ("env", "features") if name in settings]
        start = read_config(config.cost, config.trust, named)
        train = configure(start, **(on_the_cost_of(config.cost, start) | settings))
    follow(
        train, config.output, threads=config.threads, checkpoint_seconds=config.checkpoint_seconds
    )
    return 0


def on_the_cost_of(run: Path, start: TrainConfig) -> dict[str, Any]:
    """What changes in the settings of a finished run to train a fresh policy on its cost."""
    if not RunDirectory(run).finished:
        raise InputError(f"{run} is not a finished run, so it has no learned cost to train on")
    # A clone would start from the expert; the question is what the cost alone can teach.
    changes = {"warm_start": False, "cloning": 0.0, "critic_cycles": 0}
    if start.regulariser.relative:
        # Prices and bounds of a divergence would mean something else for an entropy.
        changes |= {"omega": Entropy.name, "temperature": None, "target_entropy": None}
    flat = flatten(start)
    changes = {name: value for name, value in changes.items() if name in flat}
    return changes | {"frozen_cost": str(run.resolve()), "idle": None}
