"""`etairl resume`: continue a run where it stopped, bit for bit."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from etairl.cli.console import parse
from etairl.cli.device import Device, check_device
from etairl.cli.running import Shown, follow
from etairl.training.config_files import read_config
from etairl.training.tracking import Service


@dataclass(frozen=True)
class Config:
    """Continue a run that was stopped or killed; it ends as if it had never stopped."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the run directory"""
    checkpoint_seconds: float = 60.0
    """time between checkpoints"""
    threads: int | None = None
    """threads of the simulator; all cores if left out. Results do not depend on it"""
    trust: bool = False
    """import code that the run names: an environment or features of its own"""
    device: Device | None = None
    """where to compute; the fastest there is if left out"""
    track: Service | None = None
    """show the metrics on a dashboard, too: wandb (Weights & Biases) or mlflow"""
    quiet: bool = False
    """say nothing but warnings and errors"""
    json: bool = False
    """print the result as one JSON object; progress goes to standard error"""


def run(arguments: list[str]) -> int:
    """Continue to the end or to Ctrl-C."""
    config = parse(Config, arguments, "resume")
    check_device(config.device)
    follow(
        read_config(config.run, config.trust),
        config.run,
        resume=True,
        threads=config.threads,
        checkpoint_seconds=config.checkpoint_seconds,
        shown=Shown(config.quiet, config.json, config.track),
    )
    return 0
