"""`etairl train`: one run into a run directory."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from etairl.cli.console import parse
from etairl.cli.device import check_device
from etairl.cli.early import Waiting
from etairl.cli.options import given_settings, settings_options
from etairl.cli.running import RunOptions, follow
from etairl.cli.settings_file import as_toml, read_settings, refuse_two_starts
from etairl.regularisers import Entropy
from etairl.runs import RunDirectory
from etairl.tasks.environments import imported
from etairl.training.config_files import read_config
from etairl.training.flat import configure, flatten
from etairl.training.preparation import prepare
from etairl.training.session import refuse_begun
from etairl.training.settings import TrainConfig
from etairl.training.tracking import check_service
from etairl.types import InputError

_OPTIONS = settings_options()
if TYPE_CHECKING:
    Settings = Any
else:
    Settings = _OPTIONS


@dataclass(frozen=True)
class Config:
    """Learn a policy and a cost from demonstrations. Defaults are those of the preset default."""

    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """the run directory; it must not exist yet"""
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """settings from a TOML file, by the names below, instead of a preset; what is given here, too,
    wins. --dry-run prints such a file"""
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
    """import code that RUN or FILE names: an environment or features of its own"""
    settings: tyro.conf.OmitArgPrefixes[Settings] = field(default_factory=_OPTIONS)
    dry_run: bool = False
    """check everything, print the settings as TOML, start nothing"""
    running: tyro.conf.OmitArgPrefixes[RunOptions] = RunOptions()


def run(arguments: list[str]) -> int:
    """Settle the settings, then train to the end or to Ctrl-C."""
    everything = ["--help" if word == "--help-all" else word for word in arguments]
    asked = parse(Config, everything, "train")
    if asked.output is None and not asked.dry_run:
        raise InputError("missing: -o FOLDER, --output FOLDER; see etairl train --help")
    with Waiting("loading", not asked.running.quiet):
        check_device(asked.running.device)
        config = settled(asked)
        if asked.dry_run:
            _check(config, asked)
    if asked.dry_run or asked.output is None:
        print(as_toml(config), end="")
        return 0
    follow(config, asked.output, asked.running)
    return 0


def settled(asked: Config) -> TrainConfig:
    """The settings: those of a preset, a file or a run, with what was given on the command line."""
    refuse_two_starts(preset=asked.preset, config=asked.config, cost=asked.cost)
    settings = given_settings(asked.settings)
    if "env" in settings:
        imported(settings["env"])  # named here, so that its time limit may be asked for
    named = [str(settings[name]) for name in ("env", "features") if name in settings]
    if asked.config is not None:
        return configure(read_settings(asked.config, asked.trust, named), **settings)
    if asked.cost is not None:
        start = read_config(asked.cost, asked.trust, named)
        return configure(start, **(on_the_cost_of(asked.cost, start) | settings))
    return configure(asked.preset or "default", **settings)


def _check(config: TrainConfig, asked: Config) -> None:
    """Everything that a run would refuse before it begins."""
    if asked.output is not None:
        refuse_begun(RunDirectory(asked.output))
    check_service(asked.running.track)
    prepare(config, asked.running.threads)


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
