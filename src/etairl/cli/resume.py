"""`etairl resume`: continue a run where it stopped, bit for bit."""

from dataclasses import dataclass

import tyro

from etairl.cli.arguments import RunFolder, Trusted
from etairl.cli.console import parse
from etairl.cli.device import check_device
from etairl.cli.running import RunOptions, follow
from etairl.training.config_files import read_config


@dataclass(frozen=True)
class Config:
    """Continue a run that was stopped or killed; it ends as if it had never stopped."""

    run: RunFolder
    trust: Trusted = False
    running: tyro.conf.OmitArgPrefixes[RunOptions] = RunOptions()


def run(arguments: list[str]) -> int:
    """Continue to the end or to Ctrl-C."""
    config = parse(Config, arguments, "resume")
    check_device(config.running.device)
    follow(read_config(config.run, config.trust), config.run, config.running, resume=True)
    return 0
