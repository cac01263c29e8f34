"""`etairl train`: one run into a run directory."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import tyro

from etairl.algorithms.registry import ALGORITHMS
from etairl.cli.console import parse
from etairl.cli.running import follow
from etairl.runs import RunDirectory
from etairl.training.preparation import at_home_anywhere
from etairl.training.presets import preset
from etairl.training.settings import TrainConfig, read_config
from etairl.types import InputError


@dataclass(frozen=True)
class Config:
    """Learn a policy and a cost from demonstrations."""

    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")]
    """the run directory; it must not exist yet"""
    preset: str = "default"
    """where the settings below start from: default (begins with nothing), near-clone
    (stays near a clone of the expert), navigation and fetchreach (solve most of many tasks), or
    a column of the paper's table: paper/hopper, paper/halfcheetah, paper/ant, paper/fetchreach,
    paper/navigation"""
    cost: Annotated[Path | None, tyro.conf.arg(metavar="RUN")] = None
    """a finished run: train a fresh policy on its learned cost, which stays as it is, and report
    the true return. All settings below start from those of RUN, not from a preset"""
    train: tyro.conf.OmitSubcommandPrefixes[tyro.conf.OmitArgPrefixes[TrainConfig]] = field(
        default_factory=TrainConfig
    )
    checkpoint_seconds: float = 60.0
    """time between checkpoints"""
    threads: int | None = None
    """of the simulator; all cores if left out. Results do not depend on it"""


def run(arguments: list[str]) -> int:
    """The command."""
    run, name = _option(arguments, "cost"), _option(arguments, "preset")
    if run is not None and name is not None:
        raise InputError("--cost starts from the settings of its run: leave --preset out")
    name = name or "default"
    start = preset(name) if run is None else on_the_cost_of(Path(run))
    if _option(arguments, "eta") is None:
        start = with_its_own_eta(start, _option(arguments, "algorithm"))
        if (idle := _option(arguments, "idle")) not in (None, "None"):
            start = replace(start, idle=idle, eta=idle)
    default = Config(output=Path(), preset=name, train=start)
    object.__setattr__(default, "output", tyro.MISSING)  # the one thing without a default
    config = parse(Config, arguments, "train", default, pairs=True)
    directory = RunDirectory(config.output)
    if (config.output / "config.json").is_file():
        how = "finished" if directory.finished else f"go on with it: etairl resume {config.output}"
        raise InputError(f"{config.output} holds a run already ({how}); choose another folder")
    train = at_home_anywhere(config.train)
    return follow(train, directory, config.checkpoint_seconds, config.threads)


def on_the_cost_of(run: Path) -> TrainConfig:
    """The settings of a finished run, to train a fresh policy on the cost that it learned."""
    if not RunDirectory(run).finished:
        raise InputError(f"{run} is no finished run, so it has no learned cost to train on")
    found = read_config(run)
    # A clone would start from the expert; the question is what the cost alone can teach.
    omega = "entropy" if found.omega == "kl" else found.omega
    if found.anchor:
        # Prices and bounds of divergence: of entropy they would mean something else.
        sac = replace(found.sac, temperature=None, target_entropy=None)
        found = replace(found, anchor=False, omega=omega, sac=sac)
    return replace(
        found,
        frozen_cost=str(run.resolve()),
        warm_start=False,
        cloning=0.0,
        idle=None,
        girl=replace(found.girl, critic_cycles=0),
    )


def with_its_own_eta(start: TrainConfig, algorithm: str | None) -> TrainConfig:
    """Another algorithm brings its weighting, unless a preset names one that it can take."""
    chosen = next((entry for entry in ALGORITHMS.values() if entry.name == algorithm), None)
    if chosen is None or (chosen.any_eta and start.eta != start.choices.eta):
        return start
    return replace(start, algorithm=chosen.name, eta=None)


def _option(arguments: list[str], name: str) -> str | None:
    """An option that decides the defaults of all others, read before them."""
    for index, word in enumerate(arguments):
        if word == f"--{name}" and index + 1 < len(arguments):
            return arguments[index + 1]
        if word.startswith(f"--{name}="):
            return word.removeprefix(f"--{name}=")
    return None
