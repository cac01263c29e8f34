"""`etairl train`: one run into a run directory."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from etairl.cli.console import parse
from etairl.cli.running import follow
from etairl.experiments.presets import preset
from etairl.experiments.settings import TrainConfig
from etairl.runs import RunDirectory
from etairl.types import InputError


@dataclass(frozen=True)
class Config:
    """Learn a policy and a cost from demonstrations."""

    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")]
    """the run directory; it must not exist yet"""
    preset: str = "default"
    """where the settings below start from: default (begins with nothing), near-clone
    (stays near a clone of the expert), or a column of the paper's table: paper/hopper,
    paper/halfcheetah, paper/ant, paper/fetchreach, paper/navigation"""
    train: tyro.conf.OmitSubcommandPrefixes[tyro.conf.OmitArgPrefixes[TrainConfig]] = field(
        default_factory=TrainConfig
    )
    checkpoint_seconds: float = 60.0
    """time between checkpoints"""
    threads: int | None = None
    """of the simulator; all cores if left out. Results do not depend on it"""


def run(arguments: list[str]) -> int:
    """The command."""
    name = _chosen_preset(arguments)
    default = Config(output=Path(), preset=name, train=preset(name))
    object.__setattr__(default, "output", tyro.MISSING)  # the one thing without a default
    config = parse(Config, arguments, "train", default, pairs=True)
    directory = RunDirectory(config.output)
    if (config.output / "config.json").is_file():
        how = "finished" if directory.finished else f"go on with it: etairl resume {config.output}"
        raise InputError(f"{config.output} holds a run already ({how}); choose another folder")
    return follow(config.train, directory, config.checkpoint_seconds, config.threads)


def _chosen_preset(arguments: list[str]) -> str:
    """The preset decides the defaults of all other options, so it is read before them."""
    for index, word in enumerate(arguments):
        if word == "--preset" and index + 1 < len(arguments):
            return arguments[index + 1]
        if word.startswith("--preset="):
            return word.removeprefix("--preset=")
    return "default"
