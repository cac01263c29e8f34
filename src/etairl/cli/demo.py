"""`etairl demo`: what the program does, on demonstrations it makes itself."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from etairl.cli import eta as eta_command
from etairl.cli.console import out, parse, working
from etairl.cli.demos import print_inspection
from etairl.demos import limit_cycle, load_demos, save_demos
from etairl.evaluation.inspection import inspect


@dataclass(frozen=True)
class Config:
    """Make demonstrations, look through them, and show what the suggested weighting does."""

    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = Path("etairl-demo")
    """where the demonstrations and the figure go"""
    seed: int = 0
    """of the demonstrations"""


def run(arguments: list[str]) -> int:
    """The command."""
    config = parse(Config, arguments, "demo")
    console = out()
    path = config.output / "limit-cycle.npz"
    with working("recording a demonstrator that walks in circles"):
        demos = limit_cycle(np.random.default_rng(config.seed))
        save_demos(demos, path, overwrite=True)
        found = inspect(load_demos(path))
    console.print(f"[bold]$ etairl demos info {path}[/bold]")
    print_inspection(found)
    figure = config.output / "weighting.png"
    horizon = str(int(found.length.high))
    arguments = [found.advice.eta, "--horizon", horizon, "--sampler", "exact", "-o", str(figure)]
    console.print(f"\n[bold]$ etairl eta {' '.join(arguments)}[/bold]")
    return eta_command.run(arguments)
