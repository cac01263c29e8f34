"""`etairl resume`: go on where a run stopped, bit for bit."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from etairl.cli.console import out, parse
from etairl.cli.running import follow
from etairl.runs import RunDirectory
from etairl.training.settings import read_config


@dataclass(frozen=True)
class Config:
    """Go on with a run that was stopped or killed; it ends as if it had never stopped."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the run directory"""
    checkpoint_seconds: float = 60.0
    """time between checkpoints"""
    threads: int | None = None
    """of the simulator; all cores if left out. Results do not depend on it"""


def run(arguments: list[str]) -> int:
    """The command."""
    config = parse(Config, arguments, "resume")
    train = read_config(config.run)
    directory = RunDirectory(config.run)
    if directory.finished:
        out().print(f"{config.run} is finished; see etairl evaluate {config.run}", markup=False)
        return 0
    return follow(train, directory, config.checkpoint_seconds, config.threads)
